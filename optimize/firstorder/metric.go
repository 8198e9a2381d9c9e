package firstorder

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/query"
)

// spectrum is the eigendecomposition of a released second moment: Gt = V diag(values) V'. Negative
// values, which are noise alone, count as 0.
type spectrum struct {
	matrix  []float64
	values  []float64
	vectors mat.Dense
}

// newSpectrum returns the eigendecomposition of a symmetric matrix of dim rows, one row after the
// other. It returns an error if LAPACK's iteration does not converge.
//
// LAPACK computes the decomposition, and the last bits of its results differ between processors. The
// last bits of all that an optimizer computes from answers may therefore differ too. No guarantee
// depends on them.
func newSpectrum(matrix []float64, dim int) (*spectrum, error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(dim, matrix), true) {
		return nil, errors.New("the released second moment has no eigenvalues: LAPACK's iteration did not converge")
	}
	s := &spectrum{matrix: matrix, values: e.Values(nil)}
	e.VectorsTo(&s.vectors)
	return s, nil
}

// metric returns P = (Gt + ridge I)^(-1/2), with entries rounded to the form that queries require.
func (s *spectrum) metric(ridge float64) (query.Metric, error) {
	dim := len(s.values)
	var half, p mat.Dense
	half.Apply(func(_, k int, v float64) float64 { return v / math.Sqrt(math.Sqrt(max(s.values[k], 0)+ridge)) }, &s.vectors)
	p.Mul(&half, half.T())
	return query.NewMetric(dim, p.RawMatrix().Data)
}

// outside returns the squared length of P^-1 g for the metric P, and the mean of this square if g were
// noise of standard deviation 1. For several margins g holds one vector after the other.
func (s *spectrum) outside(g []float64, ridge float64) (square, noise float64) {
	d := len(s.values)
	for ; len(g) > 0; g = g[d:] {
		along := mat.NewVecDense(d, nil)
		along.MulVec(s.vectors.T(), mat.NewVecDense(d, g[:d]))
		for i, v := range s.values {
			stretch := max(v, 0) + ridge
			square += stretch * along.AtVec(i) * along.AtVec(i)
			noise += stretch
		}
	}
	return square, noise
}

// effective returns tr Gt (Gt + ridge I)^(-1), the number of directions along which rows vary by more
// than the ridge.
func (s *spectrum) effective(ridge float64) float64 {
	var sum float64
	for _, v := range s.values {
		v = max(v, 0)
		sum += v / (v + ridge)
	}
	return sum
}
