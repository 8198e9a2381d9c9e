package forecast

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Direction is an eigenvector of an assumed Hessian, or a group of alike ones.
type Direction struct {
	Eigenvalue float64
	// Share is the group's share of the dimensions.
	Share float64
	// Gradient is the length of the initial gradient along the group.
	Gradient float64
}

// Assumed returns what predictions take the Hessian and the start to be.
//
// A loss of low rank with rows of norm at most 1 has a Hessian of trace at most
// L1 (of several margins, taken alike: softmax has twice that at most). Predictions
// take half of it, spread over eigenvalues proportional to
// 1/j, j = 1..d, as the covariances of real tables fall off, and a start whose
// distance from the minimum grows with the eigenvalue's fourth root, between
// not at all and as signal does with variance. Of other losses only the bound is
// known: every eigenvalue is L1. Either way the start has F(w_0) - F* = F0/2, but for
// losses that are steep for long before they are flat: there the gradient is as long
// as it can be, L0 (with a regularizer, which adds to that, nothing is capped).
//
// Nothing but predictions rests on this.
func Assumed(p optimize.Problem) []Direction {
	f0 := p.Constants.InitialGap / 2
	l0, top := p.Constants.Lipschitz, p.DataSmoothness()
	if !p.LowRank() && 2*top*p.Constants.InitialGap <= l0*l0 {
		l := p.Smoothness()
		return []Direction{{l, 1, math.Sqrt(2 * l * f0)}}
	}
	if p.LowRank() {
		var harmonic float64
		for j := 1; j <= p.Dim(); j++ {
			harmonic += 1 / float64(j)
		}
		top /= 2 * harmonic
	}
	// A regularizer adds the curvature it has everywhere, if any.
	var regularizer float64
	if p.Regularizer != nil {
		regularizer = max(p.Regularizer.Convexity(), 0)
	}
	var list []Direction
	// F0 is the sum over directions of eigenvalue * distance^2 / 2, with
	// distance^2 = a * sqrt(eigenvalue).
	var squares float64
	for j := 1; j <= p.Dim(); {
		next := max(j+1, min(int(1.1*float64(j)), p.Dim()+1)) // eigenvalues within 10%
		middle := math.Sqrt(float64(j) * float64(next-1))
		l := top/middle + regularizer
		list = append(list, Direction{Eigenvalue: l, Share: float64(next-j) / float64(p.Dim())})
		squares += l * math.Sqrt(l) * float64(next-j)
		j = next
	}
	a := 2 * f0 / squares
	for i := range list {
		e := &list[i]
		e.Gradient = e.Eigenvalue * math.Sqrt(a*math.Sqrt(e.Eigenvalue)*e.Share*float64(p.Dim()))
	}
	if length := norm(list); regularizer == 0 && length > l0 {
		for i := range list {
			list[i].Gradient *= l0 / length
		}
	}
	return list
}

// Released is the length of the gradient that noise leaves at the output where the
// second moment of the rows, mean x x', has been released: values are its eigenvalues.
// Those below the edge of its noise tell nothing by themselves: they share what the
// others leave of the trace, whose noise is small.
//
// The Hessian is taken for half of the most that it can be with such rows (of K
// margins, for 1/K of it, as they share it).
func Released(p optimize.Problem, values []float64, edge float64, l optimize.Law) float64 {
	return over(releasedDirections(p, values, edge), p, l).Gradient
}

// ReleasedExcess is the excess risk that noise leaves there.
func ReleasedExcess(p optimize.Problem, values []float64, edge float64, l optimize.Law) float64 {
	return over(releasedDirections(p, values, edge), p, l).Excess
}

// AssumedExcess is the excess risk that noise leaves along the assumed directions.
func AssumedExcess(p optimize.Problem, l optimize.Law) float64 {
	list := Assumed(p)
	for i := range list {
		list[i].Gradient = 0
	}
	return over(list, p, l).Excess
}

func releasedDirections(p optimize.Problem, values []float64, edge float64) []Direction {
	var hidden, left float64
	for _, v := range values {
		if v < edge {
			hidden++
			left += v
		}
	}
	curvature := p.DataSmoothness() / float64(max(p.Shape.Margins, 2))
	var regularizer float64
	if p.Regularizer != nil {
		regularizer = max(p.Regularizer.Convexity(), 0)
	}
	list := make([]Direction, len(values))
	for i, v := range values {
		if v < edge {
			v = max(left/hidden, leastSeen*edge)
		}
		list[i] = Direction{Eigenvalue: curvature*v + regularizer, Share: 1 / float64(len(values))}
	}
	return list
}

// leastSeen is the least that a direction below the edge is taken to vary by, in
// edges, where noise leaves nothing of the trace.
const leastSeen = .01

// norm is the length of the initial gradient.
func norm(list []Direction) float64 {
	var sum float64
	for _, e := range list {
		sum += e.Gradient * e.Gradient
	}
	return math.Sqrt(sum)
}

// StartGradient is the length of the gradient that the start is assumed to
// have.
func StartGradient(p optimize.Problem) float64 { return norm(Assumed(p)) }
