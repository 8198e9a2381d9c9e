package model

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"pgregory.net/rapid"
)

func anyObserved() *rapid.Generator[[]timedRecord] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timedRecord {
		exit := float64(rapid.IntRange(0, 8).Draw(t, "exit")) / 8
		entry := 0.
		if exit > 0 && rapid.IntRange(0, 3).Draw(t, "late") == 3 {
			entry = float64(rapid.IntRange(0, int(exit*8)-1).Draw(t, "entry")) / 8
		}
		return timedRecord{entry, exit, rapid.Bool().Draw(t, "event"), float64(rapid.IntRange(-2, 2).Draw(t, "z")), rapid.IntRange(0, 1).Draw(t, "level")}
	}), 1, 12)
}

// beforeOrAt is the slow probability, of a list, of being without an end of the kind that ends says until a time, or
// until just before it.
func beforeOrAt(list []timedRecord, ends func(timedRecord) bool, time float64, before bool) float64 {
	s := 1.
	for k := 0; k <= 8; k++ {
		when := float64(k) / 8
		if when > time || before && when == time {
			break
		}
		ended, risked := 0., 0.
		for _, r := range list {
			if r.exit == when && ends(r) {
				ended++
			}
			// An event comes before other ends of its time.
			if r.exit > when || r.exit == when && (ends(r) || ends(timedRecord{event: true})) {
				if r.entry < when || r.entry == 0 {
					risked++
				}
			}
		}
		if risked > 0 {
			s *= 1 - ended/risked
		}
	}
	return s
}

func censored(r timedRecord) bool { return !r.event }

// TestMeasuresOfTimes compares the measures up to a horizon with slow sums over all pairs and records.
func TestMeasuresOfTimes(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{4, 16}, Increments: []float64{.1, .4, .35, .15}}
	rapid.Check(t, func(t *rapid.T) {
		list := anyObserved().Draw(t, "list")
		at := float64(rapid.IntRange(1, 8).Draw(t, "horizon")) / 8
		var m Metrics
		m.timed(times, slices.Clone(list), at*16)
		var pairs, right, unoPairs, unoRight, score float64
		late := false
		// The shares of the hazard up to 2, 4, ..., 16, of each level.
		shares := [][]float64{{.1, .2, .2 + .8/6, .2 + 1.6/6, .2 + 2.4/6, .2 + 3.2/6, .2 + 4/6., 1},
			{.35, .7, .75, .8, .85, .9, .95, 1}}
		margin := func(r timedRecord) float64 { return r.z + math.Log(shares[r.level][int(at*8)-1]) }
		for _, a := range list {
			late = late || a.entry > 0
			w := 1 / beforeOrAt(list, censored, a.exit, true)
			for _, b := range list {
				later := b.exit > a.exit || b.exit == a.exit && !b.event
				if !a.event || a.exit > at || !later || b.entry >= a.exit && b.entry > 0 {
					continue
				}
				value, ahead := 0., margin(a)-margin(b)
				if ahead > 1e-12 {
					value = 1
				} else if ahead > -1e-12 {
					value = .5
				}
				pairs, right, unoPairs, unoRight = pairs+1, right+value, unoPairs+w*w, unoRight+w*w*value
			}
			s := math.Exp(-math.Exp(margin(a)))
			if a.event && a.exit <= at {
				score += w * s * s
			} else if a.exit >= at {
				score += (1 - s) * (1 - s) / beforeOrAt(list, censored, at, true)
			}
		}
		same := func(name string, got *float64, want float64, set bool) {
			if (got != nil) != set || set && !(math.Abs(*got-want) <= 1e-9) {
				t.Errorf("%v up to %v: %s %v: want %v, %v", list, at, name, got, want, set)
			}
		}
		same("concordance", m.Concordance, right/pairs, pairs > 0)
		same("concordance_uno", m.UnoConcordance, unoRight/unoPairs, pairs > 0 && !late)
		same("brier", m.Brier, score/float64(len(list)), !late && beforeOrAt(list, censored, at, true) > 0)
		for _, b := range m.Calibration.Bins {
			var of []timedRecord
			predicted := 0.
			for _, r := range list {
				if p := -math.Expm1(-math.Exp(margin(r))); p >= b.From-1e-12 && p <= b.To+1e-12 && !(r.entry >= at && r.entry > 0) {
					of, predicted = append(of, r), predicted+p
				}
			}
			if int64(len(of)) != b.N || !(math.Abs(b.Predicted-predicted/float64(len(of))) <= 1e-9) ||
				!(math.Abs(b.Observed-1+beforeOrAt(of, event, at, false)) <= 1e-9) {
				t.Errorf("%v up to %v: %+v: want predicted %v of %v", list, at, b, predicted, of)
			}
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
			for k := 0; k <= at; k++ { // also events at time 0
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
			if got := s(now); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%v at %v: %v: want %v", list, now, got, want)
			}
		}
	})
}

