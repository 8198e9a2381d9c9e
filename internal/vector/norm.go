// Package vector holds what is computed on vectors where ordinary rounding will
// do: in optimizers and in measures.
//
// Three norms are other things and live elsewhere. query rounds up, since a
// charge rests on it; curator's kernel takes norms of integers exactly and its
// engine in an order that is the same on every machine, since clipping rests on
// them; convex compares distances whose squares overflow.
package vector

import "math"

// Norm is the Euclidean norm, which does not overflow before its result does.
func Norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s = math.Hypot(s, x)
	}
	return s
}
