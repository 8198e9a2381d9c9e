//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// TestFirstOrder measures the first-order methods on the synthetic families, and fails if a result misses
// its target. The targets of Auto's first candidate are of before passes were weighed: those are counted, and
// the test fails beyond two noise levels. It prints Markdown. Gradient norms are in units of the noise level r
// unless stated otherwise; d = 100, epsilon 1, delta n^-1.5. The noise comes from simulated sessions. It has
// the same exact distribution as in real sessions.
func TestFirstOrder(t *testing.T) {
	t.Run("Auto", firstCandidate)
	t.Run("STORM", stormLast)
	t.Run("SlowTail", slowTail)
	t.Run("Ball", balls)
}

const dimension, distinct = 100, 2000

// glms returns the two families of generalised linear models.
func glms(t *testing.T) []*experiment.Family {
	t.Helper()
	tanh, err := experiment.Tanh(dimension, distinct, 1)
	if err != nil {
		t.Fatal(err)
	}
	logistic, err := experiment.LogisticNonconvex(dimension, distinct, 1)
	if err != nil {
		t.Fatal(err)
	}
	return []*experiment.Family{tanh, logistic}
}

func instance(t *testing.T, f *experiment.Family, effective float64) experiment.Instance {
	t.Helper()
	s, err := experiment.NewInstance(f, effective, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type planner = optimize.Algorithm

func plan(t *testing.T, s experiment.Instance, c planner) optimize.Plan {
	t.Helper()
	problem, err := s.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(context.Background(), problem)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ratios runs a plan with seeds first, first+1, ... and returns gradient norms divided by r.
func ratios(t *testing.T, s experiment.Instance, p optimize.Plan, first uint64, seeds int) []float64 {
	t.Helper()
	out := make([]float64, seeds)
	var failed error
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				o, err := s.Run(context.Background(), p, first+uint64(i))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
				out[i] = o.Ratio()
			}
		})
	}
	for i := range out {
		next <- i
	}
	close(next)
	wg.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
	return out
}

func firstCandidate(t *testing.T) {
	const seeds = 20
	fmt.Printf("\n## The first candidate of Auto\n\n%d distinct rows, medians of %d seeds.\n\n", distinct, seeds)
	fmt.Print("| family | N | chosen | steps | measured / r | target | predicted / r | predicted / measured |\n|---|---|---|---|---|---|---|---|\n")
	var agreement []float64
	missed := 0
	for _, f := range glms(t) {
		for _, effective := range []float64{500, 659, 1000, 2044, 3000, 5012, 5783, 10000, 15000, 18197} {
			s := instance(t, f, effective)
			list, err := choose.Auto{}.Candidates(context.Background(), problemOf(t, s))
			if err != nil {
				t.Fatal(err)
			}
			o := list[0].Summary
			got := experiment.Median(ratios(t, s, list[0].Plan, 1, seeds))
			target := 1.5
			switch {
			case effective >= 15000:
				target = 1.12
			case effective >= 5000:
				target = 1.2
			case effective >= 2000:
				target = 1.3
			}
			predicted := o.Predicted / o.Floor
			agreement = append(agreement, predicted/got)
			fmt.Printf("| %s | %.0f | %s | %d | %.3f | %.2f | %.3f | %.2f |\n",
				f.Name, o.Effective, o.Algorithm, o.Steps, got, target, predicted, predicted/got)
			if !(got <= target) {
				missed++
			}
			if !(got <= 2) {
				t.Errorf("%s at N = %.0f: %s reaches %.3f r: want at most 2", f.Name, o.Effective, o.Algorithm, got)
			}
		}
	}
	fmt.Printf("\n%d targets, of when passes were not weighed, are missed.\n", missed)
	m := experiment.Median(agreement)
	fmt.Printf("\nMedian of predicted over measured: %.2f (target: within a factor 1.5).\n", m)
	if !(m <= 1.5 && m >= 1/1.5) {
		t.Errorf("predicted over measured: median %.2f", m)
	}
}

func stormLast(t *testing.T) {
	const seeds, target = 30, 1.2
	fmt.Printf("\n## The last iterate of STORM\n\n%d distinct rows, medians of %d seeds; target %.1f r for N of 5000 and more. Steps by the rule, and 2000 where that meets its cap of 1000. Half radius: `Ball{Fraction: 0.5}`, for comparison.\n\n", distinct, seeds, target)
	fmt.Print("| family | N | steps | measured / r | predicted / r | half radius / r |\n|---|---|---|---|---|---|\n")
	for _, f := range glms(t) {
		t.Run(f.Name, func(t *testing.T) {
			for _, effective := range []float64{5012, 5783, 10000, 15000, 18197} {
				s := instance(t, f, effective)
				rule := plan(t, s, firstorder.STORM{}).Summary().Steps
				steps := []int{rule}
				if rule == 1000 {
					steps = append(steps, 2000)
				}
				for _, n := range steps {
					p := plan(t, s, firstorder.STORM{Steps: n})
					o := p.Summary()
					got := experiment.Median(ratios(t, s, p, 1, seeds))
					half := "the same"
					if f.Loss.Constants().Curvature.Lo < 0 {
						other := plan(t, s, firstorder.STORM{Steps: n, Ball: optimize.DifferenceBall{Fraction: .5}})
						half = fmt.Sprintf("%.3f", experiment.Median(ratios(t, s, other, 1, seeds)))
					}
					fmt.Printf("| %s | %.0f | %d | %.3f | %.3f | %s |\n", f.Name, o.Effective, o.Steps, got, o.Predicted/o.Floor, half)
					if !(got <= target) {
						t.Errorf("%s at N = %.0f, %d steps: STORM reaches %.3f r: want at most %.1f", f.Name, o.Effective, o.Steps, got,
							target)
					}
				}
			}
		})
	}
}

