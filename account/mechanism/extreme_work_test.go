package mechanism

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCalibrationsOfAnything tests that every calibration ends within the work allowed, with an
// error or with a value that a separate proof finds private.
func TestCalibrationsOfAnything(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 1))
	answered := 0
	for range trials(32) {
		epsilon, delta := anyFloat(r), anyProbability(r)
		q, steps := anyProbability(r), anyCount(r)
		if r.IntN(2) == 0 {
			epsilon, delta = logUniform(r, 1e-9, 1e6), logUniform(r, 1e-300, .9)
		}
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		events := func(z float64) ([]Composed, error) {
			m, err := NewSampledGaussian(z, q, relation)
			return []Composed{{m, steps}}, err
		}
		e := newEffort(t.Context(), little)
		z, err := calibrateMultiplier(e, epsilon, delta, events)
		if e.left < -2*little {
			t.Errorf("epsilon %v, delta %v, q %v, %d steps: %v of %d units of work", epsilon, delta, q, steps, little-e.left,
				little)
		}
		if err != nil {
			continue
		}
		answered++
		if !(z >= multiplierLeast && z <= multiplierMost) {
			t.Fatalf("epsilon %v, delta %v, q %v, %d steps: multiplier %v", epsilon, delta, q, steps, z)
		}
		list, err := events(z)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := private(newEffort(t.Context(), little), list, epsilon, delta); err != nil || !ok {
			t.Errorf("epsilon %v, delta %v, q %v, %d steps: multiplier %v is not private: %v", epsilon, delta, q, steps, z, err)
		}
	}
	if answered < 1 && !testing.Short() { // a short run tries one calibration
		t.Errorf("only %d calibrations ended with an answer", answered)
	}
}

// TestCalibrationKeepsItsLastAnswer tests searches that end early. If the work allowed is used up,
// the search must return the last value that it found private. Any other error must end the search
// and be returned.
func TestCalibrationKeepsItsLastAnswer(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct {
		ends, want error
		looks      int
	}{{errEffort, nil, 1}, {errEffort, nil, 4}, {other, other, 1}, {other, other, 4}} {
		looks := 0
		x, err := bisect(1, 16, func(x float64) (bool, error) {
			if looks++; looks == c.looks {
				return false, c.ends
			}
			return x >= 5, nil
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%v at look %d: %v", c.ends, c.looks, err)
		}
		if err == nil && !(x >= 5 && x <= 16) {
			t.Errorf("%v at look %d: %v was never found", c.ends, c.looks, x)
		}
	}
}

// TestScheduleCountsWithinRange tests that a count, or a sum of counts, beyond the range is
// refused, also if the sum overflows to a valid number.
func TestScheduleCountsWithinRange(t *testing.T) {
	for _, counts := range [][]int{
		{}, {0}, {-1}, {countLimit + 1}, {math.MaxInt}, {math.MinInt}, {5, -4},
		{math.MaxInt, 1}, {math.MaxInt, math.MaxInt, 3}, {math.MaxInt, math.MaxInt, 2}, {countLimit, 1},
		{1 << 29, 1 << 29, 1},
	} {
		var steps []SampledSteps
		for i, n := range counts {
			steps = append(steps, SampledSteps{1e9 * float64(i+1), 1e-6, n})
		}
		p := SampledPlan{Steps: steps, Relation: ReplaceOne}
		for name, ask := range map[string]func() error{
			"prove":     func() error { _, err := p.Prove(t.Context(), 1, 1e-6); return err },
			"calibrate": func() error { _, _, err := p.Calibrate(t.Context(), 1, 1e-6); return err },
		} {
			if err := ask(); err == nil || !strings.Contains(err.Error(), "count") && len(counts) > 0 {
				t.Errorf("%s, counts %v: %v", name, counts, err)
			}
		}
	}
}

// TestTinyDelta tests a delta for which masses would be too small for float64. If losses are
// unbounded, the delta must be refused at once. If losses are bounded, epsilon must be at most the
// largest loss.
func TestTinyDelta(t *testing.T) {
	for _, delta := range []float64{math.SmallestNonzeroFloat64, 1e-310, 1e-300, 9e-281} {
		for _, relation := range []Relation{ReplaceOne, AddOrRemove} {
			c := compose(t, 1e-3, Composed{sampled(t, 4, .25, relation), 2}, Composed{sampled(t, 8, .5, relation), 3})
			e := newEffort(t.Context(), effortMost)
			b, err := c.epsilon(e, delta)
			if err == nil || effortMost-e.left > 1<<16 {
				t.Errorf("%v at delta %v: %v, %v after %v units of work", relation, delta, b, err, effortMost-e.left)
			}
		}
		m, err := newLaplace(2)
		c := compose(t, 1e-3, Composed{mustMechanism(t, m, err), 3})
		if b, err := c.Epsilon(t.Context(), delta); err != nil || !(b.Upper >= 1.5 && b.Upper < 1.5001) {
			t.Errorf("laplace at delta %v: %v, %v", delta, b, err)
		}
	}
}

// TestRarestSamples tests sampling probabilities so small that the losses are lost in the rounding
// of float64. delta must be at most the number of uses times the sampling probability.
func TestRarestSamples(t *testing.T) {
	t.Parallel()
	for _, q := range []float64{1e-100, 1e-116, 1e-117, 1e-200} {
		for _, relation := range []Relation{ReplaceOne, AddOrRemove} {
			c := compose(t, 1e-3, Composed{sampled(t, 1, q, relation), 100})
			if b, err := c.Epsilon(t.Context(), 100*q*1.001); err != nil || b != (Bracket{}) {
				t.Errorf("q %v, %v: epsilon %v, %v", q, relation, b, err)
			}
			b, err := c.delta(newEffort(t.Context(), little), 0)
			if err != nil || !(b.Upper <= 100*q*1.001 && b.Upper >= 10*q) {
				t.Errorf("q %v, %v: delta %v, %v", q, relation, b, err)
			}
		}
	}
	// The bound on delta, the number of uses times the sampling probability, is for the whole
	// composition and not for one use: epsilon is here not 0.
	c := compose(t, 1e-3, Composed{sampled(t, 1, .01, AddOrRemove), 100})
	if b, err := c.Epsilon(t.Context(), 1e-3); err != nil || !(b.Upper > 0) {
		t.Errorf("100 uses of samples of .01 at delta 1e-3: %v, %v", b, err)
	}
}
