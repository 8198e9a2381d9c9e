package mechanism

import (
	"context"
	"fmt"
	"math"
	"testing"
)

func TestCalibrateGoldens(t *testing.T) {
	t.Parallel()
	// The expected value is from the tests of dp_accounting's accountant. The calibrated multiplier
	// is rounded up, so it may be slightly above the expected value but never below.
	z, err := sampledMultiplier(t.Context(), 1, 1e-5, .01, 1, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.67379294682; z < want*(1-1e-9) || z > want*(1+2e-4) {
		t.Errorf("multiplier %v, want %v", z, want)
	}
	// The run has 100 steps at q = .02 and 1900 steps at q = .005 with one multiplier. The expected
	// multipliers are known to about five digits.
	targets := []struct{ epsilon, want float64 }{{1, 1.507924}, {.5, 2.562007}, {3, .868438}}
	if testing.Short() {
		targets = nil // TestCalibratedSchedulesOfAnyPlan calibrates, too
	}
	for _, c := range targets {
		events := func(z float64) ([]Composed, error) {
			return []Composed{{sampled(t, z, .02, AddOrRemove), 100}, {sampled(t, z, .005, AddOrRemove), 1900}}, nil
		}
		z, err := CalibrateMultiplier(t.Context(), c.epsilon, 1e-6, events)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(z/c.want-1) <= 2e-4) {
			t.Errorf("epsilon %v: multiplier %v, want %v", c.epsilon, z, c.want)
		}
		private, _ := events(z)
		if b, err := compose(t, 1e-3, private...).Delta(t.Context(), c.epsilon); err != nil || b.Lower > 1e-6 {
			t.Errorf("epsilon %v: delta %v, %v", c.epsilon, b, err)
		}
	}
}

// TestCalibrateGaussian compares a calibration of Gaussian mechanisms with the exact multiplier.
func TestCalibrateGaussian(t *testing.T) {
	for _, steps := range []int{1, 25} {
		for _, r := range []Relation{AddOrRemove, ReplaceOne} {
			mu, err := GaussianMu(.8, 1e-7)
			if err != nil {
				t.Fatal(err)
			}
			want := math.Sqrt(float64(steps)) / mu
			if r == ReplaceOne {
				want *= 2
			}
			z, err := sampledMultiplier(t.Context(), .8, 1e-7, 1, steps, r)
			if err != nil || z < want*(1-1e-12) || z > want*(1+1e-5) {
				t.Errorf("%d steps, %v: multiplier %v, %v; want %v", steps, r, z, err, want)
			}
		}
	}
	n, err := CalibrateCount(t.Context(), 1, 1e-6, func(n int) ([]Composed, error) {
		m, err := NewGaussian(100)
		return []Composed{{m, n}}, err
	})
	mu, _ := GaussianMu(1, 1e-6)
	if want := int(mu * mu * 1e4); err != nil || n != want {
		t.Errorf("count %d, %v; want %d", n, err, want)
	}
}

func TestCalibrateCountAndSampling(t *testing.T) {
	t.Parallel()
	const epsilon, delta = 2, 1e-5
	steps := func(n int) ([]Composed, error) { return []Composed{{sampled(t, 1.2, .02, AddOrRemove), n}}, nil }
	n, err := CalibrateCount(t.Context(), epsilon, delta, steps)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []bool{true, false} {
		e, _ := steps(n + k*(1+n/200))
		b, err := compose(t, 1e-3, e...).Delta(t.Context(), epsilon)
		if err != nil || (b.Lower <= delta) != want {
			t.Errorf("%d steps and %d: delta %v, %v", n, k, b, err)
		}
	}
	q, err := CalibrateSampling(t.Context(), epsilon, delta, func(q float64) ([]Composed, error) {
		return []Composed{{sampled(t, 1.2, q, AddOrRemove), n}}, nil
	})
	if err != nil || !(math.Abs(q/.02-1) <= 5e-3) {
		t.Errorf("sampling %v, %v; want .02", q, err)
	}
}

func TestCalibrateExtremes(t *testing.T) {
	t.Parallel()
	// For a target as weak as epsilon = 1e6 the smallest multiplier is enough.
	if z, err := sampledMultiplier(t.Context(), 1e6, .5, .001, 1, AddOrRemove); err != nil || z != multiplierLeast {
		t.Errorf("multiplier %v, %v", z, err)
	}
	// An unreachable target is an error.
	pure, _ := newPure(1)
	if z, err := CalibrateMultiplier(t.Context(), .5, 1e-9,
		func(float64) ([]Composed, error) { return []Composed{{pure, 1}}, nil }); err == nil {
		t.Errorf("multiplier %v", z)
	}
	if n, err := CalibrateCount(t.Context(), .5, 1e-9,
		func(n int) ([]Composed, error) { return []Composed{{pure, n}}, nil }); n != 0 || err != nil {
		t.Errorf("count %d, %v", n, err)
	}
	for _, c := range [][2]float64{{0, 1e-5}, {math.NaN(), 1e-5}, {1, 0}, {1, 1}, {math.Inf(1), .1}} {
		if _, err := sampledMultiplier(t.Context(), c[0], c[1], .1, 1, AddOrRemove); err == nil {
			t.Errorf("epsilon %v, delta %v: no error", c[0], c[1])
		}
	}
	if _, err := sampledMultiplier(t.Context(), 1, 1e-5, .1, 0, AddOrRemove); err == nil {
		t.Error("no steps: no error")
	}
	if _, err := sampledMultiplier(t.Context(), 1, 1e-5, 2, 1, AddOrRemove); err == nil {
		t.Error("sampling 2: no error")
	}
}

// sampledMultiplier is [CalibrateMultiplier] for a Gaussian mechanism that is used on the given
// number of Poisson samples.
func sampledMultiplier(ctx context.Context, epsilon, delta, sampling float64, steps int, r Relation) (float64, error) {
	if steps < 1 {
		return 0, fmt.Errorf("account: steps = %d: must be >= 1", steps)
	}
	return CalibrateMultiplier(ctx, epsilon, delta, func(multiplier float64) ([]Composed, error) {
		m, err := NewSampledGaussian(multiplier, sampling, r)
		return []Composed{{m, steps}}, err
	})
}
