package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// The tests of this file compare texts of the page to the letter. No two numbers of a fixture are alike.

// factIs fails the test unless a fact has this value and this note.
func factIs(t *testing.T, s Section, name, value, note string) {
	t.Helper()
	if f := factOf(t, s, name); f.Value != value || f.Note != note {
		t.Errorf("%s: %q, %q: must be %q, %q", name, f.Value, f.Note, value, note)
	}
}

// TestSignalToTheLetter tests the facts about signal and noise. Of a constant's loss of .8, a difference of -.2 is a
// quarter, with an interval of 1.96 times sqrt(.03^2 + (.25*.01)^2)/.8 = .03763 either way.
func TestSignalToTheLetter(t *testing.T) {
	f := read(t, people(t, "p", 4))
	f.plan = runrecord.Run{Late: &runrecord.Late{Steps: 3, Gradient: .0456, Noise: .0567},
		Measured:     &runrecord.Measured{Loss: .678, LossSigma: .0123, GradientNorm: .0789, GradientSigma: .00891},
		Curvature:    &runrecord.Curved{Curvature: -.00912, Sigma: .0234, Directions: 7},
		SelectedNorm: &runrecord.SelectedNorm{GradientNorm: .345, Sigma: .0456, Radius: .0678, Among: 5},
		Compared:     &runrecord.Compared{Difference: -.2, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .8, ConstantSigma: .01, Shrunk: .25}}
	f.plan.Predicted, f.plan.Foreseen, f.plan.Floor, f.plan.Clip, f.plan.Effective = .00123, .00234, .00345, .75, 321
	noise := runNoise{noise: noise{estimate: []float64{.001, .002, .004}}}
	s := f.signal(noise)
	const fit = "at the fit, which is not the published model"
	factIs(t, s, "Noise in the last gradient estimate", "0.0098", "its length; 0.004 in each coordinate") // sqrt(6) .004
	factIs(t, s, "Gradient norm expected by the plan", "0.00123", fit+", computed before the first release; 0 at a stationary "+
		"point")
	factIs(t, s, "Gradient norm expected by the fit", "0.00234", fit+", computed from the releases about rows and "+
		"gradients")
	factIs(t, s, "Gradient at the end", "0.0456", "of the last 3 steps on average; noise alone has 0.0567")
	q, ok := f.quality()
	if !ok {
		t.Fatal("no comparison")
	}
	factIs(t, q, "Against a constant", "−0.2", "the mean loss of the fit minus that of the best constant, over all records, "+
		"released with noise of 0.03; no record's difference is clipped, as it must lie between -1.5 and 2.5")
	factIs(t, q, "Share of the constant's loss saved", "0.25", "95% interval: 0.176 to 0.324")
	factIs(t, q, "Loss of the constant", "0.8", "released with noise of 0.01")
	f.plan.Compared.Margins = []float64{-math.Log(9)}
	f.plan.Compared.Residual, f.plan.Compared.ResidualSigma, f.plan.Compared.Shift = -.0123, .00456, .145
	calibrated, _ := f.quality()
	factIs(t, calibrated, "Mean prediction minus mean outcome", "−0.0123", "the fit's mean prediction was 0.012 (noise 0.0046) below the "+
		"mean outcome, which is about 0.1, so its intercept was raised by 0.14 log-odds")
	f.plan.Compared.Counts = true
	calibrated, _ = f.quality()
	factIs(t, calibrated, "Mean prediction minus mean outcome, as a share of this mean", "−0.0123", "the fit's mean prediction was 1.2% (noise 0.46%) "+
		"below the mean outcome, so its predictions were raised by 16%")
	f.plan.Compared.Counts = false
	factIs(t, s, "Gradient norm measured", "0.0789", "at the result, released with noise of 0.00891")
	factIs(t, q, "Mean loss measured", "0.678", "at the result, released with noise of 0.0123")
	factIs(t, s, "Curvature released", "−0.00912", fit+", the least of 7 directions, each released with noise of 0.0234: none is "+
		"below zero by more than noise explains, but an eigenvalue along another direction may be")
	factIs(t, s, "Gradient norm of the choice", "0.345", "of the loss smoothed over radius 0.0678, "+fit+", chosen by it among 5 "+
		"points; released with noise of 0.0456")
	factIs(t, s, "Noise level", "0.00345", "the noise in one gradient that is released with the whole budget; on the worst "+
		"problems no private algorithm gets below a constant times this")
	factIs(t, s, "Longest gradient of a row", "0.75",
		"longer ones are shortened to it, so that the mean gradient is never longer")
	factIs(t, s, "Effective size N", "321", "rows × μ / √weights; below 30 the table is too small for this budget")

	if got := f.lead(); got != "The fit is better than the best constant. The published model goes 75 % of the way from the "+
		"constant to the fit. " {
		t.Error(got)
	}
	const mean = " The model is a weighted mean of the fit and the best constant, and has the weighted noise of the fit and, in " +
		"the intercept, of the constant."
	if got := f.meaning(explanation{list: make([]coefficient, 1)}); !strings.Contains(got, mean) {
		t.Error(got)
	}
	// The losses of the constant and of the fit, .8 and .6, with 1.96 deviations of their noise either way.
	f.plan.Compared.Shrunk = 0
	if got := f.meaning(explanation{list: make([]coefficient, 1)}); strings.Contains(got, "weighted mean") {
		t.Error(got)
	}
	if got := f.lead(); got != "The model is better than the best constant, which predicts the same for every row: it saves 25 % "+
		"of the constant’s loss (95 % interval: 18 % to 32 %). " {
		t.Error(got)
	}
	bars := f.losses()
	for i, want := range []Bar{{Name: "best constant", Value: .8, Interval: Interval{.8 - .0196, .8 + .0196}, Faint: true},
		{Name: "this model", Value: .6, Interval: Interval{.6 - 1.96*.03, .6 + 1.96*.03}}} {
		if b := bars.Items[i]; b.Name != want.Name || b.Faint != want.Faint || !near(b.Value, want.Value, 1e-9) || !near(b.Interval.Low, want.Interval.Low, 1e-9) ||
			!near(b.Interval.High, want.Interval.High, 1e-9) {
			t.Errorf("%+v: must be %+v", b, want)
		}
	}
	f.GradientNorms = []float64{.5, .4, .3}
	p := f.noisePlot(noise, 2)
	for i, want := range [][2][]float64{{{1, 2, 3}, {.002, .004, .008}}, {{1, 2, 3}, {.5, .4, .3}}} {
		if !slices.Equal(p.Series[i].X, want[0]) || !slices.Equal(p.Series[i].Y, want[1]) {
			t.Errorf("line %d: %v, %v: must be %v", i, p.Series[i].X, p.Series[i].Y, want)
		}
	}
	if p.References[0].Y[0] != .00123 || p.References[1].Y[0] != .00345 {
		t.Errorf("%+v", p.References)
	}
	if x := f.multiplierPlot().Series[0].X; !slices.Equal(x, []float64{1, 2, 3, 4}) {
		t.Errorf("releases %v", x)
	}
	for curvature, minimum := range map[float64]bool{-3.9 * .0234: true, -4.1 * .0234: false} { // from four deviations on
		f.plan.Curvature.Curvature = curvature
		if note := factOf(t, f.signal(noise), "Curvature released").Note; strings.HasSuffix(note, ": this point is no minimum") == minimum {
			t.Errorf("%v: %q", curvature, note)
		}
	}
	f.plan.Curvature.Curvature = -.1
	if fact := factOf(t, f.signal(noise), "Curvature released"); !strings.HasSuffix(fact.Note, ": this point is no minimum") {
		t.Error(fact)
	}
}

