package firstorder

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
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
	factors := vector.Map(s.values, by)
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
	return vector.Sum(s.values, func(v float64) float64 { return max(v, 0) / (max(v, 0) + ridge) })
}

// Some tables have a metric (preconditioner) P that is zero off its diagonal and one block. The run then releases the mean
// squares of the features g_j = mean x_j^2 + noise and, for the features in the block, the second moment G_b, in place of
// the second moment of all, and P_jj = (max(g_j, 0) + lambda)^(-1/2) beside the block (G_b+ + lambda I)^(-1/2). Both cost
// one charge, and their noise is that of squares alone (query.BlockMomentOf). lambda is diagonalRidge standard deviations
// of the noise in g_j, or its largest eigenvalue in G_b if that is larger.
//
// Columns with leastLevels levels or more are apart: their features are not in the block. In a row exactly one level of a
// column is not zero, so that the second moment of the column is exactly diagonal. What is given up is how levels vary
// together with other features. With many levels the noise in these pairs outweighs them, and the work of all pairs grows
// with the cube of the number of features (lab/results/speed.md). Numbers, curves and the intercept stay together. Which
// columns are apart follows from the public layout of the table alone (blockOf). Without such columns the block is empty
// for more than query.MaxPairs features, and for fewer there is none: the second moment of all is released.
//
// # Why a step of 4/(3 b m) is stable
//
// Let b bound the second derivative of the loss in the margin, and let G be the rows' second moment. A part is the block,
// a column apart or a single feature in neither. Let a row have nonzero features in at most m parts, and let P_c G_c P_c
// <= I for the part c of P and G, as it is if no part of lambda I and the release is below that of G. Then, by Cauchy and
// Schwarz, for every vector u, whose part is u_c,
//
//	u' P G P u = mean (sum_c x_c' P_c u_c)^2 <= m mean sum_c (x_c' P_c u_c)^2 <= m ||u||^2.
//
// Nesterov's momentum t/(t+3) is stable if the curvature times the step is below 4/3 (see centring). m is public: the
// features of a category count as one. Categories that are copies of each other attain the bound. To make up for the
// shorter steps, the default number of steps is sqrt(3m/4) times the usual number (see moreSteps). If m is above
// mostFilled, steps would be too short to be of use, and Preconditioned rejects the problem.
const (
	diagonalRidge = 30
	mostFilled    = 64
	leastApart    = 300 // features above which columns are apart, if they have leastShare of them
	leastLevels   = 50
	leastShare    = .5
	mostWhole     = 1000 // features in a block
)

// Diagonal reports whether the preconditioner of Preconditioned is zero off its diagonal and one block for the problem.
func Diagonal(p optimize.Problem) bool {
	_, _, ok := blockOf(p)
	return ok || Wide(p)
}

// Wide reports whether there are too many features for a question about all their pairs.
func Wide(p optimize.Problem) bool { return p.Shape.Features > query.MaxPairs }

// blockOf returns the features of the block, and the number of the block and the columns apart. It returns false
// if the metric has no block.
func blockOf(p optimize.Problem) (whole []int, groups int, ok bool) {
	d := p.Shape.Features
	if d <= leastApart || p.Beside > 0 || p.Counts || p.Cap() > 0 || p.Smoothing.On() {
		return nil, 0, false
	}
	next := 0
	for _, g := range append(slices.Clone(p.Groups), [2]int{d, leastLevels}) {
		if g[1] < leastLevels {
			continue
		}
		for ; next < g[0]; next++ {
			whole = append(whole, next)
		}
		next = g[0] + g[1]
		groups++
	}
	if groups == 1 || len(whole) > mostWhole || float64(d-len(whole)) < leastShare*float64(d) {
		return nil, 0, false
	}
	return whole, groups, true
}

// together returns a bound on the number of the metric's parts in which a row is not zero: parts are the block and
// features or columns beside it.
func together(p optimize.Problem) float64 {
	if _, groups, ok := blockOf(p); ok {
		return float64(groups)
	}
	return float64(p.MostFilled())
}

// momentName returns the name, for the plan's summary, of the release from which the metric is computed.
func momentName(p optimize.Problem) string {
	if whole, _, ok := blockOf(p); ok {
		return fmt.Sprintf("the mean squares of the features and the second moment of %d of them (the others are levels of columns "+
			"with %d or more, whose pairs would be mostly noise)", len(whole), leastLevels)
	}
	if Diagonal(p) {
		return "the mean squares of the features"
	}
	return "the second moment of the rows"
}

// usualStep returns the default of h, the step size in units of 1/b, where b bounds the second
// derivative of the loss.
func usualStep(p optimize.Problem) float64 {
	if Diagonal(p) {
		return 4. / 3 / together(p)
	}
	return 1
}

// moreSteps returns the factor by which the default number of steps grows if the default step is shorter
// than 1/b: the square root of 1/b over the step size.
func moreSteps(p optimize.Problem) float64 { return math.Sqrt(1 / min(usualStep(p), 1)) }

// diagonalEdge returns what takes the place of the largest eigenvalue of the noise (edge), for noise of standard
// deviation sigma in the mean square of a feature.
func diagonalEdge(p optimize.Problem, sigma float64) float64 {
	whole, _, ok := blockOf(p)
	if !ok {
		return diagonalRidge * sigma
	}
	return max(diagonalRidge, math.Sqrt(2*float64(len(whole)))) * sigma
}

// squaresOf releases the mean squares of the features, and the second moment of those in the block.
func (g *preconditionedPlan) squaresOf(run *optimize.Run) (released, error) {
	p := g.Problem()
	d := p.Shape.Features
	whole, _, _ := blockOf(p)
	in := make([]bool, d)
	for _, j := range whole {
		in[j] = true
	}
	answer, err := run.Ask(g.moment, query.BlockMomentOf(run.All(), in))
	if err != nil {
		return released{}, err
	}
	s := &spectrum{values: slices.Clone(answer.Mean[:d]), diagonal: true, whole: whole}
	if len(whole) > 0 {
		if s.inner, err = newSpectrum(query.BlockOf(answer.Mean, d, whole), len(whole)); err != nil {
			return released{}, err
		}
		for i, j := range whole {
			s.values[j] = s.inner.values[i]
		}
	}
	return released{spectrum: s, edge: diagonalEdge(p, answer.Sigma), seen: s.values, sigma: answer.Sigma}, nil
}

// diagonalMetric returns the preconditioner for the released mean squares of the features, the block and the ridge.
func (s *spectrum) diagonalMetric(ridge float64) (query.Metric, error) {
	entries := vector.Map(s.values, func(v float64) float64 { return 1 / math.Sqrt(max(v, 0)+ridge) })
	if s.inner == nil {
		return query.NewDiagonal(entries)
	}
	return query.NewBlocks(entries, s.whole, s.inner.preconditioner(ridge))
}

// along returns the coordinates of g along the eigenvectors of the released matrix. The eigenvectors of a
// diagonal matrix are the axes of the features.
func (s *spectrum) along(g []float64) []float64 {
	if !s.diagonal {
		along := mat.NewVecDense(len(g), nil)
		along.MulVec(s.vectors.T(), mat.NewVecDense(len(g), g))
		return along.RawVector().Data
	}
	if s.inner == nil {
		return g
	}
	out, in := slices.Clone(g), make([]float64, len(s.whole))
	for i, j := range s.whole {
		in[i] = g[j]
	}
	for i, v := range s.inner.along(in) {
		out[s.whole[i]] = v
	}
	return out
}
