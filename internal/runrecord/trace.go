package runrecord

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Trace states how the releases of a run became its result, so that the noise in the result can
// be computed. It records a run that has been made. The corresponding plan, with which rules and
// forecasts compute, is optimize.UpdateRule. A slice with data of steps is called a column: it has one
// entry for each step, or a single entry for all steps. Norms are after scaling.
type Trace struct {
	// Back and Keep describe the gradient estimate of a step: it was Keep times the estimate of the
	// step Back steps earlier, plus a release. If Back is missing, Back is 1 for every step. If
	// Keep is missing, Keep is 0 for every step.
	Back []int     `json:"back,omitempty"`
	Keep []float64 `json:"keep,omitempty"`
	// Noise is the standard deviation of the noise that a step's release adds to one coordinate of the
	// gradient estimate. StepSizes are the step sizes eta.
	Noise     []float64 `json:"noise,omitempty"`
	StepSizes []float64 `json:"step_sizes,omitempty"`
	// Momentum is the momentum of each step (optimize.UpdateRule). If it is missing, the momentum is 0.
	Momentum []float64 `json:"momentum,omitempty"`
	// Scales are set if steps were made in a metric (preconditioner). Scales[j] is the factor by which the metric
	// multiplies the noise in the weight of feature j. The factor is the same for every margin.
	Scales []float64 `json:"scales,omitempty"`
	// Start is the standard deviation of the noise in the weight of the last feature, the intercept, at the start: that of
	// the released base rate. It is 0 if the start is public.
	Start float64 `json:"start_noise,omitempty"`
	// Moment is the released second moment from which the metric was computed. It is nil if the metric was
	// not computed from a second moment.
	Moment *Moment `json:"second_moment,omitempty"`
	// Curvature is the released mean of u c z z' at the result, for a row x, z = P x with the metric P of Moment, the second
	// derivative c of the loss in its margin and a weight u of the row that is below 1 for long z. Its Ridge is 0. It is nil
	// if it was not released.
	Curvature *Moment `json:"curvature,omitempty"`
	// Level is the released mean curvature in the weight of the intercept, and LevelSigma its noise; 0 if not released.
	Level      float64 `json:"intercept_curvature,omitempty"`
	LevelSigma float64 `json:"intercept_curvature_sigma,omitempty"`
	// Clipped is how much of records' squared gradient norms at the result lies above that of the clip and below three
	// times it, a mean over the records in units of the squared clip norm. ClippedSigma is its noise, 0 if not released.
	Clipped      float64 `json:"clipped,omitempty"`
	ClippedSigma float64 `json:"clipped_sigma,omitempty"`
	// The result is a weighted average of the points y_0, ..., y_{T-1} where gradients were taken and of the last
	// iterate w_T. Weights are the T+1 weights of these points in the average. If Weights is missing, the result is
	// w_T. Without momentum y_t is the iterate w_t. If there are Rounds, the weights of each round sum to 1.
	Weights []float64 `json:"weights,omitempty"`
	// Rounds are the numbers of the steps, counted from 1, at which rounds of the run ended. Each round started from
	// the results of the rounds before it. If Rounds is missing, there was one round.
	Rounds []int `json:"rounds,omitempty"`
	// Chosen is the number of points among which the result was chosen by noisy scores. It is 0 if nothing
	// was chosen.
	Chosen int `json:"chosen_among,omitempty"`
	// Move is > 0 if the steps are not linear in the gradient estimates. A step then moves each
	// coordinate of the weights by at most Move.
	Move float64 `json:"largest_move,omitempty"`
	// Unstated is true if the run combined released answers in a way that a Trace cannot
	// express. WeightNoise is then 0, which states nothing about the noise.
	Unstated bool `json:"unstated,omitempty"`
	// WeightNoise is the standard deviation of the noise in each weight of the result, as Noises
	// computes it. It is present even if the columns were left out. If there are Scales, the
	// standard deviation for a weight of feature j is Scales[j] times WeightNoise.
	WeightNoise float64 `json:"weight_noise"`
}

// Steps returns the number of steps of the run: the length of the longest of the columns Noise,
// StepSizes, Keep and Back.
func (l Trace) Steps() int { return max(len(l.Noise), len(l.StepSizes), len(l.Keep), len(l.Back)) }

