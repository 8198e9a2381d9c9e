package optimize

import "github.com/stillpoint-dp/stillpoint/runrecord"

// These types are declared in package runrecord, from which certificates and reports read them.
type (
	// Summary describes a plan to people and to certificates.
	Summary = runrecord.Plan
	// Realised is a Law as a run followed it.
	Realised = runrecord.Law
	// Measured is a point's released quality.
	Measured = runrecord.Measured
	// Compared is what was released about a model beside the best constant.
	Compared = runrecord.Compared
	// Verdict is what a comparison says of a model.
	Verdict = runrecord.Verdict
	// Late is what the last quarter of a run's steps found.
	Late = runrecord.Late
	// Arrival is what late gradients say of a run.
	Arrival = runrecord.Arrival
	// Moment is the rows' second moment as a run released it.
	Moment = runrecord.Moment
	// Curved is what ChooseCurved was told of a candidate.
	Curved = runrecord.Curved
)

// SmallSize is the effective size N below which the table or the budget is too small for a useful
// model.
const SmallSize = runrecord.SmallSize

// Verdicts of comparisons.
const (
	Unclear = runrecord.Unclear
	Better  = runrecord.Better
	Worse   = runrecord.Worse
)

// Verdicts on whether a run reached the point after which more steps would only add noise.
const (
	Untold     = runrecord.Untold
	NoiseOnly  = runrecord.NoiseOnly
	Arrived    = runrecord.Arrived
	NotArrived = runrecord.NotArrived
)

// NewMoment returns a released symmetric matrix of dim rows in the form that certificates store. sigma
// is the standard deviation of the noise in a diagonal entry. ridge is the number added to the
// eigenvalues.
func NewMoment(matrix []float64, dim int, sigma, ridge float64) *Moment {
	return runrecord.NewMoment(matrix, dim, sigma, ridge)
}
