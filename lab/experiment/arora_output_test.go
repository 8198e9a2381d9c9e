//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// dimensions compares methods that read every record once, on the problem of estimating a mean.
func dimensions(t *testing.T) {
	const n, runs = 100_000, 15
	methods := []method{
		{name: "tree-spider", settings: train.Train{Algorithm: "tree-spider"}, onePass: true},
		{name: "one-pass-sgd", settings: train.Train{Algorithm: "one-pass-sgd"}, onePass: true},
		{name: "one-pass-storm", settings: train.Train{Algorithm: "one-pass-storm"}, onePass: true},
		{name: "gd, one step", settings: train.Train{Algorithm: "gd",
			Settings: train.Settings{"steps": 1, "step_scale": 1, "output": "last"}}},
	}
	fmt.Printf("\n## One pass for a mean, n = %d\n\nhuber-mean, 1000 distinct rows; medians of %d runs, predictions in brackets.\n\n| d |", n, runs)
	for _, m := range methods {
		fmt.Printf(" %s |", m.name)
	}
	fmt.Print("\n|---|---|---|---|---|\n")
	for _, d := range []int{1, 2, 5, 10, 30, 100} {
		f, err := experiment.HuberMean(d, 1000, 1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("| %d |", d)
		s := newTable(t, f, n, true)
		for _, m := range methods {
			p := m.plan(t, s)
			var norms []float64
			for seed := range uint64(runs) {
				norms = append(norms, gradient(t, f, m.reach(t, s, p, seed+1)))
			}
			fmt.Printf(" %.1e (%.1e) |", experiment.Median(norms), p.Summary().Predicted)
		}
		fmt.Println()
	}
}

// phasedCost measures the time of whole fits of PhasedSGD, and of steps of gd, in one goroutine on
// distinct rows.
func phasedCost(t *testing.T) {
	const n = 200_000
	f, err := experiment.Logistic(100, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := newTable(t, f, n, false)
	fastest := func(c train.Train) (time.Duration, optimize.Summary) {
		m := method{name: c.Algorithm, settings: c}
		p := m.plan(t, s)
		best := time.Hour
		for seed := range uint64(3) {
			o := s.open(t, true, seed)
			start := time.Now()
			if _, err := p.Run(context.Background(), o, nil); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		return best, p.Summary()
	}
	one, _ := fastest(train.Train{Algorithm: "gd", Settings: train.Settings{"steps": 1}})
	eleven, _ := fastest(train.Train{Algorithm: "gd", Settings: train.Settings{"steps": 11}})
	pass := (eleven - one) / 10
	fit, o := fastest(train.Train{Algorithm: "recursive", Settings: train.Settings{"inner": "phased-sgd"}})
	fmt.Printf("\n## Cost of PhasedSGD, n = %d, d = 100\n\nA step of gd takes %v; a fit of %.4g passes in %d phases %v, %.2f of such steps.\n", n, pass, o.Passes, o.Steps, fit, float64(fit)/float64(pass))
}

// outputs compares output rules on the same runs.
func outputs(t *testing.T) {
	const seeds = 9
	fmt.Printf("\n## Output rules, tanh, d = 100\n\n400 distinct rows, medians of %d runs of the gradient norm in units of r. Smallest: released estimates; best: the true best of 64 iterates, which nobody is told.\n\n", seeds)
	fmt.Print("| algorithm | N | random | last | tail average | smallest | selected, 8 + 1 | selected, 30 + 1 | best |\n|---|---|---|---|---|---|---|---|---|\n")
	f, err := experiment.Tanh(100, 400, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct {
		name      string
		algorithm optimize.Algorithm
	}{
		{"spiderboost, theorem", firstorder.SpiderBoost{Theorem: true, Batches: firstorder.AllRecords,
			Output: optimize.Last}},
		{"spiderboost", firstorder.SpiderBoost{}},
		{"gd, constant charges, h = 1", firstorder.GD{ConstantCharges: true, StepScale: 1, Output: optimize.Last}},
		{"gd", firstorder.GD{}},
	} {
		for _, n := range []int{10_000, 30_000, 100_000} {
			s := newTable(t, f, n, false)
			var columns [7][]float64
			var r, effective float64
			for seed := range uint64(seeds) {
				p, err := a.algorithm.Plan(context.Background(), s.problem(t))
				if err != nil {
					t.Fatal(err)
				}
				r, effective = p.Summary().Floor, p.Summary().Effective
				for i, w := range iterates(t, s, p, seed+1) {
					columns[i] = append(columns[i], gradient(t, f, w)/r)
				}
				for i, candidates := range []int{8, 30} {
					if n > 30_000 || n == 30_000 && candidates == 8 { // a drawn cohort is read record by record
						columns[5+i] = append(columns[5+i], math.NaN())
						continue
					}
					p, err := optimize.Selected{Of: a.algorithm, Candidates: candidates}.Plan(context.Background(), s.problem(t))
					if err != nil {
						t.Fatal(err)
					}
					result, err := p.Run(context.Background(), s.open(t, false, seed+1), nil)
					if err != nil {
						t.Fatal(err)
					}
					columns[5+i] = append(columns[5+i], gradient(t, f, result.W)/r)
				}
			}
			fmt.Printf("| %s | %.0f |", a.name, effective)
			for _, i := range []int{0, 1, 2, 3, 5, 6, 4} {
				if m := experiment.Median(columns[i]); m != m {
					fmt.Print(" |")
				} else {
					fmt.Printf(" %.2f |", m)
				}
			}
			fmt.Println()
		}
	}
}

// iterates returns five points of one run: a random iterate; the last iterate; the average of the
// second half (the plan's own average if it has one); the iterate with the smallest released
// gradient; and, among 64 iterates, the one with the smallest true gradient.
func iterates(t *testing.T, s table, p optimize.Plan, seed uint64) [5][]float64 {
	t.Helper()
	d := s.family.Dim()
	T := p.Summary().Steps
	pick := rand.New(rand.NewPCG(seed, 0x0a17)).IntN(T)
	var out [5][]float64
	for i := range out {
		out[i] = make([]float64, d)
	}
	smallest, best := math.Inf(1), math.Inf(1)
	before := make([]float64, d) // the point at which the step's estimate was released
	result, err := p.Run(context.Background(), s.open(t, false, seed), func(step optimize.Step) {
		if step.GradientNorm < smallest {
			smallest = step.GradientNorm
			copy(out[3], before)
		}
		copy(before, step.W)
		if step.Number == pick {
			copy(out[0], step.W)
		}
		if step.Number > T/2 {
			for j, v := range step.W {
				out[2][j] += v / float64(T-T/2)
			}
		}
		if step.Number*64/T > (step.Number-1)*64/T {
			if g := gradient(t, s.family, step.W); g < best {
				best = g
				copy(out[4], step.W)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	copy(out[1], before)
	if result.Output == optimize.TailAverage.String() {
		copy(out[2], result.W)
	}
	return out
}