// Noises returns two kinds of standard deviation: of the noise in one coordinate of each step's
// gradient estimate, and of the noise in one coordinate of the result.
//
// To first order the noise e_t of an estimate enters the last iterate as -eta J e_t, where eta is the step size and J a
// product of matrices I - eta Hessian. On a flat loss J is the identity. If Exact reports true on such a loss, the
// standard deviation of a weight is exactly the number that Noises returns. On a convex loss whose steps do not
// overshoot, J shrinks noise, and the number is an upper bound. Projections and convex regularizers shrink noise as
// well. With momentum beta, the response of the iterates to one estimate's noise oscillates on a curved loss, but it is
// not larger than on a flat loss. Let a be the step size times the curvature, and r^2 = beta (1-a). After k steps the
// response on the curved loss is at most r^k (k+1). On a flat loss the response is 1 + beta + ... + beta^k, which is at
// least as large.
//
// The standard deviations of several rounds are added, whatever their correlation: a round's result is
// an affine combination of the results before it, plus the round's own noise. A point chosen among c
// points, each of standard deviation s, has a mean square of at most 2 s^2 (log(2c) + 1), whatever the
// choice depends on. This bound follows from the tails of the c points.
func (l Trace) Noises() (estimate []float64, weight float64) {
	T := l.Steps()
	variance, reach, after := make([]float64, T), make([]float64, T), l.after(T)
	for t := range T {
		s := column(l.Noise, t, 0)
		variance[t] = s * s
		if from := t - column(l.Back, t, 1); from >= 0 {
			k := column(l.Keep, t, 0)
			variance[t] += k * k * variance[from]
		}
	}
	end, round := len(l.Rounds)-1, 0.0
	for t := T - 1; t >= 0; t-- {
		if end >= 0 && l.Rounds[end] == t+1 {
			weight, round, end = weight+math.Sqrt(round), 0, end-1
		}
		reach[t] += column(l.StepSizes, t, 0) * after[t]
		if from := t - column(l.Back, t, 1); from >= 0 {
			reach[from] += column(l.Keep, t, 0) * reach[t]
		}
		round += math.Pow(reach[t]*column(l.Noise, t, 0), 2)
	}
	weight += math.Sqrt(round)
	if l.Move > 0 {
		weight = float64(T) * l.Move
	}
	if l.Chosen > 1 {
		weight *= math.Sqrt(2 * (math.Log(2*float64(l.Chosen)) + 1))
	}
	for t, v := range variance {
		variance[t] = math.Sqrt(v)
	}
	return variance, weight
}

// Settled returns the trace with the WeightNoise that Noises computes from the columns, or 0 if Unstated is true.
func (l Trace) Settled() Trace {
	if _, l.WeightNoise = l.Noises(); l.Unstated {
		l.WeightNoise = 0
	}
	return l
}

// ChosenAmong returns the trace of a result that was chosen by noisy scores among points of the run, at least as many
// as count. Its noise is that of the last iterate, since no point has more.
func (l Trace) ChosenAmong(count int) Trace {
	l.Weights, l.Chosen = nil, max(count, l.Chosen)
	return l.Settled()
}

// Then returns the trace of a run that began at the result of the run of l, and of which next is the trace. Neither run
// may have momentum or scales, and next may have no rounds.
func (l Trace) Then(next Trace) Trace {
	A, B := l.Steps(), next.Steps()
	ends := slices.Clone(l.Rounds)
	if ends == nil {
		ends = []int{A}
	}
	out := Trace{Start: l.Start, Chosen: next.Chosen, Move: max(l.Move, next.Move), Unstated: l.Unstated || next.Unstated,
		Weights: append(l.eachWeight(A), next.eachWeight(B)[1:]...), Rounds: append(ends, A+B)}
	for _, x := range []struct {
		trace Trace
		steps int
	}{{l, A}, {next, B}} {
		for t := range x.steps {
			out.Back, out.Keep = append(out.Back, column(x.trace.Back, t, 1)), append(out.Keep, column(x.trace.Keep, t, 0))
			out.Noise = append(out.Noise, column(x.trace.Noise, t, 0))
			out.StepSizes = append(out.StepSizes, column(x.trace.StepSizes, t, 0))
		}
	}
	return out.Settled()
}

// eachWeight returns the weights of the run's T+1 points in the result.
func (l Trace) eachWeight(T int) []float64 {
	if l.Weights != nil {
		return slices.Clone(l.Weights)
	}
	weights := make([]float64, T+1)
	weights[T] = 1
	return weights
}

// WithoutNoise returns the trace of a result whose noise it cannot express.
func (l Trace) WithoutNoise() Trace {
	l.Unstated = true
	return l.Settled()
}

// WithScales returns the trace with other Scales, for weights that a public linear map makes from the run's.
func (l Trace) WithScales(scales []float64) Trace {
	l.Scales = scales
	return l
}

