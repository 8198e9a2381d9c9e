package secondorder_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
)

func ExampleSpider() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := optimize.NewProblem(loss.Tanh(), budget, optimize.Stated(10, 50_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := secondorder.Spider{Gap: .2}.Plan(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Summary().Output)
	// Output: selected by curvature and gradient among anchors, the last point and an average
}
