package model

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestRates tests a model of rates with weights (2, 0, 0, 0), which predicts 6/4 e^a claims a year
// for a row whose first number is a. The expected count of a record is the rate times its years,
// clamped to [1, 4]. The test fails if predictions are counts of a record instead of rates, or if
// errors are computed from the rate instead of the expected count.
func TestRates(t *testing.T) {
	claims := dataset.Target{Column: "claims", Kind: dataset.Number, High: 6,
		Exposure: dataset.Exposure{Column: "years", Low: 1, High: 4}}
	m := makeModel(t, claims, "poisson-rate(3,0.25)", "none", 2, 0, 0, 0)
	path := writeFile(t, "a,b,c,claims,split,years",
		"-1,0,0,0,x,2",
		"0.5,0,0,6,x,9", // years count as 4
		"0,0,0,3,x,0.5", // years count as 1
		"0,0,0,3,x,",
	)
	rates, years, counts := []float64{1.5 * math.Exp(-1), 1.5 * math.Exp(.5), 1.5}, []float64{2, 4, 1}, []float64{0, 6, 3}
	var deviance, squares, objective float64
	for i, k := range counts {
		mean := rates[i] * years[i]
		deviance += 2 * (mean - k) / 3
		if k > 0 {
			deviance += 2 * k * math.Log(k/mean) / 3
		}
		squares += (mean - k) * (mean - k) / 3
		objective += (mean - k*math.Log(rates[i]/1.5)) / 6 / 3
	}
	got := evaluate(t, m, path, "")
	wantValue(t, "deviance", got.Deviance, deviance)
	wantValue(t, "rmse", got.RMSE, math.Sqrt(squares))
	wantValue(t, "objective", got.Objective, objective)
	if got.N != 3 || got.Skipped != 1 {
		t.Errorf("%v: a record without an exposure has no target", got)
	}
	for _, table := range []string{path, writeFile(t, "a,b,c", "-1,0,0", "0.5,0,0", "0,0,0")} {
		lines := strings.Split(predict(t, m, table, ""), "\n")
		for i, want := range rates {
			if v, err := strconv.ParseFloat(lines[i+1], 64); err != nil || !(math.Abs(v/want-1) <= 1e-12) {
				t.Errorf("row %d: predicted %q: want %v", i, lines[i+1], want)
			}
		}
	}
}

// TestWeightsAreForTraining tests that weights of classes and of records change the objective and
// its gradient, and change neither predictions nor any other measure.
func TestWeightsAreForTraining(t *testing.T) {
	plain := dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	weighted := plain
	weighted.Weight = "w"
	path := writeFile(t, "a,b,c,y,split,w", "-1,0,0,yes,x,0.5", "0.5,0,0,no,x,1", "0,0.5,0,yes,x,0.25", "1,0,0,yes,x,0")
	without := writeFile(t, "a,b,c,y,split", "-1,0,0,yes,x", "0.5,0,0,no,x", "0,0.5,0,yes,x", "1,0,0,yes,x")
	m, n := makeModel(t, weighted, "weighted(logistic,2,3,row)", "none", 2, 0, 0, .5),
		makeModel(t, plain, "logistic", "none", 2, 0, 0, .5)
	got, want := evaluate(t, m, path, ""), evaluate(t, n, without, "")
	z := []float64{-.75, .75, .25, 1.25}
	signs, weights := []float64{1, -1, 1, 1}, []float64{1.5, 2, .75, 0}
	objective := 0.0
	for i := range z {
		objective += weights[i] * math.Log1p(math.Exp(-signs[i]*z[i])) / 4
	}
	wantValue(t, "objective", got.Objective, objective)
	if *got.GradientNorm == *want.GradientNorm {
		t.Error("the gradient is that without weights")
	}
	got.Objective, got.GradientNorm = want.Objective, want.GradientNorm
	if got.String() != want.String() {
		t.Errorf("with weights\n%v\nwithout\n%v", got, want)
	}
	if p, q := predict(t, m, path, ""), predict(t, n, without, ""); p != q || !strings.HasPrefix(p, "probability,class") {
		t.Errorf("predicted with weights\n%s\nwithout\n%s", p, q)
	}
	o2, _ := m.Output()
	if o2 != Probability {
		t.Errorf("output %v", o2)
	}
}

// TestCalibration tests that each probability is in one bin, with the ends in the first and the
// last bin, and that the error is the sum computed by hand.
func TestCalibration(t *testing.T) {
	var c calibrating
	for _, row := range []struct {
		p    float64
		came bool
	}{{0, false}, {.05, true}, {.1, false}, {.55, true}, {.59, false}, {.999, true}, {1, true}} {
		c.add(row.p, row.came)
	}
	got := c.result(7)
	want := []Bin{{0, .1, 2, .025, .5}, {.1, .2, 1, .1, 0}, {.5, .6, 2, .57, .5}, {.9, 1, 2, .9995, 1}}
	if len(got.Bins) != len(want) {
		t.Fatalf("%+v", got.Bins)
	}
	for i, b := range got.Bins {
		if w := want[i]; b.N != w.N || b.From != w.From || b.To != w.To || !(math.Abs(b.Predicted-w.Predicted) <= 1e-15) ||
			b.Observed != w.Observed {
			t.Errorf("bin %d: %+v: want %+v", i, b, w)
		}
	}
	wantValue(t, "error", &got.Error, (2*.475+.1+2*.07+2*.0005)/7)
}

// TestCalibrationOfModels tests that two classes are calibrated by the second class's probability,
// more classes by the predicted class's probability, and scores not at all.
func TestCalibrationOfModels(t *testing.T) {
	two := dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	path := writeFile(t, "a,b,c,y,split", "0.5,0,0,yes,x", "-0.5,0,0,yes,x", "-0.5,0,0,no,x")
	got := evaluate(t, makeModel(t, two, "logistic", "none", 4, 0, 0, 0), path, "")
	high := 1 / (1 + math.Exp(-1))
	if c := got.Calibration; c == nil || len(c.Bins) != 2 || c.Bins[0].N != 2 ||
		!(math.Abs(c.Bins[0].Predicted-(1-high)) <= 1e-15) || c.Bins[0].Observed != .5 || c.Bins[1].Observed != 1 {
		t.Errorf("two classes: %+v", got.Calibration)
	}
	if !strings.Contains(got.String(), "reliability") || !strings.Contains(got.String(), "\ncalibration    ") {
		t.Errorf("is not printed:\n%v", got)
	}
	if got := evaluate(t, makeModel(t, two, "hinge", "none", 4, 0, 0, 0), path, ""); got.Calibration != nil {
		t.Errorf("scores are calibrated: %+v", got.Calibration)
	}
	three := dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes", "maybe"}}
	w := make([]float64, 12)
	w[4] = 8 // for yes
	got = evaluate(t, makeModel(t, three, "softmax(3)", "none", w...), path, "")
	yes, no := math.Exp(2)/(2+math.Exp(2)), 1/(2+math.Exp(-2)) // at a = 1/2 and at -1/2
	if c := got.Calibration; c == nil || len(c.Bins) != 2 || !(math.Abs(c.Bins[1].Predicted-yes) <= 1e-12) ||
		c.Bins[1].Observed != 1 ||
		!(math.Abs(c.Bins[0].Predicted-no) <= 1e-12) || c.Bins[0].Observed != .5 {
		t.Errorf("three classes: %+v, want %v and %v", got.Calibration, no, yes)
	}
}
