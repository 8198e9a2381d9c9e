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
	// HessianLipschitz is a Lipschitz constant of the second derivative. It is a bound on the third
	// derivative where this exists. It is +Inf if there is no bound or no bound is known.
	HessianLipschitz float64
	// InitialGap is F0, an upper bound of F(0) - inf F over all tables, where F is the mean loss of
	// a table. The supremum over records of f(0) - inf f, for the record's loss f, is an upper bound,
	// because the mean of the records' infima is at most the infimum of F.
	InitialGap float64

	// Clipped says that Lipschitz is a chosen clip and not a bound on the derivative of Values. Slopes and Gradient
	// then return the derivative of Values scaled down to length at most Lipschitz, and an optimizer follows the scaled
	// derivative. For a network, Curvature bounds the second derivative before scaling.
	Clipped bool
	// ZeroMean says that InitialGap holds only for tables whose rows sum to zero.
	ZeroMean bool
	// Local describes in words the region where Curvature holds. It is empty if Curvature holds everywhere.
	Local string
	// Loose says in words why no record and parameters attain some of the bounds. If Loose is empty, the
	// suite in losstest must find, for each finite constant, a point that comes within 1% of it.
	Loose string
}

// Target is the kind of target y that a loss expects. The zero Target is invalid.
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
	// Name returns a stable identifier with parameters, such as "huber(0.1)", that model files store.
	// [Parse] makes the loss from its name.
	Name() string
	Constants() Constants
	Target() Target
}

// RankOne is a loss phi(<w, x>, y): a generalised linear model.
//
// The methods work on a block of records: dst[i] is the result for the margin z[i] and the target y[i].
// The methods panic unless the three lengths are equal. dst may be the slice z or y itself. If z[i] or
// y[i] is NaN, dst[i] is NaN. If z[i] is infinite, dst[i] is the limit, if the limit exists.
type RankOne interface {
	Loss
	Values(dst, z, y []float64)     // phi
	Slopes(dst, z, y []float64)     // d phi / dz
	Curvatures(dst, z, y []float64) // d2 phi / dz2
}

// General is a loss that computes its gradient in the parameters w itself, and need not be a function of
// margins <w,x>. It has one parameter for each feature, unless it is [Shaped].
//
// The methods panic unless len(dst) and len(w) are Parameters(l, len(x)) for the loss l. dst must not
// overlap w. If w, x or y has a NaN, the value is NaN and at least one entry of dst is NaN.
type General interface {
	Loss
	Value(w []float64, x []float32, y float64) float64
	Gradient(dst, w []float64, x []float32, y float64)
}

// sameLength panics unless dst, z and y have equal lengths. It returns z and y resliced to len(dst), so
// that the compiler can omit bounds checks in the callers' loops.
func sameLength(dst, z, y []float64) ([]float64, []float64) {
	if len(z) != len(dst) || len(y) != len(dst) {
		panicLength(len(dst), len(z), len(y))
	}
	return z[:len(dst)], y[:len(dst)]
}

func panicLength(dst, z, y int) {
	panic(fmt.Sprintf("loss: len(dst) = %d, len(z) = %d, len(y) = %d: must be equal", dst, z, y))
}

// clamp returns x limited to [lo, hi]. It returns NaN for NaN.
func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
