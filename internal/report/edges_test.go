package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestLiftedByHand works out a linear function of a model's weights as one of a run's, for three weights of each of two margins
// that follow from two.
func TestLiftedByHand(t *testing.T) {
	l := lifted{size: 2, dim: 3, columns: [][]float64{{1, 2, 3}, {4, 5, 7}}}
	got := l.of([]dataset.Part{{Feature: 1, Factor: .5}, {Feature: 5, Factor: 2}, {Feature: 2, Factor: -1}, {Feature: 3, Factor: 3}})
	want := []dataset.Part{{Feature: 0, Factor: .5*2 - 3}, {Feature: 1, Factor: .5*5 - 7}, {Feature: 2, Factor: 2*3 + 3*1}, {Feature: 3, Factor: 2*7 + 3*4}}
	if !slices.Equal(got, want) {
		t.Errorf("%v: must be %v", got, want)
	}
	if got := l.of([]dataset.Part{{Feature: 4, Factor: 1}}); !slices.Equal(got, []dataset.Part{{Feature: 2, Factor: 2}, {Feature: 3, Factor: 5}}) {
		t.Errorf("of the second margin alone: %v", got)
	}
}

// TestSharesOfKeptModels: of a model that keeps a part of its fit the share is that part as large. The share of a difference is
// that of the side of which less reached the result, whichever comes first, and none is below 0.
func TestSharesOfKeptModels(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		kept   float64
		want   float64
	}{{[]float64{.5, .3}, 1, .3}, {[]float64{.3, .5}, 1, .3}, {[]float64{.3, .5}, .75, .225}, {[]float64{-.2, .5}, 1, 0}} {
		of := arrivedAt(arrival{shares: c.shares, went: []float64{.2, .3}, noise: []float64{.01, .02}, prior: []float64{1, 1}})
		e := explanation{how: estimated, list: []coefficient{{units: 1, against: "b", parts: []dataset.Part{{Feature: 0, Factor: 2}, {Feature: 1, Factor: -2}}}},
			covariance: mat.NewSymDense(1, []float64{.04}), noise: carried{covariance: of, kept: c.kept}}
		e.arrive(nil, 0)
		if k := e.list[0]; !(math.Abs(*k.share-c.want) <= 1e-12) || k.late != (c.want < .05) {
			t.Errorf("%+v: share %v, late %v", c, *k.share, k.late)
		}
	}
}

// TestLossesNeedPrecision: the mean loss of a fit is known above four deviations of the noise of the difference and the
// constant's loss together. The loss of the constant is shown above three deviations of its own, and if the constant is known.
func TestLossesNeedPrecision(t *testing.T) {
	noise := math.Hypot(.03, .04)
	for factor, known := range map[float64]bool{3.99: false, 4.01: true} {
		f := &Fit{plan: runrecord.Run{Compared: &runrecord.Compared{Constant: factor*noise + .2, Difference: -.2, Sigma: .03, ConstantSigma: .04}}}
		want := 0.
		if known {
			want = factor * noise
		}
		if got := f.meanLoss(); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%v deviations: %v", factor, got)
		}
	}
	target := dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	for _, c := range []struct {
		constant            float64 // over its noise
		earlier, unresolved bool
		want                bool
	}{{2.99, false, false, false}, {3.01, false, false, true}, {2, true, false, true}, {9, false, true, false}} {
		f := &Fit{Model: modelOf(t, target, "logistic", "none"), plan: runrecord.Run{Compared: &runrecord.Compared{Difference: -.01, Sigma: .03,
			Constant: c.constant * .04, ConstantSigma: .04, Least: -1, Most: 1, Unresolved: c.unresolved}}}
		if c.earlier {
			f.plan.Compared.Least, f.plan.Compared.Most = 0, 0
		}
		s, ok := f.quality()
		if shown := ok && strings.Contains(fmt.Sprint(s.Parts), "{Loss of the constant "); shown != c.want {
			t.Errorf("%+v: the loss of the constant is shown: %v", c, shown)
		}
	}
}

