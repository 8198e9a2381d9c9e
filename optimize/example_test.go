package optimize_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// The neighbouring relation of the problem is the budget's. Under replace-one a record replaces
// another, which changes a sum by up to twice the clip norm.
func ExampleNewProblem() {
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
	fmt.Println(problem.Neighbours(), problem.Records)
	fmt.Printf("%.4f\n", problem.Mu)
	// Output:
	// 2 10000
	// 0.2367
}
