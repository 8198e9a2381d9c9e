package recursive_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
)

// The plan has two rounds. The second round's objective has more regularization than the first's.
func ExampleRecursive() {
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
	plan, err := recursive.Recursive{Rounds: 2}.Plan(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Summary()
	fmt.Printf("%d steps, %.4g passes, %s\n", s.Steps, s.Passes, s.Output)
	// Output:
	// 466 steps, 466 passes, the last round's weighted average
}
