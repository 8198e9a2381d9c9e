package model

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// ofSeveral is a model of three classes with intervals, of a number and a category without its last level.
func ofSeveral(t *testing.T, change func(*inference.Fit)) *Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east"}}},
		Target: dataset.Target{Column: "way", Kind: dataset.Category, Classes: []string{"walk", "bus", "car"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := schema.Dim()
	fit := &inference.Fit{
		Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5, Allowances: []float64{0, 0},
		Columns: []inference.Column{{Feature: d}, {Feature: d + 2}, {Feature: 2*d - 1, Kept: true},
			{Feature: 2 * d}, {Feature: 2*d + 2}, {Feature: 3*d - 1, Kept: true}},
		Dropped: []int{d + 3, d + 4, 2*d + 3, 2*d + 4},
		Beta:    []float64{1, -2, .5, .25, 3, -.75},
		Covariance: []float64{
			.04, .03, 0, .01, 0, 0,
			.09, .01, 0, .02, 0,
			.05, 0, 0, 0,
			.06, .01, 0,
			.08, 0,
			.07},
		Sampling: []float64{.02, 0, 0, 0, 0, 0, .02, 0, 0, 0, 0, .02, 0, 0, 0, .02, 0, 0, .02, 0, .02},
		Metric:   []float64{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1},
	}
	if change != nil {
		change(fit)
	}
	w := make([]float64, 3*d)
	for i, c := range fit.Columns {
		w[c.Feature] = fit.Beta[i]
	}
	p := params(t, schema.Target(), "softmax(3)", "none", w...)
	p.Schema = schema
	if p.Inference, err = fit.JSON(); err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCoefficientsOfClasses compares what a model of several classes says of each class against the first with numbers by
// hand: the coefficient of a number is its weight over half of its range and over the scale.
func TestCoefficientsOfClasses(t *testing.T) {
	m := ofSeveral(t, nil)
	list, err := m.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	unit := 1 / m.schema.Scale()
	names := []string{"bus: age", "car: age", "bus: region=south", "car: region=south", "bus: region=east", "car: region=east",
		"bus: region=other", "car: region=other", "bus: (intercept)", "car: (intercept)"}
	if got := vector.Map(list.List, func(c Coefficient) string { return c.Term }); !slices.Equal(got, names) {
		t.Fatalf("%q", got)
	}
	for i, want := range map[int][2]float64{0: {unit / 5, .2 * unit / 5}, 1: {.25 * unit / 5, math.Sqrt(.06) * unit / 5},
		2: {-2 * unit, .3 * unit}, 3: {3 * unit, math.Sqrt(.08) * unit}} {
		if c := list.List[i]; !(math.Abs(c.Estimate-want[0]) <= 1e-9) || !(math.Abs(c.Error-want[1]) <= 1e-9) || c.Intercept ||
			!(math.Abs(c.Odds.Estimate-math.Exp(want[0])) <= 1e-9) || c.Reference != []string{"", "region=north or east"}[i/2] {
			t.Errorf("%s, against %s: %+v: want %v", c.Term, c.Reference, c.Interval, want)
		}
	}
	for i, c := range list.List[4:] {
		if absent := c.State == inference.Absent; absent != (i < 4) || c.Intercept != (i >= 4) {
			t.Errorf("%s: %s, intercept %v", c.Term, c.State, c.Intercept)
		}
	}
	if list.Unit != `log-odds of each class against "walk"` || list.Reported != 4 || list.Counted != 8 || !list.Short ||
		list.Formula != "way ~ age + region (1 of 2 differences)" || list.Asked != "way ~ age + region" ||
		!slices.Equal(list.Changes, []string{"region=east counts as the reference level", "region=other counts as the reference level"}) {
		t.Errorf("%+v", list)
	}
	for text, want := range map[string]struct {
		estimate, deviation float64
		of                  string
	}{
		"car: age - bus: age":                                        {-.75 * unit / 5, math.Sqrt(.04+.06-2*.01) * unit / 5, `the odds of "car" against "bus"`},
		"bus: region=south - bus: region=north":                      {-2 * unit, .3 * unit, `the odds of "bus" against "walk"`},
		"walk: age - car: age":                                       {-.25 * unit / 5, math.Sqrt(.06) * unit / 5, `the odds of "car" against "walk"`},
		"car: region=north - car: region=south + walk: region=north": {-3 * unit, .2828427124746190 * unit, `the odds of "car" against "walk"`},
		"2 bus: region=south - 2 car: region=south":                  {-10 * unit, 2 * math.Sqrt(.09+.08-2*.02) * unit, `the odds of "bus" against "car"`},
		"2 car: region=south - bus: region=south + bus: age": {8*unit + unit/5,
			unit * math.Sqrt(4*.08+.09+.04/25-2*2*.02-2*.03/5), "the odds of the contrast's classes"},
	} {
		c, err := m.Contrast(text)
		if err != nil || !(math.Abs(c.Estimate-want.estimate) <= 1e-9) || !(math.Abs(c.Error-want.deviation) <= 1e-9) ||
			!strings.HasPrefix(c.Meaning, want.of+" are multiplied by ") || c.Unit != "log-"+strings.TrimPrefix(want.of, "the ") {
			t.Errorf("%s: %v %+v: want %v", text, err, c, want)
		}
	}
	c, err := m.Contrast("2 car: region=south - bus: region=south")
	if err != nil || c.Reason != "the reference level is region=north or east" {
		t.Errorf("%v: %+v", err, c)
	}
	for text, words := range map[string]string{"age": `a level such as column=value of a class (walk, bus, car), such as "bus: age", joined`,
		"walk: age": "is 0 in every model", "walk: ages": `such as "bus: age"`, "walk: (intercept)": `such as "bus: age"`,
		"car: (intercept)": `must be a number's column`, "truck: region=north": `must be a number's column`} {
		if _, err := m.Contrast(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
	err = m.Predict(t.Context(), writeFile(t, "age,region", "5,north"), io.Discard, PredictOptions{Intervals: true})
	if err == nil || !strings.Contains(err.Error(), "intervals: must be left out for several classes") {
		t.Errorf("intervals of predictions: %v", err)
	}
}

// TestAllowancesOfClasses: an allowance of a class widens its contrasts by the allowance times the length of the contrast in
// the metric over sqrt 2, and those of other classes not at all. Its number must divide that of the columns.
func TestAllowancesOfClasses(t *testing.T) {
	const a, quantile = .3, 1.6448536269514722
	m := ofSeveral(t, func(f *inference.Fit) { f.Allowances = []float64{0, a} })
	for text, want := range map[string][2]float64{"bus: region=south": {0, .3},
		"car: region=south": {a / math.Sqrt2 / (quantile * math.Sqrt(.08)), math.Sqrt(.08)}} {
		c, err := m.Contrast(text)
		if err != nil {
			t.Fatal(err)
		}
		if wide := (1 + want[0]) * want[1] / m.schema.Scale(); !(math.Abs(c.Remainder-want[0]) <= 1e-9) || !(math.Abs(c.Error-wide) <= 1e-9) {
			t.Errorf("%s: the remainder is %v and the error %v: want %v and %v", text, c.Remainder, c.Error, want[0], wide)
		}
	}
	f := *m.inference
	f.Allowances = make([]float64, 4)
	if err := f.Check(len(m.weights)); err == nil || !strings.Contains(err.Error(), "classes must have the same columns") {
		t.Errorf("four allowances for six columns: %v", err)
	}
}

// ordered returns a model of four ordered classes with intervals, whose gaps between thresholds are .5 and .75.
func ordered(t *testing.T) *Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 10}},
		Target:  dataset.Target{Column: "pain", Kind: dataset.Category, Classes: []string{"none", "some", "much", "most"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	fit := &inference.Fit{
		Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: 0}, {Feature: 1, Kept: true}, {Feature: 2, Kept: true}, {Feature: 3, Kept: true}},
		Beta:    []float64{1, -2, .5, .75},
		Covariance: []float64{
			.04, 0, 0, 0,
			.09, 0, 0,
			.05, .02,
			.07},
		Sampling: []float64{.02, 0, 0, 0, .02, 0, 0, .02, 0, .02},
		Metric:   []float64{1, 0, 0, 0, 1, 0, 0, 1, 0, 1},
	}
	gap := func(by float64) float64 { return math.Log(math.Expm1(by)) * 2 * math.Sqrt2 } // log(1 + e^(v/sqrt 8)) is the gap
	p := params(t, schema.Target(), "ordered(4)", "none", 1, -2, gap(.5), gap(.75))
	p.Schema = schema
	if p.Inference, err = fit.JSON(); err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestThresholdsByHand tests the thresholds of four ordered classes: the first is 0, and each of the others is the sum of
// the gaps up to its own, with the variance of that sum.
func TestThresholdsByHand(t *testing.T) {
	list, err := ordered(t).Coefficients()
	if err != nil || len(list.Thresholds) != 2 {
		t.Fatalf("%+v, %v", list.Thresholds, err)
	}
	for i, want := range []struct {
		term        string
		value, wide float64
	}{{"threshold 2", .5, math.Sqrt(.05)}, {"threshold 3", 1.25, math.Sqrt(.05 + .07 + 2*.02)}} {
		if c := list.Thresholds[i]; c.Term != want.term || !(math.Abs(c.Estimate-want.value) <= 1e-9) || !(math.Abs(c.Error-want.wide) <= 1e-9) ||
			c.Span != 1 || c.Intercept {
			t.Errorf("%s: %+v: must be %+v", c.Term, c.Interval, want)
		}
	}
}
