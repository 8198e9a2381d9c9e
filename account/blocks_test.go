package account

import (
	"testing"
)

// TestEveryBlockOfASchedule tests that release i of a schedule with five blocks (entries of equal
// steps) has the noise multiplier and the sampling probability of its own block. An event with a
// smaller multiplier than its block's multiplier must be refused. The test fails if the code
// compares an event of the third block with the second block.
func TestEveryBlockOfASchedule(t *testing.T) {
	steps := []SampledSteps{sampledSteps(10, .5, 2), sampledSteps(20, .4, 1), sampledSteps(30, .3, 3),
		sampledSteps(15, .2, 2), sampledSteps(40, .1, 4)}
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
