package optimizetest

import (
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Quadratic is the loss (1/2) sum_j e_j w_j^2 - <x, w>, which does not use y. Every record has the same
// Hessian, and the mean of the rows moves the minimum. The gradient is unbounded. Lipschitz is therefore
// only the norm at which gradients are clipped.
type Quadratic struct {
	Eigenvalues []float64
	Lipschitz   float64
	// InitialGap is the value of InitialGap that Constants returns.
	InitialGap float64
}

var _ loss.Twice = Quadratic{}

// Name returns a name that loss.Parse does not accept.
func (q Quadratic) Name() string { return fmt.Sprintf("quadratic%v", q.Eigenvalues) }

// Target returns Real. Targets are not used.
func (q Quadratic) Target() loss.Target { return loss.Real }

// Constants returns the constants of the quadratic. The curvature interval is extended to contain
// zero.
func (q Quadratic) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:  q.Lipschitz,
		Curvature:  loss.CurvatureInterval{Lo: min(0, slices.Min(q.Eigenvalues)), Hi: max(0, slices.Max(q.Eigenvalues))},
		InitialGap: q.InitialGap,
		Clipped:    true,
	}
}

// Value returns the loss at w.
func (q Quadratic) Value(w []float64, x []float32, _ float64) float64 {
	var f float64
	for j, e := range q.Eigenvalues {
		f += e*w[j]*w[j]/2 - float64(x[j])*w[j]
	}
	return f
}

// Gradient sets dst to the gradient at w, with the coordinates e_j w_j - x_j.
func (q Quadratic) Gradient(dst, w []float64, x []float32, _ float64) {
	for j, e := range q.Eigenvalues {
		dst[j] = e*w[j] - float64(x[j])
	}
}

// HessianVector sets dst to the product of the Hessian and v, with the coordinates e_j v_j.
func (q Quadratic) HessianVector(dst, _, v []float64, _ []float32, _ float64) {
	for j, e := range q.Eigenvalues {
		dst[j] = e * v[j]
	}
}
