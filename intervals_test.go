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
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/loss"
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
	if f := r.Model.Inference(); !strings.Contains(string(f), `"level":0.9,`) {
		t.Fatalf("intervals %s", f)
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
		if !(low < z && z < high) || !(math.Abs(low+high-2*z) <= 1e-6*(1+math.Abs(z))) {
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
// interpolated estimate with an interval no wider than the ends' together. If noise hides a knot, no
// coefficient, contrast, prediction or point of the curve may have an interval, and the others must.
func TestCurvesHaveIntervals(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 6},
			{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}},
		Target: dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	type person struct {
		age           float64
		sex, returned string
	}
	for oldest, whole := range map[float64]bool{100: true, 65: false} {
		var people []person
		for i := range 12_000 { // the odds rise until 30
			p := person{math.Mod(float64(i)/10, oldest), "f", "no"}
			if i*31%7 < 3 {
				p.sex = "m"
			}
			if float64(i*7919%1000) < 200+15*min(p.age, 30) {
				p.returned = "yes"
			}
			people = append(people, p)
		}
		dir := filepath.Join(t.TempDir(), "fit")
		r, err := stillpoint.Fit(t.Context(), stillpoint.Spec{
			Table: stillpoint.Rows(people,
				stillpoint.Number("age", func(p person) float64 { return p.age }),
				stillpoint.Text("sex", func(p person) string { return p.sex }),
				stillpoint.Text("returned", func(p person) string { return p.returned })).Named("people"),
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
			knot := strings.HasPrefix(c.Term, "age@")
			if knot && c.Reference != "age@40" {
				t.Errorf("%s is against %q: want the middle knot", c.Term, c.Reference)
			}
			if knot && (c.State == inference.Reported) != whole || c.Term == "sex=m" && c.State != inference.Reported ||
				c.Term == "age=missing" && c.State != inference.Absent {
				t.Errorf("oldest %v: %s: %+v", oldest, c.Term, c.Interval)
			}
		}
		if list.Short == whole || slices.Contains(list.Changes, "age@100 counts as age@40") == whole {
			t.Errorf("oldest %v: short %v, %q", oldest, list.Short, list.Changes)
		}
		between, err := r.Model.Contrast("age@20 - age@0")
		if want := at["age@20"].Estimate - at["age@0"].Estimate; err != nil || (between.State == inference.Reported) != whole ||
			whole && !(math.Abs(between.Estimate-want) <= 1e-9) {
			t.Errorf("age@20 - age@0: %v, %+v: want %v", err, between, want)
		}
		if c, err := r.Model.Contrast("age=missing"); err != nil || c.State != inference.Absent {
			t.Errorf("oldest %v: nobody's age is missing: %v, %+v", oldest, err, c)
		}
		joint, err := r.Model.Joint([]string{"age@20", "sex=m"})
		if err != nil || (joint.State == inference.Reported) != whole || (joint.Reason == "") != whole {
			t.Errorf("oldest %v: joint region: %v, %+v", oldest, err, joint)
		}
		known := whole // of the first row; the age of the second is missing
		for p, err := range stillpoint.Predictions(t.Context(), r.Model, stillpoint.Rows([]person{people[0], {age: math.NaN()}},
			stillpoint.Number("age", func(p person) float64 { return p.age }),
			stillpoint.Text("sex", func(p person) string { return p.sex }))) {
			if err != nil || (p.Interval != nil) != known {
				t.Errorf("oldest %v: prediction: %v, %+v", oldest, err, p.Interval)
			}
			known = false
		}
		fit, err := report.ReadFit(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		said, err := fit.Coefficients()
		if err != nil || len(said.Curves) != 1 {
			t.Fatalf("%v, curves %+v", err, said)
		}
		checkConfident(t, said.Curves[0], at, whole)
		var page bytes.Buffer
		if err := r.Report(&page); err != nil || !strings.Contains(page.String(), "Bands are 90% confidence intervals of this difference") ||
			strings.Contains(page.String(), "The curve of age") != whole {
			t.Errorf("oldest %v: report: %v: must draw the curve if it has intervals, and say what the bands are", oldest, err)
		}
	}
}

// checkConfident checks the points of a curve with knots at 0, 20, ..., 100 against the intervals at its knots.
func checkConfident(t *testing.T, curve report.Curve, at map[string]inference.Interval, whole bool) {
	t.Helper()
	if curve.Level != .9 || curve.Reference == nil || *curve.Reference != 40 || curve.Centred != report.AtReference {
		t.Errorf("curve %+v: must be confident and 0 at 40", curve)
	}
	for _, p := range curve.Points {
		if stated := p.Low != nil && p.High != nil; stated != whole {
			t.Errorf("at %v: %+v: has an interval: %v", p.X, p, stated)
		}
		if !whole {
			continue
		}
		knot := 20 * math.Floor(p.X/20)
		low, high := at[fmt.Sprintf("age@%v", knot)], at[fmt.Sprintf("age@%v", knot+20)]
		f := (p.X - knot) / 20
		switch want := (1-f)*low.Estimate + f*high.Estimate; {
		case math.Abs(p.Effect-want) > 1e-9:
			t.Errorf("at %v: effect %v: want %v", p.X, p.Effect, want)
		case f == 0 && (*p.Low != low.Low || *p.High != low.High):
			t.Errorf("at the knot %v: %v to %v: want %+v", p.X, *p.Low, *p.High, low)
		case !(*p.High-*p.Low <= (1-f)*(low.High-low.Low)+f*(high.High-high.Low)+1e-9):
			t.Errorf("at %v: %v to %v is wider than at the knots: %+v, %+v", p.X, *p.Low, *p.High, low, high)
		}
	}
}
