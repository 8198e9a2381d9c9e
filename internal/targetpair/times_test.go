package targetpair_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"pgregory.net/rapid"
)

// TestTimes tests that encoded times are read back to half of 2^-22, and that other numbers are no times.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry, exit := rapid.Float64Range(0, 1).Draw(t, "entry"), rapid.Float64Range(0, 1).Draw(t, "exit")
		event := rapid.Bool().Draw(t, "event")
		joined := targetpair.JoinTimes(entry, exit, event)
		level := rapid.IntRange(0, 63).Draw(t, "level")
		with := targetpair.JoinLevel(joined, level)
		from, to, came := targetpair.SplitTimes(with)
		if targetpair.Level(with) != level || with >= 1<<53 {
			t.Errorf("level %d of %v is read as %d", level, joined, targetpair.Level(with))
		}
		if !(math.Abs(from-entry) <= 0x1p-23) || !(math.Abs(to-exit) <= 0x1p-23) || came != event || joined >= 1<<48 {
			t.Errorf("%v, %v, %v is read as %v, %v, %v", entry, exit, event, from, to, came)
		}
	})
	for _, no := range []float64{-1, .5, math.NaN(), math.Inf(1), 1 << 53, 1<<47 - 1} {
		if from, to, _ := targetpair.SplitTimes(no); from == from || to == to {
			t.Errorf("%v is read as %v to %v", no, from, to)
		}
	}
}

// TestCarriedTimes compares exposures with sums over fine steps of the hazard. An event in an interval without a hazard
// does not count.
func TestCarriedTimes(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{10, 40, 100}, Increments: []float64{.5, 0, 1.5}}
	rates := func(at float64) float64 {
		switch {
		case at < 10:
			return .05
		case at < 40:
			return 0
		}
		return .025
	}
	for _, c := range [][3]float64{{0, 5, 1}, {0, 0, 1}, {2, 30, 1}, {2, 30, 0}, {0, 100, 1}, {35, 70, 1}, {0, 10, 1},
		{12, 20, 0}} {
		y, share := targetpair.Split(times.Carried(targetpair.JoinTimes(c[0]/100, c[1]/100, c[2] == 1)), false)
		const steps = 1e5
		want := 0.
		for i := range int(steps) {
			want += rates(c[0]+(c[1]-c[0])*(float64(i)+.5)/steps) * (c[1] - c[0]) / steps / 2
		}
		if !(math.Abs(share-max(want, targetpair.Least)) <= 2e-5) {
			t.Errorf("%v: exposure %v: want %v", c, share, want)
		}
		counted := c[2] == 1 && (c[1] <= 10 || c[1] > 40)
		if (y == 1) != counted {
			t.Errorf("%v: event counted: %v", c, y)
		}
	}
	if h := (targetpair.Times{Cuts: []float64{4}}).Hazard(1); h != .25 {
		t.Errorf("a constant hazard: %v", h)
	}
	if h := times.Hazard(1e9); h != 1 {
		t.Errorf("after the end: %v", h)
	}
}

// TestLevelsHaveHazards tests that each level has its own exposures and events, in shares of its own hazard, and that a
// level without hazards has none.
func TestLevelsHaveHazards(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{10, 40}, Increments: []float64{.3, .1, 0, .6, 0, 0}}
	for level, want := range []float64{.75, 0, targetpair.Least} {
		y, share := targetpair.Split(times.Carried(targetpair.JoinLevel(targetpair.JoinTimes(0, .25, true), level)), false)
		if !(math.Abs(share-max(want, targetpair.Least)) <= 2e-5) || (y == 1) != (level == 0) {
			t.Errorf("level %d: %v, %v: want %v", level, y, share, want)
		}
	}
	if h := times.Of(7).Hazard(10); !(math.Abs(h-.75) <= 1e-12) {
		t.Errorf("a level that there is not: %v", h)
	}
}

