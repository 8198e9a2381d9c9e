package targetpair

import "math"

// instants is the number of steps into which a time, as a share of the largest time, is divided.
const instants = 1 << 22

// JoinTimes encodes the time to an event of one record as one float64: the record is at risk from entry to exit, both
// shares in [0, 1] of the largest time, and event says whether the event occurs at exit. The shares are rounded to
// multiples of 2^-22. The result is a whole number below 2^47.
func JoinTimes(entry, exit float64, event bool) float64 {
	joined := 2 * (math.RoundToEven(entry*instants)*(2*instants) + math.RoundToEven(exit*instants))
	if event {
		joined++
	}
	return joined
}

// Share returns a share of the largest time as JoinTimes rounds it.
func Share(v float64) float64 { return math.RoundToEven(v*instants) / instants }

// mostLevels is the number of levels that a number can hold beside times, and above what all encoded times are below.
const mostLevels, above = 64, 1 << 47

// JoinLevel adds the level of a column whose hazard ratios change, below 64, to encoded times, whose level is 0.
func JoinLevel(joined float64, level int) float64 { return joined + above*float64(level) }

// Level returns the level of encoded times; 0 for a number that is none.
func Level(joined float64) int {
	if !(joined >= 0 && joined < mostLevels*above) {
		return 0
	}
	return int(joined / above)
}

// SplitTimes returns what JoinTimes encoded, whatever its level. The times are NaN for a number that JoinTimes cannot
// return.
func SplitTimes(joined float64) (entry, exit float64, event bool) {
	joined -= above * float64(Level(joined))
	if !(joined >= 0 && joined < 4*instants*(instants+1)) || joined != math.Trunc(joined) {
		return math.NaN(), math.NaN(), false
	}
	half := math.Floor(joined / 2)
	event = joined != 2*half
	entry = math.Floor(half / (2 * instants))
	return entry / instants, (half - entry*(2*instants)) / instants, event
}

// Times says how the time to an event is modelled: the baseline hazard is constant in each interval between two cuts,
// from time 0 to the last cut, which is the end. Increments are its integrals over the intervals, of one level after the
// other if there are several (see Of). Without increments the hazard is constant. Grouped is not empty if the times of
// events are known by their intervals alone. If it is Logit, increments are the odds of an event in each interval, as
// shares of their sum.
type Times struct {
	Cuts, Increments []float64
	Grouped          string
}

// Logit is the link of Times whose increments are odds.
const Logit = "logit"

// WithOdds returns the loss l with the baseline odds of t, if there is a time to an event and l is a loss that needs them
// beside rows (loss.Loss, which this package does not import); otherwise it returns l.
func WithOdds[Loss any](l Loss, t Times) Loss {
	if of, ok := any(l).(interface{ Timed(Times) Loss }); ok && len(t.Cuts) > 0 {
		return of.Timed(t)
	}
	return l
}

// End returns the end of the time that is modelled.
func (t Times) End() float64 { return t.Cuts[len(t.Cuts)-1] }

// Of returns the times of a level. A level without increments of its own has those of the first.
func (t Times) Of(level int) Times {
	k := len(t.Cuts)
	if (level+1)*k > len(t.Increments) {
		level = 0
	}
	if len(t.Increments) > k {
		t.Increments = t.Increments[level*k : (level+1)*k]
	}
	return t
}

// Shares returns the increments as shares of their sum. Without increments all are equal.
func (t Times) Shares() []float64 {
	of := t.Increments
	out, sum := make([]float64, len(t.Cuts)), 0.
	for _, h := range of {
		sum += h
	}
	for j := range out {
		if out[j] = 1 / float64(len(out)); sum > 0 {
			out[j] = of[j] / sum
		} else if len(of) > 0 {
			out[j] = 0
		}
	}
	return out
}

// Cumulative returns minus the logarithm of the probability of no event by a time, for a record with the margin z. With
// Logit it is linear in the time within an interval.
func (t Times) Cumulative(z, time float64) (sum float64) {
	if t.Grouped != Logit {
		return t.Hazard(time) * math.Exp(z)
	}
	if time != time {
		return time
	}
	from := 0.
	for j, h := range t.Shares() {
		to := t.Cuts[j]
		sum += math.Log1p(h*math.Exp(z)) * (min(max(time-from, 0), to-from) / (to - from))
		from = to
	}
	return sum
}

// Doubt returns the standard error of the logarithm of Cumulative(z, time) that is due to the hazards of intervals, as a shift
// of the margin z. errors are the standard errors of their logarithms, as independent; of several levels it takes the largest
// result. An error of an interval's hazard also moves the intercept the other way, by the interval's share of the events. That
// is left out, since it makes the error smaller.
func (t Times) Doubt(errors []float64, z, time float64) (most float64) {
	k := len(t.Cuts)
	for level := 0; (level+1)*k <= len(errors); level++ {
		var sum, square, before float64
		of := t.Of(level)
		for j, to := range t.Cuts {
			after := of.Cumulative(z, min(to, time))
			weight := after - before // the derivative in z
			if t.Grouped == Logit {
				weight = -math.Expm1(-weight)
			}
			e := errors[level*k+j] * weight
			sum, square, before = sum+weight, square+e*e, after
		}
		if sum > 0 {
			most = max(most, math.Sqrt(square)/sum)
		}
	}
	return most
}