// TestIntegratedBrier compares the score with one by hand: two records, of which one has the event in the middle, and a
// third that is observed for a quarter of the time.
func TestIntegratedBrier(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{1}}
	list := []timedRecord{{0, .5, true, 0, 0}, {0, 1, false, 0, 0}, {0, .25, false, 0, 0}}
	got, ok := integratedBrier(times, list, watched(list))
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
	if want /= brierTimes; !ok || !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("%v, %v: want %v", got, ok, want)
	}
}

// TestCalibratedTimes tests the tenths of 40 rows of which 24 have one risk, and that of the last row.
func TestCalibratedTimes(t *testing.T) {
	var list []timedRecord
	for i := range 40 {
		list = append(list, timedRecord{0, .5, i%2 == 0, max(float64(i)/10, 2.4), 0})
	}
	c := calibratedTimes(list, 1)
	rows := int64(0)
	for _, b := range c.Bins {
		rows += b.N
	}
	if len(c.Bins) != 5 || c.Bins[0].N != 25 || c.Bins[1].N != 3 || rows != 40 || c.Bins[0].Observed != 13./25 ||
		!(math.Abs(c.Bins[0].Predicted-(1-math.Exp(-math.Exp(2.4)))) <= 1e-12) {
		t.Errorf("%+v", c)
	}
}

// TestHorizonIsChecked tests the errors of horizons.
func TestHorizonIsChecked(t *testing.T) {
	m := timed(t)
	path := writeFile(t, "x,days,died", "1,5,1", "0,9,0")
	for _, horizon := range [][]float64{{0}, {-1}, {11}, {math.NaN()}, {1, 2}} {
		if _, err := m.Evaluate(t.Context(), path, "", "", horizon...); err == nil || !strings.Contains(err.Error(), "horizon") ||
			len(horizon) == 1 && !strings.Contains(err.Error(), "up to 10, the end") {
			t.Errorf("horizon %v: %v", horizon, err)
		}
	}
	got, err := m.Evaluate(t.Context(), path, "", "", 6)
	if err != nil || *got.Horizon != 6 || *got.Concordance != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = m.EvaluateStationarity(t.Context(), path, "", "", 4); err != nil || *got.Horizon != 4 || got.Concordance != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = m.Evaluate(t.Context(), path, "", ""); err != nil || *got.Horizon != 10 {
		t.Errorf("%+v, %v", got, err)
	}
}

// timed returns a model of the time to an event, up to 10 days, with the margin 2x - 1.
func timed(t *testing.T) *Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, Low: -1, High: 1}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Cuts: []float64{4, 10}}})
	if err != nil {
		t.Fatal(err)
	}
	p := params(t, delay, "poisson(3)", "none", 2*math.Sqrt2, -math.Sqrt2)
	p.Schema = schema
	if p.Loss, err = loss.PoissonRate(3, schema.Target().Least()); err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCalibrationOfTimesInNumbers tests the bins of five records at two risks, of which the events are half of the
