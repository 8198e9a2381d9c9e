package optimize

import "github.com/stillpoint-dp/stillpoint/internal/runrecord"

// Package runrecord declares these types. Certificates and reports use them from package runrecord, without
// importing package optimize.
type (
	// Summary describes a plan to people and to certificates.
	Summary = runrecord.Plan
	// Trace records how the releases of a run became its result. [UpdateRule] is the plan of these steps before
	// the run.
	Trace = runrecord.Trace
	// Measured has the released mean loss and gradient norm at a point.
	Measured = runrecord.Measured
	// Base is the released base rate: the best constant, at which a fit begins.
	Base = runrecord.Base
	// Compared is the released comparison of a model with the best constant.
	Compared = runrecord.Compared
	// Verdict is the conclusion of a comparison.
	Verdict = runrecord.Verdict
	// Late describes the gradients of the last quarter of a run's steps.
	Late = runrecord.Late
	// Arrival says whether a run reached the point after which more steps would only add noise.
	Arrival = runrecord.Arrival
	// Moment is the released second moment of the rows.
	Moment = runrecord.Moment
	// SelectedNorm is the gradient norm that a [NormSelection] released at the point that it chose.
	SelectedNorm = runrecord.SelectedNorm
	// Curved is the curvature that ChooseCurved released at a candidate.
	Curved = runrecord.Curved
)

// SmallSize is the effective size N below which the table or the budget is too small for a useful
// model.
const SmallSize = runrecord.SmallSize

// Verdicts of a comparison of a released model with the best constant (see Compare).
const (
	Unclear = runrecord.Unclear
	Better  = runrecord.Better
	Worse   = runrecord.Worse
)

// Values of Arrival: what the gradients of the last steps say about whether the run converged.
const (
	Untold     = runrecord.Untold
	NoiseOnly  = runrecord.NoiseOnly
	Arrived    = runrecord.Arrived
	NotArrived = runrecord.NotArrived
)

// NewMoment returns a released symmetric matrix of dim rows in the form that certificates store.
// sigma is the standard deviation of the noise in a diagonal entry. ridge is the number that was
// added to the eigenvalues.
func NewMoment(matrix []float64, dim int, sigma, ridge float64) *Moment {
	return runrecord.NewMoment(matrix, dim, sigma, ridge)
}
