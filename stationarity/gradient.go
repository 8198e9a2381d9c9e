// Package stationarity (not frozen) measures how close a point is to a stationary point of an objective, directly from
// rows. Its results are not private. It is for experiments on generated or public data.
package stationarity

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Sample has rows of equal length and their targets.
type Sample struct {
	Rows    [][]float32
	Targets []float64
}

// Gradient returns the gradient at w of the mean loss over the sample plus the regularizer, which may
// be nil. It returns an error for a loss that implements none of RankOne, Margins and General.
func Gradient(l loss.Loss, r loss.Regularizer, s Sample, w []float64) ([]float64, error) {
	g := make([]float64, len(w))
	n := float64(len(s.Rows))
	switch l := joint(l).(type) {
	case loss.RankOne:
		slope := make([]float64, 1)
		for i, x := range s.Rows {
			l.Slopes(slope, []float64{margin(w, x)}, s.Targets[i:i+1])
			for j, v := range x {
				g[j] += slope[0] * float64(v) / n
			}
		}
	case loss.General:
		one := make([]float64, len(w))
		for i, x := range s.Rows {
			l.Gradient(one, w, x, s.Targets[i])
			for j, v := range one {
				g[j] += v / n
			}
		}
	default:
		return nil, fmt.Errorf("stationarity: loss = %s: must be a rank-one or a general loss", l.Name())
	}
	if r != nil {
		r.AddGradient(g, w)
	}
	return g, nil
}

// joint returns a loss of several margins as a loss.General, a function of all parameters. It returns any
// other loss unchanged.
func joint(l loss.Loss) loss.Loss {
	if m, ok := l.(loss.Margins); ok {
		return loss.Joint(m)
	}
	return l
}

// Objective returns the mean loss at w over the sample plus the regularizer, which may be nil. It
// returns an error for a loss that implements none of RankOne, Margins and General.
func Objective(l loss.Loss, r loss.Regularizer, s Sample, w []float64) (float64, error) {
	var sum float64
	switch l := joint(l).(type) {
	case loss.RankOne:
		value := make([]float64, 1)
		for i, x := range s.Rows {
			l.Values(value, []float64{margin(w, x)}, s.Targets[i:i+1])
			sum += value[0]
		}
	case loss.General:
		for i, x := range s.Rows {
			sum += l.Value(w, x, s.Targets[i])
		}
	default:
		return 0, fmt.Errorf("stationarity: loss = %s: must be a rank-one or a general loss", l.Name())
	}
	sum /= float64(len(s.Rows))
	if r != nil {
		sum += r.Value(w)
	}
	return sum, nil
}

// Norm returns the Euclidean norm of v.
func Norm(v []float64) float64 { return vector.Norm(v) }

func margin(w []float64, x []float32) float64 {
	var z float64
	for j, v := range x {
		z += w[j] * float64(v)
	}
	return z
}

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