// first three, by the Kaplan-Meier estimate, and all of the others: their ends, their numbers, and the mean distance of
// prediction and share, weighted by records.
func TestCalibrationOfTimesInNumbers(t *testing.T) {
	low, high := math.Log(-math.Log(1-.35)), math.Log(-math.Log(1-.875))
	c := calibratedTimes([]timedRecord{{0, .25, false, low, 0}, {0, .5, true, low, 0}, {0, 1, false, low, 0},
		{0, .5, true, high, 0}, {0, .75, true, high, 0}}, 1)
	want := []Bin{{From: .35, To: .35, N: 3, Predicted: .35, Observed: .5},
		{From: .875, To: .875, N: 2, Predicted: .875, Observed: 1}}
	if len(c.Bins) != len(want) {
		t.Fatalf("%+v", c)
	}
	for i, w := range want {
		b := c.Bins[i]
		if b.N != w.N {
			t.Errorf("%+v: must be %+v", b, w)
		}
		for _, x := range [][2]float64{{b.From, w.From}, {b.To, w.To}, {b.Predicted, w.Predicted}, {b.Observed, w.Observed}} {
			if !(math.Abs(x[0]-x[1]) <= 1e-12) {
				t.Errorf("%+v: must be %+v", b, w)
			}
		}
	}
	if want := (3*.15 + 2*.125) / 5; !(math.Abs(c.Error-want) <= 1e-12) {
		t.Errorf("error %v: must be %v", c.Error, want)
	}
}

// TestChangingHazardsByHand tests that records of each level of a column whose hazard ratios change are predicted by the
// hazards of their own level: of "a" a third comes up to day 4, of "b" four fifths, at a margin of 0. A text, a file and
// cells have the same predictions, and one of these must be given.
func TestChangingHazardsByHand(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, Low: -1, High: 1}, {Name: "arm", Kind: dataset.Category, Categories: []string{"a", "b"}}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Cuts: []float64{4, 10}, Changing: "arm",
			Hazards: []float64{.125, .25, .5, .125}}})
	if err != nil {
		t.Fatal(err)
	}
	p := params(t, delay, "poisson(3)", "none", make([]float64, schema.Dim())...)
	p.Schema = schema
	if p.Loss, err = loss.PoissonRate(3, schema.Target().Least()); err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	header, rows := []string{"x", "arm"}, [][]string{{"1", "a"}, {"1", "b"}, {"-1", "a"}}
	path := writeFile(t, "x,arm", "1,a", "1,b", "-1,a")
	cells := func(yield func([]string, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
	text := "x,arm\n1,a\n1,b\n-1,a\n"
	want := []float64{1. / 3, .8, 1. / 3}
	for name, from := range map[string]Source{"file": {Path: path}, "text": {Reader: strings.NewReader(text)},
		"cells": {Header: header, Cells: cells}} {
		var out strings.Builder
		if err := m.PredictFrom(t.Context(), from, &out, PredictOptions{Horizons: []float64{4}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
			risk := 0.
			if _, err := fmt.Sscanf(line, "%g", &risk); err != nil || !(math.Abs(risk-(1-math.Exp(-want[i]))) <= 1e-6) {
				t.Errorf("%s, row %d: %s: must be %v", name, i, line, 1-math.Exp(-want[i]))
			}
		}
	}
	ended := false // the cells, after a reader that leaves early
	from := Source{Header: header, Cells: func(yield func([]string, error) bool) {
		defer func() { ended = true }()
		for _, r := range [][]string{{"1", "b"}, {"1"}, {"1", "a"}} {
			if !yield(r, nil) {
				return
			}
		}
	}}
	n := 0
	for p, err := range m.Predictions(t.Context(), from) { // up to the end both levels have the hazard 1
		if good := n == 0; err != nil || p.OK != good || good && !(math.Abs(p.Value-(1-math.Exp(-1))) <= 1e-6) {
			t.Errorf("prediction %d: %+v, %v", n, p, err)
		}
		if n++; n == 2 {
			break
		}
	}
	if !ended {
		t.Error("the cells are held after their reader has left")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for p, err := range m.Predictions(gone, from) {
		if err != context.Canceled {
			t.Errorf("after its context has ended: %+v, %v", p, err)
		}
	}
	for name, from := range map[string]Source{"two": {Path: path, Reader: strings.NewReader(text)}, "path and cells": {Path: path, Cells: cells},
		"text and cells": {Reader: strings.NewReader(text), Cells: cells}} {
		if _, err := from.open(m.csv); err == nil || !strings.Contains(err.Error(), "must be one of a path, a reader and cells") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
