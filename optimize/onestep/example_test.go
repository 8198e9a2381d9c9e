package onestep_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// The example prints by how much noise is expected to widen the intervals of a plan.
func ExampleIntervals() {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := optimize.NewProblem(loss.Logistic(), b, optimize.Stated(3, 20_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := intervals().Plan(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	total, sampling := intervals().Foresee(p, p.Records, p.Mu)
	fmt.Printf("%s, %d steps: intervals %.1f times as wide as without privacy\n", plan.Summary().Algorithm,
		plan.Summary().Steps, total/sampling)
	// Output: intervals, 10 steps: intervals 1.2 times as wide as without privacy
}
