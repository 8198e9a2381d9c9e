package optimizetest_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

func ExampleOracle() {
	p := optimizetest.Problems()[0]
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := optimizetest.New(p.Config(budget, 1000, 1))
	plan, err := firstorder.SpiderBoost{Steps: 4, Period: 3}.Plan(context.Background(), o.Problem(p.Public))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := plan.Run(context.Background(), o, nil); err != nil {
		fmt.Println(err)
		return
	}
	for k, a := range o.Asked {
		fmt.Println(k, a.Question.Name(), a.Clipped)
	}
	// Output:
	// 0 gradient 0
	// 1 difference 0
	// 2 difference 0
	// 3 gradient 0
}