// tuned is a configuration of an algorithm and its result on the tuning seeds.
type tuned struct {
	name string
	planner
	ratio float64
}

// tune returns the configuration with the smallest median over seeds that later measurements do not
// use.
func tune(t *testing.T, s experiment.Instance, list []tuned) tuned {
	t.Helper()
	best := tuned{ratio: math.Inf(1)}
	for _, c := range list {
		if c.ratio = experiment.Median(ratios(t, s, plan(t, s, c), 1000, 2)); c.ratio < best.ratio {
			best = c
		}
	}
	return best
}

// boost returns a configuration of SpiderBoost with its name in tables.
func boost(c firstorder.SpiderBoost) tuned {
	return tuned{
		name: fmt.Sprintf("T %d, h %g, q %d, anchors' share %g, %v", c.Steps, c.StepScale, c.Period, c.AnchorShare,
			c.Output),
		planner: c,
	}
}

func slowTail(t *testing.T) {
	const seeds, rows = 12, 40
	f, err := experiment.SlowTail(dimension, rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	var descents, boosts []tuned
	for _, T := range []int{300, 1000, 3000, 10000} {
		for _, h := range []float64{.1, .3, 1, 1.9} {
			for _, constant := range []bool{false, true} {
				descents = append(descents, tuned{
					name:    fmt.Sprintf("T %d, h %g, constant charges %t", T, h, constant),
					planner: firstorder.GD{Steps: T, StepScale: h, ConstantCharges: constant, Output: optimize.Last},
				})
			}
		}
	}
	for _, T := range []int{1000, 4000, 16000} {
		for _, h := range []float64{1, 1.9} {
			for _, q := range []int{T / 100, T / 30, T / 8} {
				for _, share := range []float64{.4, .8} {
					boosts = append(boosts, boost(firstorder.SpiderBoost{Steps: T, StepScale: h, Period: q, AnchorShare: share,
						Output: optimize.Last}))
				}
			}
		}
	}
	fmt.Printf("\n## The slow tail\n\n%d distinct rows. Both tuned over a grid on 2 seeds, spiderboost's output last, then measured: medians of %d other seeds. gd: steps 300 to 10000, h .1 to 1.9, charges in proportion to t or constant; spiderboost: steps 1000 to 16000, h 1 or 1.9, periods T/100, T/30, T/8, anchors' shares .4, .8. The gain is that of spiderboost's best output.\n\n", rows, seeds)
	fmt.Print("| N | gd last / r | its setting | spiderboost last / average / smallest | its setting | gain (target 1.5) |\n|---|---|---|---|---|---|\n")
	for _, effective := range []float64{2044, 3000} {
		s := instance(t, f, effective)
		d, b := tune(t, s, descents), tune(t, s, boosts)
		descent := experiment.Median(ratios(t, s, plan(t, s, d), 1, seeds))
		var outputs [3]float64
		for i, out := range []optimize.Output{optimize.Last, optimize.TailAverage, optimize.Smallest} {
			c := b.planner.(firstorder.SpiderBoost)
			c.Output = out
			outputs[i] = experiment.Median(ratios(t, s, plan(t, s, boost(c)), 1, seeds))
		}
		gain := descent / min(outputs[0], outputs[1], outputs[2])
		fmt.Printf("| %.0f | %.2f | %s | %.2f / %.2f / %.2f | %s | %.2f |\n",
			plan(t, s, d).Summary().Effective, descent, d.name, outputs[0], outputs[1], outputs[2], b.name, gain)
		if !(gain >= 1.5) {
			t.Errorf("N = %.0f: SpiderBoost is %.2f times below GD's last iterate: want 1.5", effective, gain)
		}
	}
}

// balls compares STORM with the centred ball and with the textbook's ball, on the logistic loss,
// seed by seed.
func balls(t *testing.T) {
	const seeds, rows = 100, 1000
	f, err := experiment.LogisticNonconvex(dimension, rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\n## The centred ball\n\nSTORM on %s, %d distinct rows, medians of %d seeds, the same ones for both.\n\n",
		f.Name, rows, seeds)
	fmt.Print("| N | steps | centred / r | L1 around zero / r | gain |\n|---|---|---|---|---|\n")
	for _, effective := range []float64{200, 300, 450, 650, 1000, 1400, 2000, 3000, 5000, 8000, 12000, 20000} {
		s := instance(t, f, effective)
		centred := plan(t, s, firstorder.STORM{})
		plain := plan(t, s, firstorder.STORM{Ball: optimize.DifferenceBall{Fraction: 1}})
		a := experiment.Median(ratios(t, s, centred, 1, seeds))
		b := experiment.Median(ratios(t, s, plain, 1, seeds))
		o := centred.Summary()
		fmt.Printf("| %.0f | %d | %.3f | %.3f | %.3f |\n", o.Effective, o.Steps, a, b, b/a)
		if (effective == 650 || effective == 2000) && !(b/a >= 1.1) {
			t.Errorf("N = %.0f: gain %.3f: want at least 1.1", effective, b/a)
		}
		if !(a/b <= 1.03) {
			t.Errorf("N = %.0f: the centred ball costs a factor %.3f: want at most 1.03", effective, a/b)
		}
	}
}
