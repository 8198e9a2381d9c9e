package optimize

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/query"
)

// tracer builds the trace of a run. A run tells it of each step, and no other code writes a trace: finish returns a
// copy, which is only read afterwards. The noise of a step comes from the answers' own standard deviations
// (query.Release), which the session derives from the event that it charges.
type tracer struct {
	trace Trace
	// variances has, for each step, the noise variance of its estimate per coordinate.
	variances []float64
	// unstated means that a trace cannot express the noise of the result. own means that the loop of the
	// algorithm, and not the run, moves the iterate (see Run.Reach).
	unstated, own bool
}

// metric records the matrix that preconditions the run, and the released second moment from which it was computed,
// or nil.
func (b *tracer) metric(m query.Metric, from *Moment) {
	if from != nil {
		own := *from
		from = &own
	}
	b.trace.Scales, b.trace.Moment = scales(m), from
}

// slope records the root mean square slope of the loss that the run released last, beside the second moment.
func (b *tracer) slope(rms float64) { b.trace.Moment.Slope = rms }

// bound records that steps are not linear in the gradient estimates, and move each coordinate by at most move.
func (b *tracer) bound(move float64) { b.trace.Move = move }

// momentum records the momentum of the next step.
func (b *tracer) momentum(beta float64) { b.trace.Momentum = append(b.trace.Momentum, beta) }

// reuse records whether an answer or an estimate is used for a second time, so that two estimates share noise.
func (b *tracer) reuse(again bool) { b.unstated = b.unstated || again }

// moved records that the loop of the algorithm, and not the run, moves the iterate.
func (b *tracer) moved() { b.own = true }

// step records a step of size eta, whose estimate is keep times the estimate that was used back steps earlier, plus
// a release whose noise has standard deviation noise.
func (b *tracer) step(keep float64, back int, noise, eta float64) {
	b.variances = append(b.variances, b.total(keep, back, noise))
	l := &b.trace
	l.Back, l.Keep = append(l.Back, back), append(l.Keep, keep)
	l.Noise, l.StepSizes = append(l.Noise, noise), append(l.StepSizes, eta)
}

// total returns the noise variance of a coordinate of an estimate (see step).
func (b *tracer) total(keep float64, back int, noise float64) float64 {
	v := noise * noise
	if back <= len(b.variances) {
		v += keep * keep * b.variances[len(b.variances)-back]
	}
	return v
}

// last returns the noise variance per coordinate of the last step's estimate, and 0 before the first step.
func (b *tracer) last() float64 {
	if k := len(b.variances); k > 0 {
		return b.variances[k-1]
	}
	return 0
}

// finish returns the trace of a run that began at start and ended at w. weights, rounds and chosen are as in [Trace]. The
// trace states no noise if two estimates of the run shared noise (see Run.Mix). It also states no noise if the loop
// moved the iterate itself and set no bound on its moves (see Run.Bound), or if a coordinate of w is farther from the
// start than this bound times the number of steps.
func (b *tracer) finish(start, w []float64, startNoise float64, weights []float64, rounds []int, chosen int) Trace {
	l := b.trace
	l.Back, l.Keep, l.Noise = slices.Clone(l.Back), slices.Clone(l.Keep), slices.Clone(l.Noise)
	l.StepSizes, l.Momentum, l.Scales = slices.Clone(l.StepSizes), slices.Clone(l.Momentum), slices.Clone(l.Scales)
	l.Weights, l.Rounds, l.Chosen, l.Start = slices.Clone(weights), slices.Clone(rounds), chosen, startNoise
	if l.Moment != nil {
		own := *l.Moment
		l.Moment = &own
	}
	most := float64(l.Steps()) * l.Move * (1 + 1e-9)
	far := false
	for j, v := range start {
		far = far || !(math.Abs(w[j]-v) <= most)
	}
	l.Unstated = b.unstated || b.own && (!(l.Move > 0) || far)
	return l.Settled()
}

// scales returns the length of each row of the metric m. The length of row j is the factor by which the
// metric multiplies the noise in the weights of feature j.
func scales(m query.Metric) []float64 {
	out, row := make([]float64, m.Dim()), make([]int64, m.Dim())
	whole, _ := m.Block()
	for j := range out {
		if _, in := slices.BinarySearch(whole, j); m.Diagonal() && !in {
			out[j] = m.Step() * math.Abs(float64(m.Entry(j)))
			continue
		}
		m.Row(row, j)
		square := vector.Sum(row, func(v int64) float64 { return float64(v) * float64(v) })
		out[j] = m.Step() * math.Sqrt(square)
	}
	return out
}

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

// NewMoment returns a released symmetric matrix of dim rows in the form that certificates store. sigma is the standard
// deviation of the noise in a diagonal entry. ridge is the number that was added to the eigenvalues.
func NewMoment(matrix []float64, dim int, sigma, ridge float64) *Moment {
	return runrecord.NewMoment(matrix, dim, sigma, ridge)
}
