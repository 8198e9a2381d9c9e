package firstorder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// visited returns the points at which queries were made, and the charge of each query.
func visited(o *optimizetest.Oracle) (points [][]float64, charges []float64) {
	for _, a := range o.Asked {
		points = append(points, a.Question.Terms()[0].Point())
		charges = append(charges, a.Question.Charge())
	}
	return points, charges
}

// TestOutputRules compares the result of each output rule with the rule applied to the recorded points.
// The norms of gradient estimates come from the observer. The test fails if the tail starts a step
// late, if weights are not the charges, if Smallest returns the largest or the last, if Random counts
// from 1, or if Last returns the last point of a query and not the point after it.
func TestOutputRules(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		for _, T := range []int{1, 2, 7, 20} {
			for rule := optimize.TailAverage; rule <= optimize.Random; rule++ {
				for _, m := range methods(settings{steps: T, scale: 1, output: rule}) {
					name := fmt.Sprintf("%s, %s, %v of %d", p.Name, m.name, rule, T)
					o := optimizetest.New(p.Config(budget(t), 200, uint64(T)))
					plan, err := m.plan(p.Public, o.Size())
					if err != nil {
						t.Fatal(err)
					}
					var norms []float64
					r, err := plan.Run(context.Background(), o, func(s optimize.Step) { norms = append(norms, s.GradientNorm) })
					if err != nil {
						t.Fatal(err)
					}
					points, charges := visited(o)
					var want []float64
					switch rule {
					case optimize.TailAverage:
						want = make([]float64, p.Public.Dim())
						var sum float64
						for k := range T {
							if 2*(k+1) >= T {
								want, sum = add(want, charges[k], points[k]), sum+charges[k]
							}
						}
						want = add(make([]float64, len(want)), 1/sum, want)
					case optimize.Smallest:
						best := 0
						for k, n := range norms {
							if n < norms[best] {
								best = k
							}
						}
						want = points[best]
					case optimize.Random:
						var pick, of int
						if _, err := fmt.Sscanf(r.Output, "random: iterate %d of %d,", &pick, &of); err != nil || of != T || pick < 1 ||
							pick > T {
							t.Fatalf("%s: output %q", name, r.Output)
						}
						want = points[pick-1]
					case optimize.Last:
						// Last: the point after the last step, computed in lastPoint.
						longer := lastPoint(t, p, m.name, T, plan)
						want = longer
					}
					if !same(r.W, want) || !r.Complete || r.Steps != T {
						t.Errorf("%s: %+v: want %v", name, r, want)
					}
					if rule != optimize.Random && r.Output != rule.String() || plan.Summary().Output != r.Output {
						t.Errorf("%s: output %q, planned %q", name, r.Output, plan.Summary().Output)
					}
				}
			}
		}
	}
}

// lastPoint returns the point to which the last answer of a run leads. It runs the plan again with the
// same random bits, recomputes the gradient estimate from the answers and makes the final step.
func lastPoint(t *testing.T, p optimizetest.Problem, name string, T int, plan optimize.Plan) []float64 {
	t.Helper()
	o := optimizetest.New(p.Config(budget(t), 200, uint64(T)))
	run(t, plan, o)
	var estimate []float64
	for k, a := range o.Asked {
		terms := a.Question.Terms()
		switch {
		case k == 0 || name == "gd" || a.Question.Name() == "gradient" && terms[0].Weight() == 1:
			estimate = a.Answer.Mean
		case name == "spiderboost":
			estimate = add(estimate, 1, a.Answer.Mean)
		default:
			keep := terms[len(terms)-1].Weight() // 1 - K, of the difference
			if terms[len(terms)-1].Kind().String() == "gradient" {
				keep = 1 - keep
			}
			estimate = add(a.Answer.Mean, keep, estimate)
		}
	}
	last := o.Asked[T-1].Question.Terms()[0].Point()
	return descend(p.Public, last, estimate, plan.Summary().StepSize)
}

// TestRandomIsUniform: over 4000 plans, the rule Random must pick each of 4 iterates between 800 and
// 1200 times. A correct rule fails with probability below 2e-8 (Hoeffding: 4 * 2 exp(-2 * 200^2/4000)).
func TestRandomIsUniform(t *testing.T) {
	p := optimizetest.Problems()[0]
	counts := map[string]int{}
	for seed := range uint64(4000) {
		problem := with(p.Public, size{Records: 100, Mu: 1})
		problem.Seed = seed
		plan, err := firstorder.GD{Steps: 4, Output: optimize.Random}.Plan(ctx, problem)
		counts[resolve(t, plan, err).Summary().Output]++
	}
	for output, n := range counts {
		if n < 800 || n > 1200 {
			t.Errorf("%s: %d times of 4000", output, n)
		}
	}
	if len(counts) != 4 {
		t.Errorf("picks: %v", counts)
	}
}

func TestParseOutput(t *testing.T) {
	parse := func(s string) (optimize.Output, error) {
		i, err := optimize.Named("output", s, func(i uint8) fmt.Stringer { return optimize.Output(i) })
		return optimize.Output(i), err
	}
	for rule := optimize.TailAverage; rule <= optimize.Random; rule++ {
		if got, err := parse(rule.String()); got != rule || err != nil {
			t.Errorf("%v: parsed as %v, %v", rule, got, err)
		}
	}
	if got, err := parse(""); got != optimize.RuleOutput || got.Or(optimize.Last) != optimize.Last ||
		got.Or(optimize.Smallest) != optimize.Smallest || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	if _, err := parse("best"); err == nil || !strings.Contains(err.Error(), `"best": must be one of`) {
		t.Errorf("best: %v", err)
	}
	if s := optimize.Output(9).String(); s != "output(9)" {
		t.Errorf("unknown: %s", s)
	}
}