// TestAskedToTheLetter tests what was asked: target, bounds, exposure, weights, and the public facts about each column.
func TestAskedToTheLetter(t *testing.T) {
	f := people(t, "p", 4)
	f.schema.Columns = append(f.schema.Columns,
		dataset.Column{Name: "h", Kind: dataset.Hash, Buckets: 37},
		dataset.Column{Name: "d", Kind: dataset.Date, Low: 10957, High: 11322}, // 2000-01-01, 2000-12-31
		dataset.Column{Name: "left", Kind: dataset.Ignore}, dataset.Column{Name: "out", Kind: dataset.Ignore})
	f.schema.Columns[0].Curve = 5
	f.schema.Target = dataset.Target{Column: "visits", Kind: dataset.Number, Low: 0, High: 12,
		Exposure: dataset.Exposure{Column: "years", Low: .25, High: 4}}
	f.loss = "poisson-rate(0.5,0.0625)"
	fit := read(t, f)
	s := fit.asked()
	factIs(t, s, "To be predicted", "visits", "number from 0 to 12; exposure: years, from 0.25 to 4")
	factIs(t, s, "Steps planned", "4", "of size 4; result: last")
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	factIs(t, s, "Features", fmt.Sprint(schema.Dim()), "after categories are spread out; the intercept included")
	table := partOf(t, s, func(Table) bool { return true })
	want := [][]string{
		{"p1", "number; a curve of 5 knots; a missing cell is a feature of its own", "10 to 90"},
		{"p2", "number, as log(1 + x)", "0 to 1,000,000"},
		{"p3", "category", "2 values: pa, pb"},
		{"p4", "public for every row, no feature", "1 value: pe"},
		{"h", "hashed", "any value, in one of 37 buckets"},
		{"d", "date", "2000-01-01 to 2000-12-31"},
	}
	for i, w := range want {
		if !slices.Equal(table.Rows[i].Cells, w) {
			t.Errorf("%q: must be %q", table.Rows[i].Cells, w)
		}
	}
	if len(table.Rows) != len(want) || !strings.HasSuffix(table.Caption, " 2 columns were left out.") {
		t.Errorf("%d rows, %q", len(table.Rows), table.Caption)
	}
	if got := listed([]string{"one", "two", "three", "four"}, 10); got != "one, two and 2 more" {
		t.Error(got)
	}
	with, err := schema.WithEffects(dataset.Effects{Features: 38, Weight: 1, Scale: 1,
		Centres: make([]float64, len(schema.Ranges())), Weights: make([]float64, schema.Dim())})
	if err != nil {
		t.Fatal(err)
	}
	rows := fit.columns(with).Rows
	if got := rows[len(rows)-1].Cells[2]; !strings.HasPrefix(got, "38 cosines and sines") {
		t.Error(got)
	}
	classes := people(t, "p", 4)
	classes.schema.Target = dataset.Target{Column: "kind", Kind: dataset.Category, Classes: []string{"r", "g", "b"}}
	classes.noModel = true
	if text := factsOfClasses(t, classes); text != "one of 3 classes: r, g, b" {
		t.Error(text)
	}
}

