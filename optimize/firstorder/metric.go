package firstorder

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/query"
)

// spectrum is a released second moment, taken apart: Gt = V diag(values) V'. Negative
// values, which are noise alone, count as 0.
type spectrum struct {
	matrix  []float64
	values  []float64
	vectors mat.Dense
}

// newSpectrum takes a symmetric matrix apart, of dim rows one after the other.
//
// The decomposition is LAPACK's, whose last bits differ between processors. So do
// those of everything an optimizer computes from answers; guarantees rest on none.
func newSpectrum(matrix []float64, dim int) (*spectrum, error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(dim, matrix), true) {
		return nil, errors.New("the released second moment has no eigenvalues: LAPACK's iteration did not converge")
	}
	s := &spectrum{matrix: matrix, values: e.Values(nil)}
	e.VectorsTo(&s.vectors)
	return s, nil
}

// metric returns P = (Gt + ridge I)^(-1/2), rounded as questions take it.
func (s *spectrum) metric(ridge float64) (query.Metric, error) {
	dim := len(s.values)
	var half, p mat.Dense
	half.Apply(func(_, k int, v float64) float64 { return v / math.Sqrt(math.Sqrt(max(s.values[k], 0)+ridge)) }, &s.vectors)
	p.Mul(&half, half.T())
	return query.NewMetric(dim, p.RawMatrix().Data)
}

// outside returns the squared length of P^-1 g, P being the metric, and what it is on
// average of noise of deviation 1 in place of g. Of several margins g holds one vector
// after the other.
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

// effective returns tr Gt (Gt + ridge I)^(-1), the number of directions in which rows
// vary by more than the ridge.
func (s *spectrum) effective(ridge float64) float64 {
	var sum float64
	for _, v := range s.values {
		v = max(v, 0)
		sum += v / (v + ridge)
	}
	return sum
}
