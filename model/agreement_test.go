package model

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestAgreement compares calibration in the large, its slope and its groups with closed forms. Tables have two different
// rows, whose scores are 1 and -2 for two classes. A regression on two scores meets the means of both, so the slope is the
// difference of their links over that of the scores.
func TestAgreement(t *testing.T) {
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	counts := dataset.Target{Column: "n", Kind: dataset.Number, High: 8}
	two := makeModel(t, classes, "logistic", "none", 6, 0, 0, -4)
	for name, c := range map[string]struct {
		m         *Model
		file      []string
		predicted [2]float64 // of the groups f and g
		observed  [2]float64
		rows      [2]float64
		slope     float64
		variance  [2]float64 // of observed less predicted
	}{
		"classes": {two, []string{"a,b,c,split,label",
			"1,0,0,train,yes", "1,0,0,train,no", "1,0,0,train,yes", "1,0,0,train,yes", "0,0,0,test,no", "0,0,0,test,yes", "0,0,0,test,no"},
			[2]float64{logistic(-2), logistic(1)}, [2]float64{1. / 3, .75}, [2]float64{3, 4},
			(logit(.75) - logit(1./3)) / 3, [2]float64{2. / 9, 3. / 16}},
		"numbers": {makeModel(t, delay, "squared(1)", "none", .6, 0, 0, .2),
			[]string{"a,b,c,split,delay", "1,0,0,train,100", "1,0,0,train,200", "0,0,0,test,80", "0,0,0,test,20"},
			[2]float64{90 + 15, 90 + 60}, [2]float64{50, 150}, [2]float64{2, 2}, 100. / 45, [2]float64{900, 2500}},
		"counts": {makeModel(t, counts, "poisson(1)", "none", 2*math.Log(2), 0, 0, -4),
			[]string{"a,b,c,split,n", "1,0,0,train,2", "1,0,0,train,4", "0,0,0,test,1", "0,0,0,test,1"},
			[2]float64{8 * math.Exp(-2), 16 * math.Exp(-2)}, [2]float64{1, 3}, [2]float64{2, 2}, math.Log(3) / math.Log(2),
			[2]float64{0, 1}},
	} {
		got, err := c.m.Evaluate(t.Context(), writeFile(t, c.file...), "", "split")
		if err != nil {
			t.Fatal(name, err)
		}
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 2e-6*(1+math.Abs(want))) { // features are float32s
				t.Errorf("%s: %s: %v: want %v", name, what, got, want)
			}
		}
		n := c.rows[0] + c.rows[1]
		near("predicted", *got.Predicted, (c.predicted[0]*c.rows[0]+c.predicted[1]*c.rows[1])/n)
		near("observed", *got.Observed, (c.observed[0]*c.rows[0]+c.observed[1]*c.rows[1])/n)
		near("slope", *got.Slope, c.slope)
		if len(got.Groups) != 2 {
			t.Fatalf("%s: %+v", name, got.Groups)
		}
		for i, g := range got.Groups {
			if g.Group != []string{"test", "train"}[i] || float64(g.N) != c.rows[i] {
				t.Errorf("%s: %+v", name, g)
			}
			near("predicted of a group", g.Predicted, c.predicted[i])
			near("observed of a group", g.Observed, c.observed[i])
			near("standard error", g.Error, math.Sqrt(c.variance[i]/c.rows[i]))
		}
		if text := got.String(); !strings.Contains(text, "calibration_slope") || !strings.Contains(text, "\ntrain  ") {
			t.Errorf("%s: %s", name, text)
		}
	}
	path := writeFile(t, "a,b,c,split,label", "1,0,0,train,yes", "0,0,0,test,no")
	if _, err := two.Evaluate(t.Context(), path, "", "none"); err == nil ||
		!strings.Contains(err.Error(), `by = "none": must be a column of the table`) {
		t.Errorf("%v", err)
	}
	hinge := makeModel(t, classes, "hinge", "none", 1, 0, 0, 0)
	if _, err := hinge.Evaluate(t.Context(), path, "", "split"); err == nil ||
		!strings.Contains(err.Error(), `by = "split": must be left out`) {
		t.Errorf("%v", err)
	}
	many := []string{"a,b,c,split,label"}
	for i := range 101 {
		many = append(many, "1,0,"+strings.Repeat("0", i)+",test,yes")
	}
	if _, err := two.Evaluate(t.Context(), writeFile(t, many...), "", "c"); err == nil ||
		!strings.Contains(err.Error(), "more than 100 values") {
		t.Errorf("%v", err)
	}
	// All predictions are equal: there is no slope.
	path = writeFile(t, "a,b,c,split,label", "1,0,0,x,yes", "1,0,0,x,no")
	if got, err := two.Evaluate(t.Context(), path, "", ""); err != nil || got.Slope != nil || got.Groups != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAgreementOfTimes: the expected number of events of a record is its hazard between its entry and its exit.
func TestAgreementOfTimes(t *testing.T) {
	m := timed(t)
	path := writeFile(t, "x,days,died", "1,5,1", "1,10,0", "0,2,1", "0,4,0")
	got, err := m.Evaluate(t.Context(), path, "", "x")
	if err != nil {
		t.Fatal(err)
	}
	h := m.times()
	expected := [2]float64{math.Exp(-1) * (h.Hazard(2) + h.Hazard(4)) / 2, math.Exp(1) * (h.Hazard(5) + h.Hazard(10)) / 2}
	for i, g := range got.Groups {
		if !(math.Abs(g.Predicted-expected[i]) <= 1e-6) || g.Observed != .5 {
			t.Errorf("%+v: want %v", g, expected[i])
		}
	}
	slope := math.Log(expected[0]/expected[1]*math.Exp(2)) / 2
	if len(got.Groups) != 2 || !(math.Abs(*got.Slope-slope) <= 1e-6) {
		t.Errorf("%v: want %v", *got.Slope, slope)
	}
}
