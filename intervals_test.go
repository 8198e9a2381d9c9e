package stillpoint_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/report"
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

// TestCurvesHaveIntervals: of a fit with a curve and intervals, the curve in the report must be the
// difference from the middle knot: at the other knots the coefficient and its interval, between knots the
// interpolated estimate with an interval no wider than the ends' together. A knot without rows must be left
// out of the formula, count as the middle knot and have no interval beside it.
func TestCurvesHaveIntervals(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 6}},
		Target:  dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var people []Patient
	for i := range 12_000 { // nobody is older than 65; the odds rise until 30
		p := Patient{Age: float64(i%651) / 10, Returned: "no"}
		if float64(i*7919%1000) < 200+15*min(p.Age, 30) {
			p.Returned = "yes"
		}
		people = append(people, p)
	}
	dir := filepath.Join(t.TempDir(), "fit")
	r, err := stillpoint.Fit(t.Context(), stillpoint.Spec{
		Table: stillpoint.Rows(people,
			stillpoint.Number("age", func(p Patient) float64 { return p.Age }),
			stillpoint.Text("returned", func(p Patient) string { return p.Returned })).Named("people"),
		Schema: schema, Loss: loss.Logistic(), Inference: &stillpoint.Inference{Level: .9},
		Budget: stillpoint.Budget{Epsilon: 100, Delta: 1e-6, Relation: stillpoint.ReplaceOne},
		Folder: &stillpoint.Folder{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Model.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]inference.Interval{}
	for _, c := range list.List {
		at[c.Term] = c.Interval
		if strings.HasPrefix(c.Term, "age@") && c.Reference != "age@40" {
			t.Errorf("%s is against %q: want the middle knot", c.Term, c.Reference)
		}
	}
	if !slices.Contains(list.Changes, "age@100 counts as age@40") || at["age@100"].State != inference.Absent ||
		at["age=missing"].State != inference.Absent {
		t.Errorf("changes %q, age@100 %+v, missing %+v", list.Changes, at["age@100"], at["age=missing"])
	}
	if young := at["age@0"]; young.State != inference.Reported || !(young.High < -.5) {
		t.Errorf("age@0 %+v: the odds of the old are higher", young)
	}
	between, err := r.Model.Contrast("age@20 - age@0")
	if want := at["age@20"].Estimate - at["age@0"].Estimate; err != nil || math.Abs(between.Estimate-want) > 1e-9 {
		t.Errorf("age@20 - age@0: %v, %+v: want %v", err, between, want)
	}
	fit, err := report.ReadFit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	said, err := fit.Coefficients()
	if err != nil || len(said.Curves) != 1 {
		t.Fatalf("%v, curves %+v", err, said)
	}
	curve := said.Curves[0]
	if curve.Level != .9 || curve.Reference == nil || *curve.Reference != 40 || curve.Centred != report.AtReference {
		t.Errorf("curve %+v: must be confident and 0 at 40", curve)
	}
	for _, p := range curve.Points {
		knot := 20 * math.Floor(p.X/20)
		low, high := at[fmt.Sprintf("age@%v", knot)], at[fmt.Sprintf("age@%v", knot+20)]
		f := (p.X - knot) / 20
		if want := (1-f)*low.Estimate + f*high.Estimate; math.Abs(p.Effect-want) > 1e-9 {
			t.Errorf("at %v: effect %v: want %v", p.X, p.Effect, want)
		}
		switch {
		case p.X > 80:
			if p.Low != nil || p.High != nil || !p.Thin {
				t.Errorf("at %v: %+v: states an interval beside a knot without rows", p.X, p)
			}
		case p.Low == nil || p.High == nil || p.Thin:
			t.Errorf("at %v: %+v: must have an interval", p.X, p)
		case f == 0 && (*p.Low != low.Low || *p.High != low.High):
			t.Errorf("at the knot %v: %v to %v: want %+v", p.X, *p.Low, *p.High, low)
		case !(*p.High-*p.Low <= (1-f)*(low.High-low.Low)+f*(high.High-high.Low)+1e-9):
			t.Errorf("at %v: %v to %v is wider than at the knots: %+v, %+v", p.X, *p.Low, *p.High, low, high)
		}
	}
	var page bytes.Buffer
	if err := r.Report(&page); err != nil || !strings.Contains(page.String(), "90% confidence intervals of the difference") {
		t.Errorf("report: %v: must say what the bands are", err)
	}
}
