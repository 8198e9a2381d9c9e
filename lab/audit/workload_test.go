package audit

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// worked counts the queries that a run makes, as optimize.Workload says.
type worked struct {
	*simulate.Session
	records float64
	did     optimize.Workload
	metrics []query.Metric
}

func (w *worked) note(terms ...query.Term) {
	for _, t := range terms {
		w.did = w.did.Count(t.Kind(), 1, t.Cohort().Size()/w.records)
		if m := t.Metric(); t.Kind().Facts().Metric && !slices.Contains(w.metrics, m) {
			w.metrics = append(w.metrics, m)
			w.did.Metrics++
		}
	}
}

func (w *worked) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := w.Session.Ask(ctx, q)
	if err == nil {
		w.note(q.Terms()...)
	}
	return a, err
}

func (w *worked) Select(ctx context.Context, s query.Selection) (int, error) {
	for _, q := range s.Questions() {
		w.note(q.Terms()...)
	}
	return w.Session.Select(ctx, s)
}

func (w *worked) Sample() (query.Cohort, error) {
	w.did.Samples++
	return w.Session.Sample()
}

func (w *worked) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	w.did = w.did.Count(query.Gradient, 1, q.Cohort().Size()/w.records)
	return w.Session.Stable(ctx, q)
}

func (w *worked) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := w.Session.OpenPrefix(p)
	return workedSum{sum, w}, err
}

type workedSum struct {
	query.PrefixSum
	of *worked
}

func (s workedSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	s.of.note(terms...)
	return s.PrefixSum.Add(ctx, terms...)
}

// most names the algorithms whose runs may make fewer queries than their workload says, and why. Runs of all other
// algorithms make exactly the queries of the workload.
var most = map[string]string{
	"storm":          "the gain may leave the gradient or the difference without a weight",
	"one-pass-storm": "the gain may leave the gradient or the difference without a weight",
	"tree-spider":    "a difference to the same point is known, and a leaf may end the run",
	"kl-spider":      "rounds end where their target is reached",
	"adaptive-gd":    "what a step charges depends on the norm that it releases",
	"o2nc":           "a difference to the same point is known",
	"second-order":   "cohorts and escapes depend on the path",
	"perturbed-gd":   "anchors depend on the path",
}

// TestRunsMakeThePlannedQueries tests, for every algorithm, that a run makes the queries that its plan counts, of each
// kind as many and over as many records: exactly, or for the algorithms in most at most. Sizes of Poisson samples are
// random. They must lie within 8 standard deviations of their mean, which fails with a probability below 1e-13.
func TestRunsMakeThePlannedQueries(t *testing.T) {
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range train.Algorithms() {
		tried := 0
		for i, settings := range []train.Settings{
			{}, {"output": "selected"}, {"output": "selected", "score": "value"}, {"oracle": "single-pass"}, {"oracle": "fresh"},
			{"oracle": "multi-pass", "anchor_batch": .5, "difference_batch": .25},
			{"look": 3}, {"inner": "phased-sgd"}, {"inner": "spiderboost"}, {"one_pass": true}, {"period": 4},
			{"period": 4, "anchor_batch": .5, "difference_batch": .3},
			{"smoothing": "sampled"},
		} {
			for _, of := range []string{"logistic", "absolute", "softmax(3)", "network(2,tanh,logistic)"} {
				parsed, err := loss.Parse(of)
				if err != nil {
					t.Fatal(err)
				}
				g := ground{loss: of, budget: b, table: Generate(200, 3, parsed, 7)}
				c := train.Train{Algorithm: name, Settings: settings}
				plan, _, err := c.Plan(t.Context(), g.problem(t))
				if err != nil || plan.Summary().Steps > 1000 {
					if plan, _, err = short(c).Plan(t.Context(), g.problem(t)); err != nil {
						continue
					}
				}
				tried++
				work := plan.Workload()
				w := &worked{Session: g.open(t, plan, uint64(i)+1, false), records: float64(len(g.table.Rows))}
				if _, err := plan.Run(t.Context(), w, nil); err != nil {
					t.Fatal(name, settings, of, err)
				}
				compareWork(t, name, settings, of, plan, work, w.did)
			}
			if testing.Short() && tried > 0 {
				break
			}
		}
		if tried == 0 {
			t.Errorf("%s: never tried", name)
		}
	}
}

func compareWork(t *testing.T, name string, settings train.Settings, of string, plan optimize.Plan,
	work, did optimize.Workload) {
	t.Helper()
	why, less := most[name]
	for k, planned := range work.Kinds {
		made, fewer := did.Kinds[k], less
		if settings["output"] == "selected" && (k == query.Norm || k == query.Value) {
			why, fewer = "a run of few steps has few points to select from", true
		}
		slack := 1e-9 * (1 + planned.Passes)
		if work.Samples > 0 { // the variance of a share of n records is at most 1/(4 n)
			slack = 8 * math.Sqrt(planned.Queries/4/200)
		}
		queries, passes := made.Queries-planned.Queries, made.Passes-planned.Passes
		if queries > 0 || passes > slack || !fewer && (queries < 0 || passes < -slack) {
			t.Errorf("%s %v, %s, %s: %v: %v in the plan, %v in the run (may be fewer: %q)", name, settings, of,
				plan.Summary().Algorithm, k, planned, made, why)
		}
	}
	for k := range did.Kinds {
		if _, ok := work.Kinds[k]; !ok {
			t.Errorf("%s %v, %s: %v: not in the plan", name, settings, of, k)
		}
	}
	if did.Metrics != work.Metrics || did.Samples != work.Samples {
		t.Errorf("%s %v, %s: %v metrics and %v samples, in the plan %v and %v", name, settings, of, did.Metrics, did.Samples,
			work.Metrics, work.Samples)
	}
}