// factsOfClasses returns the note about the target of a model of three classes, which has weights of each.
func factsOfClasses(t *testing.T, f folder) string {
	t.Helper()
	f.noModel, f.software, f.loss = false, "test", "softmax(3)"
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(f.model(t)), `"version":1`, `"version":2`, 1)
	at := strings.Index(text, `"weights":[`)
	end := at + strings.Index(text[at:], "]")
	zeros := strings.TrimSuffix(strings.Repeat("0,", 3*schema.Dim()), ",")
	m := parsed(t, text[:at]+`"weights":[`+zeros+text[end:])
	fit := read(t, people(t, "p", 4))
	fit.Model = m
	s := fit.asked()
	factIs(t, s, "Weights", fmt.Sprint(3*schema.Dim()), "of all classes, margins or layers together")
	return factOf(t, s, "To be predicted").Note
}

// TestCitationToTheLetter tests the sentences and the BibTeX entry that a paper may quote, and the page's lead.
func TestCitationToTheLetter(t *testing.T) {
	f := people(t, "p", 4)
	b, err := account.NewBudget(1.25, 3e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	f.budget, f.events = b, gradients(t, 4, b)
	fit := read(t, f)
	text := fit.paragraph()
	mu := root(1e-3, 5, func(mu float64) float64 { return profile(mu, 1.25) - 3e-6 })
	above := math.Ceil(mu*1e5) / 1e5
	for _, want := range []string{
		"The model of p5 was trained with (epsilon = 1.25, delta = 3e-06)-differential privacy for tables that differ in one " +
			"replaced row (the number of rows, 10,000, is public) (replace-one).",
		fmt.Sprintf("satisfy %v-Gaussian differential privacy", above),
		"in 4 Gaussian releases, with noise from secret random bits, by stillpoint v1.0.0.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := fit.bibtex(); !strings.Contains(got, "note  = {(1.25, 3e-06)-differentially private under replace-one") {
		t.Error(got)
	}
	page, err := fit.Page(t.Context())
	if err != nil || !strings.HasPrefix(page.Lead, "Trained on 10,000 rows with (ε = 1.25, δ = 3×10⁻⁶)-differential privacy. ") {
		t.Errorf("%v: %q", err, page.Lead)
	}
	a, err := fit.attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := fit.cost(t.Context(), a)
	if got := factOf(t, s, "Guarantee").Value; got != "ε = 1.25, δ = 3×10⁻⁶" {
		t.Error(got)
	}
	for i, want := range []string{"0.1 %", "1 %", "5 %", "10 %", "50 %"} {
		if cells := a.table().Rows[i].Cells; cells[0] != want && cells[0] != strings.TrimSuffix(want, " %")+" %" || cells[2] != cells[0] {
			t.Errorf("%q: must begin and end with %s", cells, want)
		}
	}
	p := a.plot(1.25, 3e-6)
	if !slices.Equal(p.Series[1].X, a.alarms) || !slices.Equal(p.References[0].X, []float64{0, 1}) ||
		!slices.Equal(p.References[0].Y, []float64{0, 1}) {
		t.Errorf("%+v", p.References)
	}
}

// TestPicturesOfCurves tests what the plot of a curve and the picture of an interaction show of hand-made ones.
func TestPicturesOfCurves(t *testing.T) {
	f := read(t, people(t, "p", 4)) // two classes: effects are drawn as factors on the odds
	ends := func(v float64) *float64 { return &v }
	c := Curve{Column: "p1", Knots: []float64{10, 90}, Centred: OverRows, Level: .9, Points: []CurvePoint{
		{X: 10, Effect: .25, Low: ends(-.5), High: ends(1.5)}, {X: 50, Effect: -.75, Low: ends(-1.25), High: ends(-.125)},
		{X: 90, Effect: .5, Low: ends(.125), High: ends(2)}}}
	p := f.picture([]Curve{c})
	s := p.Series[0]
	for i, point := range c.Points {
		if s.X[i] != point.X || !near(s.Y[i], math.Exp(point.Effect), 1e-12) || !near(s.Low[i], math.Exp(*point.Low), 1e-12) ||
			!near(s.High[i], math.Exp(*point.High), 1e-12) {
			t.Errorf("point %d: %v, %v from %v to %v", i, s.X[i], s.Y[i], s.Low[i], s.High[i])
		}
	}
	if p.X.Min != 10 || p.X.Max != 90 || !p.Y.Log || p.References[0].Y[0] != 1 ||
		p.Caption != " Band: 90 % confidence intervals of the difference from the middle knot, for each point." {
		t.Errorf("%+v, %+v, %q", p.X, p.Y, p.Caption)
	}
	c.Level = 0
	c.Points[1].Thin, c.Points[2].Thin = true, true
	for i, mass := range []float64{.7, .2, .1} {
		c.Points[i].Mass = ends(mass)
	}
	c.Knots, c.Points = []float64{10, 50, 90}, slices.Repeat(c.Points, 3) // knots are each fourth point
	if share, ok := thinned(c); ok {
		if caption := f.picture([]Curve{c}).Caption; !strings.Contains(caption, fmt.Sprintf(
			" The grey stretches hold about %.2g %% of the rows.", 100*share)) {
			t.Error(caption)
		}
	} else {
		t.Error("no share of the rows is in grey stretches")
	}
	many := slices.Repeat([]Curve{c}, mostSeries+3)
	if caption := f.picture(many).Caption; !strings.HasPrefix(caption, fmt.Sprintf("The first %d of %d classes are drawn.",
		mostSeries, mostSeries+3)) {
		t.Error(caption)
	}

	u := Surface{Axes: []SurfaceAxis{{Column: "p3", Levels: []string{"p3=pa", "p3=pb"}}, {Column: "d", Date: true,
		Knots: []float64{10957.5, 11322}}}, Effect: [][]float64{{.25, -.5}, {1.5, .125}},
		Deviation: [][]float64{{.2, .2}, {.5, .06}}, Mass: [][]float64{{.1, .2}, {.3, .4}}, Thin: [][]bool{{false, true}, {false, false}}}
	h := f.heat(u)
	if !slices.Equal(h.Rows, []string{"pa", "pb"}) || !slices.Equal(h.Columns, []string{"2000-01-01", "2000-12-31"}) {
		t.Errorf("%q, %q", h.Rows, h.Columns)
	}
	want := [][]HeatCell{{{Value: .25, Text: "1.3", Faint: true}, {Value: -.5, Text: "0.61", Thin: true}},
		{{Value: 1.5, Text: "4.5"}, {Value: .125, Text: "1.1"}}}
	for i := range want {
		if !slices.Equal(h.Cells[i], want[i]) {
			t.Errorf("%+v: must be %+v", h.Cells[i], want[i])
		}
	}
	u.Axes[1] = SurfaceAxis{Column: "n", Knots: []float64{12.3456, 78.9012}}
	if h := f.heat(u); !slices.Equal(h.Columns, []string{"12.3", "78.9"}) {
		t.Errorf("%q", h.Columns)
	}
}

// TestPlacesOfSurfaces tests the axes of an interaction, and which knot a curve with intervals is 0 at.
func TestPlacesOfSurfaces(t *testing.T) {
	f := people(t, "p", 4)
	f.schema.Columns[0].Curve = 3
	f.schema.Interactions = []dataset.Interaction{{"p3", "p1"}}
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	var u Surface
	for _, s := range schema.Shapes(false) {
		if len(s.Axes) == 2 {
			u = shaped{Shape: s, effect: make([]float64, len(s.Places))}.surface()
		}
	}
	if len(u.Axes) != 2 || u.Axes[1].Knots[0] != 10 || u.Axes[1].Knots[len(u.Axes[1].Knots)-1] != 90 || u.Axes[1].Date ||
		!slices.Equal(u.Axes[0].Levels[:2], []string{"p3=pa", "p3=pb"}) {
		t.Errorf("%+v", u.Axes)
	}
	fit := read(t, knots(t, -1))
	curves, _ := fit.curvesOf(explanation{})
	if c := curves[0]; c.Level != .8 || c.Reference == nil || *c.Reference != c.Knots[fit.Model.Schema().Shapes(false)[0].Axes[0].Reference()] ||
		c.Date || c.Log {
		t.Errorf("%+v", c)
	}
	if text := fit.aboutCurves(explanation{}, false); !strings.Contains(text, " Bands are 80% confidence intervals of this difference") {
		t.Error(text)
	}
}

// TestLedgerToTheLetter tests what is read of a ledger of two reservations, of which the first was settled at less.
func TestLedgerToTheLetter(t *testing.T) {
	b := budget(t, account.ReplaceOne)
	text := entries(b, "one.csv", "two.csv")
	text = strings.Replace(text, fmt.Sprintf(`"charged":%v`, b.Charge()), `"charged":0.03125`, 1)
	list, err := ParseLedger([]byte(text))
	if err != nil || len(list) != 2 || list[0].Fit != 1 || list[1].Fit != 2 || list[0].Charged != .03125 ||
		list[1].Charged != b.Charge() || list[0].Outcome != "settled" {
		t.Errorf("%v: %+v", err, list)
	}
}

func parsed(t *testing.T, text string) *model.Model {
	t.Helper()
	m, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
