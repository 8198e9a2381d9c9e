package mechanism

import "testing"

// TestUnlikeRunsAreCountedApart tests that steps are counted together only if all their parameters
// are equal. A plan's epsilon must be the epsilon of its steps composed one by one, in any order.
func TestUnlikeRunsAreCountedApart(t *testing.T) {
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
		c, err := Compose(t.Context(), composed, planWidth)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Epsilon(t.Context(), 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		for _, steps := range [][]SampledSteps{{unlike[0], unlike[1]}, {unlike[1], unlike[0]}} {
			got, err := SampledPlan{Steps: steps, Relation: ReplaceOne}.Prove(t.Context(), 8, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			if !(got >= want.Lower && got <= want.Upper*1.01) {
				t.Errorf("%v: epsilon %v: must be between %v and %v", steps, got, want.Lower, want.Upper)
			}
		}
	}
}

// TestPlanClaimsTheUpperEnd tests that the proven epsilon of a plan is not below the true epsilon and
// exceeds it by at most the width of the plan's bracket. As the true epsilon the test uses a bracket
// that is 100 times as narrow.
func TestPlanClaimsTheUpperEnd(t *testing.T) {
	const delta = 1e-6
	for _, mu := range []float64{0, .3} {
		p := SampledPlan{Steps: []SampledSteps{{2, .05, 100}, {4, .1, 20}}, Mu: mu, Relation: ReplaceOne}
		got, err := p.Prove(t.Context(), 8, delta)
		if err != nil {
			t.Fatal(err)
		}
		events, err := p.composed(1)
		if err != nil {
			t.Fatal(err)
		}
		fine, err := compose(t, planWidth/100, events...).Epsilon(t.Context(), delta)
		if err != nil {
			t.Fatal(err)
		}
		if !(got >= fine.Lower && got <= fine.Upper*(1+2*planWidth)) {
			t.Errorf("mu %v: epsilon %v, the truth is within %v", mu, got, fine)
		}
	}
}
