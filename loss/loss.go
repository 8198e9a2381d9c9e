package loss

import "fmt"

// CurvatureInterval is a closed interval [Lo, Hi] of second derivatives. The zero value contains
// only 0, the curvature of a linear loss.
type CurvatureInterval struct{ Lo, Hi float64 }

// Constants are the bounds of a loss for rows of norm at most 1. They are public: nothing in them
// is read from records.
type Constants struct {
	// Lipschitz is L0: ||d phi/dz|| <= L0, and ||grad f|| <= L0.
	Lipschitz float64
	// Curvature is an interval that contains d2 phi/dz2 of a RankOne loss phi(z, y), every eigenvalue
	// of d2 phi/dz2 of a Margins loss, and every eigenvalue of the Hessian of a General loss.
	Curvature CurvatureInterval
	// HessianLipschitz bounds the third derivative. Where the second derivative has corners,
	// HessianLipschitz is the Lipschitz constant of the second derivative. It is +Inf if there is
	// no bound or no bound is known.
	HessianLipschitz float64
	// InitialGap is F0, an upper bound of F(0) - inf F over all tables, where F is the mean loss of
	// a table. The supremum of f(0) - inf f over records is such a bound, because the mean of the
	// records' infima is at most the infimum of F.
	InitialGap float64

	// Clipped says that Lipschitz is a chosen clip and not a bound on the derivative of Values:
	// Slopes and Gradient return the derivative of the values scaled down to length at most
	// Lipschitz, and an optimizer follows the scaled derivative. Curvature and HessianLipschitz then
	// bound the derivatives before scaling.
	Clipped bool
	// ZeroMean says that InitialGap holds only for tables whose rows sum to zero.
	ZeroMean bool
	// Local names the region where Curvature holds; empty if Curvature holds everywhere.
	Local string
	// Loose says in words why the constants are not attained. If it is empty, the suite in losstest
	// must find, for each finite constant, a point that comes within 1% of it.
	Loose string
}

// Target is the kind of target y that a loss expects. The zero value is not a kind; it is refused
// wherever a kind is needed.
type Target int

const (
	// Binary targets are -1 or +1.
	Binary Target = iota + 1
	// Real targets lie in [-1, 1].
	Real
	// Classes targets are class numbers: 0, 1, 2, ...
	Classes
)

// String returns "binary", "real" or "classes".
func (t Target) String() string {
	switch t {
	case Binary:
		return "binary"
	case Real:
		return "real"
	case Classes:
		return "classes"
	}
	return fmt.Sprintf("Target(%d)", int(t))
}

// Loss is the part that all losses share. Each loss is also exactly one of RankOne, Margins and
// General.
type Loss interface {
	// Name is a stable identifier with parameters, such as "huber(0.1)"; [Parse] is its inverse.
	// Model files store it.
	Name() string
	Constants() Constants
	Target() Target
}

// RankOne is a loss phi(<w, x>, y): a generalised linear model.
//
// The methods work on a block: dst[i] is the result for z[i], y[i]. The three lengths must be
// equal, or the methods panic. dst may be z or y itself. A NaN in z[i] or y[i] gives NaN. An
// infinite z[i] gives the limit wherever one exists.
type RankOne interface {
	Loss
	Values(dst, z, y []float64)     // phi
	Slopes(dst, z, y []float64)     // d phi / dz
	Curvatures(dst, z, y []float64) // d2 phi / dz2
}

// General is a loss that need not depend on margins <w,x>: it computes its gradient in the parameters
// w itself. It has one parameter for each feature, unless it is [Shaped].
//
// len(dst) and len(w) must be Parameters(l, len(x)), or the methods panic. dst must not overlap w. A
// NaN in w, x or y gives a NaN value and a NaN somewhere in dst.
type General interface {
	Loss
	Value(w []float64, x []float32, y float64) float64
	Gradient(dst, w []float64, x []float32, y float64)
}

// sameLength panics unless the lengths are equal. It reslices z and y to len(dst), so that the
// compiler drops bounds checks in the loops.
func sameLength(dst, z, y []float64) ([]float64, []float64) {
	if len(z) != len(dst) || len(y) != len(dst) {
		panicLength(len(dst), len(z), len(y))
	}
	return z[:len(dst)], y[:len(dst)]
}

func panicLength(dst, z, y int) {
	panic(fmt.Sprintf("loss: len(dst) = %d, len(z) = %d, len(y) = %d: must be equal", dst, z, y))
}

// clamp returns x limited to [lo, hi]; NaN stays NaN.
func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
