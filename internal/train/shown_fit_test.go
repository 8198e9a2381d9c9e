package train

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestFilesSayWhatTheRunSaid tests that the model's file has the budget of its fit, and the certificate's record the
// numbers that the run released: the norms of its steps with five digits, the late gradients, the comparison and the
// measurement, each as the fit returned it.
func TestFilesSayWhatTheRunSaid(t *testing.T) {
	c := config(t, 3000, "epsilon: 1, delta: 1e-6", "epsilon: 2.5, delta: 3e-6", "model: {loss: logistic}",
		"model: {loss: logistic, regularizer: l2(0.01)}\ntrain: {algorithm: gd, steps: 12, measure: 0.1}")
	var norms []float64
	f, err := c.Fit(t.Context(), Options{Software: "test", Step: func(s Step) {
		norms = append(norms, runrecord.Short(s.GradientNorm))
	}})
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Privacy struct{ Epsilon, Delta float64 }
	}
	text, err := f.Model.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Privacy.Epsilon != 2.5 || m.Privacy.Delta != 3e-6 {
		t.Errorf("%v: %+v", err, m)
	}
	var run runrecord.Run
	if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
		t.Fatal(err)
	}
	if len(norms) != 12 || !slices.Equal(run.GradientNorms, norms) {
		t.Errorf("norms %v: must be %v", run.GradientNorms, norms)
	}
	if run.Late == nil || *run.Late != f.Result.Late || run.Arrived != f.Result.Late.Text(12, f.Summary.Effective, f.Compared.IsBetter()) ||
		run.Foreseen != f.Result.Foreseen {
		t.Errorf("%+v, %q, %v", run.Late, run.Arrived, run.Foreseen)
	}
	if run.Compared == nil || run.Compared.Difference != f.Compared.Difference || run.Measured == nil ||
		run.Measured.Loss != f.Measured.Loss || run.Steps != 12 {
		t.Errorf("%+v, %+v", run.Compared, run.Measured)
	}
	// The constant of a logistic loss is log 2, and the regularizer .01/2 of the squared norm of the fit's weights.
	square := 0.
	for _, w := range f.Result.W {
		square += w * w
	}
	if k := f.Constant; k == nil || !(math.Abs(k.Least-math.Ln2) <= 1e-12) || !(math.Abs(k.Most-math.Ln2) <= 1e-12) ||
		!near(k.Regularizer, .005*square, 1e-9) {
		t.Errorf("%+v: must be log 2, and %v", k, .005*square)
	}
}

