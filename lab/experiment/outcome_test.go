package experiment_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

// TestOutcome tests the fields of a run's outcome under both relations, for a method that uses all records
// in each step and for a method that draws Poisson samples.
func TestOutcome(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		b, err := account.NewBudget(1, 1e-5, relation)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			settings string
			steps    int
			passes   float64
			charged  float64 // share of the budget
		}{
			{`{"algorithm":"gd","steps":130}`, 130, 130, 1},
			{`{"algorithm":"storm","steps":70}`, 70, 70, 1},
			{`{"algorithm":"dp-sgd","sampling":0.125,"steps":64}`, 64, 8, 0},
		} {
			r, err := experiment.Trial{
				Family: "logistic", Dim: 6, Rows: 50, Repeat: 8, Epsilon: 1, Delta: 1e-5, Relation: relation.String(),
				Population: 90, Label: "x", Settings: json.RawMessage(c.settings), Seed: 1,
			}.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outcome
			if o.Steps != c.steps || math.Abs(o.Passes-c.passes) > 1e-9 || math.Abs(o.Charged-c.charged*b.Charge()) > 1e-6 {
				t.Errorf("%v, %s: %d steps, %v passes, charged %v of %v", relation, c.settings, o.Steps, o.Passes, o.Charged,
					b.Charge())
			}
			last := o.Series[len(o.Series)-1]
			if len(o.Series) > 64 || len(o.Series) < 32 || last.Step != c.steps || last.Charged > o.Charged+1e-9 {
				t.Errorf("%v, %s: a series of %d that ends with %+v", relation, c.settings, len(o.Series), last)
			}
			// Neighbouring tables differ by two clipped rows under replace-one and by one under
			// add-or-remove.
			effective := 400 * b.Mu() / math.Sqrt(6)
			if relation == account.AddOrRemove {
				effective *= 2
			}
			f := family(t, experiment.Logistic, 6, 50, 0)
			if math.Abs(o.Effective/effective-1) > 1e-9 || math.Abs(o.Floor*effective/2-1) > 1e-9 ||
				o.LowerBound != lowerBound(t, f, 400, b) {
				t.Errorf("%v, %s: N = %v, r = %v, bound %v", relation, c.settings, o.Effective, o.Floor, o.LowerBound)
			}
			// The population gradient differs by the sampling error of 50 and 90 rows.
			if !(o.Population > 0 && o.Population < .5) || o.Population == o.GradientNorm || !(o.Loss > .1 && o.Loss < 3) {
				t.Errorf("%v, %s: gradient norms %v, %v, loss %v", relation, c.settings, o.GradientNorm, o.Population, o.Loss)
			}
		}
	}
}

func lowerBound(t *testing.T, f *experiment.Family, records float64, b account.Budget) float64 {
	t.Helper()
	p, err := f.Problem(records, b)
	if err != nil {
		t.Fatal(err)
	}
	return p.LowerBound()
}
