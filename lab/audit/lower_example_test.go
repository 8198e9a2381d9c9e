package audit_test

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ExampleLowerGaussian audits a Gaussian release that is claimed to be (1, 1e-5)-DP, on two tables
// of one record that differ in its target.
func ExampleLowerGaussian() {
	claim, err := account.NewBudget(1, 1e-5, account.ReplaceOne)
	if err != nil {
		panic(err)
	}
	release := func(seed uint64, second bool) (float64, error) {
		target := 1.
		if second {
			target = -1
		}
		s, err := simulate.Open(simulate.Config{
			Rows: [][]float32{{1}}, Targets: []float64{target}, Loss: loss.Logistic(),
			Budget: claim, Seed: seed, Workers: 1, BlockRows: 1,
		})
		if err != nil {
			return 0, err
		}
		q, err := query.New(claim.Charge(), query.GradientAt(s.All(), []float64{0}, .5))
		if err != nil {
			return 0, err
		}
		r, err := s.Ask(context.Background(), q)
		if err != nil {
			return 0, err
		}
		return r.Mean[0], nil
	}
	runs, err := audit.Collect(20000, 1, release)
	if err != nil {
		panic(err)
	}
	l, err := audit.LowerGaussian(runs, 1e-5, .95)
	fmt.Printf("claimed 1, at least %.2f with confidence .95: %v\n", l.Epsilon, err)
	// Output: claimed 1, at least 0.76 with confidence .95: <nil>
}