// TestLeastEigenvaluesAreExplained: below 0 the loss still falls, and from 0 on it does not.
func TestLeastEigenvaluesAreExplained(t *testing.T) {
	for e, want := range map[float64]string{-1e-9: "of the Hessian; it is below zero, so the loss still falls along its eigenvector",
		0: "of the Hessian; to second order the loss falls along no direction", .2: "of the Hessian; to second order the loss falls along no direction"} {
		f := &Fit{Public: &model.Metrics{LeastEigenvalue: &e}}
		if fact := factOf(t, f.public(), "Least eigenvalue"); fact.Note != want || fact.Value != Number(e) {
			t.Errorf("%v: %+v", e, fact)
		}
	}
}

// TestTextsOfSurvival compares every text of the section, of hazards and of odds.
func TestTextsOfSurvival(t *testing.T) {
	for grouped, name := range map[string]string{"": "hazard", "logit": "odds"} {
		target := dataset.Target{Column: "days", Kind: dataset.Number, High: 3, Event: "died", Cuts: []float64{1, 3}, Hazards: []float64{.5, .5}, Grouped: grouped}
		of := map[string]string{"": "poisson-rate(3,1.52587890625e-05)", "logit": "logit-hazard(3,1.52587890625e-05)"}[grouped]
		f := &Fit{Model: modelOf(t, target, of, "none"), plan: runrecord.Run{Base: &runrecord.Base{Margins: []float64{-1}}}}
		s, ok := f.survival()
		if !ok {
			t.Fatal("no section")
		}
		plot := s.Parts[0].(Plot)
		texts := []string{s.Title, plot.Title, plot.Caption, plot.X.Label, plot.Y.Label}
		for _, line := range plot.Series {
			texts = append(texts, line.Name)
		}
		for _, fact := range s.Parts[1].(Facts) {
			texts = append(texts, fact.Name, fact.Note)
		}
		texts = append(texts, string(s.Parts[2].(Text)))
		want := []string{"Survival", "Without an event", "The probability of no event until a time, for a record with the mean " + name +
			", half of it, and twice it. The baselines of intervals between two cuts were released with noise.", "days", "probability of no event",
			"half of the " + name, "mean " + name, "twice the " + name, "No event until 1", "the probability for a record with the mean " + name,
			"No event until 3", "the probability for a record with the mean " + name, "Restricted mean time",
			"the mean time without an event up to 3, for such a record", "The columns multiply the " + name + ", by the same factor at every time. " +
				"stillpoint predict --horizon writes the risk of each row by the times that it lists."}
		if !slices.Equal(texts, want) {
			t.Errorf("%q\nmust be\n%q", texts, want)
		}
	}
}

// TestLimitsOfIntervalTexts: numbers up to a billion have the decimals of their errors. A forest has the first 20 coefficients
// with an interval. Several intervals together are refused of a Fieller region, also at its own level.
func TestLimitsOfIntervalTexts(t *testing.T) {
	for v, want := range map[float64]string{.99e9: "990000000.0", 1.01e9: "1.01e+09", -1.01e9: "-1.01e+09", 2e6: "2000000.0"} {
		if got := rounded(v, .1); got != want {
			t.Errorf("%v: %s", v, got)
		}
	}
	c := &model.Coefficients{Unit: "units", Level: .9}
	for i := range 23 {
		k := model.Coefficient{Term: fmt.Sprint("x", i), Span: 1}
		if k.State = inference.Reported; i == 2 {
			k.State = inference.Withheld
		}
		c.List = append(c.List, k)
	}
	if b := forest(c); len(b.Items) != 20 || b.Items[2].Name != "x3" || b.Items[19].Name != "x20" {
		t.Errorf("%d items, the last %v", len(b.Items), b.Items[len(b.Items)-1])
	}
	region := waldModel(t, inference.Region)
	for _, together := range []int{1, 3, Every} {
		if _, err := AtLevel(region, nil, together); err == nil || !strings.Contains(err.Error(), "must be that of the fit, 0.9") {
			t.Errorf("%d intervals together: %v", together, err)
		}
	}
}

