package report

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// modelOf returns a model of one number with a target, a loss and a regularizer by name, and weights of 0 unless some are
// given.
func modelOf(t *testing.T, target dataset.Target, lossName, regularizer string, weights ...float64) *model.Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.ParseFor(lossName, len(target.Classes))
	if err != nil {
		t.Fatal(err)
	}
	r, err := loss.ParseRegularizer(regularizer)
	if err != nil {
		t.Fatal(err)
	}
	if weights == nil {
		weights = make([]float64, loss.Parameters(l, schema.Dim()))
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: r, Schema: schema, Weights: weights,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestScoresHaveTheirUnits tests the unit of the coefficients of every kind of target, and whether odds ratios stand beside
// them.
func TestScoresHaveTheirUnits(t *testing.T) {
	number := dataset.Target{Column: "visits", Kind: dataset.Number, High: 20}
	with := func(change func(*dataset.Target)) dataset.Target {
		k := number
		change(&k)
		return k
	}
	classes := func(names ...string) dataset.Target {
		return dataset.Target{Column: "way", Kind: dataset.Category, Classes: names}
	}
	times := func(grouped string) dataset.Target {
		return dataset.Target{Column: "days", Kind: dataset.Number, High: 3, Event: "died", Cuts: []float64{1, 3},
			Hazards: []float64{.5, .5}, Grouped: grouped}
	}
	for _, c := range []struct {
		target dataset.Target
		loss   string
		unit   string
		odds   bool
	}{
		{number, "squared(1)", "units of visits", false},
		{number, "poisson(1)", "the logarithm of the expected visits", false},
		{with(func(k *dataset.Target) { k.Exposure = dataset.Exposure{Column: "years", Low: 1, High: 4} }), "poisson-rate(1,.25)",
			"the logarithm of the expected visits per unit of years", false},
		{with(func(k *dataset.Target) {
			k.Exposure, k.Offset = dataset.Exposure{Column: "log_years", Low: 0, High: 1}, true
		}), "poisson-rate(1,0.36787944117144233)", "the logarithm of the expected visits at log_years = 0", false},
		{times(""), "poisson-rate(3,1.52587890625e-05)", "the logarithm of the hazard of died", false},
		{times("logit"), "logit-hazard(3,1.52587890625e-05)", "log-odds of died in an interval", true},
		{classes("no", "yes"), "logistic", "log-odds of “yes”", true},
		{classes("no", "yes"), "smoothed-hinge(.5)", "score for “yes”", false},
		{classes("low", "fair", "good"), "ordered", "log-odds of a higher class", true},
		{classes("walk", "bus", "car"), "softmax", "log-odds against the mean of all classes", false},
	} {
		f := &Fit{Model: modelOf(t, c.target, c.loss, "none")}
		if unit, odds := f.score(); unit != c.unit || odds != c.odds {
			t.Errorf("%s: %q, odds ratios %v: must be %q, %v", c.loss, unit, odds, c.unit, c.odds)
		}
		if first := f.firstClass(); first != 0 {
			t.Errorf("%s: coefficients begin at class %d without intervals", c.loss, first)
		}
	}
}

// TestStepsMayOvershoot: a step of 2/L ends no farther from the minimum than it began, and with momentum a step of 1/L, for
// the largest curvature L of loss and regularizer. One longer step of several is enough.
func TestStepsMayOvershoot(t *testing.T) {
	target := dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	for regularizer, L := range map[string]float64{"none": .25, "l2(.15)": .4} {
		f := &Fit{Model: modelOf(t, target, "logistic", regularizer)}
		for momentum, most := range map[bool]float64{false: 2 / L, true: 1 / L} {
			for factor, want := range map[float64]bool{.999: false, 1.001: true} {
				f.plan.Trace = &runrecord.Trace{StepSizes: []float64{.1, factor * most, .2}}
				if momentum {
					f.plan.Trace.Momentum = []float64{.5}
				}
				if got := f.overshoots(); got != want {
					t.Errorf("%s, momentum %v, a step of %v of the largest: overshoots %v", regularizer, momentum, factor, got)
				}
			}
		}
	}
	if f := (&Fit{Model: modelOf(t, target, "hinge", "none"), plan: runrecord.Run{Trace: &runrecord.Trace{StepSizes: []float64{9}}}}); f.overshoots() {
		t.Error("a curvature without a bound makes steps too long")
	}
}

// TestClearCoefficientsAreCounted: a coefficient is clear of the noise from two deviations of its span on, on both sides of 0.
// Intercepts do not count, and those without a stated deviation are not clear.
func TestClearCoefficientsAreCounted(t *testing.T) {
	var e explanation
	for _, span := range []float64{1.98, -1.98, 2.02, -2.02, 9, -8} {
		e.list = append(e.list, coefficient{span: 3 * span, spanSD: 3, effect: span, effectSD: 1})
	}
	e.list = append(e.list, coefficient{span: 9, spanSD: 1, intercept: true}, coefficient{span: 9, spanSD: 1, late: true})
	if clear, all := e.beyond(); clear != 4 || all != 7 {
		t.Errorf("%d of %d are clear: must be 4 of 7", clear, all)
	}
	if (coefficient{span: .1}).within() {
		t.Error("a coefficient with unknown noise is within it")
	}
}

// TestEqualSpansFillATable: of more coefficients than rows, all alike, the table has the first ones and the intercept.
func TestEqualSpansFillATable(t *testing.T) {
	var e explanation
	for i := range mostRows + 2 {
		e.list = append(e.list, coefficient{name: fmt.Sprint("x", i), span: 1})
	}
	e.list = append(e.list, coefficient{name: "(intercept)", intercept: true})
	got := (&Fit{}).table(e, false).Rows
	if len(got) != mostRows || got[mostRows-2].Cells[0] != fmt.Sprint("x", mostRows-2) || got[mostRows-1].Cells[0] != "(intercept)" {
		t.Errorf("%d rows, the last %v", len(got), got[len(got)-1])
	}
}

// TestNoiseOfTheConstantIsCarried works out the noise that a model between its fit and a constant has besides the kept part
// of the fit's: along the way from the constant to the fit by the noise in the position, and along the constant by its own.
func TestNoiseOfTheConstantIsCarried(t *testing.T) {
	target := dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	m := modelOf(t, target, "logistic", "none", .6, -.3)
	const margin, shrunk = .7, .25
	at := func(z float64) float64 { return z * m.Schema().Scale() } // the intercept's weight at a constant margin
	f := &Fit{Model: m, plan: runrecord.Run{
		Base:     &runrecord.Base{Margins: []float64{margin}, MarginSigma: []float64{.2}},
		Compared: &runrecord.Compared{Shrunk: shrunk, ShrunkSigma: .1, Margins: []float64{margin}},
	}}
	k := f.carried(runNoise{noise: noise{weight: 1}, convex: true})
	if k.how != bounded || k.kept != 1-shrunk || len(k.away) != 2 {
		t.Fatalf("%+v", k)
	}
	fit := []float64{.6 / (1 - shrunk), (-.3 - shrunk*at(margin)) / (1 - shrunk)}
	want := [][]float64{{.1 * fit[0], .1 * (fit[1] - at(margin))}, {0, shrunk * .2 * at(1)}}
	for i := range want {
		for j := range want[i] {
			if !(math.Abs(k.away[i][j]-want[i][j]) <= 1e-12) {
				t.Errorf("part %d moves weight %d by %v: must be %v", i, j, k.away[i][j], want[i][j])
			}
		}
	}
	parts := [][]dataset.Part{{{Feature: 0, Factor: 2}, {Feature: 1, Factor: -1}}}
	sd, _, _ := k.of(parts)
	if v := math.Sqrt(5*.75*.75 + math.Pow(2*want[0][0]-want[0][1], 2) + math.Pow(want[1][1], 2)); !(math.Abs(sd[0]-v) <= 1e-12) {
		t.Errorf("deviation %v: must be %v", sd[0], v)
	}
	// The noise of a calibration's shift is that of the intercept, beside the constant's, and the fit is the calibrated one.
	f.plan.Compared.Shift, f.plan.Compared.ShiftSigma = .4, .3
	k = f.carried(runNoise{noise: noise{weight: 1}, convex: true})
	if got, want := k.away[1][1], at(1)*math.Hypot(shrunk*.2, (1-shrunk)*.3); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("the shift moves the intercept by %v: must be %v", got, want)
	}
	f.plan.Compared.Counts = true // the mean count has a part of both noises
	k = f.carried(runNoise{noise: noise{weight: 1}, convex: true})
	if got, want := k.away[1][1], at(1)*(shrunk*.2+(1-shrunk)*.3); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("the shift of counts moves the intercept by %v: must be %v", got, want)
	}
	f.plan.Compared.Counts = false
	if got := k.away[0][1]; !(math.Abs(got-want[0][1]) <= 1e-12) {
		t.Errorf("the position moves the intercept by %v: must be %v", got, want[0][1])
	}
	f.plan.Compared.Shrunk = 0
	if k = f.carried(runNoise{noise: noise{weight: 1}, convex: true}); k.away[len(k.away)-1][1] != .3*at(1) {
		t.Errorf("the shift of a model that is its fit: %+v", k.away)
	}
	if run, _, err := f.ends(lifted{}); err != nil || run[0] != .6 || !(math.Abs(run[1]-(-.3-at(.4))) <= 1e-12) {
		t.Errorf("the run ended at %v, %v: the calibration's shift is not of its steps", run, err)
	}
	f.plan.Compared.Shrunk = shrunk
	// A feature of the run stands for several of a model whose rows were projected: then the constant is 0, without noise.
	f.plan.Reduce = "jl(1,7)"
	if k := f.carried(runNoise{noise: noise{weight: 1}, convex: true}); k.lift.size != 1 || len(k.away) != 1 || len(k.away[0]) != 1 {
		t.Errorf("%+v", k)
	}
}
