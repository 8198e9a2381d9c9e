package runrecord

import (
	"math"
	"strconv"
)

// Law is how releases became a result, as a run followed its plan (optimize.Law). Columns have one entry a step, or a
// single one for all steps. Norms are in the encoded space.
type Law struct {
	// Back and Keep say that the estimate of step t was Keep times that of Back
	// steps before plus a release. No Back means 1, no Keep means 0.
	Back []int     `json:"back,omitempty"`
	Keep []float64 `json:"keep,omitempty"`
	// Noise is the standard deviation of the release's noise in one coordinate
	// of the estimate; StepSizes are the eta.
	Noise     []float64 `json:"noise,omitempty"`
	StepSizes []float64 `json:"step_sizes,omitempty"`
	// Momentum is that of each step (optimize.Law); none means 0.
	Momentum []float64 `json:"momentum,omitempty"`
	// Scales, if there are any, are one for each feature, the same for its weight at
	// every margin: steps are taken in a metric, and the noise in that weight is so many
	// times what it would be without one.
	Scales []float64 `json:"scales,omitempty"`
	// Moment, if not nil, is the second moment that the metric was made of.
	Moment *Moment `json:"second_moment,omitempty"`
	// Weights are those of y_0, ..., y_{T-1}, w_T in the result, y_t being w_t
	// where there is no momentum; none means w_T alone.
	// Where there are Rounds, each has weights of its own that sum to 1.
	Weights []float64 `json:"weights,omitempty"`
	// Rounds are the steps at which rounds ended, each of which started from the
	// results of those before; none means one round.
	Rounds []int `json:"rounds,omitempty"`
	// Chosen is among how many points the result was chosen by looking at noisy
	// numbers; 0 for none.
	Chosen int `json:"chosen_among,omitempty"`
	// Move, if > 0, says that steps are no linear function of estimates, but
	// move a coordinate by at most this.
	Move float64 `json:"largest_move,omitempty"`
	// Unstated says that the run mixed answers in a way that none of this describes, so
	// that no noise is stated.
	Unstated bool `json:"unstated,omitempty"`
	// WeightNoise is the standard deviation of each weight of the result, by
	// Noises, whether or not the columns are kept; where there are Scales, that of a
	// weight of feature j is Scales[j] times it.
	WeightNoise float64 `json:"weight_noise"`
}

// Steps is how many steps the columns are of.
func (l Law) Steps() int { return max(len(l.Noise), len(l.StepSizes), len(l.Keep), len(l.Back)) }

// Noises returns the standard deviation of the noise in one coordinate of the
// estimate at each step, and of the result.
//
// To first order the noise of an estimate, e_t, enters w_T as -eta J e_t with J a
// product of matrices I - eta Hessian. Where the loss is flat J is 1, and the
// deviation of a weight is exactly the one computed here if Exact says so; under
// a convex loss whose steps do not overshoot J shrinks, and it is at most that.
// Projections and convex regularizers shrink as well. Momentum beta swings on a
// curved loss, but no farther: with r^2 = beta (1-a), the k-th response to an impulse
// is at most r^k (k+1), and 1 + beta + ... + beta^k on a flat one is at least that.
//
// Between rounds deviations are added, whatever their correlation: a round's
// result is an affine combination of those before it, and its own noise. Among
// c points, of deviation s each, the one chosen has a mean square of at most
// 2 s^2 (log(2c) + 1), however it was chosen: that follows from their tails.
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

// Settle sets WeightNoise to what the columns say.
func (l *Law) Settle() {
	if _, l.WeightNoise = l.Noises(); l.Unstated {
		l.WeightNoise = 0
	}
}

// Exact reports whether WeightNoise is the deviation on a flat loss rather than a
// bound on it.
func (l Law) Exact() bool { return len(l.Rounds) < 2 && l.Chosen < 2 && l.Move == 0 }

// after returns for each step what moving w_{t+1} moves the result of its round:
// the weight of the iterates after it, and more with momentum, which repeats the
// move and, a step later, takes it back.
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

// mostLaw is how many steps' columns are kept for a certificate.
const mostLaw = 20_000

// Compact returns what a certificate keeps: five digits, which is more than
// anybody needs, single entries for columns that do not change, and of very long
// runs the result's noise alone.
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

// Short keeps five digits of a finite number.
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

// constant leaves out a column that is what its absence means.
func constant[T comparable](v []T, absent T) []T {
	if v = single(v); len(v) == 1 && v[0] == absent {
		return nil
	}
	return v
}

// column reads entry t of a column.
func column[T any](v []T, t int, absent T) T {
	switch len(v) {
	case 0:
		return absent
	case 1:
		return v[0]
	}
	return v[t]
}
