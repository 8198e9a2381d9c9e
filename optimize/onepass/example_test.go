package onepass_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
)

// The queries use disjoint cohorts, so that the method makes a single pass over the table.
func ExampleSGD() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := optimize.NewProblem(loss.Logistic(), budget, optimize.Stated(20, 10_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := onepass.SGD{}.Plan(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Summary()
	fmt.Printf("%d steps, %.4g passes, %s\n", s.Steps, s.Passes, s.Output)
	// Output:
	// 6 steps, 1 passes, tail-average
}
