package rehearsal_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

func check(t *testing.T, lossName string, d int, records float64, r account.Relation,
	criterion choose.Criterion) (rehearsal.Check, []choose.Candidate) {
	t.Helper()
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := loss.ParseRegularizer("l2(0.01)")
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(loss.RecordFeatures(l, d), records))
	if err != nil {
		t.Fatal(err)
	}
	p.Regularizer = reg
	c := rehearsal.Check{Problem: p, Loss: l, Features: d, Records: records, Budget: b, Criterion: criterion, Seeds: 3,
		Workers: 2}
	list, err := choose.Auto{Goal: criterion, Passes: 20}.Candidates(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return c, list
}

// TestCheckReachesWhatIsPredicted tests that results are within a factor of 4 of the forecast, for every
// criterion and both relations, with seeded noise, also of persons with several rows. The test fails if the
// number of records is wrong, or if one criterion is computed in place of another.
func TestCheckReachesWhatIsPredicted(t *testing.T) {
	for i, c := range []struct {
		loss      string
		relation  account.Relation
		criterion choose.Criterion
	}{
		{"logistic", account.ReplaceOne, choose.Gradient},
		{"tanh", account.AddOrRemove, choose.Gradient},
		{"huber(0.5)", account.ReplaceOne, choose.Population},
		{"logistic", account.ReplaceOne, choose.ExcessRisk},
		{"softmax(3)", account.ReplaceOne, choose.Gradient},
		{"units(logistic,3)", account.ReplaceOne, choose.Gradient},
		{"units(huber(0.5),2,sum)", account.AddOrRemove, choose.Population},
		{"units(softmax(3),2)", account.ReplaceOne, choose.Gradient},
	} {
		if testing.Short() && i%2 == 0 {
			continue
		}
		check, list := check(t, c.loss, 20, 8_000, c.relation, c.criterion)
		told := 0
		out, err := check.Run(context.Background(), list, func(done int) { told = done })
		if err != nil || len(out) != len(list) || told != len(list) {
			t.Fatalf("%s: %d of %d, told %d, %v", c.loss, len(out), len(list), told, err)
		}
		for i, o := range out {
			if o.Predicted != list[i].Predicted || len(o.Reached) != 3 {
				t.Errorf("%+v", o)
			}
			// Excess risk is quadratic in the gradient norm, so its factor is 16.
			within := 4.
			if c.criterion == choose.ExcessRisk {
				within = 16
			}
			if ratio := o.Median() / o.Predicted; !(ratio < within && ratio > 1/within) {
				t.Errorf("%s, %v, %v: %s reached %v: predicted %v", c.loss, c.relation, c.criterion, list[i].Summary.Algorithm,
					o.Reached, o.Predicted)
			}
		}
	}
}

// TestCheckRefuses tests that Check returns an error if it has no rows for a problem or the context
// ends.
func TestCheckRefuses(t *testing.T) {
	c, list := check(t, "logistic", 3, 100, account.ReplaceOne, choose.Gradient)
	wide := c
	wide.Features = 1 << 20
	if _, err := wide.Run(context.Background(), list, nil); err == nil {
		t.Error("a million features were simulated")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Run(ctx, list, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	out, err := c.Run(context.Background(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Run(context.Background(), list, nil)
	if err != nil || out[0].Reached[0] != again[0].Reached[0] || math.IsNaN(out[0].Median()) {
		t.Errorf("two runs: %v, %v, %v", out[0], again[0], err)
	}
}
