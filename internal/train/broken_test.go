package train

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNoRunGoesOnWithoutAnAnswer: if a question has no answer, the run of every algorithm ends with its error, and is not
// complete before its last step, for the first and the last question of each kind. A result without the error would be
// taken for a whole one.
func TestNoRunGoesOnWithoutAnAnswer(t *testing.T) {
	broken := errors.New("broken")
	b, err := account.NewBudget(100, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	var rows [][]float32
	var targets []float64
	for range 120 {
		x := []float32{float32(2*r.Float64()-1) / 2, float32(2*r.Float64()-1) / 2, .5}
		rows, targets = append(rows, x), append(targets, float64(2*r.IntN(2)-1))
	}
	tried := map[string]int{}
	for _, name := range Algorithms() {
		for of, settings := range map[string][]Settings{
			"logistic":     {{}, {"output": "selected"}, {"look": 2}, {"period": 3}, {"inner": "spiderboost"}},
			"pinball(0.6)": {{}, {"smoothing": "sampled"}},
		} {
			l, err := loss.Parse(of)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range settings {
				ask := func(fails int) (optimize.Result, *optimizetest.Oracle, error) {
					o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: b, Seed: 9,
						Script: func(k int) error {
							if k == fails {
								return broken
							}
							return nil
						}})
					p, err := optimize.NewProblem(l, b, o)
					if err != nil {
						t.Fatal(err)
					}
					p.Explained = true
					c := Train{Algorithm: name, Settings: s}
					if c.Settings == nil {
						c.Settings = Settings{}
					}
					var plan optimize.Plan
					for _, steps := range []any{8, nil} {
						of := Settings{}
						for k, v := range s {
							of[k] = v
						}
						if steps != nil {
							of["steps"] = steps
						}
						c.Settings = of
						if plan, _, err = c.Plan(t.Context(), p); err == nil {
							break
						}
					}
					if err != nil || plan.Summary().Passes > 200 {
						return optimize.Result{}, nil, nil
					}
					result, err := plan.Run(t.Context(), o, nil)
					return result, o, err
				}
				_, o, err := ask(-1)
				if o == nil || err != nil { // no plan for the loss, or one that draws what this oracle does not
					continue
				}
				at := map[int]query.Kind{}
				first, last := map[query.Kind]int{}, map[query.Kind]int{}
				for k, a := range o.Asked {
					kind := a.Question.Term(0).Kind()
					if _, seen := first[kind]; !seen {
						first[kind] = k
					}
					last[kind] = k
				}
				for kind := range first {
					at[first[kind]], at[last[kind]] = kind, kind
				}
				for k, kind := range at {
					tried[name]++
					if result, _, err := ask(k); !errors.Is(err, broken) || result.Complete && k < len(o.Asked)/2 {
						t.Errorf("%s, %s: question %d, about %v, has no answer: error %v, complete %v", fmt.Sprint(name, s), of, k, kind, err,
							result.Complete)
					}
				}
			}
		}
	}
	if len(tried) < 18 {
		t.Errorf("%d algorithms were tried: %v", len(tried), tried)
	}
}
