package optimize

import "github.com/stillpoint-dp/stillpoint/runrecord"

// What a run records is declared where certificates and reports read it.
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

// SmallSize is the effective size N below which a table is too small, or a budget, for a
// useful model.
const SmallSize = runrecord.SmallSize

// Verdicts of comparisons.
const (
	Unclear = runrecord.Unclear
	Better  = runrecord.Better
	Worse   = runrecord.Worse
)

// Arrivals of runs.
const (
	Untold     = runrecord.Untold
	NoiseOnly  = runrecord.NoiseOnly
	Arrived    = runrecord.Arrived
	NotArrived = runrecord.NotArrived
)

// NewMoment returns a released symmetric matrix of dim rows as certificates keep it. sigma is
// the standard deviation of the noise in an entry of its diagonal, ridge what was added to its
// eigenvalues.
func NewMoment(matrix []float64, dim int, sigma, ridge float64) *Moment {
	return runrecord.NewMoment(matrix, dim, sigma, ridge)
}
