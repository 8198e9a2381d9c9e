package forecast

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Direction is an eigenvector of an assumed Hessian, or a group of eigenvectors with about the same
// eigenvalue.
type Direction struct {
	Eigenvalue float64
	// Share is the group's share of the dimensions.
	Share float64
	// Gradient is the length of the initial gradient along the group.
	Gradient float64
}

// Assumed returns the Hessian's spectrum and the start that forecasts assume.
//
// A loss of low rank with rows of norm at most 1 has a Hessian of trace at most L1. (With several
// margins the same is assumed, although softmax may have twice that.) Forecasts assume half of this
// trace, with eigenvalues proportional to 1/j, j = 1..d, as the covariances of real tables fall
// off. The distance of the start from the minimum is proportional to the fourth root of the
// eigenvalue, between no growth and the square root, by which the signal grows with the variance.
// For other losses only the bound is known, and every eigenvalue is L1.
//
// In both cases F(w_0) - F* = F0/2, with one exception: for a loss that is steep for long before it
// is flat, the initial gradient is limited to its largest possible length L0. With a regularizer,
// which adds to the gradient, there is no such limit.
//
// Only forecasts depend on this.
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
	// A regularizer adds the curvature that it has everywhere, if any.
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

// Released returns the gradient norm that noise leaves at the output, if the second moment of the
// rows, mean x x', has been released. values are its eigenvalues. Eigenvalues below edge, the
// largest that noise alone makes, carry no information of their own. They share the rest of the
// trace, whose noise is small.
//
// The Hessian is assumed to be half of the largest Hessian with such rows, or 1/K of it for K > 2
// margins, which share it.
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

// leastSeen is the smallest second moment, relative to the edge, of a direction below the edge. It
// applies if noise leaves nothing of the trace.
const leastSeen = .01

// norm returns the length of the initial gradient.
func norm(list []Direction) float64 {
	var sum float64
	for _, e := range list {
		sum += e.Gradient * e.Gradient
	}
	return math.Sqrt(sum)
}

// StartGradient returns the length of the gradient that is assumed at the start.
func StartGradient(p optimize.Problem) float64 { return norm(Assumed(p)) }
