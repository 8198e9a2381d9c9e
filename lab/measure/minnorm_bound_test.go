package measure

import (
	"math"
	"testing"
)

// TestLowerHoldsBeforeTheEnd uses points between (3, 0) and (0, 4), where the least norm is 12/5. At
// every point of the segment the least norm must be between Lower and Norm.
func TestLowerHoldsBeforeTheEnd(t *testing.T) {
	points := [][]float64{{3, 0}, {0, 4}}
	for _, a := range []float64{0, .2, .5, .63, .64, .65, .9, 1} {
		c := &corral{points: points, members: []int{0, 1}, weights: []float64{a, 1 - a}}
		c.keep()
		r := c.result(c.sum())
		if !(r.Lower <= 2.4+1e-12 && 2.4 <= r.Norm+1e-12) {
			t.Errorf("weight %v: the least norm is said to be between %v and %v: want 2.4", a, r.Lower, r.Norm)
		}
		// The square root of the gap bounds the distance from x to the point of least norm.
		if off := math.Sqrt(max(r.Norm*r.Norm-2.4*2.4, 0)); off > math.Sqrt(r.Gap)+1e-12 {
			t.Errorf("weight %v: off by %v: the gap's root is %v", a, off, math.Sqrt(r.Gap))
		}
	}
}

// TestLowerIsReached: for points on a ray from the origin, Lower must be the least norm, at whatever point
// of the ray the search ends. The test fails for any bound above Norm - Gap/Norm.
func TestLowerIsReached(t *testing.T) {
	points := [][]float64{{1, 0}, {2, 0}, {3, 0}}
	for k := range points {
		c := &corral{points: points, members: []int{k}, weights: []float64{1}}
		c.keep()
		if r := c.result(c.sum()); math.Abs(r.Lower-1) > 1e-12 {
			t.Errorf("from %v: the least norm is said to be at least %v: it is 1", points[k], r.Lower)
		}
	}
}
