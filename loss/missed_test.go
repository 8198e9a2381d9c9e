package loss

import (
	"math"
	"testing"
)

// TestEventsOfSmallHazards compares the parts of the loss of an event in an interval with other formulas, for few expected
// events u, where series take the place of differences, and for many: p = u/(e^u - 1), the curvature p (p+u-1) and
// ln((1 - e^-u)/u).
func TestEventsOfSmallHazards(t *testing.T) {
	for _, u := range []float64{1e-12, 1e-9, 1e-7, 3e-5, 9.99e-5, 1.01e-4, 1e-3, .4, 3, 40, 699} {
		p, bend, log := missed(u)
		want := u / math.Expm1(u)
		if !(math.Abs(p-want) <= 1e-14*want+3e-15) {
			t.Errorf("u = %v: p = %v: must be %v", u, p, want)
		}
		whole := bentBy(u)
		if !(math.Abs(bend-whole) <= 1e-13+1e-11*whole) {
			t.Errorf("u = %v: the curvature is %v: must be %v", u, bend, whole)
		}
		of := math.Log(-math.Expm1(-u) / u)
		if u < .01 {
			of = -u/2 + u*u/24 - u*u*u*u/2880
		}
		if !(math.Abs(log/of-1) <= 1e-12) {
			t.Errorf("u = %v: the logarithm is %v: must be %v", u, log, of)
		}
	}
}

// bentBy returns p (p+u-1) for p = u/(e^u - 1), without cancellation where u is small.
func bentBy(u float64) float64 {
	p := u / math.Expm1(u)
	if u > .01 {
		return p * (p + u - 1)
	}
	return p * (u/2 + u*u/12 - u*u*u*u/720)
}
