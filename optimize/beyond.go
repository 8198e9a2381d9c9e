package optimize

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Beyond is what the released base rate tells of the second moment of all parameters of ordered classes: the mean Hessian
// there over the curvature in the score. Rows of a second moment tell the rest (see Moment).
type Beyond struct {
	// Curvature is the mean curvature in the score.
	Curvature float64
	// Scale is the derivative of each gap between thresholds in its parameter.
	Scale         []float64
	mean, squares []float64 // of the gaps: mean and second moment of the rows of cuts, over the curvature
	intercept     float64
	unit          float64 // a gap is log(1 + e^(unit v)) for its parameter v
	of            scored
}

type scored interface {
	Information(v []float64, z float64) (cuts, own, scale []float64)
}

// LeastGap is the least gap between thresholds.
const LeastGap = 1e-4

// Gaps replaces the parameters of the gaps, which are the last of w, by the gaps. Parameters is its inverse, and takes gaps
// below LeastGap for LeastGap.
func (b *Beyond) Gaps(w []float64) {
	for j := len(w) - len(b.mean); j < len(w); j++ {
		w[j] = math.Log1p(math.Exp(b.unit * w[j]))
	}
}

// Parameters is the inverse of Gaps.
func (b *Beyond) Parameters(w []float64) {
	for j := len(w) - len(b.mean); j < len(w); j++ {
		w[j] = math.Log(math.Expm1(max(w[j], LeastGap))) / b.unit
	}
}

// beyondOf returns what the base rate tells at the constant model w, or nil for a loss without thresholds.
func beyondOf(r BaseRate, w []float64) *Beyond {
	of, ok := r.Loss.(scored)
	if !ok {
		return nil
	}
	cuts, own, scale := of.Information(w[r.Features:], float64(w[r.Features-1]*r.Intercept))
	d := len(own)
	b := &Beyond{of: of, Scale: scale, mean: make([]float64, d), squares: make([]float64, d*d), intercept: r.Intercept}
	_, _, half := of.Information(make([]float64, d), 0)
	b.unit = 2 * half[0] // the derivative of log(1 + e^(unit v)) at 0 is unit/2
	for k, c := range cuts {
		b.Curvature += c
		for i := range k {
			b.mean[i] -= c
			for j := range k {
				b.squares[i*d+j] += c
			}
		}
	}
	for i, v := range own {
		b.squares[i*d+i] += v
		b.mean[i] /= b.Curvature
		vector.Divide(b.squares[i*d:(i+1)*d], b.Curvature)
	}
	return b
}

// Bend returns the ratio of the third derivative's absolute value to the second derivative in the score z, at the
// probabilities that the model with the parameters w gives the classes.
func (b *Beyond) Bend(w []float64, z float64) float64 {
	cuts, _, _ := b.of.Information(w[len(w)-len(b.mean):], z)
	var third, second, at float64
	gaps := slices.Clone(w)
	b.Gaps(gaps)
	for k, c := range cuts {
		if k > 0 {
			at += gaps[len(w)-len(b.mean)+k-1]
		}
		third += c * math.Tanh((z-at)/2)
		second += c
	}
	return math.Abs(third) / second
}

// Moment returns the second moment of all parameters for that of the features, a dim x dim matrix row by row: with rows
// and columns for the gaps between thresholds, or for their parameters if scaled is true. The last feature is the
// intercept, so its row is the mean row times the intercept.
func (b *Beyond) Moment(matrix []float64, dim int, scaled bool) []float64 {
	by := func(j int) float64 {
		if scaled {
			return b.Scale[j]
		}
		return 1
	}
	all := dim + len(b.mean)
	out := make([]float64, all*all)
	for j := range dim {
		copy(out[j*all:], matrix[j*dim:(j+1)*dim])
	}
	for j, mean := range b.mean {
		at := dim + j
		for i := range dim {
			v := by(j) * mean * matrix[(dim-1)*dim+i] / b.intercept
			out[at*all+i], out[i*all+at] = v, v
		}
		for i := range b.mean {
			out[at*all+dim+i] = by(i) * by(j) * b.squares[j*len(b.mean)+i]
		}
	}
	return out
}
