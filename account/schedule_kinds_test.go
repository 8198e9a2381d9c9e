package account

import "testing"

// TestUnlikeRunsAreCountedApart: steps are counted together only if all their parameters are equal.
// A schedule's epsilon is the epsilon of its steps composed one by one, in any order.
func TestUnlikeRunsAreCountedApart(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	for _, unlike := range [][2]SampledSteps{
		{{4, .01, 30}, {4, .3, 30}},
		{{3, .1, 30}, {12, .1, 30}},
	} {
		var composed []Composed
		for _, s := range unlike {
			m, err := NewSampledGaussian(s.NoiseMultiplier, s.Sampling, ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			composed = append(composed, Composed{m, s.Count})
		}
		c, err := Compose(t.Context(), composed, scheduleWidth)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Epsilon(t.Context(), 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		for _, steps := range [][]SampledSteps{{unlike[0], unlike[1]}, {unlike[1], unlike[0]}} {
			s, err := NewSchedule(t.Context(), b, 0, steps...)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Epsilon(); !(got >= want.Lower && got <= want.Upper*1.01) {
				t.Errorf("%v: epsilon %v: must be between %v and %v", steps, got, want.Lower, want.Upper)
			}
		}
	}
}
