package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

func TestCorrelationsToTheLetter(t *testing.T) {
	for want, a := range map[string]inference.Absorbed{
		"correlation 0.99":              {Correlation: .9949},
		"correlation near 1":            {Correlation: .995},
		"correlation -0.99":             {Correlation: -.9949},
		"correlation near -1":           {Correlation: -.9951},
		"correlation -0.50, noise 0.07": {Correlation: -.5, Noise: .0678},
	} {
		if got := correlation(a); got != want {
			t.Errorf("%v: %q: must be %q", a, got, want)
		}
	}
}

// TestSpreadThatWeightsLeaveToTheLetter: columns are named of which less than 90% are left, by more than three deviations of
// the noise. If there are none, the least share is stated: that of the column which may be farthest below the others.
func TestSpreadThatWeightsLeaveToTheLetter(t *testing.T) {
	const begin = "If the model is wrong the coefficient is that of the best fit to the population in which rows far from the others " +
		"weigh less, by a weight that depends on their features alone"
	const asks = ", and `inference: {rows: unweighted}` asks for the best fit to rows that weigh the same, with more noise."
	m := withIntervals(t, nil)
	for _, c := range []struct {
		left      []float64 // of age, south, east and the intercept, each with its noise
		want, far string
	}{
		{nil, ".", ""},
		{[]float64{.83, .02, .85, .02, 1, .01, .5, .001}, ": the weights leave 83% (noise 2%) of the spread of age" + asks,
			"83% (noise 2%) of the spread of age"},
		{[]float64{.8, .03, .7, .02, .6, .01, 1, .01}, ": the weights leave 80% (noise 3%) of the spread of age, 70% (noise 2%) of the spread of " +
			"region=south, 60% (noise 1%) of the spread of region=east" + asks,
			"80% (noise 3%) of the spread of age, 70% (noise 2%) of the spread of region=south, 60% (noise 1%) of the spread of region=east"},
		{[]float64{.95, .001, .97, .03, 1.02, .01, .1, .01}, ": the weights leave 97% of each column's spread or more, with a noise of 3%.", ""},
		{[]float64{1.05, .02, 1.07, .02, 1.09, .01, 1, .01}, ": the weights leave 100% of each column's spread or more, with a noise of 2%.", ""},
		{[]float64{.5, .3, 1, .01, 1, .01, 1, .01}, ".", ""},
	} {
		m.inference.Left = c.left
		if got := m.estimand(); got != begin+c.want {
			t.Errorf("%v: %q: must be %q", c.left, got, begin+c.want)
		}
		if got := strings.Join(m.far(func(int) bool { return true }), ", "); got != c.far {
			t.Errorf("%v: %q: must be %q", c.left, got, c.far)
		}
	}
	m.inference.Left = []float64{.8, .03, .7, .02, .6, .01, 1, .01}
	if got := m.far(func(j int) bool { return j == 3 }); !slices.Equal(got, []string{"60% (noise 1%) of the spread of region=east"}) {
		t.Errorf("of east: %q", got)
	}
	m.inference.Unweighted = true
	if got := m.estimand(); got != "If the model is wrong the coefficient is that of the best fit to the population, in which every row weighs the same." {
		t.Error(got)
	}
}

// TestLeastDirectionToTheLetter: the features with the three largest entries are named, from one half on.
func TestLeastDirectionToTheLetter(t *testing.T) {
	m := withIntervals(t, nil)
	for _, c := range []struct {
		direction []float64
		want      string
	}{
		{[]float64{.55, -1, .5, .9}, " about region=south, age, region=east"},
		{[]float64{-.55, .49, 1, .9}, " about region=east, age"},
		{[]float64{.4, .2, -.3, 1}, ""},
	} {
		m.inference.LeastDirection = c.direction
		if got := m.along(); got != c.want {
			t.Errorf("%v: %q: must be %q", c.direction, got, c.want)
		}
	}
}