// TestTestsOfHiddenCoefficients: a column whose coefficients are in the formula and have no interval has as many terms, no test,
// and the reason of its joint region.
func TestTestsOfHiddenCoefficients(t *testing.T) {
	m := waldModel(t, inference.NotIdentified)
	list, err := Tests(m)
	if err != nil {
		t.Fatal(err)
	}
	terms := map[string][]string{"age": {"age"}, "region": {"region=south", "region=east"}}
	for _, k := range list {
		if k.Terms != len(terms[k.Column]) || k.P != nil || k.Holm != nil {
			t.Errorf("%+v", k)
		}
		if k.Terms > 0 {
			if joint, err := m.Joint(terms[k.Column]); err != nil || joint.Reason != k.Reason || joint.Reason == "" {
				t.Errorf("%+v, %v: must have the reason %q", k, err, joint.Reason)
			}
		}
	}
	if len(list) != 3 {
		t.Errorf("%d tests", len(list))
	}
}

// TestWhoseClipIsKnown: what the clip moves is known of classes and counts whose run released the second moment and the last clip
// norm. Each other fact alone leaves it unknown.
func TestWhoseClipIsKnown(t *testing.T) {
	counts := dataset.Target{Column: "visits", Kind: dataset.Number, High: 20}
	exposed := counts
	exposed.Exposure = dataset.Exposure{Column: "years", Low: 1, High: 4}
	classes := func(names ...string) dataset.Target {
		return dataset.Target{Column: "way", Kind: dataset.Category, Classes: names}
	}
	for _, c := range []struct {
		target dataset.Target
		loss   string
		want   bool
	}{
		{classes("a", "b"), "logistic", true}, {classes("a", "b", "c"), "softmax", true}, {counts, "poisson(1)", true},
		{classes("a", "b"), "smoothed-hinge(.5)", false}, {classes("a", "b", "c"), "ordered", false}, {counts, "squared(1)", false}, {counts, "gamma(2,.1)", false},
		{exposed, "poisson-rate(1,.25)", false}, {dataset.Target{Column: "days", Kind: dataset.Number, High: 3, Event: "died", Cuts: []float64{1, 3},
			Hazards: []float64{.5, .5}}, "poisson-rate(3,1.52587890625e-05)", false},
	} {
		f := &Fit{Model: modelOf(t, c.target, c.loss, "none")}
		f.plan.Trace = &runrecord.Trace{Moment: momentOf(f.Model.Schema().Dim(), 2)}
		if h := f.holding(); (h != nil) != c.want || h != nil && (h.most > 0) != (c.target.Kind == dataset.Number) {
			t.Errorf("%s: known %v", c.loss, h != nil)
		}
	}
	f := &Fit{Model: modelOf(t, classes("a", "b"), "logistic", "none")}
	d := f.Model.Schema().Dim()
	for name, trace := range map[string]*runrecord.Trace{"no trace": nil, "no moment": {}, "no clip": {Moment: momentOf(d, 0)}, "other features": {Moment: momentOf(d+1, 2)}} {
		f.plan.Trace = trace
		if f.holding() != nil || f.clipMoves() != nil {
			t.Errorf("%s: the moves are known", name)
		}
	}
	p := people(t, "p", 4)
	p.schema.Norm = .5
	fit := read(t, p)
	fit.plan.Trace = &runrecord.Trace{Moment: momentOf(fit.Model.Schema().Dim(), 2)}
	if fit.holding() != nil {
		t.Error("the moves of shortened rows are known")
	}
}

