package runrecord_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimizetest"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// impulses returns the standard deviations of the noise in each step's gradient estimate and in the
// weighted average of the iterates w_0, ..., w_T, for a run on a flat loss, where an answer
// consists of its noise alone. It simulates the run once for each release: in that simulation the
// release's noise is its standard deviation, and every other noise is 0.
func impulses(l runrecord.Trace, weights []float64) (estimate []float64, weight float64) {
	T := len(l.Noise)
	estimate = make([]float64, T)
	for k := range T {
		w, last, result := 0., 0., 0.
		e := make([]float64, T)
		for t := range T {
			if l.Momentum != nil {
				w, last = w+l.Momentum[t]*(w-last), w
			}
			result += weights[t] * w
			if from := t - l.Back[t]; from >= 0 {
				e[t] = l.Keep[t] * e[from]
			}
			if t == k {
				e[t] += l.Noise[t]
			}
			w -= l.StepSizes[t] * e[t]
			estimate[t] += e[t] * e[t]
		}
		result += weights[T] * w
		weight += result * result
	}
	for t := range estimate {
		estimate[t] = math.Sqrt(estimate[t])
	}
	return estimate, math.Sqrt(weight)
}

// TestNoisesAgainstTheWalk tests Noises for random laws, descriptions of runs: it must agree with
// impulses, which simulates the run. The laws have corrections of earlier estimates, any weights,
// and momentum or none. The test fails if the effect of a release on later estimates is left out,
// if a weight is given to the iterate before or after, or if a step uses the size or the momentum
// of another step.
func TestNoisesAgainstTheWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		T := 1 + r.IntN(12)
		var l runrecord.Trace
		weights, sum := make([]float64, T+1), 0.
		for t := range T {
			l.Back, l.Keep = append(l.Back, 1+r.IntN(t+1)), append(l.Keep, float64(r.IntN(3))/2)
			l.Noise, l.StepSizes = append(l.Noise, r.ExpFloat64()), append(l.StepSizes, r.ExpFloat64())
		}
		for t := range weights {
			weights[t] = r.Float64()
			sum += weights[t]
		}
		for t := range weights {
			weights[t] /= sum
		}
		last := make([]float64, T+1)
		last[T] = 1
		if r.IntN(2) == 0 {
			for t := range T {
				l.Momentum = append(l.Momentum, float64(t)/float64(t+3))
			}
		}
		for _, w := range [][]float64{weights, last} {
			if l.Weights = w; w[T] == 1 {
				l.Weights = nil
			}
			estimate, weight := l.Noises()
			wantE, want := impulses(l, w)
			if !optimizetest.Same(estimate, wantE) || !optimizetest.Close(weight, want, 1e-9) || !l.Exact() {
				t.Fatalf("%+v: %v, %v: want %v, %v", l, estimate, weight, wantE, want)
			}
		}
	}
}

// TestNoisesOfRoundsAndChoices tests the noise of runs in several rounds, whose standard deviations
// are added, and of a choice among c points, which multiplies the standard deviation by sqrt(2
// log(2c) + 2). For a law with Move each step must add Move to the bound.
func TestNoisesOfRoundsAndChoices(t *testing.T) {
	l := runrecord.Trace{Noise: []float64{3, 4, 5}, StepSizes: []float64{1}, Rounds: []int{2, 3}}
	if _, w := l.Noises(); !optimizetest.Close(w, 5+5, 1e-12) || l.Exact() {
		t.Errorf("rounds: %v: want 10, a bound", w)
	}
	l.Rounds, l.Chosen = nil, 4
	if _, w := l.Noises(); !optimizetest.Close(w, math.Sqrt(50)*math.Sqrt(2*math.Log(8)+2), 1e-12) || l.Exact() {
		t.Errorf("chosen: %v", w)
	}
	l.Chosen, l.Move = 0, .5
	if _, w := l.Noises(); w != 1.5 || l.Exact() {
		t.Errorf("moves: %v: want 1.5", w)
	}
	long := runrecord.Trace{Noise: make([]float64, 20_001), StepSizes: []float64{1}, WeightNoise: 1.0000049}
	if c := long.Compact(); len(c.Noise) != 0 || c.WeightNoise != 1 {
		t.Errorf("a long run keeps %d entries and %v", len(c.Noise), c.WeightNoise)
	}
}