// TestGroupedTimes tests that an event counts in the interval that its time ends or lies in, from the entry on, whatever
// the cuts: times that end an interval are rounded as the cuts are. Without an event the exposure is that of any time.
func TestGroupedTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		widths := rapid.SliceOfN(rapid.Float64Range(.1, 9), 1, 9).Draw(t, "widths")
		hazards := rapid.SliceOfN(rapid.Float64Range(.05, 1), len(widths), len(widths)).Draw(t, "hazards")
		times, whole := targetpair.Times{Increments: hazards, Grouped: "cloglog"}, 0.
		for j, w := range widths {
			if j > 0 {
				w += times.Cuts[j-1]
			}
			times.Cuts, whole = append(times.Cuts, w), whole+hazards[j]
		}
		before := 0.
		for j, cut := range times.Cuts {
			y, share := targetpair.Split(times.Carried(targetpair.JoinTimes(0, cut/times.End(), true)), false)
			if !(math.Abs((y+1)/2-hazards[j]/whole) <= 1e-9) || !(math.Abs(share-max(before/whole, targetpair.Least)) <= 2e-5) {
				t.Fatalf("an event at cut %d of %v: hazards %v and %v: want %v and %v", j, times.Cuts, (y+1)/2, share, hazards[j]/whole,
					before/whole)
			}
			// Entry in the middle of the interval: half of its hazard is left.
			entry := (cut - widths[j]/2) / times.End()
			y, share = targetpair.Split(times.Carried(targetpair.JoinTimes(entry, cut/times.End(), true)), false)
			if !(math.Abs((y+1)*whole/hazards[j]-1) <= 1e-3) || share != targetpair.Least {
				t.Fatalf("an entry in interval %d: hazards %v of %v and %v", j, (y+1)/2, hazards[j]/whole, share)
			}
			before += hazards[j]
			y, share = targetpair.Split(times.Carried(targetpair.JoinTimes(0, cut/times.End(), false)), false)
			if y != -1 || !(math.Abs(share-before/whole) <= 2e-5) {
				t.Fatalf("no event until cut %d: %v, %v", j, y, share)
			}
		}
	})
}

// TestRisksAreIntervals tests the intervals in which a record is at risk under a logit: an event counts in the interval
// that its time ends or lies in, a record without one until the last cut that it reached, and a record that enters within
// an interval from this interval on.
func TestRisksAreIntervals(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{1, 2, 3.3, 7}, Grouped: targetpair.Logit}
	for _, c := range []struct {
		entry, exit float64
		event       bool
		from, to    int
	}{{0, 0, true, 0, 1}, {0, 0, false, 0, 0}, {0, 1, true, 0, 1}, {0, 1, false, 0, 1}, {0, 1.5, true, 0, 2}, {0, 1.5, false, 0, 1},
		{0, 3.3, true, 0, 3}, {0, 3.3, false, 0, 3}, {0, 7, true, 0, 4}, {0, 7, false, 0, 4}, {1, 2, true, 1, 2}, {1.5, 2, true, 1, 2},
		{2, 7, false, 2, 4}, {3.4, 3.5, false, 3, 3}, {3.3, 3.5, true, 3, 4}} {
		y := times.Carried(targetpair.JoinTimes(c.entry/7, c.exit/7, c.event))
		if from, to, event := targetpair.SplitRisk(y); from != c.from || to != c.to || event != c.event || !(y >= -1 && y < 1) {
			t.Errorf("from %v to %v, event %v: intervals %d to %d, event %v", c.entry, c.exit, c.event, from, to, event)
		}
	}
	if y := times.Carried(-1); !math.IsNaN(y) {
		t.Errorf("a number that is no time: %v", y)
	}
	if got, want := times.Cumulative(.3, 2.65), math.Log1p(math.Exp(.3)/4)*2.5; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("the middle of the third interval: %v: want %v", got, want)
	}
}

// TestDoubtIsTheSpread compares the standard error of the logarithm of the cumulative hazard with its spread over hazards
// with independent errors.
func TestDoubtIsTheSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for _, of := range []targetpair.Times{
		{Cuts: []float64{1, 2, 4}, Increments: []float64{.2, .2, .6}},
		{Cuts: []float64{1, 2, 4}, Increments: []float64{.5, .2, .3}, Grouped: targetpair.Logit},
		{Cuts: []float64{1, 2, 4}, Increments: []float64{.2, .3, .5, .6, .3, .1}},
	} {
		errors := make([]float64, len(of.Increments))
		copy(errors, []float64{.001, .002, .01, .0001, .0002, .0003}) // the first level has the larger errors
		for _, z := range []float64{-4, .7} {
			for _, time := range []float64{1, 1.7, 4} {
				first := of.Of(0)
				value, slope := first.Cumulative(z, time), (first.Cumulative(z+1e-5, time)-first.Cumulative(z-1e-5, time))/2e-5
				square := 0.
				const draws = 20_000
				for range draws {
					with := targetpair.Times{Cuts: of.Cuts, Grouped: of.Grouped}
					for j, h := range first.Increments {
						with.Increments = append(with.Increments, h*(1+errors[j]*r.NormFloat64()))
					}
					sum := 0.
					for j, h := range with.Increments {
						sum += h - first.Increments[j]
					}
					d := (with.Cumulative(z+sum, time) - value) / slope // Times divides by the sum of the increments
					square += d * d / draws
				}
				if got := of.Doubt(errors, z, time); !(math.Abs(got/math.Sqrt(square)-1) <= .05) {
					t.Errorf("%+v at %v by %v: a standard error of %v: the spread is %v", of, z, time, got, math.Sqrt(square))
				}
			}
		}
		if got := of.Doubt(nil, 0, 1); got != 0 {
			t.Errorf("%v without errors", got)
		}
	}
}
