package query

import (
	"reflect"
	"testing"
)

// shown returns the results of all getters of a term, to be compared after a write to a slice.
func shown(t Term) []any {
	lo, hi, ok := t.Curvature()
	return []any{t.Kind(), t.Cohort(), t.Weight(), t.Ball(), lo, hi, ok, t.Point(), t.Previous(), t.Step(), t.Shift(),
		t.Distance(), t.Dim(), t.Metric(), t.Slope()}
}

var plain, _ = NewMetric(2, []float64{1, 0, 0, 1})

// TestSlicesAreOnesOwn: a write to a slice that was passed to or returned by a constructor or getter must
// not change a term, query, selection or pass.
func TestSlicesAreOnesOwn(t *testing.T) {
	for name, make := range map[string]func(a, b []float64) Term{
		"gradient":   func(a, _ []float64) Term { return GradientAt(some, a, 1) },
		"value":      func(a, _ []float64) Term { return ValueAt(some, a, .5, 1) },
		"norm":       func(a, b []float64) Term { return NormAt(some, a, 1, b) },
		"within":     func(a, b []float64) Term { return DifferenceWithin(some, a, b, 1) },
		"curvature":  func(a, b []float64) Term { return DifferenceByCurvature(some, a, b, -1, 2) },
		"weighted":   func(a, b []float64) Term { return DifferenceByCurvature(some, a, b, -1, 2).Weighted(3) },
		"norm alone": func(a, _ []float64) Term { return NormAt(some, a, 1, nil) },
		"bend":       func(a, _ []float64) Term { return CurvatureAt(some, a, 1) },
		"in metric":  func(a, _ []float64) Term { return GradientInMetric(some, a, 1, 3, plain) },
		"squares":    func(a, _ []float64) Term { return SquaredSlopeAt(some, a, 1, plain) },
	} {
		a, b := at(1, 2), at(-3, .5)
		want := shown(make(at(1, 2), at(-3, .5)))
		term := make(a, b)
		terms := []Term{term}
		q, err := New(1, terms...)
		if err != nil {
			t.Fatal(err)
		}
		a[0], b[0], a[1], b[1] = 7, 7, 7, 7
		clear(terms)
		check := func(what string) {
			t.Helper()
			for _, got := range []Term{term, q.Terms()[0]} {
				if !reflect.DeepEqual(shown(got), want) {
					t.Errorf("%s: %s changed it to %v, from %v", name, what, shown(got), want)
				}
			}
		}
		check("writing into what it was made of")
		for _, x := range []Term{term, q.Terms()[0]} {
			for _, v := range [][]float64{x.Point(), x.Previous(), x.Step(), x.Shift()} {
				for j := range v {
					v[j] = 7
				}
				_ = append(v, 7)
			}
		}
		clear(q.Terms())
		check("writing into what it shows")
		if x := q.Terms()[0].Weighted(2); x.Weight() == q.Terms()[0].Weight() {
			t.Errorf("%s: a weight is not a copy's own", name)
		}
		if k := term.Kind(); k != Value && k != Norm {
			continue
		}
		candidates := []Term{term.Weighted(1), term}
		sel, err := NewSelection(1, candidates...)
		if err != nil {
			t.Fatal(err)
		}
		clear(candidates)
		clear(sel.Questions())
		if len(sel.Questions()) != 2 || !reflect.DeepEqual(shown(sel.Questions()[0].Terms()[0]), want) {
			t.Errorf("%s: a selection was written into", name)
		}
	}
	p := Pass{Start: at(1, 2), Linear: at(3, 4), Centre: at(5, 6), Step: 1, Clip: 1, Radius: 1}
	want := p.clone()
	s, err := NewStable(1, some, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []Pass{p, s.Pass()} {
		for _, v := range [][]float64{shown.Start, shown.Linear, shown.Centre} {
			clear(v)
		}
		if got := s.Pass(); !reflect.DeepEqual(got, want) {
			t.Errorf("a pass was written into: %+v", got)
		}
	}
}