// TestLogarithmicPlotsDrawNoZero: on a logarithmic axis only numbers above 0 and below infinity are drawn, of steps, of released
// gradients and of levels.
func TestLogarithmicPlotsDrawNoZero(t *testing.T) {
	for v, drawn := range map[float64]bool{.5: true, 0: false, -.5: false, math.Inf(1): false, math.NaN(): false} {
		f := &Fit{plan: runrecord.Run{}, GradientNorms: []float64{v, 2}}
		n := runNoise{noise: noise{estimate: []float64{v, 3}}}
		f.plan.Predicted, f.plan.Floor = v, 7
		p := f.noisePlot(n, 2)
		want := map[bool][]float64{true: {2 * v, 6}, false: {6}}[drawn]
		released := map[bool][]float64{true: {v, 2}, false: {2}}[drawn]
		if len(p.Series) != 2 || !slices.Equal(p.Series[0].Y, want) || !slices.Equal(p.Series[1].Y, released) || !p.Y.Log {
			t.Errorf("%v: %+v", v, p.Series)
		}
		if names := len(p.References); names != map[bool]int{true: 2, false: 1}[drawn] || p.References[names-1].Y[0] != 7 {
			t.Errorf("expected at the end %v: %+v", v, p.References)
		}
		f.plan.Predicted, f.plan.Floor = 7, v
		if p := f.noisePlot(n, 2); len(p.References) != map[bool]int{true: 2, false: 1}[drawn] || p.References[0].Y[0] != 7 {
			t.Errorf("noise level %v: %+v", v, p.References)
		}
		f.GradientNorms = f.GradientNorms[:1]
		if p := f.noisePlot(n, 2); len(p.Series) != 1 {
			t.Errorf("gradients of other steps are drawn: %+v", p.Series)
		}
	}
}

// TestHeatsHaveTheirPlaces: the names of rows stand beside their cells, those of columns below all rows, and the axis below them.
func TestHeatsHaveTheirPlaces(t *testing.T) {
	for rows := range 4 {
		h := Heat{Title: "t", X: "across", Y: "down", Columns: []string{"p", "q"}}
		for i := range rows + 1 {
			h.Rows, h.Cells = append(h.Rows, fmt.Sprint("r", i)), append(h.Cells, []HeatCell{{Value: 1, Text: "1"}, {Value: -2, Text: "-2"}})
		}
		text, bottom := string(h.draw("id")), 6+24*(rows+1)
		if !strings.Contains(text, fmt.Sprintf(` %d"`, bottom+44)) {
			t.Errorf("%d rows: the picture is not %d high: %.200s", rows+1, bottom+44, text)
		}
		places := map[string]int{"p": bottom + 16, "q": bottom + 16, "across": bottom + 36, "r0": 22, fmt.Sprint("r", rows): 22 + 24*rows}
		for name, y := range places {
			at := strings.Index(text, ">"+name+"</text>")
			if at < 0 {
				t.Fatalf("%s is not shown: %s", name, text)
			}
			begin := strings.LastIndex(text[:at], "<text")
			if want := fmt.Sprintf(` y="%d"`, y); !strings.Contains(text[begin:at], want) {
				t.Errorf("%d rows: %s stands at %s: must be at%s", rows+1, name, text[begin:at], want)
			}
		}
	}
}

// TestTablesOfEffectsEnd: a table of more coefficients than rows has one fewer, and thresholds between ordered classes follow.
func TestTablesOfEffectsEnd(t *testing.T) {
	for n, want := range map[int]int{mostRows - 2: mostRows - 2, mostRows - 1: mostRows - 1, mostRows: mostRows - 1, mostRows + 5: mostRows - 1} {
		c := &model.Coefficients{Unit: "units", Level: .9, Thresholds: make([]model.Coefficient, 3)}
		for i := range n {
			c.List = append(c.List, model.Coefficient{Term: fmt.Sprint("x", i)})
		}
		rows := effects(c).Rows
		if len(rows) != want+3 || rows[want-1].Cells[0] != fmt.Sprint("x", want-1) || rows[want].Cells[1] != "threshold 1" {
			t.Errorf("%d coefficients: %d rows, number %d is %q", n, len(rows), want, rows[want-1].Cells)
		}
	}
}
