package firstorder

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/query"
)

// spectrum is the eigendecomposition Gt = V diag(values) V' of a released second moment Gt of the rows.
// Negative eigenvalues come from noise alone, so the methods of spectrum replace them by 0. The method plus
// replaces them by a limit that its caller gives.
type spectrum struct {
	matrix  []float64
	values  []float64
	vectors mat.Dense
	// diagonal says that the matrix is zero off its diagonal and the block of the features whole, of which inner is the
	// eigendecomposition. values has the diagonal and, for features in the block, the values of inner. matrix and vectors
	// are empty.
	diagonal bool
	whole    []int
	inner    *spectrum
}

// newSpectrum returns the eigendecomposition of a symmetric dim x dim matrix, given row by row. It
// returns an error if LAPACK's iteration does not converge.
//
// The last bits of the decomposition differ between processors, which fuse other operations.
// Everything that an optimizer computes from the decomposition may therefore differ in its last bits
// too. No privacy guarantee depends on these bits.
func newSpectrum(matrix []float64, dim int) (*spectrum, error) {
	values, vectors, ok := eigen(matrix, dim)
	if !ok {
		return nil, errors.New("the released second moment has no eigenvalues: LAPACK's iteration did not converge")
	}
	return &spectrum{matrix: matrix, values: values, vectors: *mat.NewDense(dim, dim, vectors)}, nil
}

// metric returns the preconditioner P = (Gt_+ + ridge I)^(-1/2), where Gt_+ is the released second
// moment with negative eigenvalues replaced by 0. Entries are rounded as [query.NewMetric] requires.
func (s *spectrum) metric(ridge float64) (query.Metric, error) {
	if s.diagonal {
		return s.diagonalMetric(ridge)
	}
	return query.NewMetric(len(s.values), s.preconditioner(ridge))
}

// preconditioner returns the matrix P of metric, row by row.
func (s *spectrum) preconditioner(ridge float64) []float64 {
	half := s.scaled(func(v float64) float64 { return 1 / math.Sqrt(math.Sqrt(max(v, 0)+ridge)) })
	return timesTurned(half, half, len(s.values))
}

// scaled returns the matrix of the eigenvectors, padded, with each multiplied by a function of its eigenvalue.
func (s *spectrum) scaled(by func(value float64) float64) []float64 {
	dim := len(s.values)
	factors := make([]float64, dim)
	for k, v := range s.values {
		factors[k] = by(v)
	}
	out := pad(s.vectors.RawMatrix().Data, dim)
	_, stride := padded(dim)
	for i := range dim {
		for k, f := range factors {
			out[i*stride+k] *= f
		}
	}
	return out
}

// outside transforms the vector g back from the preconditioner P (see metric), and returns the squared length of P^-1 g
// as square. noise is the value that square would have on average if g were noise of standard deviation 1 per
// coordinate. With several margins, g is the concatenation of one vector for each margin.
func (s *spectrum) outside(g []float64, ridge float64) (square, noise float64) {
	d := len(s.values)
	for ; len(g) > 0; g = g[d:] {
		along := s.along(g[:d])
		for i, v := range s.values {
			stretch := max(v, 0) + ridge
			square += stretch * along[i] * along[i]
			noise += stretch
		}
	}
	return square, noise
}

// turned returns the coordinates of P^-1 w along the eigenvectors, where P is the preconditioner (see metric).
func (s *spectrum) turned(w []float64, ridge float64) []float64 {
	out := s.along(w)
	for i, v := range s.values {
		out[i] *= math.Sqrt(max(v, 0) + ridge)
	}
	return out
}

// effective returns d_eff = tr Gt_+ (Gt_+ + ridge I)^(-1), where Gt_+ is the released second moment of the rows without
// its negative eigenvalues. d_eff is about the number of directions along which the second moment exceeds the ridge.
func (s *spectrum) effective(ridge float64) float64 {
	var sum float64
	for _, v := range s.values {
		v = max(v, 0)
		sum += v / (v + ridge)
	}
	return sum
}
