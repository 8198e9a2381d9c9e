package measure

import (
	"fmt"

	"gonum.org/v1/gonum/optimize"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Optimum is a minimiser of a convex objective, with the objective's value and gradient norm.
type Optimum struct {
	W     []float64
	Value float64
	// GradientNorm is the gradient norm at W. It is at most 1e-10 times the gradient norm at w = 0.
	GradientNorm float64
}

// Minimise minimises the mean loss over the sample plus the regularizer, which may be nil. It stops at a gradient norm
// of 1e-10 times the gradient norm at w = 0. It runs L-BFGS (Liu and Nocedal 1989) until differences of values are lost
// in rounding, and then Newton's method with conjugate gradients. It returns an error if loss or regularizer is not
// convex, if the sample is empty, or if this gradient norm is not reached. If the infimum is not attained, as for the
// logistic loss on separable rows, the result is a distant point with a gradient of this norm.
func Minimise(l loss.Loss, r loss.Regularizer, s stationarity.Sample) (Optimum, error) {
	if l.Constants().Curvature.Lo < 0 || r != nil && r.Convexity() < 0 {
		return Optimum{}, fmt.Errorf("measure: minimum of %s: objective must be convex", l.Name())
	}
	if len(s.Rows) == 0 {
		return Optimum{}, fmt.Errorf("measure: minimum of %s: sample must have rows", l.Name())
	}
	w := make([]float64, len(s.Rows[0]))
	g, err := stationarity.Gradient(l, r, s, w)
	if err != nil {
		return Optimum{}, err
	}
	goal := 1e-10 * stationarity.Norm(g)
	problem := optimize.Problem{
		Func: func(w []float64) float64 {
			value, _ := stationarity.Objective(l, r, s, w) // Gradient has accepted the loss
			return value
		},
		Grad: func(dst, w []float64) {
			g, _ := stationarity.Gradient(l, r, s, w)
			copy(dst, g)
		},
	}
	settings := &optimize.Settings{GradientThreshold: goal, MajorIterations: 1000, Converger: optimize.NeverTerminate{}}
	// The error of a failed line search is ignored, since the gradient norm is checked at the end.
	if found, _ := optimize.Minimize(problem, w, settings, &optimize.LBFGS{}); found != nil {
		w = found.X
	}
	if w, err = polish(l, r, s, w, goal); err != nil {
		return Optimum{}, err
	}
	if g, err = stationarity.Gradient(l, r, s, w); err != nil {
		return Optimum{}, err
	}
	if !(stationarity.Norm(g) <= goal) {
		return Optimum{}, fmt.Errorf("measure: minimum of %s: gradient norm %.3g: must come to %.3g", l.Name(), stationarity.Norm(g),
			goal)
	}
	value, err := stationarity.Objective(l, r, s, w)
	return Optimum{w, value, stationarity.Norm(g)}, err
}

// ExcessRisk returns the objective at w minus the minimum o.Value.
func ExcessRisk(l loss.Loss, r loss.Regularizer, s stationarity.Sample, w []float64, o Optimum) (float64, error) {
	value, err := stationarity.Objective(l, r, s, w)
	return value - o.Value, err
}

// polish makes up to 50 Newton steps from w and returns the last point. It stops before a step that does
// not shorten the gradient, and at a gradient norm of at most goal.
func polish(l loss.Loss, r loss.Regularizer, s stationarity.Sample, w []float64, goal float64) ([]float64, error) {
	g, err := stationarity.Gradient(l, r, s, w)
	for steps := 0; err == nil && stationarity.Norm(g) > goal && steps < 50; steps++ {
		var step []float64
		if step, err = conjugate(g, func(v []float64) ([]float64,
			error) {
			return stationarity.HessianVector(l, r, s, w, v)
		}); err != nil {
			break
		}
		next := vector.Make(len(w), func(j int) float64 { return w[j] - step[j] })
		var at []float64
		if at, err = stationarity.Gradient(l, r, s, next); err != nil || !(stationarity.Norm(at) < stationarity.Norm(g)) {
			break
		}
		w, g = next, at
	}
	return w, err
}

// conjugate solves H x = g by conjugate gradients (Hestenes and Stiefel 1952) to a residual of at most 1e-4
// ||g||. product computes H v. A Newton step with x then shortens the gradient by a factor of about 1e-4.
func conjugate(g []float64, product func(v []float64) ([]float64, error)) ([]float64, error) {
	x, rest := make([]float64, len(g)), append([]float64(nil), g...)
	along := append([]float64(nil), g...)
	size := dot(rest, rest)
	stop := 1e-8 * size
	// In exact arithmetic len(g) iterations are enough. With rounding, more may be needed.
	for turn := 0; size > stop && turn < 2*len(g)+50; turn++ {
		h, err := product(along)
		if err != nil {
			return nil, err
		}
		curvature := dot(along, h)
		if !(curvature > 0) {
			break
		}
		for j := range x {
			x[j] += size / curvature * along[j]
			rest[j] -= size / curvature * h[j]
		}
		next := dot(rest, rest)
		for j := range along {
			along[j] = rest[j] + next/size*along[j]
		}
		size = next
	}
	return x, nil
}
