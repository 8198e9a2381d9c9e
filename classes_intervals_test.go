package stillpoint_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestIntervalsOfClasses: everywhere a fit of three classes with a curve shows the coefficients of each class against the first,
// and the numbers agree: coefficients with their covariance, curves at their knots, joint tests of a column over all classes, and
// the model's file.
func TestIntervalsOfClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	type trip struct{ age, far, way float64 }
	var trips []trip
	for range 8000 {
		v := trip{age: 100 * r.Float64(), far: float64(r.IntN(2))}
		z := []float64{0, .5 + v.far, math.Abs(v.age-50)/25 - 1}
		best := math.Inf(-1)
		for k := range z { // the largest of margins with Gumbel errors
			if u := z[k] - math.Log(r.ExpFloat64()); u > best {
				best, v.way = u, float64(k)
			}
		}
		trips = append(trips, v)
	}
	ways := []string{"walk", "bus", "car"}
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 3},
			{Name: "far", Kind: dataset.Category, Categories: []string{"no", "yes"}}},
		Target: dataset.Target{Column: "way", Kind: dataset.Category, Classes: ways},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Softmax(3)
	if err != nil {
		t.Fatal(err)
	}
	res, err := stillpoint.Fit(t.Context(), stillpoint.Spec{Schema: schema, Loss: l, Anyway: true,
		Inference: &stillpoint.Inference{Level: .9},
		Table: stillpoint.Rows(trips, stillpoint.Number("age", func(v trip) float64 { return v.age }),
			stillpoint.Text("far", func(v trip) string { return []string{"no", "yes"}[int(v.far)] }),
			stillpoint.Text("way", func(v trip) string { return ways[int(v.way)] })),
		Budget: stillpoint.Budget{Epsilon: 20, Delta: 1e-6, Relation: account.ReplaceOne}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "fit")
	if err := res.Save(dir); err != nil {
		t.Fatal(err)
	}
	fit, err := report.ReadFit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := res.Model.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	said, err := fit.Coefficients()
	if err != nil || len(said.Terms) != len(list.List) || len(said.Covariance) != len(list.List) {
		t.Fatalf("%v: %d terms, %d intervals", err, len(said.Terms), len(list.List))
	}
	at := map[string]inference.Interval{}
	for i, c := range list.List {
		term := said.Terms[i]
		if name := strings.TrimSuffix(strings.TrimPrefix(c.Term, term.Class+": ("), ")"); term.Class != ways[1+i%2] ||
			name != term.Term && c.Term != term.Class+": "+term.Term {
			t.Errorf("term %d is %q of %q: %q", i, term.Term, term.Class, c.Term)
		}
		at[c.Term] = c.Interval
		if c.State != inference.Reported {
			continue
		}
		if *term.Value != c.Estimate && !(math.Abs(*term.Value/c.Estimate-1) <= 1e-9) ||
			!(math.Abs(math.Sqrt(*said.Covariance[i][i])/c.Error-1) <= 1e-9) {
			t.Errorf("%s: %v with the variance %v: %+v", c.Term, *term.Value, *said.Covariance[i][i], c.Interval)
		}
	}
	if v := at["bus: far=yes"]; v.State != inference.Reported || !(v.Low < 1 && 1 < v.High) && !(math.Abs(v.Estimate-1) <= 6*v.Error) {
		t.Errorf("of the bus: %+v", v)
	}
	apart, err := res.Model.Contrast("car: far=yes - bus: far=yes")
	if err != nil || !(math.Abs(apart.Estimate-at["car: far=yes"].Estimate+at["bus: far=yes"].Estimate) <= 1e-9) || apart.State != inference.Reported {
		t.Errorf("of two classes: %v %+v", err, apart)
	}
	if len(said.Curves) != 2 {
		t.Fatalf("%d curves: must be those of two classes", len(said.Curves))
	}
	for k, curve := range said.Curves {
		if curve.Class != ways[k+1] {
			t.Errorf("curve %d is of %q", k, curve.Class)
		}
		for _, p := range curve.Points {
			want, knot := at[curve.Class+": age@"+map[float64]string{0: "0", 100: "100"}[p.X]], p.X == 0 || p.X == 100
			if knot && (!(math.Abs(p.Effect-want.Estimate) <= 1e-9) || *p.Low != want.Low || *p.High != want.High) || p.X == 50 && p.Effect != 0 {
				t.Errorf("%s at %v: %v: want %+v", curve.Class, p.X, p.Effect, want)
			}
		}
	}
	tests, err := report.Tests(res.Model)
	if err != nil || len(tests) != 2 || tests[0].Terms != 4 || tests[1].Terms != 2 || *tests[0].P > 1e-6 {
		t.Errorf("%v: tests %+v", err, tests)
	}
	var page bytes.Buffer
	if err := res.Report(&page); err != nil || !strings.Contains(page.String(), "log-odds of each class against") {
		t.Errorf("the report: %v", err)
	}
	if weights := res.Model.Weights(); len(weights) != 3*schema.Dim() {
		t.Errorf("%d weights", len(weights))
	} else {
		for j, w := range weights[:schema.Dim()] {
			if w != 0 {
				t.Errorf("weight %d of the first class is %v", j, w)
			}
		}
	}
}
