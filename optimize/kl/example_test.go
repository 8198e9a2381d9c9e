package kl_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
)

func ExampleGeometric() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := optimize.NewProblem(loss.Logistic(), budget, optimize.Stated(10, 50_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	problem.KL = optimize.KL{Kappa: 2, Gamma: 4} // public knowledge
	plan, err := kl.Geometric{}.Plan(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Summary()
	fmt.Printf("%d steps, excess risk at most %.2g where the gradient is %.2g\n", s.Steps, s.Excess, s.Predicted)
	// Output: 638 steps, excess risk at most 5e-06 where the gradient is 0.00056
}
