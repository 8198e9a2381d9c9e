package stationarity

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// HessianVector returns the product of v and the Hessian at w of the mean loss over the sample plus
// the regularizer, which may be nil.
//
// The data term is exact up to rounding if the loss is a [loss.RankOne], [loss.Margins] or [loss.Twice]. At
// a jump of the second derivative, its value on one of the two sides is used. For other losses, and for the
// regularizer, the product is a central difference of gradients at a distance of about 6e-6 (1+||w||). The
// error of the difference, relative to ||v||, is about 1e-10 times the sum of gradient norm and smoothness,
// plus 1e-11 (1+||w||)^2 times the third derivative.
func HessianVector(l loss.Loss, r loss.Regularizer, s Sample, w, v []float64) ([]float64, error) {
	size := Norm(v)
	if len(v) != len(w) {
		return nil, fmt.Errorf("stationarity: Hessian product: direction has %d coordinates: must have %d", len(v), len(w))
	}
	out := make([]float64, len(w))
	if size == 0 {
		return out, nil
	}
	switch l := joint(l).(type) {
	case loss.RankOne:
		curvature := make([]float64, 1)
		for i, x := range s.Rows {
			l.Curvatures(curvature, []float64{margin(w, x)}, s.Targets[i:i+1])
			c := curvature[0] * margin(v, x) / float64(len(s.Rows))
			for j, a := range x {
				out[j] += c * float64(a)
			}
		}
	case loss.Twice:
		one := make([]float64, len(w))
		for i, x := range s.Rows {
			l.HessianVector(one, w, v, x, s.Targets[i])
			for j, h := range one {
				out[j] += h / float64(len(s.Rows))
			}
		}
	case loss.General:
		var failed error
		difference(out, w, v, size, func(g, w []float64) {
			at, err := Gradient(l, r, s, w)
			if err != nil {
				failed = err
				return
			}
			for j, a := range at {
				g[j] += a
			}
		})
		return out, failed
	default:
		return nil, fmt.Errorf("stationarity: loss = %s: must be a rank-one or a general loss", l.Name())
	}
	if r != nil {
		difference(out, w, v, size, r.AddGradient)
	}
	return out, nil
}

// difference adds to out the derivative along v, at w, of the gradient that addGradient computes, as a
// central difference. size is the norm of v and must be > 0.
func difference(out, w, v []float64, size float64, addGradient func(g, w []float64)) {
	h := math.Cbrt(0x1p-52) * (1 + Norm(w)) / size
	for _, sign := range []float64{1, -1} {
		at, g := make([]float64, len(w)), make([]float64, len(w))
		for j := range w {
			at[j] = w[j] + sign*h*v[j]
		}
		addGradient(g, at)
		for j := range g {
			out[j] += sign * g[j] / (2 * h)
		}
	}
}