// WithCurvature returns the trace with the released curvature at the result.
func (l Trace) WithCurvature(m *Moment) Trace {
	l.Curvature = m
	return l
}

// WithLevel returns the trace with the released mean curvature in the weight of the intercept, and the noise of it.
func (l Trace) WithLevel(level, sigma float64) Trace {
	l.Level, l.LevelSigma = Short(level), Short(sigma)
	return l
}

// WithClipped returns the trace with what the clip holds back at the result, and the noise of it.
func (l Trace) WithClipped(held, sigma float64) Trace {
	l.Clipped, l.ClippedSigma = Short(held), Short(sigma)
	return l
}

// Pulled reports whether the clip holds back more than noise explains, so that coefficients may be off by more than
// their noise.
func (l Trace) Pulled() bool { return l.ClippedSigma > 0 && l.Clipped > clearlyClipped*l.ClippedSigma }

// clearlyClipped is the least number of deviations of its noise at which what the clip holds back is told.
const clearlyClipped = 3

// Exact reports whether WeightNoise is exactly the standard deviation of the noise in a weight on a
// flat loss. If Exact reports false, WeightNoise is an upper bound.
func (l Trace) Exact() bool { return len(l.Rounds) < 2 && l.Chosen < 2 && l.Move == 0 }

// after returns a number for each of the run's T steps: the distance by which the result of the step's round moves if
// the iterate after the step is moved by 1. Without momentum, this distance is the sum of the weights of all later
// iterates of the round in the round's average. Momentum increases the distance, because the next step repeats a part
// of the move. The step after the next takes this part back.
func (l Trace) after(T int) []float64 {
	after, sum, back := make([]float64, T), 0.0, 0.0
	end := len(l.Rounds) - 1
	for t := T - 1; t >= 0; t-- {
		if end >= 0 && l.Rounds[end] == t+1 {
			sum, back, end = 0, 0, end-1
		}
		switch {
		case l.Weights != nil:
			sum += l.Weights[t+1]
		case t == T-1 || end+1 < len(l.Rounds) && l.Rounds[end+1] == t+1:
			sum = 1
		}
		if t+1 < T {
			again := column(l.Momentum, t+1, 0) * sum
			sum, back = sum+again-back, again
		}
		after[t] = sum
	}
	return after
}

// mostSteps is the largest number of steps for which a certificate keeps the columns of a [Trace].
const mostSteps = 20_000

// Compact returns the record in the form that a certificate keeps. Numbers are rounded to five
// significant digits, and most columns of equal entries are reduced to one entry. For a run of more
// than mostSteps steps, Compact leaves out the columns and keeps WeightNoise.
func (l Trace) Compact() Trace {
	l.WeightNoise = Short(l.WeightNoise)
	if l.Steps() > mostSteps {
		return Trace{Chosen: l.Chosen, Move: l.Move, Unstated: l.Unstated, WeightNoise: l.WeightNoise, Scales: shorts(l.Scales),
			Start: Short(l.Start), Moment: l.Moment}
	}
	l.Start = Short(l.Start)
	l.Back, l.Keep = constant(l.Back, 1), constant(shorts(l.Keep), 0)
	l.Noise, l.StepSizes, l.Weights = shorts(l.Noise), single(shorts(l.StepSizes)), shorts(l.Weights)
	l.Momentum, l.Scales = constant(shorts(l.Momentum), 0), shorts(l.Scales)
	return l
}

// Short rounds a finite number to five significant digits. It returns 0 for NaN, for an infinite
// number and for a number whose rounded value overflows.
func Short(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil || math.IsNaN(y) || math.IsInf(y, 0) {
		return 0
	}
	return y
}

func shorts(v []float64) []float64 {
	var out []float64
	for _, x := range v {
		out = append(out, Short(x))
	}
	return out
}

// single reduces a column (the data of a run's steps) to one entry if all its entries are equal. It
// returns any other column as it is.
func single[T comparable](v []T) []T {
	for _, x := range v {
		if x != v[0] {
			return v
		}
	}
	return v[:min(len(v), 1)]
}

// constant reduces a column (the data of a run's steps). absent is the value that a missing column
// stands for. constant returns nil if every entry of the column is absent, one entry if all entries
// have another equal value, and otherwise the column as it is.
func constant[T comparable](v []T, absent T) []T {
	if v = single(v); len(v) == 1 && v[0] == absent {
		return nil
	}
	return v
}

