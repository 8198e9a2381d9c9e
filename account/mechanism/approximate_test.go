package mechanism

import (
	"context"
	"math"
	"testing"
)

// TestApproximateMu compares the bound that ApproximateMu's result states with a new composition of
// the steps, at many epsilons that ApproximateMu did not use. The delta of the composition must be
// within the bound. The mu must also not be much above its limit for many small steps (Dong, Roth &
// Su 2022, corollary 5.4: q sqrt(T (e^(1/z^2) - 1)) under add-or-remove, in their symmetrised
// form).
func TestApproximateMu(t *testing.T) {
	ctx := context.Background()
	const delta = 1e-8
	for i, c := range []struct {
		steps []SampledSteps
		r     Relation
	}{
		{[]SampledSteps{{NoiseMultiplier: 2, Sampling: .02, Count: 1000}}, AddOrRemove},
		{[]SampledSteps{{NoiseMultiplier: 3, Sampling: .05, Count: 200}, {NoiseMultiplier: 4, Sampling: .01, Count: 50}},
			ReplaceOne},
		{[]SampledSteps{{NoiseMultiplier: 5, Sampling: 1, Count: 4}}, AddOrRemove},
	} {
		if testing.Short() && i == 1 {
			continue
		}
		mu, err := ApproximateMu(ctx, c.steps, c.r, delta)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profileOf(ctx, c.steps, c.r, delta)
		if err != nil {
			t.Fatal(err)
		}
		if !p.below(mu, delta) || p.below(mu*(1-1e-4), delta) {
			t.Errorf("%v: mu = %v is not the least", c.steps, mu)
		}
		events, err := SampledPlan{Steps: c.steps, Relation: c.r}.composed(1)
		if err != nil {
			t.Fatal(err)
		}
		composition, err := Compose(ctx, events, 1e-2)
		if err != nil {
			t.Fatal(err)
		}
		for epsilon := .013; epsilon < 5; epsilon += .91 {
			d, err := composition.Delta(ctx, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			if most := delta + (1-delta)*gaussianDelta(mu, epsilon); d.Lower > most {
				t.Errorf("%v: delta(%v) >= %v: must be at most %v for mu = %v", c.steps, epsilon, d.Lower, most, mu)
			}
		}
		var limit float64
		for _, s := range c.steps {
			z, scale := s.NoiseMultiplier, 1.0
			if c.r == ReplaceOne {
				scale = 2
			}
			limit += scale * scale * s.Sampling * s.Sampling * float64(s.Count) * math.Expm1(1/(z*z))
		}
		if limit = math.Sqrt(limit); mu > 1.25*limit || mu < .9*limit {
			t.Errorf("%v: mu = %v, the limit's is %v", c.steps, mu, limit)
		}
	}
	few := []SampledSteps{{NoiseMultiplier: 8, Sampling: .1, Count: 2}}
	mu, err := ApproximateMu(ctx, few, ReplaceOne, delta)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckApproximateMu(ctx, few, ReplaceOne, delta, mu); err != nil {
		t.Error(err)
	}
	if CheckApproximateMu(ctx, few, ReplaceOne, delta, mu*(1-1e-4)) == nil {
		t.Error("a smaller mu passes")
	}
	if _, err := ApproximateMu(ctx, nil, ReplaceOne, delta); err == nil {
		t.Error("no steps have a mu")
	}
	if _, err := ApproximateMu(ctx, []SampledSteps{{NoiseMultiplier: 2, Sampling: .02, Count: 10}}, ReplaceOne,
		0); err == nil {
		t.Error("delta = 0 is taken")
	}
}

// TestApproximateIsCheckedWhereCellsBegin tests that the method below, which compares divergences
// on cells (intervals of epsilon), returns false for a divergence that exceeds delta-approximate
// mu-GDP only at the beginning of one cell. The test does this for each of three cells.
func TestApproximateIsCheckedWhereCellsBegin(t *testing.T) {
	const mu, delta, width = .5, 1e-3, 1e-4
	for cell := range 3 {
		for _, over := range []bool{false, true} {
			p := tabled{epsilon: []float64{0, width, 2 * width, 3 * width}, delta: make([]float64, 4)}
			end := p.epsilon[cell] + width/approximateParts
			p.delta[cell] = (delta + (1-delta)*gaussianDelta(mu, end)) * (1 - 1e-6)
			if over {
				p.delta[cell] *= 1 + 2e-6
			}
			if p.below(mu, delta) == over {
				t.Errorf("cell %d, above %t: said to be below: %t", cell, over, !over)
			}
		}
	}
}
