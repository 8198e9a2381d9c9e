package forecast

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Direction is an eigenvector of an assumed Hessian, or a group of eigenvectors with about the same
// eigenvalue.
type Direction struct {
	Eigenvalue float64
	// Share is the group's share of the dimensions.
	Share float64
	// Gradient is the norm of the part of the initial gradient that lies along the group.
	Gradient float64
}

// Assumed returns the Hessian's spectrum and the gradient at the start that forecasts assume.
//
// A loss whose gradients have low rank has, with rows of norm at most 1, a Hessian of trace at most L1, the
// smoothness. (With several margins the same is assumed, although softmax may have twice this trace.)
// Forecasts assume half of this trace, with eigenvalues proportional to 1/j, j = 1..d, like the covariances
// of real tables. Along an eigenvector, the distance of the start from the minimum is proportional to the
// fourth root of the eigenvalue. This is a compromise between a distance that does not depend on the
// eigenvalue and a distance proportional to the eigenvalue's square root, which is the standard deviation
// of the rows. For other losses only the bound L1 is known. Every eigenvalue is assumed to be L1, if the
// gradient at the start is then certainly at most L0 (2 L1 F0 <= L0^2). If it is not, eigenvalues are
// assumed to be L1/j, j = 1..d.
//
// In all cases the initial gap F(w_0) - F* is assumed to be half its bound F0, with one exception: the
// gradient at the start is limited to L0, its largest possible length. The limit matters for losses that
// are steep far from the minimum and flat near it. With a strongly convex regularizer there is no limit,
// since L0 does not bound the regularizer's gradient.
//
// Only forecasts depend on these assumptions.
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
	// The curvature that a regularizer has at every point, if positive, is added to every eigenvalue.
	var regularizer float64
	if p.Regularizer != nil {
		regularizer = max(p.Regularizer.Convexity(), 0)
	}
	var list []Direction
	// The assumed initial gap F0/2 is the sum over directions of eigenvalue * distance^2/2, with
	// distance^2 = a * sqrt(eigenvalue). This determines the factor a.
	var squares float64
	for j := 1; j <= p.Dim(); {
		next := max(j+1, min(int(1.1*float64(j)), p.Dim()+1)) // eigenvalues within 10% are one group
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

// Released returns the gradient norm that noise leaves in the output of a run with the law l, after the
// second moment of the rows, mean x x', has been released. values are the released eigenvalues. edge is the
// largest eigenvalue of the noise. Released eigenvalues below edge cannot be distinguished from noise, and
// each of them is replaced by their mean, at least leastSeen times edge.
//
// Released assumes that the Hessian is half of the largest Hessian that such rows allow. With K > 2 margins
// it assumes 1/K of the largest Hessian, because the margins share the curvature.
func Released(p optimize.Problem, values []float64, edge float64, l optimize.UpdateRule) float64 {
	return over(releasedDirections(p, values, edge), p, l).Gradient
}

// ReleasedExcess returns the excess risk that noise leaves in the output, for the same arguments as
// Released.
func ReleasedExcess(p optimize.Problem, values []float64, edge float64, l optimize.UpdateRule) float64 {
	return over(releasedDirections(p, values, edge), p, l).Excess
}

// AssumedExcess returns the excess risk that noise leaves in the output of a run with the law l, on
// the directions that forecasts assume (see [Assumed]).
func AssumedExcess(p optimize.Problem, l optimize.UpdateRule) float64 {
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
	// Directions below the edge have one eigenvalue, and are one group.
	var list []Direction
	group := func(eigenvalue, directions float64) {
		list = append(list, Direction{Eigenvalue: curvature*eigenvalue + regularizer, Share: directions / float64(len(values))})
	}
	for _, v := range values {
		if !(v < edge) {
			group(v, 1)
		}
	}
	if hidden > 0 {
		group(max(left/hidden, leastSeen*edge), hidden)
	}
	return list
}

// leastSeen times the largest eigenvalue of the noise (edge) is the smallest second moment that is assumed
// along directions whose released eigenvalues are below the edge. Usually the mean of these eigenvalues is
// assumed. The limit is needed because noise may make this mean tiny or negative.
const leastSeen = .01

// norm returns the length of the gradient at the start, over all directions.
func norm(list []Direction) float64 {
	sum := vector.Sum(list, func(e Direction) float64 { return e.Gradient * e.Gradient })
	return math.Sqrt(sum)
}

// StartGradient returns the length of the gradient that forecasts assume at the start.
func StartGradient(p optimize.Problem) float64 { return norm(Assumed(p)) }
