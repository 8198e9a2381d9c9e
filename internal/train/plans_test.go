package train

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// named matches the start of an error about a setting: the algorithm and the setting's name in words.
var named = regexp.MustCompile(`^optimize: [a-z0-9-]+: ([a-z ]+) = `)

// TestEveryPlanAtEverySize tests every algorithm with tables and budgets of many sizes and with few
// or more dimensions. It must return a plan whose figures are finite, or an error with the reason.
// It must not panic, and an error must not name a setting that was not given. The test fails, for
// example, if a rule divides by a number that is 0 for a table of one record.
func TestEveryPlanAtEverySize(t *testing.T) {
	records := []float64{45, 60}
	for n := range 30 {
		records = append(records, float64(n+1))
	}
	dims, epsilons := []int{1, 2, 3, 50}, []float64{.01, 1, 50}
	if testing.Short() {
		records, dims, epsilons = []float64{1, 2, 3, 5, 17, 51}, []int{1, 3}, []float64{.01, 50}
	}
	records = append(records, 1e3, 1e6)
	for _, name := range Algorithms() {
		for _, settings := range []Settings{{}, {"theorem": true}, {"theorem": true, "oracle": "multi-pass"},
			{"oracle": "multi-pass"}, {"oracle": "single-pass"}, {"theorem": true, "oracle": "single-pass"},
			{"inner": "phased-sgd"}} {
			if _, err := (Train{Algorithm: name, Settings: settings}).algorithm(); err != nil {
				continue
			}
			if samples(name) && testing.Short() {
				continue // schedules take long to calibrate
			}
			for _, n := range records {
				if samples(name) && n != 1 && n != 60 {
					continue
				}
				for i, d := range dims {
					for k, epsilon := range epsilons {
						if n > 4 && (i != int(n)%len(dims) || k != int(n)/len(dims)%len(epsilons)) {
							continue // one pair of dimension and epsilon for each n in turn, since all pairs take a minute
						}
						for _, l := range []string{"logistic", "tanh", "pinball(0.3)"} {
							if n > 4 && (l == "logistic") == (name == "second-order") {
								continue // second-order serves convex losses with less code
							}
							tryPlan(t, Train{Algorithm: name, Settings: settings}, l, n, d, epsilon, account.ReplaceOne)
							if n < 3 {
								tryPlan(t, Train{Algorithm: name, Settings: settings}, l, n, d, epsilon, account.AddOrRemove)
							}
						}
					}
				}
			}
		}
	}
}

// TestEveryPlanHasAForecast: the plan of each algorithm for a smooth loss must state a forecast, which is above 0 for the
// gradient norms and for the excess risk. auto orders plans by it, the smallest first.
func TestEveryPlanHasAForecast(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Algorithms() {
		planned := 0
		for _, of := range []string{"logistic", "tanh"} {
			l, err := loss.Parse(of)
			if err != nil {
				t.Fatal(err)
			}
			p, err := optimize.NewProblem(l, b, optimize.Stated(3, 1e5))
			if err != nil {
				t.Fatal(err)
			}
			plan, _, err := Train{Algorithm: name}.Plan(t.Context(), p)
			if err != nil {
				continue // an algorithm for other losses
			}
			planned++
			if o := plan.Summary(); !(o.Predicted > 0) || !(o.Population > 0) || !(o.Excess > 0) {
				t.Errorf("%s, %s: the forecast is %v, %v, %v", name, of, o.Predicted, o.Population, o.Excess)
			}
		}
		if planned == 0 {
			t.Errorf("%s: plans for neither loss", name)
		}
	}
}

// samples reports whether an algorithm draws Poisson samples.
func samples(name string) bool { return name == "dp-sgd" || name == "dp-adam" }

// tryPlan makes one plan and fails the test if its figures are not finite, or if there is an error
// that does not say why there is no plan.
func tryPlan(t *testing.T, c Train, name string, n float64, d int, epsilon float64, relation account.Relation) {
	t.Helper()
	title := fmt.Sprintf("%s %v, %s, n = %v, d = %d, epsilon = %v, %v", c.Algorithm, c.Settings, name, n, d, epsilon,
		relation)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", title, r)
		}
	}()
	b, err := account.NewBudget(epsilon, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(d, n))
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := c.Plan(context.Background(), p)
	if err != nil {
		if m := named.FindStringSubmatch(err.Error()); m != nil && m[1] != "records" &&
			c.Settings[strings.ReplaceAll(m[1], " ", "_")] == nil {
			t.Errorf("%s: %v: nobody gave it", title, err)
		}
		if s := err.Error(); strings.Contains(s, "NaN") ||
			strings.Contains(s, "Inf") && !strings.Contains(s, "must be finite for this algorithm") {
			t.Errorf("%s: %v", title, err)
		}
		return
	}
	o := plan.Summary()
	for _, x := range []float64{o.StepSize, o.Clip, o.Effective, o.Floor, o.Passes, o.PairPasses, o.Predicted,
		o.Population, o.Excess} {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			t.Errorf("%s: %+v", title, o)
			break
		}
	}
	if o.Steps < 1 || strings.Contains(o.Charges+o.Output, "NaN") || strings.Contains(o.Charges, "Inf") {
		t.Errorf("%s: %+v", title, o)
	}
}
