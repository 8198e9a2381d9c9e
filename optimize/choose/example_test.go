package choose_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// The choice uses public quantities only, so it costs no budget.
func ExampleAuto() {
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
	list, err := choose.Auto{WithoutSamples: true}.Candidates(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, last := list[0], list[len(list)-1]
	fmt.Println(first.Summary.Algorithm, "is predicted best of", len(list))
	fmt.Println(first.Predicted < last.Predicted)
	// Output:
	// preconditioned is predicted best of 9
	// true
}
