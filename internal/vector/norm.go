// Package vector holds computations on vectors for which ordinary rounding is sufficient: in
// optimizers and in measurements.
//
// Three other norms have stricter rules and are elsewhere. The norm of package query rounds up,
// since privacy accounting depends on it. In package curator the session computes norms of integers
// exactly, and the engine computes norms in an order that is the same on every machine, since
// clipping depends on them. Package convex compares distances whose squares overflow.
package vector

import "math"

// Norm returns the Euclidean norm. Intermediate results do not overflow unless the norm does.
func Norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s = math.Hypot(s, x)
	}
	return s
}
