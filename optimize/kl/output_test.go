package kl_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// smallest lists the methods with output smallest.
var smallest = map[string]optimize.Algorithm{
	"strongly-convex": kl.StronglyConvex{Steps: 40, Lambda: .3, Output: optimize.Smallest},
	"proximal-point":  kl.Proximal{Steps: 9, Rounds: 4, Lambda: .2, Output: optimize.Smallest},
	"kl-geometric":    kl.Geometric{Steps: 40, Output: optimize.Smallest},
	"adaptive-gd":     kl.Adaptive{NormCharge: .01, LandingSteps: 9, Landing: .3, Output: optimize.Smallest},
	"kl-spider": kl.Spider{KL: optimize.KL{Kappa: 1.25, Gamma: 2}, Rounds: 6, Descent: 2, Threshold: 1e-6,
		Output: optimize.Smallest},
}

// TestSmallestOfAnyMethod: the result must be the point with the smallest released gradient norm, the
// regularizer's gradient included. If the method releases norms, the released norm counts, and otherwise
// the norm of the gradient estimate. The norm must be of F's gradient, even if a method descends another
// objective. The law must count all points that were compared. The test fails if the norm includes the
// proximal term, if the first or last point of a round is left out, or if only the first round counts.
func TestSmallestOfAnyMethod(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		for name, a := range smallest {
			plan, o, r, public := asked(t, a, p, 6000, 0)
			var g, best, at []float64
			least, looked, measured := math.Inf(1), 0, 0.
			for i, x := range o.Asked {
				term := x.Question.Terms()[0]
				switch term.Kind() {
				case query.Norm:
					measured = max(x.Answer.Mean[0], 0)
					continue
				case query.Gradient:
					g = x.Answer.Mean
				case query.Difference:
					g = add(g, 1, x.Answer.Mean)
				}
				if same(at, term.Point()) { // a round ended here, and the next starts
					looked--
				}
				at = term.Point()
				full := add(g, 1, make([]float64, len(g)))
				public.AddRegularizer(full, at)
				norm := length(full)
				// The landing releases no norms. The last norm before the landing must not count, because the noise of
				// the next gradient is not proportional to this norm.
				if adaptive := i+1 < len(o.Asked) && o.Asked[i+1].Question.Terms()[0].Kind() == query.Norm; adaptive &&
					measured > 0 {
					norm = measured
				}
				measured = 0
				looked++
				if norm < least {
					least, best = norm, at
				}
			}
			if !same(r.W, best) {
				t.Errorf("%s, %s: result %v: want %v", p.Name, name, r.W, best)
			}
			if r.Trace.Chosen < looked || r.Trace.Chosen > len(o.Asked) || r.Trace.Exact() ||
				!strings.HasPrefix(r.Output, "smallest") {
				t.Errorf("%s, %s: chosen among %d, %q: want %d or more", p.Name, name, r.Trace.Chosen, r.Output, looked)
			}
			if plan.Properties().Averaged {
				t.Errorf("%s, %s: is an average", p.Name, name)
			}
		}
	}
}

// TestProximalSmallestNoise: with output smallest, the law's noise must be the noise of the averages of
// the first three rounds and of the last point of the fourth, times the factor for a choice among 36
// points. The test fails if the law states the noise of an average for the chosen point.
func TestProximalSmallestNoise(t *testing.T) {
	p := optimizetest.Problems()[1]
	a := kl.Proximal{Steps: 9, Rounds: 4, Lambda: .2}
	_, _, average, _ := asked(t, a, p, 6000, 0)
	a.Output = optimize.Smallest
	_, _, r, _ := asked(t, a, p, 6000, 0)
	// The first three rounds have equal noise, since each ends at an average. The last round has half of the budget,
	// and only it ends at a single point.
	var squares, lastSquares, last float64
	for s := range 9 {
		eta := r.Trace.StepSizes[s]
		var after float64
		for u := s + 1; u <= 9; u++ {
			after += 2 * float64(u) / (9 * 10)
		}
		noise := r.Trace.Noise[27+s]
		if want := r.Trace.Noise[s] / math.Sqrt(3); !close(noise, want, 1e-9) {
			t.Fatalf("noise of the last round %v: want %v for a share of one half and of one sixth", noise, want)
		}
		squares, lastSquares = squares+math.Pow(eta*after*r.Trace.Noise[s], 2), lastSquares+math.Pow(eta*after*noise, 2)
		last += math.Pow(eta*noise, 2)
	}
	if want := 3*math.Sqrt(squares) + math.Sqrt(lastSquares); !close(average.Trace.WeightNoise, want, 1e-9) {
		t.Errorf("noise of the average %v: want %v", average.Trace.WeightNoise, want)
	}
	if want := (3*math.Sqrt(squares) + math.Sqrt(last)) * math.Sqrt(2*(math.Log(2*36)+1)); !close(r.Trace.WeightNoise, want,
		1e-9) {
		t.Errorf("noise of the smallest %v: want %v", r.Trace.WeightNoise, want)
	}
}

// TestSelectedOfAnyMethod: with output selected, the result must be an iterate, drawn by the
// exponential mechanism from scores on held-out records (Menart et al. 2024, Theorem 5). The candidates
// must be spread over the steps that the run made, few or many, and both cohorts must be charged at
// most mu^2. The test fails if candidates are spread over the largest number of steps of the plan.
func TestSelectedOfAnyMethod(t *testing.T) {
	methods := map[string]optimize.Algorithm{
		"adaptive-gd, theorem": kl.Adaptive{Theorem: true, NormCharge: .02},
		"kl-spider, saving": kl.Spider{KL: optimize.KL{Kappa: 1, Gamma: .3}, Theorem: true, Rounds: 40, Descent: .01,
			Threshold: .1},
	}
	for name, a := range smallest {
		methods[name] = a
	}
	p := optimizetest.Problems()[1]
	for name, a := range methods {
		c := p.Config(budget(t), 1, 5)
		for len(c.Rows) < 2000 {
			c.Rows, c.Targets = append(c.Rows, c.Rows...), append(c.Targets, c.Targets...)
		}
		o := optimizetest.New(c)
		public := o.Problem(p.Public)
		plan, err := optimize.Selected{Of: a, Candidates: 6}.Plan(ctx, public)
		var w [][]float64
		remembers := &chooser{Oracle: o}
		r, err := resolve(t, plan, err).Run(ctx, remembers,
			func(s optimize.Step) { w = append(w, append([]float64(nil), s.W...)) })
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(r.Output, "selected by gradient among") || !r.Complete {
			t.Errorf("%s: %+v", name, r)
		}
		if mu := public.Mu; !(o.Charged() <= mu*mu) {
			t.Errorf("%s: charged %v of %v", name, o.Charged(), mu*mu)
		}
		reached := map[int]bool{}
		for _, q := range remembers.asked {
			for i := range w {
				if same(w[i], q.Terms()[0].Point()) {
					reached[4*i/len(w)] = true
				}
			}
		}
		if k, least := len(remembers.asked), min(4, len(w)); least < 2 || len(reached) != least || k < least || k > 7 {
			t.Errorf("%s: %d candidates, in the quarters %v of %d steps", name, k, reached, len(w))
		}
	}
}

// chooser is an oracle that records the candidates of a private selection.
type chooser struct {
	*optimizetest.Oracle
	asked []query.Question
}

func (c *chooser) Select(ctx context.Context, s query.Selection) (int, error) {
	c.asked = s.Questions()
	return c.Oracle.Select(ctx, s)
}
