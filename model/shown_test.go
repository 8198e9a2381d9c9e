package model

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// The tests of this file compare shown texts to the letter, at numbers that were worked out by hand.

// TestContrastsToTheLetter tests what a contrast with an interval says. Half a row is 1/sqrt(3) of the number from 0 to
// 10, of the category and of the intercept; the coefficient 1 of the number is 1/5 for a year, less the square root of
// 3, and its standard error .2/5. At 90% an interval is 1.644854 standard errors either way.
func TestContrastsToTheLetter(t *testing.T) {
	m := withIntervals(t, nil)
	c, err := m.Contrast("age")
	if err != nil {
		t.Fatal(err)
	}
	unit := 1 / m.Schema().Scale()
	estimate, half := unit/5, 1.644854*.2*unit/5
	for _, x := range []struct{ got, want float64 }{{c.Estimate, estimate}, {c.Low, estimate - half}, {c.High, estimate + half},
		{c.Error, .2 * unit / 5}, {c.Privacy, 1 - math.Sqrt(.5)}, {c.Level, .9}, {c.Odds.Estimate, math.Exp(estimate)},
		{c.Odds.Low, math.Exp(estimate - half)}, {c.Odds.High, math.Exp(estimate + half)}} {
		if !(math.Abs(x.got-x.want) <= 1e-6) {
			t.Errorf("%v: must be %v", x.got, x.want)
		}
	}
	c.Odds = &Ratio{Estimate: 1.12345, Low: 1.05432, High: 1.23456}
	if got := words(c, m.quantity()); got != `the odds of "yes" are multiplied by 1.123 (90% interval 1.054 to 1.235)` {
		t.Error(got)
	}
	c.Odds, c.Rate = nil, c.Odds
	if got := words(c, m.quantity()); got != `the odds of "yes" is multiplied by 1.123 (90% interval 1.054 to 1.235)` {
		t.Error(got)
	}
	c.Rate, c.Estimate, c.Low, c.High = nil, .123456, .045678, .234567
	if got := words(c, m.quantity()); got != `the odds of "yes" is expected to be 0.1235 higher (90% interval 0.04568 to 0.2346)` {
		t.Error(got)
	}
	c.State, c.Reason = inference.Withheld, "noise"
	if got := words(c, m.quantity()); got != "no interval is stated: "+string(inference.Withheld)+": noise" {
		t.Error(got)
	}
	list, err := m.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range list.List {
		span := 1.0
		if k.Term == "age" {
			span = 10
		}
		if !(math.Abs(k.Span-span) <= 1e-9) || k.Intercept != (i == len(list.List)-1) {
			t.Errorf("%s: span %v, intercept %v", k.Term, k.Span, k.Intercept)
		}
	}
	if list.Level != .9 || list.Allowance != 0 {
		t.Errorf("%+v", list)
	}
}

// TestTablesToTheLetter tests the tables of calibration and confusion.
func TestTablesToTheLetter(t *testing.T) {
	c := &Calibration{Bins: []Bin{{From: .1, To: .2, N: 37, Predicted: .1542, Observed: .1892}}}
	if got := c.String(); got != "reliability    probabilities, and how often they came true\n"+
		"  0.1 to 0.2   predicted 0.154  observed 0.189  rows 37\n" {
		t.Errorf("%q", got)
	}
	f := &Confusion{Classes: []string{"no", "perhaps"}, Rows: [][]int64{{1234, 5}, {67, 890}}}
	if got := f.String(); got != "confusion      rows of a class (line) by the class predicted (column, in the same order)\n"+
		"  no       1234     5\n  perhaps    67   890\n" {
		t.Errorf("%q", got)
	}
	f.Classes = make([]string, 21)
	if got := f.String(); got != "confusion      of 21 classes: as JSON only\n" {
		t.Errorf("%q", got)
	}
	// Of 50 rows in two bins, the error is 20/50 |.15-.25| + 30/50 |.85-.8|.
	var bins calibrating
	bins[1].n, bins[1].sum, bins[1].came = 20, 3, 5
	bins[8].n, bins[8].sum, bins[8].came = 30, 25.5, 24
	r := bins.result(50)
	if !(math.Abs(r.Error-.07) <= 1e-12) || len(r.Bins) != 2 || r.Bins[1].From != .8 || r.Bins[1].To != .9 || r.Bins[0].N != 20 ||
		!(math.Abs(r.Bins[1].Predicted-.85) <= 1e-12) || r.Bins[1].Observed != .8 {
		t.Errorf("%+v", r)
	}
}