// TestArrivedToTheLetter tests the certificate's sentence on the steps of short and of strong fits, and the stationarity that
// a fit foresees. The effective size is records times mu over the root of the 5 coefficients.
func TestArrivedToTheLetter(t *testing.T) {
	for _, x := range []struct{ epsilon, train, first, last string }{
		{"1", "{algorithm: gd, steps: 5}", "5 steps at effective size N = 326 are too few to tell whether more would help", ""},
		{"8", "{algorithm: gd, steps: 25}", "not arrived: the gradients of the last 7 steps are ", ": another 25 steps may help at this budget"},
		{"1", "{algorithm: preconditioned}", "", ""},
	} {
		c := config(t, 3000, "epsilon: 1, delta: 1e-6", "epsilon: "+x.epsilon+", delta: 3e-6", "model: {loss: logistic}",
			"model: {loss: logistic}\ntrain: "+x.train)
		f, err := c.Fit(t.Context(), Options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		var run runrecord.Run
		if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(run.Arrived, x.first) || !strings.HasSuffix(run.Arrived, x.last) {
			t.Errorf("%+v: %q", x, run.Arrived)
		}
		if run.Foreseen != f.Result.Foreseen || (run.Foreseen > 0) != (x.first == "") {
			t.Errorf("%+v: %v foreseen in the record, %v by the fit", x, run.Foreseen, f.Result.Foreseen)
		}
	}
}

// TestKeptNorms tests that a kept norm has five digits, and that a run of too many steps keeps none.
func TestKeptNorms(t *testing.T) {
	if norm, ok := KeptNorm(Step{GradientNorm: .123456789, Of: MostNorms}); !ok || norm != .12346 {
		t.Errorf("%v, %v", norm, ok)
	}
	if _, ok := KeptNorm(Step{GradientNorm: .1, Of: MostNorms + 1}); ok {
		t.Error("kept")
	}
}

// TestSettingsAreToldToTheLetter tests texts about what a plan chose: the numbers of records that would be enough, an
// estimate in hours, features that are not reduced, and both stages of a fit.
func TestSettingsAreToldToTheLetter(t *testing.T) {
	if got := advice(1234, 5.678, "fewer weights"); got != ": enough would be 1234 records at this budget, or epsilon 5.7 for "+
		"these, or fewer weights" {
		t.Error(got)
	}
	if got := (Estimate{Time: 9000 * time.Second, Memory: 2e6}).String(); got != "about 2.5 hours of one processor, about 2 MB of memory" {
		t.Error(got)
	}
	c := config(t, 200_000, "model: {loss: logistic}", "model: {loss: logistic, reduce: jl(auto)}\n", "epsilon: 1,", "epsilon: 8,")
	p, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	warned := false
	for _, w := range p.Adapted {
		if w.Code == WarnWhole {
			warned = true
			// The rule gives the number of features times log(2n/delta), rounded up, which is less than log(n) n mu/2.
			if w.Text != fmt.Sprintf("model.reduce: jl(auto): rows keep their 5 features: with 200000 records at this budget the rule "+
				"reduces to %v", math.Ceil(5*math.Log(2*200_000/1e-6))) {
				t.Error(w.Text)
			}
		}
	}
	if !warned {
		t.Errorf("%+v", p.Adapted)
	}
	s := &Stage{Share: .3, Second: .7, Summary: optimize.Summary{Steps: 12, Charges: "a", Passes: 13, PairPasses: 2}}
	both := s.both(optimize.Summary{Steps: 20, Charges: "b", Passes: 21, PairPasses: 3})
	if both.Charges != "0.3 to the additive model in 12 steps (of it a), 0.7 to the features of effects with it (of it b)" ||
		both.Steps != 32 || both.Passes != 34 || both.PairPasses != 5 {
		t.Errorf("%+v", both)
	}
	schema, err := c.Schema.WithEffects(dataset.Effects{Features: 38, Weight: 1.5, Scale: .25,
		Centres: make([]float64, len(c.Schema.Ranges())), Weights: make([]float64, c.Schema.Dim())})
	if err != nil {
		t.Fatal(err)
	}
	if e := foundIn(schema, nil); e == nil || e.Features != 38 || e.Weight != 1.5 || e.Scale != .25 {
		t.Errorf("%+v", e)
	}
	one := adaptedTo(dataset.Resolved{Without: []dataset.Interaction{{"a", "b"}}}, 321)
	two := adaptedTo(dataset.Resolved{Without: []dataset.Interaction{{"a", "b"}, {"c", "d"}}}, 321)
	if one[0].Text != "the interaction of a and b is left out: with 321 records at this budget it would be more noise than shape" ||
		two[0].Text != "the interactions of a and b, of c and d are left out: with 321 records at this budget they would be more "+
			"noise than shape" {
		t.Errorf("%v, %v", one, two)
	}
}

// TestSeenToTheLetter tests the numbers in warnings that follow from a released second moment: of rows of which 30% are
// read, and of a column whose deviation is known to be at most some percent of its bounds.
func TestSeenToTheLetter(t *testing.T) {
	s := config(t, 10).Schema
	d := s.Dim()
	// Rows of two values of age near the middle, half of the sexes each; a share of them is read.
	text := func(share, spread, sigma float64) string {
		u := make([][]float64, 2)
		bound, err := s.Bind([]string{"age", "sex", "note", "sick"})
		if err != nil {
			t.Fatal(err)
		}
		matrix := make([]float64, d*d)
		for i, sex := range []string{"f", "m"} {
			x := make([]float32, d)
			if _, ok := bound.Encode(x, []string{[]string{"49", "51"}[i], sex, "", "1"}); !ok {
				t.Fatal("not read")
			}
			for _, v := range x {
				u[i] = append(u[i], float64(v))
			}
		}
		for i := range u {
			u[i][0] *= spread
			for j := range d {
				for k := range d {
					matrix[j*d+k] += share / 2 * u[i][j] * u[i][k]
				}
			}
		}
		m := runrecord.NewMoment(matrix, d, sigma, .01)
		var out []string
		for _, w := range qualityWarnings(s, m) {
			out = append(out, w.Text)
		}
		return strings.Join(out, "\n")
	}
	// A row's last feature is 1/scale, so its square times scale^2 is the share; the noise is sigma scale^2.
	scale := s.Scale()
	sigma := .01 / (scale * scale)
	if got := text(.3, 20, sigma); !strings.HasPrefix(got, "about 30% of the rows count (noise 1%): ") {
		t.Errorf("%q", got)
	}
}
