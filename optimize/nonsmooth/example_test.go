package nonsmooth_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
)

func ExampleSmoothed() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := optimize.NewProblem(loss.Hinge(), budget, optimize.Stated(10, 50_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := nonsmooth.Smoothed{Radius: .1, Space: nonsmooth.Plain}.Plan(context.Background(), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Summary()
	fmt.Printf("%d steps\n%s\n", s.Steps, s.Charges)
	// Output:
	// 3000 steps
	// step t of T in proportion to 1/4 + t/T; steps grow with the distance from the start; the loss is smoothed over radius 0.1: where its gradient has norm b the result is a (0.1, b)-stationary point of the loss in Goldstein's sense; over the records' distribution that norm is larger by about 0.045 at most
}
