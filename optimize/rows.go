package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Rows describes how the rows x of a table vary, computed from the released second moment of the
// rows.
type Rows struct {
	// Values are the eigenvalues of the released second moment. The columns of the matrix Vectors, which is stored row
	// by row, are its eigenvectors. Edge is the largest eigenvalue that a matrix of noise alone would have.
	Values, Vectors []float64
	Edge            float64
	// Mean is the released mean row m. If Mean is not nil, the second moment is about 0 and contains MeanWeight times m
	// m'. The method Square subtracts this part to get the second moment about the mean row.
	Mean       []float64
	MeanWeight float64
}

// Square returns an estimate of the mean square of v'x over the rows x. If the mean row m is released, it returns an
// estimate of the mean square of v'(x - m). Noise with the largest eigenvalue e raises eigenvalues: a released
// eigenvalue a > e corresponds to about sqrt(a^2 - e^2) without noise (Benaych-Georges and Nadakuditi 2011).
// Eigenvalues of at most e cannot be distinguished from noise, so Square replaces each of them by their mean. Square
// returns 0 if r is nil or has another number of features than v.
func (r *Rows) Square(v []float64) (square float64) {
	if r == nil || len(v) != len(r.Values) {
		return 0
	}
	hidden, left, below := 0., 0., 0.
	for k, value := range r.Values {
		u := 0.
		for j, a := range v {
			u += a * r.Vectors[j*len(v)+k]
		}
		if value > r.Edge {
			square += math.Sqrt(value*value-r.Edge*r.Edge) * u * u
		} else {
			hidden, left, below = hidden+1, left+value, below+u*u
		}
	}
	along := vector.Dot(r.Mean, v)
	return max(square-r.MeanWeight*along*along, 0) + max(left, 0)/max(hidden, 1)*below
}

// Means returns an estimate of the mean row: the released mean row or, if there is none, the last column of the
// second moment divided by constant, the value that the last feature has in every row. It returns nil if r is nil.
func (r *Rows) Means(constant float64) []float64 {
	if r == nil {
		return nil
	}
	if r.Mean != nil {
		return r.Mean
	}
	d := len(r.Values)
	means := make([]float64, d)
	for k, value := range r.Values {
		last := value * r.Vectors[(d-1)*d+k] / constant
		for j := range means {
			means[j] += last * r.Vectors[j*d+k]
		}
	}
	return means
}
