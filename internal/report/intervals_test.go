package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// TestIntervalsInNumbers recomputes the section with the confidence intervals of a logistic model from the
// weights, their covariance and the schema's bounds.
func TestIntervalsInNumbers(t *testing.T) {
	f := people(t, "p", 50)
	weights := []float64{.9, 0, -.4, .3, 0, .2}
	f.weights = func(j int) float64 { return weights[j] }
	const variance, sampling = .04, .01 // of each coefficient, and the part that is due to the sample
	diagonal := func(v float64) []float64 { return []float64{v, 0, 0, 0, v, 0, 0, v, 0, v} }
	f.intervals = &inference.Fit{
		Level: .95, Method: inference.Wald, Columns: []inference.Column{{Feature: 0}, {Feature: 2}, {Feature: 3},
			{Feature: 5, Kept: true}},
		Dropped: []int{1, 4}, Beta: []float64{.9, -.4, .3, .2}, Covariance: diagonal(variance), Sampling: diagonal(sampling),
		Metric: diagonal(1), Records: 10000, Reach: 2, Effective: 4, LeastCurvature: 100,
	}
	fit := read(t, f)
	s, ok := fit.intervals()
	if !ok || s.Title != "Effects, with 95% private confidence intervals" {
		t.Fatalf("the section is %q, %v", s.Title, ok)
	}
	// p2 and the level of cells that are not listed are not in the formula.
	shows(t, "reported", strings.Fields(factOf(t, s, "Reported").Value)[0], 2, 1)
	table := partOf(t, s, func(Table) bool { return true })
	// A row is divided by 2, the square root of its four parts. A level is compared with the first one.
	sd := math.Sqrt(variance)
	for term, want := range map[string]struct{ estimate, sd float64 }{
		"p1":    {.9 / 80, sd / 80},
		"p3=pb": {(.3 - -.4) / 2, sd * math.Sqrt2 / 2},
	} {
		cells := rowOf(t, table, term)
		low, high, _ := strings.Cut(cells[4], " to ")
		shows(t, term, cells[2], want.estimate, 3)
		shows(t, term+", standard error", cells[3], want.sd, 2)
		shows(t, term+", lower end", low, want.estimate-1.959964*want.sd, 1)
		shows(t, term+", upper end", high, want.estimate+1.959964*want.sd, 3)
		if cells[5] != "50%" { // 1 - sqrt(sampling/variance)
			t.Errorf("%s: privacy makes %s of the width", term, cells[5])
		}
		low, high, _ = strings.Cut(cells[7], " to ")
		shows(t, term+", odds ratio", cells[6], math.Exp(want.estimate), 3)
		shows(t, term+", its lower end", low, math.Exp(want.estimate-1.959964*want.sd), 3)
		shows(t, term+", its upper end", high, math.Exp(want.estimate+1.959964*want.sd), 3)
	}
	for _, term := range []string{"p2", "p3=other"} {
		if cells := rowOf(t, table, term); cells[2] != "-" || cells[4] != "not in the formula" {
			t.Errorf("%s: %v", term, cells)
		}
	}
}

// rowOf returns the cells of a table's row that begins with a term.
func rowOf(t *testing.T, table Table, term string) []string {
	t.Helper()
	for _, r := range table.Rows {
		if r.Cells[0] == term {
			return r.Cells
		}
	}
	t.Fatalf("the table has no row %s", term)
	return nil
}

