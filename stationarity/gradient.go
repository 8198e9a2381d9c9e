// Package stationarity (not frozen) measures how close a point is to a stationary point of an objective, directly from
// rows. Its results are not private. It is for experiments on generated or public data.
package stationarity

import (
	"fmt"

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
