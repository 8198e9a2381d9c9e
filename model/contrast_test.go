package model

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// withIntervals returns a model of a number from 0 to 10, a category of four levels, of which the last
// counts as the reference level, and an intercept, with intervals.
func withIntervals(t testing.TB, change func(*inference.Fit)) *Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east", "west - or not"}},
		},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := schema.Dim()
	fit := &inference.Fit{
		Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: 0}, {Feature: 2}, {Feature: 3}, {Feature: d - 1, Kept: true}},
		Dropped: []int{4},
		Beta:    []float64{1, -2, .5, .25},
		Covariance: []float64{
			.04, .03, -.01, 0,
			.09, .02, .01,
			.05, 0,
			.03},
		Sampling:       []float64{.02, .01, 0, 0, .03, .01, 0, .04, 0, .02},
		Metric:         []float64{1, 0, 0, 0, 1, 0, 0, 1, 0, 1},
		LeastDirection: []float64{.2, -1, .6, .9},
	}
	if change != nil {
		change(fit)
	}
	w := make([]float64, d)
	for i, c := range fit.Columns {
		w[c.Feature] = fit.Beta[i]
	}
	p := params(t, schema.Target(), "logistic", "none", w...)
	p.Schema, p.Loss = schema, loss.Logistic()
	if p.Inference, err = fit.JSON(); err != nil {
		t.Fatal(err)
	}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestValuesOfCurves: the contrast of a value of a curve is on the line between the coefficients of its two knots, of log1p of
// the number, for equal and for listed knots, dates and classes. Other values are refused, with the values that a curve has.
func TestValuesOfCurves(t *testing.T) {
	day := func(date string) float64 {
		v, err := dataset.Day(date)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 18, High: 98, Curve: 5},
			{Name: "pay", Kind: dataset.Number, Low: 0, High: 80, Transform: dataset.Log1p, Curve: 3, Knots: []float64{0, 8, 80}},
			{Name: "seen", Kind: dataset.Date, Low: day("2020-01-01"), High: day("2020-01-31"), Curve: 3},
			{Name: "height", Kind: dataset.Number, Low: 1, High: 2},
		},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "a", "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	softmax, err := loss.Parse("softmax(3)")
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{schema: schema, loss: softmax, weights: make([]float64, 3*schema.Dim())}
	for i := range m.weights {
		m.weights[i] = math.Sin(float64(i))
	}
	of := func(text string) (sum float64) {
		weights, err := m.contrast(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range weights {
			sum += w * m.weights[i]
		}
		return sum
	}
	for _, c := range []struct {
		value, first, second string
		share                float64
	}{
		{"a: age@23", "a: age@18", "a: age@38", .25}, {"b: age@53", "b: age@38", "b: age@58", .75}, {"b: age@98.0", "b: age@78", "b: age@98", 1},
		{"a: age@58", "a: age@58", "a: age@58", 0}, {"b: pay@2", "b: pay@0", "b: pay@8", .5}, {"b: pay@26", "b: pay@8", "b: pay@80", .5},
		{"a: seen@2020-01-06", "a: seen@2020-01-01", "a: seen@2020-01-16", 1. / 3},
	} {
		text := strings.Replace(fmt.Sprintf("a: height + %v %s + %v %s", 1-c.share, c.first, c.share, c.second), "+ 0 a: age@58", "", 1)
		if got, want := of("a: height + "+c.value), of(text); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: %v: must be %v, %s", c.value, got, want, text)
		}
	}
	if _, err := m.contrast("a: height + no: age@23"); err != nil || of("a: height + no: age@23") != of("a: height") {
		t.Errorf("%v: the first class has the coefficients 0", err)
	}
	const age, seen = ": must be a value of the curve of age, from age@18 to age@98", ": must be a value of the curve of seen, from seen@2020-01-01 to seen@2020-01-31"
	for text, want := range map[string]string{"a: age@17": age, "a: age@98.1": age, "a: age@": age, "10 a: age": age, "b: age@NaN": age, "b: age@ 20": "", "a: seen@5": seen,
		"b: seen@2020-02-01": seen, "c: age@20": ": must be a number's column or", "a: height@1": ": must be a number's column or", "age@20": ": must be a number's column or",
		"aage@20": ": must be a number's column or", ": age@20": ": must be a number's column or"} {
		_, err := m.contrast(text)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, "contrast: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s: must have %q", text, got, want)
		}
	}
}