// TestReasonsOfManyToTheLetter: the reason of several intervals that are withheld states the range of their remainders, and
// that of one its own. An interval that is not stated is not wider.
func TestReasonsOfManyToTheLetter(t *testing.T) {
	m := withIntervals(t, nil)
	of := func(remainders ...float64) (list []Coefficient) {
		for _, r := range remainders {
			i := inference.Interval{State: inference.Withheld, Remainder: r}
			list = append(list, Coefficient{Term: "x", Interval: i, Reason: m.reason(i, nil)})
		}
		return list
	}
	for want, list := range map[string][]Coefficient{"may be 120% to 170% of the half-widths, and up to 100% may": of(1.3, 1.7, 1.2),
		"may be 120% to 170% of the half-widths, and": of(1.7, 1.2), "may be 130% of the half-width, and": of(1.3)} {
		got := m.reasons(list)
		if len(got) != 1 || got[0].State != contrast.Withheld || len(got[0].Terms) != len(list) || !strings.Contains(got[0].Text, want) {
			t.Errorf("%+v: must have %q", got, want)
		}
	}
	if got := wider("why", inference.Interval{State: inference.Withheld, Remainder: 1.3}); got != "why" {
		t.Error(got)
	}
	if got := wider("why", inference.Interval{State: inference.Reported, Remainder: .36}); got !=
		"why; the interval is 36% wider, by a bound on the error of the last Newton step" {
		t.Error(got)
	}
}

// ofHazards returns a model of the time to an event with two intervals.
func ofHazards(t *testing.T, lossName string, target dataset.Target) *Model {
	t.Helper()
	target.Column, target.Kind, target.High, target.Event, target.Cuts = "years", dataset.Number, 4, "died", []float64{2, 4}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	p := params(t, delay, "poisson(3)", "none", make([]float64, s.Dim())...)
	p.Schema, p.Loss = s, l
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRatiosOfHazards: a coefficient multiplies the odds of an event in an interval with logit hazards, and the hazard with
// others.
func TestRatiosOfHazards(t *testing.T) {
	i := inference.Interval{State: inference.Reported, Estimate: .5, Low: .25, High: .75}
	want := Ratio{math.Exp(.5), math.Exp(.25), math.Exp(.75)}
	odds := ofHazards(t, "logit-hazard(3,1.52587890625e-05)", dataset.Target{Grouped: "logit", Hazards: []float64{.4, .6}})
	if got := odds.multiplied(i); got.Rate != nil || *got.Odds != want {
		t.Errorf("odds: %+v", got)
	}
	if got := odds.quantity() + ", " + odds.unit(); got != "the odds of died in an interval, log-odds of died in an interval" {
		t.Error(got)
	}
	rates := ofHazards(t, "poisson-rate(3,1.52587890625e-05)", dataset.Target{Hazards: []float64{.4, .6}})
	if got := rates.multiplied(i); got.Odds != nil || *got.Rate != want {
		t.Errorf("rates: %+v", got)
	}
	if got := rates.quantity() + ", " + rates.unit(); got != "the hazard of died, the logarithm of the hazard of died" {
		t.Error(got)
	}
}

// TestIntervalsOfChangingRisks: where hazard ratios change, the risk has an interval at the last cut alone.
func TestIntervalsOfChangingRisks(t *testing.T) {
	m := ofHazards(t, "poisson-rate(3,1.52587890625e-05)", dataset.Target{Changing: "sex", Hazards: []float64{.2, .3, .1, .4}})
	d := m.schema.Dim()
	m.inference = &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: d - 1, Kept: true}}, Beta: []float64{0}, Covariance: []float64{.02}, Sampling: []float64{.01}, Metric: []float64{1}}
	for by, stated := range map[float64]bool{2: false, 4: true} {
		_, err := m.intervals(Risk, nil, by)
		if (err == nil) != stated || err != nil && err.Error() !=
			"horizon = 2: has no interval of predictions before the last cut, since the hazard ratios of sex change" {
			t.Errorf("by %v: %v", by, err)
		}
	}
	if _, err := m.intervals(Risk, nil); err != nil {
		t.Errorf("by the end: %v", err)
	}
	if _, err := m.intervals(Risk, nil, 2, 4); err == nil || err.Error() != "horizon: 2 times: must be one time, for which the interval is stated" {
		t.Errorf("two times: %v", err)
	}
}

