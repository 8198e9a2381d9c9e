package loss

import (
	"math"
	"testing"
)

// TestCurvatureOfTwoKinks tests that the declared curvature of a smoothed loss bounds the difference
// quotient of slopes between any two margins, for kinks at any distance, and is at most twice the largest
// quotient. The test fails if the bound for two kinks between one and two radii apart is the larger of
// their curvatures and not the sum.
func TestCurvatureOfTwoKinks(t *testing.T) {
	const radius, step = .1, 1e-3
	for _, dim := range []int{1, 2, 5} {
		for _, apart := range []float64{.02, .08, .12, .15, .19, .21, .3} {
			l := must(EpsilonInsensitive(apart / 2))
			s := must(OverBall(dim, radius))
			c, err := l.SmoothedConstants(s)
			if err != nil {
				t.Fatal(err)
			}
			slope := func(z float64) float64 {
				out := []float64{0}
				l.SmoothedSlopes(out, []float64{z}, []float64{0}, []float64{1}, s)
				return out[0]
			}
			most := 0.
			for z := -.4; z < .4; z += step {
				most = max(most, (slope(z+step)-slope(z))/step)
			}
			if !(most <= c.Curvature.Hi*(1+1e-6)) || c.Curvature.Hi > 2.01*most || math.IsInf(c.Curvature.Hi, 0) {
				t.Errorf("d = %d, kinks %v apart, radius %v: curvature is up to %v, said to be up to %v", dim, apart, radius, most,
					c.Curvature.Hi)
			}
		}
	}
}

// TestSecondPairOfKinksMustNotMeet tests that a loss with three kinks is refused if the intervals
// of the second and the third kink overlap.
func TestSecondPairOfKinksMustNotMeet(t *testing.T) {
	l := newKinked(kinked{kinks: 3, at: [len(kinked{}.at)]float64{-5, 0, .1},
		slope: [len(kinked{}.slope)]float64{-1, 0, 1, -.5}})
	if _, err := l.SmoothedConstants(must(LasryLions(.5))); err == nil {
		t.Error("kinks .1 apart are spread over intervals of up to half of it, and not refused")
	}
	if _, err := l.SmoothedConstants(must(LasryLions(.01))); err != nil {
		t.Error(err)
	}
}