// TestCurvesOfNamesWithAnAt: the value of a curve stands after the last @ of a text, and the column's name is all before it. A
// name that begins with an @ and has no value after it is refused as the name of a curve is.
func TestCurvesOfNamesWithAnAt(t *testing.T) {
	for _, name := range []string{"home", "@home", "at@home", "home@", "@"} {
		schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: name, Kind: dataset.Number, High: 4, Curve: 3}},
			Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{schema: schema, loss: loss.Tanh(), weights: make([]float64, schema.Dim())}
		got, err := m.contrast(name + "@1 - " + name + "@0")
		whole, wrong := m.contrast(name + "@2 - " + name + "@0") // of neighbouring knots
		for i := range whole {
			if err != nil || wrong != nil || !(math.Abs(got[i]-whole[i]/2) <= 1e-12) || whole[2] == 0 {
				t.Fatalf("%s: %v, %v: must be half of %v, %v", name, got, err, whole, wrong)
			}
		}
		texts := []string{name + "@5", name + "@"}
		if strings.LastIndex(name, "@") < 1 {
			texts = append(texts, name)
		}
		for _, text := range texts {
			want := fmt.Sprintf("contrast: %q: must be a value of the curve of %s, from %[2]s@0 to %[2]s@4", text, name)
			if _, err := m.contrast(text); err == nil || err.Error() != want {
				t.Errorf("%s: %v: must be %s", text, err, want)
			}
		}
	}
}

// TestContrastsOfTerms tests the estimates of contrasts that are given as texts: with factors, with signs,
// and with the reference level. The expected coefficient of a number is its weight, divided by half of the
// number's range and divided by the schema's scale. A contrast with a level that was dropped must have no
// interval and no estimate, on whichever side the level stands.
func TestContrastsOfTerms(t *testing.T) {
	m := withIntervals(t, nil)
	s := 1 / m.schema.Scale()
	for _, c := range []struct {
		text     string
		estimate float64
	}{
		{"age", s / 5},
		{"10 age", 2 * s},
		{"- 10 age", -2 * s},
		{"region=south", -2 * s},
		{"region=south - region=north", -2 * s},
		{"region=north - region=south", 2 * s},
		{"region=south - region=east", -2.5 * s},
		{"0.5 region=south + 0.5 region=east - 2.5 age", (-1 + .25 - .5) * s},
	} {
		v, err := m.Contrast(c.text)
		if err != nil || v.State != inference.Reported || !(math.Abs(v.Estimate-c.estimate) <= 1e-12) {
			t.Errorf("%s: %v: %+v: want %v", c.text, err, v, c.estimate)
			continue
		}
		reason := "the reference level is region=north or west - or not"
		if !strings.Contains(c.text, "region") || c.text == "region=south - region=east" {
			reason = ""
		}
		if v.Odds == nil || !(math.Abs(v.Odds.High-math.Exp(v.High)) <= 1e-12) || v.Reason != reason || v.Level != .9 ||
			!strings.HasPrefix(v.Meaning, `the odds of "yes" are multiplied by `) {
			t.Errorf("%s: %+v: want an odds ratio", c.text, v)
		}
	}
	for _, text := range []string{
		"region=west - or not", "region=south - region=west - or not", "region=west - or not + region=south",
		"region=north - region=west - or not", "3 age - 0.001 region=west - or not",
	} {
		v, err := m.Contrast(text)
		if err != nil || v.State != inference.Absent || v.Estimate != 0 || v.Error != 0 || v.Odds != nil ||
			!strings.Contains(v.Reason, "is not in the formula") {
			t.Errorf("%s: %v: %+v: want no interval", text, err, v)
		}
	}
	// The variance of a difference is the sum of both variances minus twice the covariance.
	v, err := m.Contrast("region=south - region=east")
	if want := s * math.Sqrt(.09+.05-2*.02); err != nil || !(math.Abs(v.Error-want) <= 1e-12) {
		t.Errorf("%v: standard error %v: want %v", err, v.Error, want)
	}
	for _, text := range []string{"", "height", "age sex", "age +", "age - ", "age + 3", "2 3 age", "intercept", "NaN age", "region",
		"region=north", "age - age"} {
		if _, err := m.Contrast(text); err == nil {
			t.Errorf("%q: is a contrast", text)
		}
	}
}

