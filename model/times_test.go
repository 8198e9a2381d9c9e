package model

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"pgregory.net/rapid"
)

func anyObserved() *rapid.Generator[[]observed] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) observed {
		exit := float64(rapid.IntRange(1, 8).Draw(t, "exit")) / 8
		entry := 0.
		if rapid.IntRange(0, 3).Draw(t, "late") == 3 {
			entry = float64(rapid.IntRange(0, int(exit*8)-1).Draw(t, "entry")) / 8
		}
		return observed{entry, exit, rapid.Bool().Draw(t, "event"), float64(rapid.IntRange(-2, 2).Draw(t, "z"))}
	}), 1, 12)
}

// TestConcordance compares Harrell's index with a count of all pairs.
func TestConcordance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyObserved().Draw(t, "list")
		pairs, right := 0., 0.
		for _, a := range list {
			for _, b := range list {
				later := b.exit > a.exit || b.exit == a.exit && !b.event
				if a.event && later && (b.entry < a.exit || b.entry == 0) {
					pairs++
					if a.z > b.z {
						right++
					} else if a.z == b.z {
						right += .5
					}
				}
			}
		}
		got, ok := concordance(list)
		if ok != (pairs > 0) || ok && math.Abs(got-right/pairs) > 1e-12 {
			t.Errorf("%v: %v, %v: want %v of %v", list, got, ok, right, pairs)
		}
	})
}

// TestSurvivors compares the Kaplan-Meier estimate with the product over the times of events.
func TestSurvivors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyObserved().Draw(t, "list")
		s := survivors(list, event)
		for at := range 10 {
			now, want := float64(at)/8, 1.
			for k := 1; k <= at; k++ {
				events, risked := 0., 0.
				for _, r := range list {
					when := float64(k) / 8
					if r.exit >= when && (r.entry < when || r.entry == 0) {
						risked++
					}
					if r.event && r.exit == when {
						events++
					}
				}
				if risked > 0 {
					want *= 1 - events/risked
				}
			}
			if got := s(now); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v at %v: %v: want %v", list, now, got, want)
			}
		}
	})
}

// TestIntegratedBrier compares the score with one by hand: two records, of which one has the event in the middle, and a
// third that is observed for a quarter of the time.
func TestIntegratedBrier(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{1}}
	list := []observed{{0, .5, true, 0}, {0, 1, false, 0}, {0, .25, false, 0}}
	got, ok := integratedBrier(times, list)
	want := 0.
	for k := range brierTimes {
		now := float64(k+1) / (brierTimes + 1)
		s := math.Exp(-now)
		switch {
		case now < .25:
			want += (1 - s) * (1 - s)
		case now < .5: // two records with weight 3/2 each, of three
			want += (1 - s) * (1 - s)
		default:
			want += (1.5*s*s + 1.5*(1-s)*(1-s)) / 3
		}
	}
	if want /= brierTimes; !ok || math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, %v: want %v", got, ok, want)
	}
}

// TestCalibratedTimes tests the bins of a model whose risks are 1 - exp(-1/2) and 1 - exp(-1).
func TestCalibratedTimes(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{1}}
	low := math.Log(.5)
	c := calibratedTimes(times, []observed{{0, .5, true, low}, {0, 1, false, low}, {0, 1, true, 0}, {0, 1, false, 0}})
	if len(c.Bins) != 2 || c.Bins[0].Observed != .5 || math.Abs(c.Bins[0].Predicted-(1-math.Exp(-.5))) > 1e-12 ||
		math.Abs(c.Bins[1].Predicted-(1-math.Exp(-1))) > 1e-12 || c.Bins[1].N != 2 {
		t.Errorf("%+v", c)
	}
}

// TestCalibrationOfTimesInNumbers tests the bins of five records at two risks, of which the events are half of the
// first three, by the Kaplan-Meier estimate, and all of the others: their ends, their numbers, and the mean distance of
// prediction and share, weighted by records.
func TestCalibrationOfTimesInNumbers(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{1}}
	low, high := math.Log(-math.Log(1-.35)), math.Log(-math.Log(1-.875))
	c := calibratedTimes(times, []observed{{0, .25, false, low}, {0, .5, true, low}, {0, 1, false, low}, {0, .5, true, high},
		{0, .75, true, high}})
	want := []Bin{{From: .3, To: .4, N: 3, Predicted: .35, Observed: .5}, {From: .8, To: .9, N: 2, Predicted: .875, Observed: 1}}
	if len(c.Bins) != len(want) {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		b := c.Bins[i]
		if b.N != w.N {
			t.Errorf("%+v: must be %+v", b, w)
		}
		for _, x := range [][2]float64{{b.From, w.From}, {b.To, w.To}, {b.Predicted, w.Predicted}, {b.Observed, w.Observed}} {
			if math.Abs(x[0]-x[1]) > 1e-12 {
				t.Errorf("%+v: must be %+v", b, w)
			}
		}
	}
	if want := (3*.15 + 2*.125) / 5; math.Abs(c.Error-want) > 1e-12 {
		t.Errorf("error %v: must be %v", c.Error, want)
	}
}
