package stillpoint_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
)

// TestIntervalsOfASpec: a Spec with Inference must fit like a configuration with inference. Its summary,
// report and saved model must name the formula to which the intervals belong.
func TestIntervalsOfASpec(t *testing.T) {
	s := example()
	s.Inference = &stillpoint.Inference{Level: .9}
	r, err := stillpoint.Fit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Model.Inference(); f == nil || f.Level != .9 {
		t.Fatalf("intervals %+v", f)
	}
	var page bytes.Buffer
	if err := r.Report(&page); err != nil {
		t.Fatal(err)
	}
	list, err := r.Model.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"summary": r.Summary(), "coefficients": r.Coefficients(),
		"report": page.String()} {
		if !strings.Contains(strings.ToLower(text), "formula") || !strings.Contains(text, "90% interval") ||
			what != "report" && !strings.Contains(text, list.Formula) {
			t.Errorf("%s: does not name the formula %q of its intervals:\n%s", what, list.Formula, text)
		}
	}
	dir := t.TempDir()
	if err := r.Save(filepath.Join(dir, "fit")); err != nil {
		t.Fatal(err)
	}
	again, err := stillpoint.ReadModel(filepath.Join(dir, "fit", "model.json"))
	if err != nil || again.Inference() == nil {
		t.Fatalf("saved: %v", err)
	}
	if plain, err := stillpoint.Fit(t.Context(), short()); err != nil || plain.Coefficients() != "" {
		t.Errorf("a fit without intervals: %v, %q", err, plain.Coefficients())
	}
}

// TestPredictionsHaveIntervals: the interval of a prediction must be the interval of the row's score, on the
// scale of the probability, and the CSV has the same numbers. For a model without intervals predictions must
// have none, and Predict with intervals must return an error.
func TestPredictionsHaveIntervals(t *testing.T) {
	s := example()
	s.Inference = &stillpoint.Inference{Level: .9}
	s.Budget.Epsilon = 100 // intervals with probability near 1
	r, err := stillpoint.Fit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var rows bytes.Buffer
	if err := stillpoint.Predict(t.Context(), r.Model, s.Table, &rows,
		stillpoint.PredictOptions{Intervals: true, Margins: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(rows.String(), "\n")
	if lines[0] != "probability,class,lower,upper,margin" {
		t.Fatalf("columns %s", lines[0])
	}
	odds := func(p float64) float64 { return math.Log(p / (1 - p)) }
	at, stated := 0, 0
	for p, err := range stillpoint.Predictions(t.Context(), r.Model, s.Table) {
		at++
		if err != nil {
			t.Fatal(err)
		}
		cells := strings.Split(lines[at], ",")
		if p.Interval == nil {
			if cells[2] != "" || cells[3] != "" {
				t.Errorf("row %d: no interval, but %v", at, cells)
			}
			continue
		}
		stated++
		if cells[2] != fmt.Sprint(p.Interval.Low) || cells[3] != fmt.Sprint(p.Interval.High) {
			t.Errorf("row %d: %v: want %+v", at, cells, *p.Interval)
		}
		low, high, z := odds(p.Interval.Low), odds(p.Interval.High), p.Margins[0]
		if !(low < z && z < high) || math.Abs(low+high-2*z) > 1e-6*(1+math.Abs(z)) {
			t.Errorf("row %d: log-odds %v to %v: must lie around %v", at, low, high, z)
		}
	}
	if stated == 0 {
		t.Error("no prediction has an interval")
	}
	plain, err := stillpoint.Fit(t.Context(), short())
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range stillpoint.Predictions(t.Context(), plain.Model, s.Table) {
		if err != nil || p.Interval != nil {
			t.Fatalf("a model without intervals: %v, %+v", err, p)
		}
	}
	if err := stillpoint.Predict(t.Context(), plain.Model, s.Table, &rows,
		stillpoint.PredictOptions{Intervals: true}); err == nil || !strings.Contains(err.Error(), "no confidence intervals") {
		t.Errorf("intervals of a model without them: %v", err)
	}
}