// TestJointOfTerms tests the joint region of two contrasts. Its estimates and variances must be those of the
// contrasts. If one contrast has no interval, there must be no region, and the reason must name that
// contrast.
func TestJointOfTerms(t *testing.T) {
	m := withIntervals(t, nil)
	joint, err := m.Joint([]string{"age", "region=south - region=east"})
	if err != nil || joint.State != inference.Reported || joint.Reason != "" {
		t.Fatal(err, joint)
	}
	for i, text := range []string{"age", "region=south - region=east"} {
		v, err := m.Contrast(text)
		if err != nil || joint.Estimate[i] != v.Estimate || !(math.Abs(joint.Covariance[i][i]-v.Error*v.Error) <= 1e-12) {
			t.Errorf("%s: %v: %+v of %+v", text, err, v, joint)
		}
	}
	joint, err = m.Joint([]string{"age", "region=west - or not"})
	if err != nil || joint.State != inference.Absent || !strings.HasPrefix(joint.Reason, "region=west - or not: a column or a level of it") {
		t.Errorf("%v: %+v: want the reason of the last level", err, joint)
	}
	joint, err = m.Joint([]string{"age", "region=south", "region=south - region=north"})
	if err != nil || joint.State != inference.Dependent || !strings.Contains(joint.Reason, "follows from the others") {
		t.Errorf("%v: %+v: want dependent", err, joint)
	}
	// Each contrast alone has an interval that is wider by the error of the last step, and carries a dropped level. The region
	// names the error alone: the allowance of .2 over 1.645 sqrt .04.
	wide := withIntervals(t, func(f *inference.Fit) {
		f.Allowance, f.Absorbed = .2, []inference.Absorbed{{Feature: 4, By: 0, Correlation: -.9449}}
	})
	if joint, err = wide.Joint([]string{"age", "region=south"}); err != nil || joint.State != inference.Withheld ||
		joint.Reason != "age: the interval is 61% wider, by a bound on the error of the last Newton step" {
		t.Errorf("%v: %+v: want the error of the last step of age", err, joint)
	}
	shadows := withIntervals(t, func(f *inference.Fit) { f.Method = inference.Region })
	if joint, err = shadows.Joint([]string{"age"}); err != nil || !strings.Contains(joint.Reason, "Fieller") {
		t.Errorf("%v: %+v: want the reason of the method", err, joint)
	}
}

// TestReasons tests the reason for every state without an interval. It must name the noise, the curvature,
// the columns and the size of the remainder. With an allowance of 1 and a metric of 1, the remainder is the
// length of the contrast divided by its half-width. The smallest is 1/(1.645 sqrt .09), for region=south. The
// largest is sqrt 2/(1.645 sqrt(.04 + .03)), for the intercept, which is the score at age 0.
func TestReasons(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*inference.Fit)
		state  inference.State
		want   []string
	}{
		"withheld": {func(f *inference.Fit) { f.Allowance, f.Halfway = 1, true }, inference.Withheld,
			[]string{"up to 100% may be added to an interval", "released halfway"}},
		"withheld, no step ahead": {func(f *inference.Fit) { f.Allowance = 1 }, inference.Withheld,
			[]string{"released where that step begins", "203% to 325% of the half-widths"}},
		"negative": {func(f *inference.Fit) { f.Method, f.LeastCurvature = inference.NotIdentified, -.5 },
			inference.Unidentified, []string{"the noise of the last curvature", "about region=south, region=east", "is negative"}},
		"no end": {func(f *inference.Fit) { f.Method, f.LeastCurvature = inference.NotIdentified, .75 },
			inference.Unidentified, []string{"is 0.75 times the largest to expect of its noise", "has no end"}},
		"no direction": {func(f *inference.Fit) {
			f.Method, f.LeastCurvature, f.LeastDirection = inference.NotIdentified, .75, nil
		}, inference.Unidentified, []string{"how much the rows tell: its"}},
	} {
		list, err := withIntervals(t, c.change).Coefficients()
		if err != nil {
			t.Fatal(err)
		}
		var of []Reason
		for _, r := range list.Reasons {
			if r.State == c.state {
				of = append(of, r)
			}
		}
		if len(of) != 1 || len(of[0].Terms) < 3 {
			t.Errorf("%s: reasons %+v", name, list.Reasons)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(of[0].Text, want) {
				t.Errorf("%s: %s: want %q", name, of[0].Text, want)
			}
		}
		for _, v := range list.List {
			if (v.State == inference.Reported) != (v.Reason == "") {
				t.Errorf("%s: %+v: reason", name, v)
			}
		}
	}
}
