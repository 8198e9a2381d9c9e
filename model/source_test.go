package model

import (
	"context"
	"fmt"
	"testing"
)

// TestRowsOfAnotherLength tests that a row with fewer or more cells than the header is not predicted.
func TestRowsOfAnotherLength(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, .5)
	from := Source{Header: []string{" a", "b ", "c"}, Cells: func(yield func([]string, error) bool) {
		for n := range 5 {
			if !yield([]string{"0.5", "0", "0", "0"}[:n], nil) {
				return
			}
		}
	}}
	n := 0
	for p, err := range m.Predictions(t.Context(), from) {
		if good := n == 3; err != nil || p.OK != good {
			t.Errorf("%d cells: %+v, %v", n, p, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d predictions", n)
	}
}

// TestCancelledPredictions tests that predictions end within 1,024 rows after their context.
func TestCancelledPredictions(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, .5)
	from := Source{Header: []string{"a", "b", "c"}, Cells: func(yield func([]string, error) bool) {
		for range 10_000 {
			if !yield([]string{"0.5", "0", "0"}, nil) {
				return
			}
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range m.Predictions(ctx, from) {
		if last = err; err == nil {
			n++
		}
		if n == 1500 {
			cancel()
		}
	}
	if n != 2048 || last != context.Canceled {
		t.Errorf("%d predictions, then %v: must be 2048, then %v", n, last, context.Canceled)
	}
}

// TestOrderedPredictionsHaveNoInterval tests that no single interval is stated of ordered classes, of which each threshold
// has one.
func TestOrderedPredictionsHaveNoInterval(t *testing.T) {
	m := ordered(t)
	intervals, err := m.intervals(Probabilities, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list := intervals([]float32{.25, .5}); len(list) != 3 || list[0] == nil {
		t.Fatalf("%d intervals of thresholds", len(list))
	}
	from := Source{Header: []string{"age"}, Cells: func(yield func([]string, error) bool) { yield([]string{"7"}, nil) }}
	for p, err := range m.Predictions(t.Context(), from) {
		if err != nil || !p.OK || p.Interval != nil {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// TestCellsAreTrimmed tests that spaces around names of columns, labels and groups count nowhere.
func TestCellsAreTrimmed(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, .5)
	path := writeFile(t, "a,b,c, split, label ", "1,0,0,test, yes ", "1,0,0, test,yes", "-1,0,0,train ,no", "-1,0,0,train, no")
	got, err := m.Evaluate(t.Context(), path, "", "split")
	if err != nil {
		t.Fatal(err)
	}
	var groups string
	for _, g := range got.Groups {
		groups += fmt.Sprintf("%s %d,", g.Group, g.N)
	}
	if got.N != 4 || groups != "test 2,train 2," {
		t.Errorf("%d rows, %s", got.N, groups)
	}
}
