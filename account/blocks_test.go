package account

import (
	"testing"
)

// TestEveryBlockOfASchedule: release i has the multiplier and the probability of its own block, for
// five blocks. An event with more of either is refused. It fails if a third block is compared with
// the second.
func TestEveryBlockOfASchedule(t *testing.T) {
	steps := []SampledSteps{{10, .5, 2}, {20, .4, 1}, {30, .3, 3}, {15, .2, 2}, {40, .1, 4}}
	var list []SampledSteps
	for _, s := range steps {
		for range s.Count {
			list = append(list, s)
		}
	}
	f := &fixed{steps: steps, total: len(list)}
	for i, s := range list {
		if z, q := f.step(i); z != s.NoiseMultiplier || q != s.Sampling {
			t.Errorf("release %d: multiplier %v, sampling %v: want %v, %v", i, z, q, s.NoiseMultiplier, s.Sampling)
		}
		e := Event{Sensitivity: 2, Sigma: 2 * s.NoiseMultiplier, Sampling: s.Sampling}
		if err := f.covers(i, e); err != nil {
			t.Errorf("release %d: %v", i, err)
		}
		e.Sigma *= 1 - 1e-9
		if f.covers(i, e) == nil {
			t.Errorf("release %d: less noise than its block's is admitted", i)
		}
	}
}

// TestApproximateIsCheckedWhereCellsBegin: below returns false for a divergence that exceeds
// delta-approximate mu-GDP at the beginning of one cell only, the first or another.
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