// TestReliabilityToTheLetter tests the table of how often probabilities came true.
func TestReliabilityToTheLetter(t *testing.T) {
	c := &Calibration{Bins: []Bin{{From: .9, To: 1, N: 17, Predicted: .2345, Observed: .1766}}}
	if got := c.String(); got != "reliability    probabilities, and how often they came true\n"+
		"  0.9 to 1.0   predicted 0.234  observed 0.177  rows 17\n" {
		t.Error(got)
	}
}

// TestEstimandToTheLetter tests which coefficient intervals are said to be of where the model is wrong: by the weights, by
// the columns of whose spread they clearly leave less than 90%, and by the least share that they leave of any column. A
// contrast names its own columns alone.
func TestEstimandToTheLetter(t *testing.T) {
	const far = "If the model is wrong the coefficient is that of the best fit to the population in which rows far from the " +
		"others weigh less, by a weight that depends on their features alone"
	for _, c := range []struct {
		left             []float64
		unweighted       bool
		want, age, level string
	}{
		{nil, false, far + ".", "", ""},
		{nil, true, "If the model is wrong the coefficient is that of the best fit to the population, in which every row weighs the " +
			"same.", "", ""},
		{[]float64{.41, .09, .97, .02, .99, .02, 2, 9}, false, far + ": the weights leave 41% (noise 9%) of the spread of age, and " +
			"`inference: {rows: unweighted}` asks for the best fit to rows that weigh the same, with more noise.",
			"the weights of rows leave 41% (noise 9%) of the spread of age", ""},
		{[]float64{.97, .02, .8, .09, .99, .02, 0, 0}, false, far + ": the weights leave 80% of each column's spread or more, with a noise " +
			"of 9%.", "", ""},
		{[]float64{.2, .3, .97, .02, .99, .02, 0, 0}, false, far + ".", "", ""},
		{[]float64{.5, .2, .97, .02, .99, .02, 0, 0}, false, far + ": the weights leave 50% of each column's spread or more, with a noise " +
			"of 20%.", "", ""},
		{[]float64{.5, .26, .97, .02, .99, .02, 0, 0}, false, far + ".", "", ""},
	} {
		m := withIntervals(t, func(f *inference.Fit) { f.Left, f.Unweighted = c.left, c.unweighted })
		list, err := m.Coefficients()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(list.Meaning, "by simulation. "+c.want+" Coefficients are") {
			t.Errorf("%v: %s", c.left, list.Meaning)
		}
		if list.List[0].Reason != c.age || list.List[1].Reason != c.level {
			t.Errorf("%v: reasons %q and %q", c.left, list.List[0].Reason, list.List[1].Reason)
		}
	}
}

// TestFormulaToTheLetter tests the formula of a fit that lacks one of three differences of a category, and the level in
// the meaning of its intervals, which is not the usual one. A curve or level that is asked for is in the other formula.
func TestFormulaToTheLetter(t *testing.T) {
	m := withIntervals(t, func(f *inference.Fit) { f.Allowance = .0123 })
	c, err := m.Coefficients()
	if err != nil || c.Asked != "ill ~ age + region" || c.Formula != "ill ~ age + region (2 of 3 differences)" || !c.Short ||
		c.Allowance != .0123 || !strings.HasPrefix(c.Meaning, "Over tables and coins 90% of such intervals hold") {
		t.Errorf("%v: %q, %q, %v, %v, %q", err, c.Asked, c.Formula, c.Short, c.Allowance, c.Meaning)
	}
	if of, err := m.Contrast("age"); err != nil || !of.Short {
		t.Errorf("%v: %+v", err, of)
	}
	if why := m.reason(inference.Interval{State: inference.Withheld, Remainder: 1.3456}, nil); !strings.HasPrefix(why,
		"what the last Newton step leaves out may be 135% of the half-width, and up to 100% may be added to an interval: ") {
		t.Error(why)
	}
	m.inference.Absorbed = []inference.Absorbed{{Feature: 2, By: 0, Correlation: 1}}
	for share, want := range map[float64]string{0: "", .3456: "; the interval is 35% wider, by a bound on the error of the last " +
		"Newton step"} {
		i := inference.Interval{State: inference.Reported, Remainder: share}
		why := wider(m.reason(i, func(int) bool { return true }), i)
		if why != "also carries "+m.schema.Features()[2]+" (correlation near 1)"+want {
			t.Error(why)
		}
	}
}