// column returns the entry for step t, counted from 0, of a list v about the steps of a run. v has an entry
// for each step, or a single entry that holds for all steps, or none. If it has none, column returns absent.
func column[T any](v []T, t int, absent T) T {
	switch len(v) {
	case 0:
		return absent
	case 1:
		return v[0]
	}
	return v[t]
}

// Late describes the last quarter of a run's steps. Steps is the number of these steps. Gradient is
// the length of the mean of their released gradients. Noise is the root mean square of the length
// that this mean would have if the released gradients were noise alone. If the run used a metric
// (preconditioner), both lengths are measured in the metric.
type Late struct {
	Steps    int     `json:"steps"`
	Gradient float64 `json:"gradient_norm"`
	Noise    float64 `json:"noise"`
	// FirstGradient and FirstNoise are the same lengths, of the mean gradient and of its noise, for the
	// first steps. The number of these steps is the power of two, within the first quarter, for which the
	// ratio of FirstGradient to FirstNoise is largest. Coordinates is the number of coordinates of a
	// gradient. The three fields are zero in certificates of earlier versions.
	FirstGradient float64 `json:"first_gradient_norm,omitempty"`
	FirstNoise    float64 `json:"first_noise,omitempty"`
	Coordinates   int     `json:"coordinates,omitempty"`
}

// begins reports whether the mean of the first gradients is longer than noise explains. It is true if Coordinates is 0,
// as in certificates of earlier versions. The length of noise alone has a relative standard deviation of 1/sqrt(2
// Coordinates). The limit is three of these standard deviations above FirstNoise.
func (l Late) begins() bool {
	return l.Coordinates == 0 || l.FirstGradient > l.FirstNoise*(1+3/math.Sqrt(2*float64(l.Coordinates)))
}

// Arrival says whether the steps of a run reached the point after which more steps would only add
// noise.
type Arrival int

const (
	// Untold means that nothing can be said: the noise is not known, or the run has fewer than 8
	// steps or a signal-to-noise size below [SmallSize].
	Untold Arrival = iota
	// NoiseOnly means that noise explains the late gradients and the first gradients.
	NoiseOnly
	// Arrived means that noise explains the late gradients, but not the first gradients.
	Arrived
	// NotArrived means that the late gradients are longer than noise explains.
	NotArrived
)

const (
	// explained is the largest ratio of the late gradient's length to its noise's length at which the
	// noise is taken to explain the gradient.
	explained = 1.5
	// fewSteps is the number of steps below which the Arrival is Untold. The Arrival is also Untold
	// if the signal-to-noise size (records times mu, over sqrt(coefficients)) is below SmallSize.
	fewSteps = 8
)

// SmallSize is a limit on the effective size of a fit, which is the signal-to-noise ratio records times mu over
// sqrt(coefficients). Below SmallSize the table or the budget is too small for a useful model.
const SmallSize = 30

// Arrival says whether a run reached the point after which more steps would only add noise. steps
// is the run's number of steps, and effective its signal-to-noise size, records times mu over
// sqrt(coefficients). better means that the run's result was released to be better than the constant at which it
// began, so that it moved, whatever the noise of single steps.
func (l Late) Arrival(steps int, effective float64, better bool) Arrival {
	switch {
	case l.Steps == 0 || !(l.Noise > 0) || steps < fewSteps || !(effective >= SmallSize):
		return Untold
	case l.Gradient > explained*l.Noise:
		return NotArrived
	case !l.begins() && !better:
		return NoiseOnly
	}
	return Arrived
}

// Text says Arrival(steps, effective, better) in a sentence and adds the lengths that decided it. It returns "" if
// l.Steps is 0 or l.Noise is not > 0.
func (l Late) Text(steps int, effective float64, better bool) string {
	late := fmt.Sprintf("the gradients of the last %d steps are %.2g on average, of which noise makes %.2g", l.Steps,
		l.Gradient, l.Noise)
	switch l.Arrival(steps, effective, better) {
	case NoiseOnly:
		return fmt.Sprintf("single steps show noise only, which says nothing of the model that they made together: the gradients of "+
			"the first steps are %.2g on average, of which noise makes %.2g", l.FirstGradient, l.FirstNoise)
	case Arrived:
		return "more steps would only add noise: " + late
	case NotArrived:
		return fmt.Sprintf("not arrived: %s: another %d steps may help at this budget", late, steps)
	}
	if l.Steps == 0 || !(l.Noise > 0) {
		return ""
	}
	return fmt.Sprintf("%d steps at effective size N = %.0f are too few to tell whether more would help", steps, effective)
}
