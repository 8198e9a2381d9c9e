package loss

import "fmt"

// CurvatureInterval is a closed interval of curvatures, Lo <= Hi. The zero value holds
// only 0: a linear loss.
type CurvatureInterval struct{ Lo, Hi float64 }

// Constants are a loss's bounds for rows of norm at most 1. They are public:
// nothing in them is read from records.
type Constants struct {
	// Lipschitz is L0: ||d phi/dz|| <= L0, and ||grad f|| <= L0.
	Lipschitz float64
	// Curvature holds d2 phi/dz2, every eigenvalue of it for several margins, and
	// every eigenvalue of the Hessian of a General loss.
	Curvature CurvatureInterval
	// HessianLipschitz bounds the third derivative (the Lipschitz constant of
	// the second, where that has corners); +Inf if there is no bound, or none
	// is known.
	HessianLipschitz float64
	// InitialGap is F0, a bound on F(0) - inf F over all tables: the supremum over
	// records of f(0) - inf f suffices, because the mean of infima is at most
	// the infimum of the mean.
	InitialGap float64

	// Clipped says that Lipschitz is a choice, not a property of the values:
	// Slopes and Gradient are the derivative of the values scaled down to
	// length Lipschitz, and that is what an optimizer follows. Curvature and
	// HessianLipschitz then bound the derivative before it is scaled down.
	Clipped bool
	// ZeroMean says that InitialGap holds only over tables whose rows sum to zero.
	ZeroMean bool
	// Local says where Curvature holds, if it does not everywhere.
	Local string
	// Loose says why the constants are not attained. Empty: each finite one is,
	// within 1%.
	Loose string
}

// Target is what a loss expects of y. The zero value is no target and is
// refused wherever one is needed.
type Target int

const (
	// Binary targets are -1 or +1.
	Binary Target = iota + 1
	// Real targets lie in [-1, 1].
	Real
	// Classes are numbered: 0, 1, 2, ...
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

// Loss is what every loss declares. A loss is also a RankOne, a Margins or a General.
type Loss interface {
	// Name is a stable identifier with parameters, such as "huber(0.1)"; Parse
	// is its inverse. Model files store it.
	Name() string
	Constants() Constants
	Target() Target
}

// RankOne is a loss phi(<w, x>, y): a generalised linear model.
//
// The methods work on a block: dst[i] is the result for z[i], y[i]. The lengths
// must be equal, or they panic; dst may be z or y itself. A NaN in z[i] or y[i]
// gives NaN. An infinite z[i] gives the limit wherever one exists.
type RankOne interface {
	Loss
	Values(dst, z, y []float64)     // phi
	Slopes(dst, z, y []float64)     // d phi / dz
	Curvatures(dst, z, y []float64) // d2 phi / dz2
}

// General is a loss whose gradient in w is written out by the loss. It has a
// parameter for each feature unless it is Shaped.
//
// len(dst) and len(w) must be Parameters(l, len(x)), or the methods panic; dst must
// not be w. A NaN in w, x or y gives a NaN value and a NaN somewhere in dst.
type General interface {
	Loss
	Value(w []float64, x []float32, y float64) float64
	Gradient(dst, w []float64, x []float32, y float64)
}

// sameLength lets the compiler drop bounds checks in the block loops.
func sameLength(dst, z, y []float64) ([]float64, []float64) {
	if len(z) != len(dst) || len(y) != len(dst) {
		panicLength(len(dst), len(z), len(y))
	}
	return z[:len(dst)], y[:len(dst)]
}

func panicLength(dst, z, y int) {
	panic(fmt.Sprintf("loss: len(dst) = %d, len(z) = %d, len(y) = %d: must be equal", dst, z, y))
}

// clamp returns x moved into [lo, hi]; NaN stays NaN.
func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
