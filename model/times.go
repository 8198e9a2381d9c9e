package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// times returns how the model's target, the time to an event, is modelled.
func (m *Model) times() targetpair.Times {
	t := m.schema.Target()
	return targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards}
}

// risk returns the predicted probability of an event by a time, for the margin z.
func risk(t targetpair.Times, z, time float64) float64 {
	return -math.Expm1(-t.Hazard(time) * math.Exp(z))
}

// observed is a record with the time to an event: it was observed from entry to exit, as shares of the end of the time
// that is modelled, and event says whether the event occurred at exit. z is its predicted margin.
type observed struct {
	entry, exit float64
	event       bool
	z           float64
}

// measuredTimes are the measures of predictions of the time to an event.
type measuredTimes struct {
	concordance, brier *float64
	calibration        *Calibration
}

// timedMeasures computes the measures of records.
func timedMeasures(t targetpair.Times, list []observed) (out measuredTimes) {
	if c, ok := concordance(list); ok {
		out.concordance = &c
	}
	late := slices.ContainsFunc(list, func(r observed) bool { return r.entry > 0 })
	if b, ok := integratedBrier(t, list); ok && !late {
		out.brier = &b
	}
	out.calibration = calibratedTimes(t, list)
	return out
}

// concordance returns Harrell's index: of the pairs of records of which one has the event while the other is still observed
// without it, the share in which the first has the larger predicted margin; a tie counts half. ok is false if there is
// no such pair.
func concordance(list []observed) (index float64, ok bool) {
	margins := make([]float64, len(list))
	for i, r := range list {
		margins[i] = r.z
	}
	slices.Sort(margins)
	margins = slices.Compact(margins)
	rank := func(r observed) int { i, _ := slices.BinarySearch(margins, r.z); return i + 1 }
	counts := make([]int64, len(margins)+1) // a Fenwick tree over the margins of the records at risk
	add := func(at int, by int64) {
		for ; at < len(counts); at += at & -at {
			counts[at] += by
		}
	}
	upTo := func(at int) (n int64) {
		for ; at > 0; at -= at & -at {
			n += counts[at]
		}
		return n
	}
	byExit, byEntry := slices.Clone(list), slices.Clone(list)
	slices.SortFunc(byExit, func(a, b observed) int { return cmp.Compare(b.exit, a.exit) })
	slices.SortFunc(byEntry, func(a, b observed) int { return cmp.Compare(b.entry, a.entry) })
	var pairs, right float64
	left, n := 0, int64(0)
	for from, to := 0, 0; from < len(byExit); from = to {
		now := byExit[from].exit
		for to = from; to < len(byExit) && byExit[to].exit == now; to++ {
			if !byExit[to].event { // observed at the time of events that are as late
				add(rank(byExit[to]), 1)
				n++
			}
		}
		for ; left < len(byEntry) && byEntry[left].entry >= now && byEntry[left].entry > 0; left++ {
			if r := byEntry[left]; r.exit > now || r.exit == now && !r.event {
				add(rank(r), -1)
				n--
			}
		}
		for _, r := range byExit[from:to] {
			if r.event {
				at := rank(r)
				below, with := upTo(at-1), upTo(at)
				pairs += float64(n)
				right += float64(below) + float64(with-below)/2
			}
		}
		for _, r := range byExit[from:to] {
			if r.event {
				add(rank(r), 1)
				n++
			}
		}
	}
	return right / pairs, pairs > 0
}

// survivors returns the Kaplan-Meier estimate of the probability of being without an event after a time, as a function of
// the time. which says of which records an exit is an event.
func survivors(list []observed, which func(observed) bool) func(time float64) float64 {
	byExit, byEntry := slices.Clone(list), slices.Clone(list)
	slices.SortFunc(byExit, func(a, b observed) int { return cmp.Compare(a.exit, b.exit) })
	slices.SortFunc(byEntry, func(a, b observed) int { return cmp.Compare(a.entry, b.entry) })
	var at, left []float64
	s, came := 1., 0
	for from, to := 0, 0; from < len(byExit); from = to {
		now, events := byExit[from].exit, 0
		for to = from; to < len(byExit) && byExit[to].exit == now; to++ {
			if which(byExit[to]) {
				events++
			}
		}
		for came < len(byEntry) && (byEntry[came].entry < now || byEntry[came].entry == 0) {
			came++
		}
		if risked := came - from; events > 0 && risked > 0 {
			s *= 1 - float64(events)/float64(risked)
			at, left = append(at, now), append(left, s)
		}
	}
	return func(time float64) float64 {
		i, found := slices.BinarySearch(at, time)
		if found {
			i++
		}
		if i == 0 {
			return 1
		}
		return left[i-1]
	}
}

func event(r observed) bool    { return r.event }
func censored(r observed) bool { return !r.event }

// brierTimes is the number of times at which the Brier score is computed.
const brierTimes = 100

// integratedBrier returns the mean, over equally spaced times up to the last exit, of the Brier score of the predicted
// probability of no event by the time. Records that were observed for less than this time without an event have no weight,
// and others the inverse of the probability of being observed as long (Graf et al. 1999).
func integratedBrier(t targetpair.Times, list []observed) (score float64, ok bool) {
	last := 0.
	for _, r := range list {
		last = max(last, r.exit)
	}
	watched := survivors(list, censored)
	inverse := make([]float64, len(list)) // of the probability of being observed until just before the exit
	for i, r := range list {
		inverse[i] = 1 / watched(math.Nextafter(r.exit, -1))
	}
	times := 0.
	for k := range brierTimes {
		now := last * float64(k+1) / (brierTimes + 1)
		still := watched(now)
		if !(still > 0) {
			break
		}
		hazard, sum := t.Hazard(now*t.End()), 0.
		for i, r := range list {
			s := math.Exp(-hazard * math.Exp(r.z))
			switch {
			case r.exit > now:
				sum += (1 - s) * (1 - s) / still
			case r.event:
				sum += s * s * inverse[i]
			}
		}
		score += sum / float64(len(list))
		times++
	}
	return score / times, times > 0
}

// calibratedTimes compares the predicted risk at the end of the time that is modelled with the share of events by then,
// the Kaplan-Meier estimate, in bins of the predicted risk.
func calibratedTimes(t targetpair.Times, list []observed) *Calibration {
	bins := make([][]observed, calibrationBins)
	for _, r := range list {
		i := min(int(risk(t, r.z, t.End())*calibrationBins), calibrationBins-1)
		bins[i] = append(bins[i], r)
	}
	out := new(Calibration)
	for i, of := range bins {
		if len(of) == 0 {
			continue
		}
		b := Bin{From: float64(i) / calibrationBins, To: float64(i+1) / calibrationBins, N: int64(len(of)),
			Observed: 1 - survivors(of, event)(1)}
		for _, r := range of {
			b.Predicted += risk(t, r.z, t.End()) / float64(len(of))
		}
		out.Bins = append(out.Bins, b)
		out.Error += math.Abs(b.Predicted-b.Observed) * float64(len(of)) / float64(len(list))
	}
	return out
}
