package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestQuantities tests the quantity and the unit of the estimates of every kind of target.
func TestQuantities(t *testing.T) {
	number := dataset.Target{Column: "visits", Kind: dataset.Number, High: 20}
	exposed, offset := number, number
	exposed.Exposure = dataset.Exposure{Column: "years", Low: 1, High: 4}
	offset.Exposure, offset.Offset = dataset.Exposure{Column: "log_years", Low: 0, High: 1}, true
	classes := func(names ...string) dataset.Target {
		return dataset.Target{Column: "way", Kind: dataset.Category, Classes: names}
	}
	for _, c := range []struct {
		target         dataset.Target
		loss           string
		quantity, unit string
	}{
		{number, "squared(1)", "visits", "units of visits"},
		{number, "poisson(1)", "the expected visits", "the logarithm of the expected visits"},
		{exposed, "poisson-rate(1,0.25)", "the expected visits per unit of years", "the logarithm of the expected visits per unit of years"},
		{offset, "poisson-rate(1,0.36787944117144233)", "the expected visits at log_years = 0", "the logarithm of the expected visits at log_years = 0"},
		{classes("no", "yes"), "logistic", `the odds of "yes"`, `log-odds of "yes"`},
		{classes("low", "fair", "good"), "ordered(3)", "the odds of a higher class", "log-odds of a higher class"},
		{classes("walk", "bus", "car"), "softmax(3)", `the odds of each class against "walk"`, `log-odds of each class against "walk"`},
	} {
		p := params(t, c.target, "logistic", "none")
		l, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		p.Loss, p.Weights = l, make([]float64, loss.Parameters(l, p.Schema.Dim()))
		m, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		if m.quantity() != c.quantity || m.unit() != c.unit {
			t.Errorf("%s: %q, %q: must be %q, %q", c.loss, m.quantity(), m.unit(), c.quantity, c.unit)
		}
	}
}

// TestWholeCurvesHaveIntervals: a curve of which the formula has every knot but the reference has an interval at each knot, and
// none if a knot is hidden, as have missing numbers and the intercept then, which stand beside a knot.
func TestWholeCurvesHaveIntervals(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 10, Curve: 4, Indicator: true}, {Name: "dose", Kind: dataset.Number, High: 1, Indicator: true}},
		Target:  dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := schema.Hats()[0]
	missing, other := h.Axes[0].Missing, slices.Index(schema.Features(), "dose=missing")
	of := func(hidden ...int) *Model {
		f := &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5, Dropped: hidden}
		w := make([]float64, schema.Dim())
		for _, term := range schema.Terms(false) {
			j := term.Parts[0].Feature
			if !slices.Contains(hidden, j) {
				f.Columns = append(f.Columns, inference.Column{Feature: j, Kept: j == schema.Dim()-1})
				w[j] = .1 * float64(j+1)
				f.Beta = append(f.Beta, w[j])
			}
		}
		for i := range f.Beta {
			for j := i; j < len(f.Beta); j++ {
				one := map[bool]float64{true: 1}[i == j]
				f.Metric, f.Sampling, f.Covariance = append(f.Metric, one), append(f.Sampling, one/100), append(f.Covariance, one/64)
			}
		}
		p := params(t, schema.Target(), "logistic", "none", w...)
		if p.Schema, p.Inference, err = schema, nil, nil; err != nil {
			t.Fatal(err)
		}
		if p.Inference, err = f.JSON(); err != nil {
			t.Fatal(err)
		}
		m, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	knot := h.First
	if knot == h.Reference() {
		knot++
	}
	for name, c := range map[string]struct {
		hidden []int
		lacks  func(feature int) bool // whose coefficients have no interval
		change string
	}{
		"whole":   {nil, func(int) bool { return false }, ""},
		"a knot":  {[]int{knot}, func(j int) bool { return j == missing || j >= h.First && j < h.First+h.Width || j == schema.Dim()-1 }, " counts as "},
		"missing": {[]int{missing}, func(j int) bool { return j == missing }, " counts as "},
		"another": {[]int{other}, func(j int) bool { return j == other }, "dose=missing is left out"},
	} {
		m := of(c.hidden...)
		list, err := m.Coefficients()
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range list.List {
			j := schema.Terms(false)[i].Parts[0].Feature
			if want := !c.lacks(j); (k.State == inference.Reported) != want {
				t.Errorf("%s: %s is %s", name, k.Term, k.State)
			}
		}
		if changes := strings.Join(list.Changes, "\n"); (c.change == "") != (changes == "") || !strings.Contains(changes, c.change) || strings.Contains(changes, "reference level") {
			t.Errorf("%s: changes %q: must say %q", name, changes, c.change)
		}
	}
}

// TestRegionsHaveNoJointRegion: the reason is that of the method, also where an interval alone is wider by a remainder.
func TestRegionsHaveNoJointRegion(t *testing.T) {
	m := withIntervals(t, func(f *inference.Fit) {
		f.Method, f.Remainders = inference.Region, []float64{.3 * 1.645 * math.Sqrt(.04), 0, 0, 0}
	})
	if v, err := m.Contrast("age"); err != nil || v.State != inference.Reported || v.Remainder == 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	joint, err := m.Joint([]string{"region=south"})
	if err != nil || joint.State != inference.Unidentified || joint.Reason != m.unidentified() {
		t.Errorf("%+v, %v", joint, err)
	}
	if joint, err = m.Joint([]string{"age"}); err != nil || joint.State != inference.Unidentified || joint.Reason != m.unidentified() {
		t.Errorf("with a remainder: %+v, %v", joint, err)
	}
}
