package forecast_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// AtStart is the forecast of a model that was never trained. The forecast of every plan must be lower.
func ExampleAtStart() {
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
	f := forecast.AtStart(problem)
	fmt.Printf("gradient norm %.4g, as at the start: %t\n", f.Gradient, f.Gradient == forecast.StartGradient(problem))
	// Output:
	// gradient norm 0.1217, as at the start: true
}