// TestIntervalsOfThresholds: the interval of the probability of a class above a threshold is that of the score less the gaps
// up to it.
func TestIntervalsOfThresholds(t *testing.T) {
	m := ordered(t)
	intervals, err := m.intervals(Probabilities, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{.25, .5}
	const quantile = 1.6448536269514722
	variance := .04/16 + .09/4
	for k, want := range []struct{ score, variance float64 }{{.25 - 1, variance}, {.25 - 1 - .5, variance + .05}, {.25 - 1 - 1.25, variance + .05 + .07 + 2*.02}} {
		half := quantile * math.Sqrt(want.variance)
		low, high := 1/(1+math.Exp(half-want.score)), 1/(1+math.Exp(-half-want.score))
		for range 2 { // the same row again
			if got := intervals(x)[k]; !(math.Abs(got.Low-low) <= 1e-9) || !(math.Abs(got.High-high) <= 1e-9) {
				t.Errorf("threshold %d: %v: must be %v to %v", k+1, got, low, high)
			}
		}
	}
}

// TestCurvesOfClassesAreWhole: of several classes no contrast with a knot of a curve has an interval if the formula of that
// class lacks a knot, and the dropped knot counts as the reference, the middle one. The formula is not short without the
// level of missing numbers alone.
func TestCurvesOfClassesAreWhole(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1, Curve: 5},
		{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south"}}},
		Target: dataset.Target{Column: "way", Kind: dataset.Category, Classes: []string{"walk", "bus", "car"}}})
	if err != nil {
		t.Fatal(err)
	}
	d, hat := s.Dim(), s.Hats()[0]
	p := params(t, s.Target(), "softmax(3)", "none", make([]float64, 3*d)...)
	p.Schema = s
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	lacks := hat.First + 4
	f := &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5, Dropped: []int{d + lacks, 2*d + lacks}}
	for at := d; at < 3*d; at += d {
		for j := range d {
			if j != lacks && j != hat.First+2 && j != hat.Axes[0].Number {
				f.Columns = append(f.Columns, inference.Column{Feature: at + j, Kept: j == d-1})
			}
		}
	}
	k := len(f.Columns)
	f.Beta = make([]float64, k)
	for i := range k {
		for j := i; j < k; j++ {
			one := map[bool]float64{true: 1}[i == j]
			f.Metric, f.Sampling, f.Covariance = append(f.Metric, one), append(f.Sampling, one/100), append(f.Covariance, one/64)
		}
	}
	m.inference = f
	along := func(feature int) contrast.State {
		weights := make([]float64, 3*d)
		weights[feature] = 1
		return m.contrasts()(weights, 0).State
	}
	for at := d; at < 3*d; at += d {
		for i := range hat.Width {
			if got := along(at + hat.First + i); got != contrast.Absent {
				t.Errorf("class %d, knot %d: %s", at/d, i, got)
			}
		}
		if got := along(at + hat.Axes[0].Missing); got != contrast.Reported {
			t.Errorf("class %d, missing numbers: %s", at/d, got)
		}
		if got, want := m.changed(at+lacks), "a@1 counts as a@0.5"; got != want {
			t.Errorf("%q: must be %q", got, want)
		}
	}
	if !m.short() {
		t.Error("the formula is not short without a knot")
	}
	f.Dropped = []int{d + hat.Axes[0].Missing, 2*d + hat.Axes[0].Missing}
	if m.short() {
		t.Error("the formula is short without the level of missing numbers")
	}
}

// TestContrastsAreReadToTheLetter tests what is no contrast, and that an error quotes the contrast as it was given.
func TestContrastsAreReadToTheLetter(t *testing.T) {
	m := withIntervals(t, nil)
	for text, want := range map[string]string{
		"-age":                            `contrast: "-age": must be a number's column`,
		"inf age":                         `contrast: "inf age": must be`,
		"-inf region=south":               `contrast: "-inf region=south": must be`,
		"nan age":                         `contrast: "nan age": must be`,
		"age +  + age":                    `contrast: "": must be`,
		"region=north":                    `contrast: "region=north": is 0 in every model: a reference level has the coefficient 0`,
		"2 region=north - 3 region=north": `contrast: "2 region=north - 3 region=north": is 0 in every model`,
		"age - age":                       `contrast: "age - age": is 0 in every model`,
	} {
		if c, err := m.Contrast(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %+v, %v: must be %q", text, c, err, want)
		}
	}
	// A number that carries a dropped level, and a level against a reference that it counts as.
	m = withIntervals(t, func(f *inference.Fit) {
		f.Dropped, f.Absorbed = []int{4}, []inference.Absorbed{{Feature: 4, By: 0, Correlation: -.9449, Noise: .0345}}
	})
	if c, err := m.Contrast("age + region=south"); err != nil || c.Reason != "also carries region=west - or not (correlation -0.94, noise 0.03); "+
		"the reference level is region=north or west - or not" {
		t.Errorf("%v: %+v", err, c)
	}
}