// TestClassesAgainstTheFirst tests the coefficients and curves of three classes with intervals: they are those of the
// second and the third against the first, by the weights of each. Without intervals each class has its own, less the mean
// over the classes, and a model of two classes has one each, with intervals or without.
func TestClassesAgainstTheFirst(t *testing.T) {
	f := people(t, "p", 50)
	f.schema.Columns, f.schema.Where = f.schema.Columns[:1], ""
	f.schema.Target.Classes, f.loss, f.dims = []string{"walk", "bus", "car"}, "softmax(3)", 6
	weights := []float64{0, 0, .8, .1, -1.6, .3} // a number between 10 and 90, and the intercept
	f.weights = func(j int) float64 { return weights[j] }
	diagonal := func(v float64) []float64 { return []float64{v, 0, 0, 0, v, 0, 0, v, 0, v} }
	in := &inference.Fit{Level: .95, Method: inference.Wald, Columns: []inference.Column{{Feature: 2}, {Feature: 3, Kept: true},
		{Feature: 4}, {Feature: 5, Kept: true}}, Beta: weights[2:], Covariance: diagonal(.04), Sampling: diagonal(.01),
		Metric: diagonal(1), Records: 10000, Reach: 2, Effective: 4, LeastCurvature: 100, Allowances: []float64{0, 0}}
	slopes := func(f folder) (list []string) {
		fit := read(t, f)
		e, ok := fit.explained(runNoise{})
		if !ok {
			t.Fatal("no coefficients")
		}
		for _, c := range e.list {
			if !c.intercept {
				list = append(list, fmt.Sprintf("%s %.6f", c.class, c.effect))
			}
		}
		return list
	}
	// A unit of the number is 1/40 of the half range, of a row of length 1: divided by the square root of its parts.
	unit := 1 / (40 * math.Sqrt2)
	if got, want := slopes(f), fmt.Sprintf("[walk %.6f bus %.6f car %.6f]", .8/3*unit, 3.2/3*unit, -4./3*unit); fmt.Sprint(got) != want {
		t.Errorf("%v: must be %s", got, want)
	}
	f.intervals = in
	if got, want := slopes(f), fmt.Sprintf("[bus %.6f car %.6f]", .8*unit, -1.6*unit); fmt.Sprint(got) != want {
		t.Errorf("with intervals: %v: must be %s", got, want)
	}
	if unit, odds := read(t, f).score(); unit != "log-odds of each class against “walk”" || !odds {
		t.Errorf("with intervals: %q, odds ratios %v", unit, odds)
	}
	f.schema.Target.Classes, f.loss, f.dims = f.schema.Target.Classes[:2], "logistic", 0
	weights = weights[2:]
	in.Columns, in.Beta, in.Allowances = []inference.Column{{Feature: 0}, {Feature: 1, Kept: true}}, weights[:2], nil
	in.Covariance, in.Sampling, in.Metric = []float64{.04, 0, .04}, []float64{.01, 0, .01}, []float64{1, 0, 1}
	if got, want := slopes(f), fmt.Sprintf("[ %.6f]", .8*unit); fmt.Sprint(got) != want {
		t.Errorf("two classes: %v: must be %s", got, want)
	}
}

// TestOrderedClassesHaveOneSlope: with intervals, too, ordered classes have one coefficient of each column, in log-odds of a higher
// class.
func TestOrderedClassesHaveOneSlope(t *testing.T) {
	f := people(t, "p", 50)
	f.schema.Columns, f.schema.Where = f.schema.Columns[:1], ""
	f.schema.Target.Classes, f.loss, f.dims = []string{"low", "fair", "good"}, "ordered(3)", 3
	weights := []float64{.8, -.2, .4}
	f.weights = func(j int) float64 { return weights[j] }
	gap := read(t, f).thresholds()[1]
	diagonal := func(v float64) []float64 { return []float64{v, 0, 0, v, 0, v} }
	f.intervals = &inference.Fit{Level: .95, Method: inference.Wald, Columns: []inference.Column{{Feature: 0}, {Feature: 2, Kept: true}, {Feature: 1, Kept: true}},
		Beta: []float64{.8, gap, -.2}, Covariance: diagonal(.04), Sampling: diagonal(.01), Metric: diagonal(1), Records: 10000, Reach: 2, Effective: 3,
		LeastCurvature: 100}
	fit := read(t, f)
	e, ok := fit.explained(runNoise{})
	if !ok || fit.firstClass() != 0 || len(e.list) != 2 || e.list[0].class != "" || !(math.Abs(e.list[0].effect-.8/(40*math.Sqrt2)) <= 1e-12) || !e.list[1].intercept {
		t.Errorf("%d coefficients from class %d: %+v", len(e.list), fit.firstClass(), e.list)
	}
	if unit, odds := fit.score(); unit != "log-odds of a higher class" || !odds {
		t.Errorf("%q, odds ratios %v", unit, odds)
	}
}