// Hazard returns the integral of the baseline hazard from 0 to a time, as a share of the integral from 0 to the end.
// The probability of an event by this time is 1 - exp(-Hazard(time) exp(z)) for a record with the margin z.
func (t Times) Hazard(time float64) float64 {
	time = min(max(time, 0), t.End()) // NaN stays NaN
	if len(t.Increments) == 0 {
		return time / t.End()
	}
	sum, whole, from := 0., 0., 0.
	for j, to := range t.Cuts {
		whole += t.Increments[j]
		sum += float64(t.Increments[j] * (min(max(time-from, 0), to-from) / (to - from)))
		from = to
	}
	if whole == 0 {
		return 0
	}
	return min(sum/whole, 1)
}

// Carried returns the target of a loss of counts with exposures (Join) for a record whose times JoinTimes encoded. The
// count is 1 if the event occurs, in an interval with a hazard above 0, and the exposure is the baseline hazard from
// entry to exit, as a share of the hazard from 0 to the end. An exposure below Least counts as Least. With Logit the target
// is that of JoinRisk. With Grouped the
// exposure of a record with an event is the hazard until the interval of the event, and the number beside it encodes the
// hazard d over this interval, from the entry on, as 2 d - 1 (the loss cloglog).
func (t Times) Carried(joined float64) float64 {
	entry, exit, event := SplitTimes(joined)
	if t.Grouped == Logit {
		return t.risk(entry, exit, event)
	}
	t = t.Of(Level(joined))
	y, from, to := -1., t.Hazard(entry*t.End()), t.Hazard(exit*t.End())
	if j := t.interval(exit); event && (len(t.Increments) == 0 || t.Increments[j] > 0) {
		if y = 1; t.Grouped != "" {
			before := 0.
			if j > 0 {
				before = t.Hazard(t.Cuts[j-1])
			}
			to = max(before, from)
			y = min(2*max(t.Hazard(t.Cuts[j])-to, Least)-1, 1)
		}
	}
	share := to - from
	return Join(y, min(max(share, Least), 1), false) // NaN stays NaN
}

// risk returns JoinRisk for a record: it is at risk from the interval in which it is at its entry until that of its event,
// or until the last that ends by its exit.
func (t Times) risk(entry, exit float64, event bool) float64 {
	if exit != exit {
		return exit
	}
	from, to := 0, 0
	for _, cut := range t.Cuts {
		end := math.RoundToEven(cut/t.End()*instants) / instants
		if end <= entry && entry > 0 {
			from++
		}
		if end <= exit && exit > 0 {
			to++
		}
	}
	if event {
		to = t.interval(exit) + 1
	}
	return JoinRisk(from, max(from, to), event)
}

// AtRisk returns the baseline hazard, or with Logit the odds, of each interval in which a record was at risk of an event
// whose time is known by its interval alone, as shares of their sums. entry, exit and event are those of JoinTimes. The
// interval of an event, which is the last, counts until its end.
func (t Times) AtRisk(entry, exit float64, event bool) []float64 {
	shares := t.Shares()
	if t.Grouped == Logit {
		from, to, _ := SplitRisk(t.risk(entry, exit, event))
		return shares[from:to]
	}
	last := t.interval(exit)
	until := exit * t.End()
	if event {
		until = t.Cuts[last]
	}
	var list []float64
	from := 0.
	for j, to := range t.Cuts[:last+1] {
		if share := min(to, until) - max(from, entry*t.End()); share > 0 || event && j == last {
			list = append(list, shares[j]*(max(share, 0)/(to-from)))
		}
		from = to
	}
	return list
}

// steps is the number of values of JoinRisk.
const steps = 1 << 15

// JoinRisk encodes as a target in [-1, 1) that a record is at risk in the intervals from <= j < to, of which there are
// less than 128, and whether the event occurs in the last of them.
func JoinRisk(from, to int, event bool) float64 {
	code := 2 * (128*from + to)
	if event {
		code++
	}
	return 2*float64(code)/steps - 1
}

// SplitRisk returns what JoinRisk encoded, and what it encoded as the number below for another y in [-1, 1].
func SplitRisk(y float64) (from, to int, event bool) {
	code := int(min(max((y+1)/2*steps, 0), steps-1))
	return code / 256, code / 2 % 128, code%2 == 1
}

// interval returns the index of the interval that ends with or after an exit that JoinTimes encoded. Time 0 belongs to
// the first interval.
func (t Times) interval(exit float64) int {
	for j, cut := range t.Cuts[:len(t.Cuts)-1] {
		if exit <= math.RoundToEven(cut/t.End()*instants)/instants {
			return j
		}
	}
	return len(t.Cuts) - 1
}

// Least is the least exposure of a record with a time to an event: the rounding of an exposure.
const Least = 1. / levels
