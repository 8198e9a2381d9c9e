package firstorder

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// For tables of more than query.MaxPairs features, Preconditioned has a diagonal metric
// (preconditioner) P: the run releases the mean squares g_j = mean x_j^2 + noise in place of the
// second moment, and P_jj = (max(g_j, 0) + lambda)^(-1/2). lambda is diagonalRidge standard
// deviations of the noise in g_j.
//
// # Why a step of 4/(3 b m) is stable
//
// Let b bound the second derivative of the loss in the margin, and let G be the rows' second moment.
// Let a row have at most m nonzero features, and let g_j + lambda be at least the mean of x_j^2.
// Then, by Cauchy and Schwarz, for every vector u
//
//	u' P G P u = mean (sum_j x_j P_jj u_j)^2 <= m mean sum_j x_j^2 P_jj^2 u_j^2 <= m ||u||^2.
//
// Nesterov's momentum t/(t+3) is stable if the curvature times the step is below 4/3 (see centring). m is
// public: the features of a category count as one. Categories that are copies of each other attain the
// bound. To make up for the shorter steps, the default number of steps is sqrt(3m/4) times the usual number
// (see moreSteps). If m is above mostFilled, steps would be too short to be of use, and Preconditioned
// rejects the problem.
const (
	diagonalRidge = 30
	mostFilled    = 64
)

// Diagonal reports whether the preconditioner of Preconditioned is diagonal for the problem. It is diagonal
// for more than query.MaxPairs features.
func Diagonal(p optimize.Problem) bool { return p.Shape.Features > query.MaxPairs }

// momentName returns the name, for the plan's summary, of the release from which the metric is computed.
func momentName(p optimize.Problem) string {
	if Diagonal(p) {
		return "the mean squares of the features"
	}
	return "the second moment of the rows"
}

// usualStep returns the default of h, the step size in units of 1/b, where b bounds the second
// derivative of the loss.
func usualStep(p optimize.Problem) float64 {
	if Diagonal(p) {
		return 4. / 3 / float64(p.MostFilled())
	}
	return 1
}

// moreSteps returns the factor by which the default number of steps grows if the default step is shorter
// than 1/b: the square root of 1/b over the step size.
func moreSteps(p optimize.Problem) float64 { return math.Sqrt(1 / min(usualStep(p), 1)) }

// squaresOf releases the mean squares of the features.
func (g *preconditionedPlan) squaresOf(run *optimize.Run) (released, error) {
	p := g.Problem()
	answer, err := run.Ask(g.moment, query.SquaredFeaturesOf(run.All(), p.Shape.Features))
	if err != nil {
		return released{}, err
	}
	s := &spectrum{values: answer.Mean, diagonal: true}
	return released{spectrum: s, edge: diagonalRidge * answer.Sigma, seen: answer.Mean, sigma: answer.Sigma}, nil
}

// diagonalMetric returns the diagonal preconditioner for the released mean squares of the features
// and the ridge.
func (s *spectrum) diagonalMetric(ridge float64) (query.Metric, error) {
	entries := make([]float64, len(s.values))
	for j, v := range s.values {
		entries[j] = 1 / math.Sqrt(max(v, 0)+ridge)
	}
	return query.NewDiagonal(entries)
}

// along returns the coordinates of g along the eigenvectors of the released matrix. The eigenvectors of a
// diagonal matrix are the axes of the features.
func (s *spectrum) along(g []float64) []float64 {
	if s.diagonal {
		return g
	}
	along := mat.NewVecDense(len(g), nil)
	along.MulVec(s.vectors.T(), mat.NewVecDense(len(g), g))
	return along.RawVector().Data
}
