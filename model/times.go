package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// times returns how the model's target, the time to an event, is modelled, of all levels of a changing column.
func (m *Model) times() targetpair.Times { return timesOf(m.schema.Target()) }

func timesOf(t dataset.Target) targetpair.Times {
	return targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards, Grouped: t.Grouped}
}

// risk returns the predicted probability of an event by a time, for the margin z.
func risk(t targetpair.Times, z, time float64) float64 { return -math.Expm1(-t.Cumulative(z, time)) }

// timedRecord is a record with the time to an event: it was observed from entry to exit, as shares of the end of the time
// that is modelled, and event says whether the event occurred at exit. z is its predicted margin.
type timedRecord struct {
	entry, exit float64
	event       bool
	z           float64
	level       int // of the column whose hazard ratios change
}

// checkHorizons returns an error unless each time is within the time that the model describes.
func (m *Model) checkHorizons(list []float64) error {
	for _, h := range list {
		rule := ""
		if t := m.schema.Target(); t.Event == "" {
			rule = "must be left out: the model is not of the time to an event"
		} else if !(h > 0 && h <= t.High) {
			rule = fmt.Sprintf("must be a time above 0 and up to %v, the end of the time that is modelled", t.High)
		}
		if rule != "" {
			return fmt.Errorf("horizon = %v: %s", h, rule)
		}
	}
	return nil
}

// timed sets the measures of predictions of events up to the horizon. list may be changed.
func (m *Metrics) timed(t targetpair.Times, list []timedRecord, horizon float64) {
	at, late := horizon/t.End(), false
	for i, r := range list {
		list[i] = timedRecord{min(r.entry, at), min(r.exit, at), r.event && r.exit <= at, r.z, r.level}
		late = late || r.entry > 0
	}
	list = slices.DeleteFunc(list, func(r timedRecord) bool { return r.entry > 0 && r.entry == r.exit })
	set := func(to **float64, value float64, ok bool) {
		if ok {
			*to = &value
		}
	}
	set(&m.Horizon, horizon, true)
	scored := slices.Clone(list) // by the expected number of events up to the horizon
	for i, r := range list {
		scored[i].z = math.Log(t.Of(r.level).Cumulative(r.z, horizon))
	}
	c, ok := concordance(scored, func(timedRecord) float64 { return 1 })
	set(&m.Concordance, c, ok)
	if !late {
		w := watched(list)
		c, ok = concordance(scored, func(r timedRecord) float64 { return 1 / (w(r.exit) * w(r.exit)) })
		set(&m.UnoConcordance, c, ok)
		c, ok = brier(t, list, w, at)
		set(&m.Brier, c, ok)
		c, ok = integratedBrier(t, list, w)
		set(&m.IntegratedBrier, c, ok)
	}
	m.Calibration = calibratedTimes(scored, at)
}

// concordance returns the concordance index: of the pairs of records of which one has the event while the other is still
// observed without it, the share in which the first has the larger predicted margin; a tie counts half. Each pair has
// the weight of its first record: Harrell's index has equal weights. ok is false if there is no such pair.
func concordance(list []timedRecord, weight func(timedRecord) float64) (index float64, ok bool) {
	margins := vector.Map(list, func(r timedRecord) float64 { return r.z })
	slices.Sort(margins)
	margins = slices.Compact(margins)
	rank := func(r timedRecord) int { i, _ := slices.BinarySearch(margins, r.z); return i + 1 }
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
	slices.SortFunc(byExit, func(a, b timedRecord) int { return cmp.Compare(b.exit, a.exit) })
	slices.SortFunc(byEntry, func(a, b timedRecord) int { return cmp.Compare(b.entry, a.entry) })
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
				w := weight(r)
				pairs += float64(w * float64(n))
				right += float64(w * (float64(below) + float64(with-below)/2))
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

// survivors returns the Kaplan-Meier estimate of the probability of being without an event after a time, as a function
// of the time. which says of which records an exit is an event.
func survivors(list []timedRecord, which func(timedRecord) bool) func(time float64) float64 {
	byExit, byEntry := slices.Clone(list), slices.Clone(list)
	slices.SortFunc(byExit, func(a, b timedRecord) int { return cmp.Compare(a.exit, b.exit) })
	slices.SortFunc(byEntry, func(a, b timedRecord) int { return cmp.Compare(a.entry, b.entry) })
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

func event(r timedRecord) bool { return r.event }

// watched returns the Kaplan-Meier estimate of the probability of being observed until a time or longer. Events are
// counted before other ends of the same time.
func watched(list []timedRecord) func(time float64) float64 {
	ends := slices.Clone(list)
	for i, r := range ends {
		if ends[i].event = !r.event; !r.event {
			ends[i].exit += 0x1p-24 // times are multiples of 2^-22
		}
	}
	return survivors(ends, event)
}

// brierTimes is the number of times at which the Brier score is computed for its mean.
const brierTimes = 100

// brier returns the Brier score of the predicted probability of no event by a time. Records that were observed for less
// than this time without an event have no weight, and others the inverse of the probability of being observed as long
// (Graf et al. 1999), which watched returns. ok is false if no record was observed until then.
func brier(t targetpair.Times, list []timedRecord, watched func(float64) float64, now float64) (score float64, ok bool) {
	still, hazards := watched(now), make(map[int]float64)
	if !(still > 0) {
		return 0, false
	}
	for _, r := range list {
		hazard, known := hazards[r.level]
		if !known {
			hazard = t.Of(r.level).Hazard(now * t.End())
			hazards[r.level] = hazard
		}
		s := math.Exp(-hazard * math.Exp(r.z))
		if t.Grouped == targetpair.Logit {
			s = 1 - risk(t, r.z, now*t.End())
		}
		switch {
		case r.event && r.exit <= now:
			score += s * s / watched(r.exit)
		case r.exit >= now:
			score += (1 - s) * (1 - s) / still
		}
	}
	return score / float64(len(list)), true
}

// integratedBrier returns the mean, over equally spaced times up to the last exit, of the Brier score.
func integratedBrier(t targetpair.Times, list []timedRecord, watched func(float64) float64) (score float64, ok bool) {
	last, times := vector.Most(list, func(r timedRecord) float64 { return r.exit }), 0.
	for k := range brierTimes {
		s, ok := brier(t, list, watched, last*float64(k+1)/(brierTimes+1))
		if !ok {
			break
		}
		score += s
		times++
	}
	return score / times, times > 0
}

// calibratedTimes compares the predicted risk at a time with the share of events by then, the Kaplan-Meier estimate, in
// tenths of the records by their predicted risk. Records with equal risks are in one tenth. Margins are logarithms of the
// expected number of events up to this time.
func calibratedTimes(list []timedRecord, at float64) *Calibration {
	risk := func(z float64) float64 { return -math.Expm1(-math.Exp(z)) }
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b timedRecord) int { return cmp.Compare(a.z, b.z) })
	out := new(Calibration)
	for from, bin := 0, 1; from < len(list); bin++ {
		to := max(len(list)*bin/calibrationBins, from)
		for to > from && to < len(list) && list[to].z == list[to-1].z {
			to++
		}
		of := list[from:to]
		if from = to; len(of) == 0 {
			continue
		}
		b := Bin{From: risk(of[0].z), To: risk(of[len(of)-1].z), N: int64(len(of)), Observed: 1 - survivors(of, event)(at)}
		for _, r := range of {
			b.Predicted += risk(r.z) / float64(len(of))
		}
		out.Bins = append(out.Bins, b)
		out.Error += math.Abs(b.Predicted-b.Observed) * float64(len(of)) / float64(len(list))
	}
	return out
}
