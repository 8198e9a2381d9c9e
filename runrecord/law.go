package runrecord

import (
	"math"
	"strconv"
)

// Law states how releases became a result, as a run followed its plan (optimize.Law). A column has one
// entry a step, or a single entry for all steps. Norms are after scaling.
type Law struct {
	// Back and Keep: the estimate of step t was Keep times the estimate used Back steps earlier, plus a
	// release. A missing Back means 1, a missing Keep means 0.
	Back []int     `json:"back,omitempty"`
	Keep []float64 `json:"keep,omitempty"`
	// Noise is the standard deviation of the release's noise in one coordinate of the estimate.
	// StepSizes are the step sizes eta.
	Noise     []float64 `json:"noise,omitempty"`
	StepSizes []float64 `json:"step_sizes,omitempty"`
	// Momentum is the momentum of each step (optimize.Law); none means 0.
	Momentum []float64 `json:"momentum,omitempty"`
	// Scales are set if steps were made in a metric (preconditioner). Scales[j] is the factor by which
	// the metric multiplies the noise in the weight of feature j, the same for every margin.
	Scales []float64 `json:"scales,omitempty"`
	// Moment, if not nil, is the released second moment from which the metric was computed.
	Moment *Moment `json:"second_moment,omitempty"`
	// Weights are the weights of y_0, ..., y_{T-1}, w_T in the result; none means w_T alone. Without
	// momentum y_t is w_t. If there are Rounds, the weights of each round sum to 1.
	Weights []float64 `json:"weights,omitempty"`
	// Rounds are the steps at which rounds ended. Each round started from the results of the rounds
	// before it. None means one round.
	Rounds []int `json:"rounds,omitempty"`
	// Chosen is the number of points among which the result was chosen by noisy numbers; 0 for no
	// choice.
	Chosen int `json:"chosen_among,omitempty"`
	// Move, if > 0, says that steps are no linear function of estimates and that a step moves a
	// coordinate by at most Move.
	Move float64 `json:"largest_move,omitempty"`
	// Unstated says that the run mixed answers in a way that this law cannot express. No noise is then
	// stated.
	Unstated bool `json:"unstated,omitempty"`
	// WeightNoise is the standard deviation of the noise in each weight of the result, computed by
	// Noises. It is present even if the columns are not. If there are Scales, the standard deviation
	// for a weight of feature j is Scales[j] times WeightNoise.
	WeightNoise float64 `json:"weight_noise"`
}

// Steps returns the number of steps of the columns.
func (l Law) Steps() int { return max(len(l.Noise), len(l.StepSizes), len(l.Keep), len(l.Back)) }

// Noises returns the standard deviation of the noise in one coordinate of the estimate at each step,
// and in one coordinate of the result.
//
// To first order the noise e_t of an estimate enters w_T as -eta J e_t, where J is a product of
// matrices I - eta Hessian. On a flat loss J is 1, and if Exact reports true, the standard deviation of
// a weight is exactly the number computed here. On a convex loss whose steps do not overshoot J
// shrinks, and the number is an upper bound. Projections and convex regularizers shrink noise as well.
// With momentum beta the response to an impulse oscillates on a curved loss, but it is not larger than
// on a flat loss: with r^2 = beta (1-a), the k-th response is at most r^k (k+1), and 1 + beta + ... +
// beta^k on a flat loss is at least that number.
//
// Between rounds standard deviations are added, whatever their correlation: a round's result is an
// affine combination of the results before it, plus the round's own noise. A point chosen among c
// points, each of standard deviation s, has a mean square of at most 2 s^2 (log(2c) + 1), whatever the
// choice depends on. This bound follows from the tails of the c points.
func (l Law) Noises() (estimate []float64, weight float64) {
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

// Settle sets WeightNoise from the columns.
func (l *Law) Settle() {
	if _, l.WeightNoise = l.Noises(); l.Unstated {
		l.WeightNoise = 0
	}
}

// Exact reports whether WeightNoise is the standard deviation on a flat loss. Otherwise it is an upper
// bound on that standard deviation.
func (l Law) Exact() bool { return len(l.Rounds) < 2 && l.Chosen < 2 && l.Move == 0 }

// after returns for each step by how much a move of w_{t+1} moves the result of its round. The number
// is the weight of the iterates after the step. With momentum it is larger: momentum repeats the move
// and, a step later, takes it back.
func (l Law) after(T int) []float64 {
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

// mostLaw is the largest number of steps whose columns a certificate keeps.
const mostLaw = 20_000

// Compact returns the form that a certificate keeps: five significant digits, one entry for a column of
// equal entries, and for runs of more than mostLaw steps only the noise of the result.
func (l Law) Compact() Law {
	l.WeightNoise = Short(l.WeightNoise)
	if l.Steps() > mostLaw {
		return Law{Chosen: l.Chosen, Move: l.Move, Unstated: l.Unstated, WeightNoise: l.WeightNoise, Scales: shorts(l.Scales), Moment: l.Moment}
	}
	l.Back, l.Keep = constant(l.Back, 1), constant(shorts(l.Keep), 0)
	l.Noise, l.StepSizes, l.Weights = shorts(l.Noise), single(shorts(l.StepSizes)), shorts(l.Weights)
	l.Momentum, l.Scales = constant(shorts(l.Momentum), 0), shorts(l.Scales)
	return l
}

// Short rounds a finite number to five significant digits.
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

// single shortens a column of equal entries to one.
func single[T comparable](v []T) []T {
	for _, x := range v {
		if x != v[0] {
			return v
		}
	}
	return v[:min(len(v), 1)]
}

// constant returns nil for a column whose every entry is the value that a missing column means.
func constant[T comparable](v []T, absent T) []T {
	if v = single(v); len(v) == 1 && v[0] == absent {
		return nil
	}
	return v
}

// column returns entry t of a column, or absent if the column is missing.
func column[T any](v []T, t int, absent T) T {
	switch len(v) {
	case 0:
		return absent
	case 1:
		return v[0]
	}
	return v[t]
}
