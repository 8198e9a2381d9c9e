package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// recording writes sections of pages as plain text. A part that was written before is not written again.
type recording struct {
	strings.Builder
	before map[string]string // of each part, where it was written
	name   string
}

func (r *recording) sections(list ...Section) {
	for _, s := range list {
		fmt.Fprintf(r, "-- %s\n", s.Title)
		for _, part := range s.Parts {
			text := flat(part)
			if where, known := r.before[text]; known && len(text) > 100 {
				fmt.Fprintf(r, "= as in %s: %.60s\n", where, strings.SplitN(text, "\n", 2)[0])
				continue
			}
			r.before[text] = r.name
			r.WriteString(text)
		}
	}
}

// terms writes the coefficients as displays and as programs get them.
func (r *recording) terms(t *testing.T, f *Fit) {
	c, err := f.Coefficients()
	if err != nil {
		fmt.Fprintf(r, "-- no terms: %v\n", err)
		return
	}
	r.WriteString("-- terms\n")
	for _, term := range c.Terms {
		text, err := json.Marshal(term)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(r, "%s | %s\n", digitsOf(text), term.Noise())
	}
	curves, surfaces := c.Curves, c.Surfaces
	c.Terms, c.Curves, c.Surfaces = nil, nil, nil
	if where, known := r.before[c.Meaning]; known {
		c.Meaning = "as in " + where
	} else {
		r.before[c.Meaning] = r.name
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Error(err)
	}
	fmt.Fprintf(r, "%s\n", strings.ReplaceAll(digitsOf(text), `,"`, ",\n\""))
	for i, curve := range curves {
		if text, err = json.Marshal(curve); err != nil {
			t.Error(err)
		}
		if of := digitsOf(text); i < 2 || len(curves) < 4 {
			fmt.Fprintf(r, "%s\n", strings.ReplaceAll(of, `},{"x"`, "},\n{\"x\""))
		} else {
			fmt.Fprintf(r, "%.200s ... %s\n", of, of[len(of)-100:])
		}
	}
	for _, surface := range surfaces {
		if text, err = json.Marshal(surface); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(r, "%s\n", strings.ReplaceAll(digitsOf(text), `,"`, ",\n\""))
	}
	if c.Intervals != nil {
		r.WriteString(CoefficientText(c.Intervals))
	}
	r.WriteString(HazardText(c.HazardRatios))
}

// digitsOf returns JSON with numbers of six significant digits.
func digitsOf(text []byte) string {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var out strings.Builder
	rest := string(text)
	for i := 0; i < len(rest); {
		if c := rest[i]; c != '-' && (c < '0' || c > '9') || i > 0 && !strings.ContainsRune(":,[", rune(rest[i-1])) {
			out.WriteByte(rest[i])
			i++
			continue
		}
		j := i + 1
		for j < len(rest) && strings.IndexByte("0123456789.eE+-", rest[j]) >= 0 {
			j++
		}
		var v float64
		if _, err := fmt.Sscan(rest[i:j], &v); err != nil {
			out.WriteString(rest[i:j])
		} else {
			fmt.Fprintf(&out, "%.6g", v)
		}
		i = j
	}
	return out.String()
}

// flat returns a part as text. Of a line with many points at most 12 are written.
func flat(part Part) string {
	var b strings.Builder
	axis := func(name string, a Axis) {
		fmt.Fprintf(&b, "  %s: %s, from %.5g to %.5g, log %v\n", name, a.Label, a.Min, a.Max, a.Log)
	}
	points := func(name string, lists ...[]float64) {
		b.WriteString("  " + name)
		for i := 0; i < len(lists[0]); i += max(1, len(lists[0])/12) {
			for j, list := range lists {
				if i < len(list) {
					fmt.Fprintf(&b, "%s%.5g", []string{"; ", " ", " [", " "}[j], list[i])
				}
			}
			if len(lists[len(lists)-1]) > i && len(lists) > 2 {
				b.WriteString("]")
			}
		}
		fmt.Fprintf(&b, " (%d)\n", len(lists[0]))
	}
	switch p := part.(type) {
	case Text:
		fmt.Fprintf(&b, "%s\n", p)
	case Note:
		fmt.Fprintf(&b, "! %s\n", p)
	case Code:
		fmt.Fprintf(&b, "code %s\n%s\n", p.Name, p.Text)
	case Facts:
		for _, f := range p {
			fmt.Fprintf(&b, "%s: %s (%s)\n", f.Name, f.Value, f.Note)
		}
	case Table:
		fmt.Fprintf(&b, "table %s: %v\n", p.Title, p.Columns)
		for i, row := range p.Rows {
			if i >= 40 && i < len(p.Rows)-5 {
				continue
			}
			faint := ""
			if row.Faint {
				faint = " (faint)"
			}
			fmt.Fprintf(&b, "  %s%s\n", strings.Join(row.Cells, " | "), faint)
		}
		fmt.Fprintf(&b, "  %d rows. %s\n", len(p.Rows), p.Caption)
	case Plot:
		fmt.Fprintf(&b, "plot %s: %s\n", p.Title, p.Caption)
		axis("x", p.X)
		axis("y", p.Y)
		for _, s := range p.Series {
			points(fmt.Sprintf("%s, style %v", s.Name, s.Style), s.X, s.Y, s.Low, s.High)
		}
		for _, s := range p.References {
			points("reference "+s.Name, s.X, s.Y)
		}
		fmt.Fprintf(&b, "  shaded %.5g\n", p.Shaded)
	case Bars:
		fmt.Fprintf(&b, "bars %s: %s\n", p.Title, p.Caption)
		axis("x", p.X)
		for _, i := range p.Items {
			fmt.Fprintf(&b, "  %s: %.5g [%.5g %.5g] faint %v\n", i.Name, i.Value, i.Interval.Low, i.Interval.High, i.Faint)
		}
		fmt.Fprintf(&b, "  marks %v, dots %v\n", p.Marks, p.Dots)
	case Heat:
		fmt.Fprintf(&b, "heat %s: %s; %s by %s, %q\n", p.Title, p.Caption, p.Y, p.X, p.Columns)
		for i, row := range p.Cells {
			b.WriteString("  " + p.Rows[i])
			for _, c := range row {
				fmt.Fprintf(&b, "; %.5g %s faint %v thin %v", c.Value, c.Text, c.Faint, c.Thin)
			}
			b.WriteString("\n")
		}
	default:
		fmt.Fprintf(&b, "%T\n", part)
	}
	return b.String()
}

// town returns columns of every kind, named after what they are.
func town() dataset.Definition {
	return dataset.Definition{Columns: []dataset.Column{
		{Name: "age", Kind: dataset.Number, Low: 18, High: 93},
		{Name: "income", Kind: dataset.Number, Low: 0, High: 150000, Transform: dataset.Log1p},
		{Name: "since", Kind: dataset.Date, Low: 10957, High: 18262},
		{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east"}},
		{Name: "street", Kind: dataset.Hash, Buckets: 3},
	}}
}

// secondMoment returns the second moment of drawn rows of a schema's columns: low numbers and first levels are usual.
func secondMoment(t *testing.T, def dataset.Definition) (matrix []float64, d int) {
	t.Helper()
	def.Target, def.Unit, def.Where = dataset.Target{Column: "zz", Kind: dataset.Number, High: 1}, dataset.Unit{}, ""
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	header := append(vector.Map(def.Columns, func(c dataset.Column) string { return c.Name }), "zz")
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	d = s.Dim()
	matrix = make([]float64, d*d)
	const n = 600
	for range n {
		cells := vector.Map(def.Columns, func(c dataset.Column) string {
			u := math.Pow(r.Float64(), 2)
			if c.Curve > 0 { // few rows at the last knots
				u = math.Pow(u, 5)
			}
			switch c.Kind {
			case dataset.Number:
				return fmt.Sprint(c.Low + u*(c.High-c.Low))
			case dataset.Date:
				day := time.Unix(0, 0).UTC().AddDate(0, 0, int(c.Low+u*(c.High-c.Low)))
				if c.Layout != "" {
					return day.Format("02.01.2006")
				}
				return day.Format(time.DateOnly)
			case dataset.Category:
				return c.Categories[int(u*float64(len(c.Categories)))]
			case dataset.Public:
				return c.Values[0]
			}
			return fmt.Sprint("v", r.IntN(40))
		})
		x := make([]float32, d)
		if _, ok := m.Encode(x, append(cells, "0.5")); !ok {
			t.Fatalf("no row: %q", cells)
		}
		for i, v := range x {
			for j, w := range x {
				matrix[i*d+j] += float64(v) * float64(w) / n
			}
		}
	}
	return matrix, d
}

// inMetric returns the law of a run of seven steps of a size in the metric of a second moment.
func inMetric(t *testing.T, def dataset.Definition, size, noise float64) *runrecord.Trace {
	matrix, d := secondMoment(t, def)
	l := &runrecord.Trace{StepSizes: []float64{size}, Scales: make([]float64, d), WeightNoise: .03}
	for i := range 7 {
		l.Noise = append(l.Noise, noise+.0013*float64(i))
		l.Momentum = append(l.Momentum, float64(i)/float64(i+4))
	}
	l.Moment = runrecord.NewMoment(matrix, d, .0011, .009)
	l.Moment.Slope, l.Moment.Clip = .35, 2.7
	return l
}

// modelFor returns a model with weights that differ.
func modelFor(t *testing.T, def dataset.Definition, lossName, regularizer string) *model.Model {
	t.Helper()
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.ParseFor(lossName, len(def.Target.Classes))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := loss.ParseRegularizer(regularizer)
	if err != nil {
		t.Fatal(err)
	}
	w := vector.Make(loss.Parameters(l, s.Dim()), func(j int) float64 { return .7 * math.Sin(float64(3*j+1)) })
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: reg, Schema: s, Weights: w, Complete: true,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// of returns the certificate of a folder with another model and plan.
func of(t *testing.T, f folder, m *model.Model, plan runrecord.Run) *Fit {
	t.Helper()
	fit := read(t, f)
	fit.Model, fit.plan = m, plan
	return fit
}

func planned(l *runrecord.Trace) runrecord.Run {
	return runrecord.Run{Plan: runrecord.Plan{Citation: "some 2020", Steps: 10, StepSize: .9, Output: "last", Charges: "alike",
		Clip: 1.3, Effective: 812, Floor: .0042, Predicted: .0071}, Trace: l}
}

func classesOf(names ...string) dataset.Target {
	return dataset.Target{Column: "state", Kind: dataset.Category, Classes: names}
}

var counted = dataset.Target{Column: "visits", Kind: dataset.Number, Low: 0, High: 40}

// timesTo returns the time to an event, with released hazards of intervals.
func timesTo(grouped, changing string) dataset.Target {
	t := dataset.Target{Column: "days", Kind: dataset.Number, High: 365, Event: "moved", Cuts: []float64{60, 150, 365}, Grouped: grouped,
		Changing: changing, Hazards: []float64{.5, .2, .3}}
	if grouped != "" {
		t.High, t.Cuts = 3, []float64{1, 2, 3}
	}
	if changing != "" {
		t.Hazards = []float64{.15, .06, .09, .1, .2, .03, .09, .12, .16}
		t.HazardErrors = []float64{.11, .12, .13, .14, .15, .16, .17, .18, .19}
	}
	return t
}

// withFormula returns a model with intervals of a formula that lacks the features whose names are listed; those behind = are
// reference levels with which dropped levels count. Of several classes the
// first has weights of 0. change may change the released numbers.
func withFormula(t *testing.T, def dataset.Definition, lossName string, without []string, change func(f *inference.Fit, names []string)) *model.Model {
	t.Helper()
	m := modelFor(t, def, lossName, "none")
	w, d, names := m.Weights(), m.Schema().Dim(), m.Schema().Features()
	fit := &inference.Fit{Level: .9, Method: inference.Wald, Weighted: "rows are weighted", Records: 9000, Reach: 2.5, Effective: 6.5,
		LeastCurvature: 7.25, Allowance: .0123}
	of := len(def.Target.Classes) > 2 && strings.HasPrefix(lossName, "softmax")
	gaps := (&Fit{Model: m}).thresholds()
	for j := range w {
		switch name := names[min(j, d-1)]; {
		case of && j < d:
			w[j] = 0
		case j < d && slices.Contains(without, name) || of && slices.Contains(without, names[j%d]):
			w[j], fit.Dropped = 0, append(fit.Dropped, j)
		case slices.Contains(without, "="+names[j%d]):
			w[j], fit.Merged = 0, append(fit.Merged, j)
		default:
			fit.Columns = append(fit.Columns, inference.Column{Feature: j, Kept: j%d == d-1 && (of || j == d-1)})
			if fit.Beta = append(fit.Beta, w[j]); j >= d && gaps != nil { // in place of its parameter
				fit.Beta[len(fit.Beta)-1] = gaps[j-d+1] - gaps[j-d]
			}
			fit.LeastDirection = append(fit.LeastDirection, math.Cos(float64(2*j)))
		}
	}
	k := len(fit.Columns)
	for i := range k {
		for j := i; j < k; j++ {
			v := .02 * math.Sqrt(float64((i+1)*(j+1)))
			metric, part := 1.2, 1/float64(2+i%5)
			if i != j {
				v, metric, part = v*.3*math.Cos(float64(i+2*j)), 0, .1
			}
			fit.Covariance, fit.Sampling, fit.Metric = append(fit.Covariance, v), append(fit.Sampling, v*part), append(fit.Metric, metric)
		}
	}
	if change != nil {
		change(fit, names)
	}
	written, err := fit.JSON()
	if err != nil {
		t.Fatal(err)
	}
	with, err := model.New(model.Params{Software: "test v1", Loss: m.Loss(), Regularizer: m.Regularizer(), Schema: m.Schema(), Weights: w,
		Complete: true, Inference: written, Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1,
			Delta: 1e-6}, Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	return with
}

// TestFitsAreWhatTheyWere compares the sections of pages of many kinds of fits, as text, and their coefficients, as programs
// get them, with testdata/fits.golden. See TestPagesAreWhatTheyWere.
func TestFitsAreWhatTheyWere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := &recording{before: map[string]string{}}
	plain := people(t, "p", 4)
	page := func(name string, f *Fit) {
		t.Helper()
		r.name = name
		page, err := f.Page(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		fmt.Fprintf(r, "\n== %s: %s\n%s\n", name, page.Title, page.Lead)
		r.sections(page.Sections...)
		fmt.Fprintf(r, "-- foot\n%s\n", page.Foot)
		if f.Model != nil {
			r.terms(t, f)
		}
	}
	bare := func(name string, f *Fit) { // the terms alone, without the parts of a page that are of every fit
		t.Helper()
		r.name = name
		fmt.Fprintf(r, "\n== %s\n%s\n", name, f.lead())
		n := f.noise()
		list := []Section{f.coefficients(n)}
		for _, of := range []func() (Section, bool){f.intervals, func() (Section, bool) { return f.curves(n) }, f.interactions, f.survival, f.quality} {
			if s, ok := of(); ok {
				list = append(list, s)
			}
		}
		r.sections(append(list, f.asked(), f.signal(n))...)
		r.terms(t, f)
	}
	with := func(target dataset.Target) dataset.Definition {
		def := town()
		def.Target = target
		return def
	}
	logit := func(p float64) []float64 { return []float64{math.Log(p / (1 - p))} }

	// Two classes: better than the constant, and calibrated.
	def := with(classesOf("stays", "moves"))
	plan := planned(inMetric(t, def, .9, .004))
	plan.Base = &runrecord.Base{Margins: logit(.23), MarginSigma: []float64{.021}, Sums: []float64{.77, .23}, Sigma: .004, Resolved: true}
	plan.Compared = &runrecord.Compared{Difference: -.0731, Sigma: .0052, Least: -1.4, Most: 2.3, Constant: .539, ConstantSigma: .0031,
		Margins: logit(.23), Residual: .0123, ResidualSigma: .0045, Shift: -.072, ShiftSigma: .0261}
	page("two classes", of(t, plain, modelFor(t, def, "logistic", "l2(0.01)"), plan))
	// The same, not better by more than noise, between fit and constant.
	plan.Compared = &runrecord.Compared{Difference: -.0031, Sigma: .0052, Least: -1.4, Most: 2.3, Constant: .539, ConstantSigma: .0031,
		Margins: logit(.23), Residual: -.0067, ResidualSigma: .0045, Shift: .038, ShiftSigma: .0261, Shrunk: .375, ShrunkSigma: .044}
	page("two classes, unclear", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Compared = &runrecord.Compared{Difference: .0431, Sigma: .0052, Least: -1.4, Most: 2.3, Constant: .539, ConstantSigma: .0031,
		Margins: logit(.23), Shrunk: 1}
	bare("two classes, worse", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Compared = &runrecord.Compared{Difference: .0431, Sigma: .0052, Least: -1.4, Most: 2.3, Unresolved: true, Margins: logit(.01)}
	bare("two classes, unresolved", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Compared = &runrecord.Compared{Difference: -.0431, Sigma: .0052, Clip: 1.7, Constant: .539, Margins: logit(.2)}
	bare("two classes, earlier", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Compared = nil
	plan.Measured = &runrecord.Measured{Loss: .432, LossSigma: .0091, GradientNorm: .0321, GradientSigma: .0027}
	bare("two classes, hinge", of(t, plain, modelFor(t, def, "smoothed-hinge(0.5)", "none"), plan))

	// Several classes.
	village := func(target dataset.Target) dataset.Definition {
		def := town()
		def.Target, def.Columns = target, []dataset.Column{def.Columns[0], def.Columns[3]}
		return def
	}
	def = village(classesOf("stays", "moves", "leaves", "dies"))
	plan = planned(inMetric(t, def, .3, .014))
	plan.Base = &runrecord.Base{Margins: []float64{.4, .2, -.1, -.5}, MarginSigma: []float64{.01, .02, .03, .04}, Resolved: true}
	plan.Compared = &runrecord.Compared{Difference: -.0217, Sigma: .0123, Least: -1.1, Most: 3.1, Constant: 1.234, ConstantSigma: .0021,
		Margins: plan.Base.Margins, Shrunk: .125, ShiftSigma: .01}
	bare("four classes", of(t, plain, modelFor(t, def, "softmax", "none"), plan))
	plainly := planned(&runrecord.Trace{Noise: []float64{.01, .02}, StepSizes: []float64{7}, Momentum: []float64{0, .3}, WeightNoise: .0123,
		Chosen: 3})
	bare("four classes, bounded", of(t, plain, modelFor(t, def, "softmax", "none"), plainly))
	def = with(classesOf("low", "fair", "good", "best"))
	bare("ordered classes", of(t, plain, modelFor(t, def, "ordered", "none"), plainly))

	// Counts.
	def = with(counted)
	plan = planned(inMetric(t, def, .3, .014))
	plan.Base = &runrecord.Base{Margins: []float64{-1.3}, MarginSigma: []float64{.014}, Sums: []float64{.21}, Sigma: .003, Resolved: true}
	plan.Compared = &runrecord.Compared{Difference: -.0217, Sigma: .0043, Least: -1.1, Most: 3.1, Counts: true, Cut: true,
		Margins: []float64{-1.3}, Residual: .0345, ResidualSigma: .0067, Shift: -.031, ShiftSigma: .006}
	bare("counts", of(t, plain, modelFor(t, def, "poisson(1.5)", "none"), plan))
	plan.Compared.Cut, plan.Compared.Clamped, plan.Compared.LowerBound, plan.Compared.Difference = false, true, true, .0071
	plan.Compared.Shrunk, plan.Compared.Lift = .25, .013
	bare("counts, a lower bound", of(t, plain, modelFor(t, def, "poisson(1.5)", "none"), plan))
	plan.Compared.Shrunk, plan.Compared.Lift, plan.Compared.Residual = .0, .0, -.0345
	plan.Trace.Clipped, plan.Trace.ClippedSigma = .0456, .0123
	bare("counts, clipped", of(t, plain, modelFor(t, def, "negbinomial(1.5,1.25,40)", "none"), plan))
	plan.Trace = inMetric(t, def, .9, .004)
	plan.Trace.Moment.Clip, plan.Compared = .05, nil
	bare("counts, clipped so that little is stated", of(t, plain, modelFor(t, def, "poisson(1.5)", "none"), plan))
	rated := counted
	rated.Exposure = dataset.Exposure{Column: "years", Low: .5, High: 8}
	def = with(rated)
	plan = planned(inMetric(t, def, .3, .014))
	bare("rates", of(t, plain, modelFor(t, def, "poisson-rate(0.5,0.0625)", "none"), plan))
	rated.Exposure, rated.Offset = dataset.Exposure{Column: "log years", Low: -1, High: 1}, true
	def = with(rated)
	bare("rates with an offset", of(t, plain, modelFor(t, def, fmt.Sprintf("poisson-rate(0.5,%v)", math.Exp(-2)), "none"), plan))

	// Times.
	for _, c := range []struct{ name, grouped, changing, loss string }{{"times", "", "", "poisson-rate(3,1.52587890625e-05)"},
		{"times in intervals", "logit", "", "logit-hazard(3,1.52587890625e-05)"},
		{"times in years", "cloglog", "", "cloglog(3,1.52587890625e-05)"},
		{"times with changing hazards", "", "region", "poisson-rate(3,1.52587890625e-05)"}} {
		def = with(timesTo(c.grouped, c.changing))
		plan = planned(inMetric(t, def, .3, .014))
		plan.Base = &runrecord.Base{Margins: []float64{.45}, MarginSigma: []float64{.012}, Resolved: true}
		plan.Compared = &runrecord.Compared{Difference: -.0417, Sigma: .0043, Least: -1.1, Most: 3.1, Events: true, Clamped: true,
			Happened: .43, HappenedSigma: .0123, Margins: []float64{.45}}
		bare(c.name, of(t, plain, modelFor(t, def, c.loss, "none"), plan))
	}

	still := timesTo("", "")
	still.Hazards = []float64{.6, 0, .4}
	def = with(still)
	plan.Trace, plan.Compared.Happened = nil, .03
	bare("times without hazard", of(t, plain, modelFor(t, def, "poisson-rate(3,1.52587890625e-05)", "none"), plan))

	// Numbers.
	number := dataset.Target{Column: "rent", Kind: dataset.Number, Low: 200, High: 2700, Weight: "share"}
	def = with(number)
	plan = planned(inMetric(t, def, .3, .014))
	bare("numbers", of(t, plain, modelFor(t, def, "weighted(huber(0.25),row)", "none"), plan))
	number.Weight = ""
	def = village(number)
	plan.Trace = inMetric(t, def, .3, .014)
	bare("numbers, robust", of(t, plain, modelFor(t, def, "huber(0.25)", "none"), plan))
	plan.Trace = inMetric(t, def, .3, .014)
	plan.Trace.Clipped, plan.Trace.ClippedSigma = .0012, .0034
	bare("numbers, squared", of(t, plain, modelFor(t, def, "squared(1)", "l2(0.02)"), plan))
	move := planned(&runrecord.Trace{Noise: []float64{.01, .02}, StepSizes: []float64{.5}, WeightNoise: .0456, Move: .003})
	bare("numbers, bounded", of(t, plain, modelFor(t, def, "absolute", "none"), move))
	rounds := planned(&runrecord.Trace{Noise: []float64{.01, .02}, Back: []int{1, 1}, Keep: []float64{.5, .25}, StepSizes: []float64{.5},
		Rounds: []int{1, 2}, WeightNoise: .0456, Start: .0012})
	bare("numbers, rounds", of(t, plain, modelFor(t, def, "pinball(0.3)", "none"), rounds))

	judged := planned(inMetric(t, def, .4, .007))
	judged.Compared = &runrecord.Compared{Difference: -.0317, Sigma: .0052, Least: -1.4, Most: 2.3, Constant: .219, ConstantSigma: .0031,
		Margins: []float64{.17}}
	bare("a jump with a mean loss", of(t, plain, modelFor(t, def, "absolute", "none"), judged))

	// Why nothing is stated.
	law := func(change func(*runrecord.Trace)) *runrecord.Trace {
		l := inMetric(t, def, .4, .007)
		change(l)
		return l
	}
	for _, c := range []struct {
		name, loss string
		trace      *runrecord.Trace
	}{{"no law", "absolute", nil}, {"an unstated law", "absolute", &runrecord.Trace{Unstated: true}}, {"no step", "absolute", &runrecord.Trace{}},
		{"a wrong law", "absolute", &runrecord.Trace{WeightNoise: 1, Noise: []float64{1}, Back: []int{0}}},
		{"too much", "absolute", &runrecord.Trace{WeightNoise: 1e200, Noise: []float64{1}}},
		{"not convex", "welsch(1)", &runrecord.Trace{WeightNoise: .1, Noise: []float64{.01}}},
		{"rounds in a metric", "squared(1)", law(func(l *runrecord.Trace) { l.Rounds = []int{1, 2} })},
		{"chosen in a metric", "squared(1)", law(func(l *runrecord.Trace) { l.Chosen = 3 })},
		{"no noise of steps", "squared(1)", law(func(l *runrecord.Trace) { l.Noise = nil })},
		{"columns of lengths", "squared(1)", law(func(l *runrecord.Trace) { l.Momentum = []float64{0, 1} })},
		{"no sizes", "squared(1)", law(func(l *runrecord.Trace) { l.StepSizes = nil })},
		{"a moment without noise", "squared(1)", law(func(l *runrecord.Trace) { l.Moment.Sigma = 0 })},
		{"thresholds", "ordered", law(func(l *runrecord.Trace) {})},
		{"a jump", "absolute", law(func(l *runrecord.Trace) {})},
		{"a quantile", "pinball(0.1)", law(func(l *runrecord.Trace) {})},
		{"a quantile with curvature", "pinball(0.1)", law(func(l *runrecord.Trace) { l.Level, l.LevelSigma = .05, .003 })},
		{"a quantile with noise", "pinball(0.1)", law(func(l *runrecord.Trace) { l.Level, l.LevelSigma = .05, .03 })},
		{"a wrong mean row", "squared(1)", law(func(l *runrecord.Trace) { l.Moment.Mean = []float64{1} })},
		{"a long mean row", "squared(1)", law(func(l *runrecord.Trace) {
			l.Moment.Mean, l.Moment.MeanWeight = make([]float64, len(l.Scales)), 2
			l.Moment.Mean[2] = 1.5
		})},
		{"no moment", "squared(1)", &runrecord.Trace{WeightNoise: .1, Noise: []float64{.01}, Scales: []float64{1}}},
		{"another moment", "squared(1)", &runrecord.Trace{WeightNoise: .1, Noise: []float64{.01}, Scales: []float64{1},
			Moment: &runrecord.Moment{Features: 3}}}} {
		def := def
		if c.loss == "ordered" {
			def.Target = classesOf("low", "fair", "good")
		}
		f := of(t, plain, modelFor(t, def, c.loss, "none"), planned(c.trace))
		r.name = c.name
		fmt.Fprintf(r, "\n== %s\n", c.name)
		r.sections(f.coefficients(f.noise()))
		r.terms(t, f)
	}
	def.Target = classesOf("stays", "moves")
	bare("a network", of(t, plain, modelFor(t, def, "network(3,tanh,logistic)", "none"), move))

	// Curves, and interactions with curves and dates.
	def = town()
	def.Columns[0].Curve, def.Columns[2].Curve = 4, 3
	def.Columns[2].Layout = "%d.%m.%Y"
	def.Interactions = []dataset.Interaction{{"region", "age"}, {"since", "age"}}
	def.Columns = slices.Delete(def.Columns, 1, 2)
	def.Target = classesOf("stays", "moves")
	plan = planned(inMetric(t, def, .9, .004))
	plan.Monotone = []runrecord.Monotone{{Column: "age", Way: "up", Moved: .123}, {Column: "since", Way: "down", Moved: .234}}
	plan.Family = &runrecord.Family{Name: "curves", Why: "a rule chose it", Chosen: true}
	bare("curves of two classes", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Trace, plan.Monotone, plan.Ranks = plainly.Trace, nil, []string{"age"}
	bare("curves, bounded", of(t, plain, modelFor(t, def, "logistic", "none"), plan))
	plan.Trace = nil
	def.Target, def.Columns[0].Transform, def.Columns[0].Low = counted, dataset.Log1p, 0
	bare("curves of counts", of(t, plain, modelFor(t, def, "poisson(1.5)", "none"), plan))
	def.Target = timesTo("logit", "")
	bare("curves of times", of(t, plain, modelFor(t, def, "logit-hazard(3,1.52587890625e-05)", "none"), plan))
	def.Target = classesOf("a", "b", "c")
	plan.Trace = inMetric(t, def, .9, .004)
	plan.Trace.Scales, plan.Trace.Moment = nil, nil
	bare("curves of classes", of(t, plain, modelFor(t, def, "softmax", "none"), plan))
	def.Target, def.Interactions = classesOf("a", "b", "c", "d", "e", "f", "g", "h", "i"), nil
	plan.Trace = nil
	bare("curves of nine classes", of(t, plain, modelFor(t, def, "softmax", "none"), plan))

	// Rows that were reduced, and effects.
	def = village(number)
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dataset.ParseProjection("jl(4,7)", s.Dim())
	if err != nil {
		t.Fatal(err)
	}
	plan = plainly
	plan.Reduce = "jl(4,7)"
	bare("reduced", of(t, plain, modelFor(t, def, "huber(0.25)", "none"), plan))
	plan.Compared = &runrecord.Compared{Difference: -.0031, Sigma: .0052, Least: -1.4, Most: 2.3, Margins: []float64{.17}, Shrunk: .375,
		ShrunkSigma: .044}
	bare("reduced and shrunk", of(t, plain, modelFor(t, def, "huber(0.25)", "none"), plan))
	reduced := inMetric(t, dataset.Definition{Columns: def.Columns[:1]}, .4, .007)
	matrix := make([]float64, 16)
	for j := range 16 {
		matrix[j] = .01
		if j%5 == 0 {
			matrix[j] = .2 + .01*float64(j)
		}
	}
	reduced.Moment, reduced.Scales = runrecord.NewMoment(matrix, 4, .0011, .009), make([]float64, 4)
	plan.Trace = reduced
	bare("reduced, in a metric", of(t, plain, modelFor(t, def, "huber(0.25)", "none"), plan))
	plan = plainly
	plan.Compared = &runrecord.Compared{Difference: -.0031, Sigma: .0052, Least: -1.4, Most: 2.3, Margins: []float64{.17}, Shrunk: .375,
		ShrunkSigma: .044}
	plan.Trace = &runrecord.Trace{Noise: []float64{.01, .02}, StepSizes: []float64{.5}, WeightNoise: .0123}
	bare("shrunk, bounded", of(t, plain, modelFor(t, def, "huber(0.25)", "none"), plan))
	steps := runrecord.Trace{Noise: []float64{.02, .03}, StepSizes: []float64{.8}, Momentum: []float64{0, .3}, WeightNoise: .02}
	found, _ := staged(t, steps, steps)
	bare("effects", of(t, plain, found.Model, found.plan))
	weights := found.Model.Weights()
	for j := range weights {
		weights[j] += math.Sin(float64(2*j + 1))
	}
	crossed, err := model.New(model.Params{Software: "test v1", Loss: found.Model.Loss(), Regularizer: loss.None(), Schema: found.Model.Schema(),
		Weights: weights, Privacy: found.Model.Privacy()})
	if err != nil {
		t.Fatal(err)
	}
	bare("effects of pairs", of(t, plain, crossed, found.plan))
	found.plan.Effects.Synthetic.Distance = .0123
	found.plan.Effects.Synthetic.Law = nil
	bare("effects, an earlier version", of(t, plain, found.Model, found.plan))

	// Intervals.
	def = town()
	def.Columns = def.Columns[:4]
	def.Target = classesOf("stays", "moves")
	intervals := func(name string, m *model.Model, plan runrecord.Run) {
		t.Helper()
		bare(name, of(t, plain, m, plan))
		tests, err := Tests(m)
		if err != nil {
			fmt.Fprintf(r, "-- no tests: %v\n", err)
			return
		}
		text, err := json.Marshal(tests)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(r, "-- tests\n%s\n%s", strings.ReplaceAll(digitsOf(text), "},{", "},\n{"), TestText(tests))
		if same, err := AtLevel(m, nil, 0); same != m || err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, together := range []int{0, 3, Every, 1000} {
			level := .75
			other, err := AtLevel(m, &level, together)
			if err != nil {
				fmt.Fprintf(r, "%d together: %v\n", together, err)
				continue
			}
			c, err := other.Coefficients()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(r, "%d together: %.6g: %s %.6g to %.6g\n", together, c.Level, c.List[0].Term, c.List[0].Low, c.List[0].High)
		}
	}
	lacking := []string{"since", "region=east", "age=missing"}
	intervals("intervals of two classes", withFormula(t, def, "logistic", nil, nil), plainly)
	intervals("a short formula", withFormula(t, def, "logistic", append(lacking, "=region=north"), func(f *inference.Fit, names []string) {
		f.Remainders = vector.Make(len(f.Columns), func(i int) float64 { return .05 * float64(i) })
		f.Absorbed = []inference.Absorbed{{Feature: slices.Index(names, "since"), By: slices.Index(names, "age"), Correlation: .67, Noise: .04}}
	}), plainly)
	intervals("a region", withFormula(t, def, "logistic", lacking, func(f *inference.Fit, _ []string) {
		f.Method = inference.Region
	}), plainly)
	intervals("not identified", withFormula(t, def, "logistic", lacking, func(f *inference.Fit, _ []string) {
		f.Method, f.Covariance, f.Sampling = inference.NotIdentified, nil, nil
	}), plainly)
	def.Target = counted
	intervals("intervals of counts", withFormula(t, def, "poisson(1.5)", []string{"region=other"}, func(f *inference.Fit, names []string) {
		f.Gone = []inference.Gone{{Feature: slices.Index(names, "region=other"), Share: .0345}}
	}), plainly)
	def.Target = dataset.Target{Column: "rent", Kind: dataset.Number, Low: 200, High: 2700}
	intervals("intervals of numbers", withFormula(t, def, "squared(1)", lacking, nil), plainly)
	def.Target = classesOf("stays", "moves", "leaves")
	intervals("intervals of three classes", withFormula(t, def, "softmax", lacking, func(f *inference.Fit, names []string) {
		f.Allowances = []float64{.0123, .0345}
	}), plainly)
	def.Target = classesOf("low", "fair", "good", "best")
	intervals("intervals of ordered classes", withFormula(t, def, "ordered", lacking, nil), plainly)
	def.Target = timesTo("", "region")
	plan = plainly
	plan.Base = &runrecord.Base{Margins: []float64{.45}, MarginSigma: []float64{.012}, Resolved: true}
	intervals("intervals of changing hazards", withFormula(t, def, "poisson-rate(3,1.52587890625e-05)", lacking, nil), plan)
	intervals("withheld hazards", withFormula(t, def, "poisson-rate(3,1.52587890625e-05)", nil, func(f *inference.Fit, _ []string) {
		f.Allowance = .3
	}), plan)
	def.Target, def.Interactions = classesOf("stays", "moves"), []dataset.Interaction{{"region", "ward"}}
	def.Columns = append(def.Columns[2:], dataset.Column{Name: "ward", Kind: dataset.Category, Categories: []string{"one", "two"}})
	intervals("intervals of pairs", withFormula(t, def, "logistic", []string{"region=south & ward=two"}, nil), plainly)
	def.Interactions, def.Columns[0].Curve = nil, 5
	intervals("intervals of a curve", withFormula(t, def, "logistic", nil, nil), plainly)
	intervals("intervals of a curve without a knot", withFormula(t, def, "logistic", []string{modelFor(t, def, "logistic", "none").Schema().Features()[3]},
		nil), plainly)
	def.Target = classesOf("stays", "moves", "leaves")
	intervals("curves of three classes", withFormula(t, def, "softmax", nil, func(f *inference.Fit, _ []string) {
		f.Allowances = []float64{.0123, .0345}
	}), plainly)

	// What a released law may hold beside these.
	def = with(classesOf("stays", "moves"))
	def.Columns = def.Columns[:4]
	for _, c := range []struct {
		name   string
		change func(*runrecord.Trace, int)
	}{
		{"a mean row", func(l *runrecord.Trace, d int) {
			matrix, err := l.Moment.Matrix()
			if err != nil {
				t.Fatal(err)
			}
			m := l.Moment
			mean := vector.Make(d, func(j int) float64 { return matrix[j*d+d-1] / math.Sqrt(matrix[d*d-1]) })
			for i := range matrix {
				matrix[i] -= mean[i/d] * mean[i%d]
			}
			l.Moment = runrecord.NewMoment(matrix, d, .0011, .009)
			l.Moment.Mean, l.Moment.MeanSigma, l.Moment.MeanWeight, l.Moment.Slope, l.Moment.Clip = mean, .0007, 2.5, m.Slope, m.Clip
		}},
		{"an average of points", func(l *runrecord.Trace, d int) {
			l.Weights = []float64{0, 0, 0, 0, .1, .2, .3, .4}
			l.Moment.Clip = 0
		}},
		{"the curvature", func(l *runrecord.Trace, d int) {
			matrix := make([]float64, d*d)
			for j := range d {
				matrix[j*d+j] = .1 + .01*float64(j)
			}
			l.Curvature = runrecord.NewMoment(matrix, d, .004, 0)
			l.Moment.Clip = .4
		}},
		{"the curvature alone", func(l *runrecord.Trace, d int) {
			matrix, err := l.Moment.Matrix()
			if err != nil {
				t.Fatal(err)
			}
			vector.Scale(matrix, .17)
			l.Curvature, l.Moment, l.Scales = runrecord.NewMoment(matrix, d, .0004, 0), nil, nil
			l.StepSizes = []float64{4}
		}},
		{"a diagonal", func(l *runrecord.Trace, d int) { l.Moment.Diagonal, l.Moment.Rows = true, nil }},
		{"a step of four", func(l *runrecord.Trace, d int) { l.Scales, l.Moment, l.StepSizes = nil, nil, []float64{12} }},
		{"momentum", func(l *runrecord.Trace, d int) {
			l.Scales, l.Moment, l.StepSizes, l.Start = nil, nil, []float64{3}, .02
		}},
	} {
		plan := planned(inMetric(t, def, .4, .007))
		c.change(plan.Trace, len(plan.Trace.Scales))
		f := of(t, plain, modelFor(t, def, "logistic", "none"), plan)
		r.name = c.name
		fmt.Fprintf(r, "\n== %s\n", c.name)
		r.sections(f.coefficients(f.noise()))
		r.terms(t, f)
	}
	def.Target, def.Columns = dataset.Target{Column: "rent", Kind: dataset.Number, Low: 200, High: 2700}, nil
	for j := range 22 {
		def.Columns = append(def.Columns, dataset.Column{Name: fmt.Sprint("n", j), Kind: dataset.Number, Low: 1, High: float64(j + 3)})
	}
	for _, size := range []float64{.15, 1.8} {
		plan = planned(inMetric(t, def, size, .004))
		plan.Trace.Moment.Ridge = .002
		f := of(t, plain, modelFor(t, def, "squared(1)", "none"), plan)
		r.name = fmt.Sprintf("many numbers, steps of %v", size)
		fmt.Fprintf(r, "\n== %s\n", r.name)
		r.sections(f.coefficients(f.noise()))
	}

	certificates(t, page, r)
	described := described()
	for name, f := range []folder{plain, people(t, "q", 3)} {
		c := read(t, f).Certificate
		page := DescriptionPage(fmt.Sprint("table ", name), described, c)
		r.name = "a description"
		fmt.Fprintf(r, "\n== %s\n%s\n%s%s\n", page.Title, page.Lead, flat(Facts(page.Facts)), page.Foot)
		r.sections(page.Sections...)
	}
	recordedtest.Compare(t, "testdata/fits.golden", r.String())
}

// described returns a description of two columns.
func described() *describe.Description {
	v := func(x, low, high float64) describe.Value { return describe.Value{Estimate: x, Low: low, High: high} }
	return &describe.Description{Level: .975, Rows: v(900, 890, 910), By: "sex", Columns: []describe.Column{
		{Name: "age", Kind: "number", Missing: new(v(.0123, .01, .02)), Mean: new(v(38.61, 38.2, 39.02)), Within: []float64{18, 93}},
		{Name: "sex", Kind: "category", Levels: []describe.Level{{Name: "f", Share: v(.6, .55, .65), Count: v(540.4, 530, 550),
			Columns: []describe.Column{{Name: "age", Kind: "number", Mean: new(v(36.5, 36, 37))}}},
			{Name: "m", Share: v(.4, .35, .45), Count: v(359.6, 350, 370), Columns: []describe.Column{{Name: "age", Kind: "number"}}}}}}}
}

// certificates writes pages of fits that differ in what their certificates and ledgers say.
func certificates(t *testing.T, page func(string, *Fit), r *recording) {
	plain := people(t, "p", 4)
	change := func(f folder, change func(f *folder)) folder {
		change(&f)
		return f
	}
	wide := func(epsilon, delta float64, r account.Relation) account.Budget {
		b, err := account.NewBudget(epsilon, delta, r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	unfiltered := func(f *folder) { f.schema.Where = "" }
	unit := func(count account.Counting) func(f *folder) {
		return func(f *folder) {
			f.unit, f.schema.Unit = account.Unit{Column: "ward", Rows: 7, Count: count}, dataset.Unit{Column: "ward", Rows: 7}
			f.schema.Where = ""
		}
	}
	for _, c := range []struct {
		name   string
		folder folder
	}{
		{"no filter", change(plain, func(f *folder) {
			unfiltered(f)
			f.ledger = entries(f.budget, "/d/one.csv")
		})},
		{"a unit", change(plain, unit(account.Mean))},
		{"a unit of sums", change(plain, unit(account.Sum))},
		{"a unit of several rows, add-or-remove", change(plain, func(f *folder) {
			unit(account.Sum)(f)
			f.budget = wide(.7, 3e-7, account.AddOrRemove)
			f.events = gradients(t, 3, f.budget)
		})},
		{"add-or-remove", change(plain, func(f *folder) {
			f.budget = wide(.7, 3e-7, account.AddOrRemove)
			f.events = gradients(t, 3, f.budget)
		})},
		{"a small budget", change(plain, func(f *folder) {
			f.budget = wide(.003, 1e-12, account.ReplaceOne)
			f.events = gradients(t, 2, f.budget)
		})},
		{"a large budget", change(plain, func(f *folder) {
			f.budget = wide(47.5, .0123, account.ReplaceOne)
			f.events = gradients(t, 2, f.budget)
		})},
		{"trusted", change(plain, func(f *folder) { f.trusted = []string{"rows are of 100% persons & one each", "the clock is right"} })},
		{"cohorts", change(plain, func(f *folder) {
			f.events = f.events[:2]
			for i := range 4 {
				e, err := account.GaussianEvent("gradient", uint64(i%2+1), 2, 60+7*float64(i))
				if err != nil {
					t.Fatal(err)
				}
				e.Index, e.Relation = len(f.events), f.budget.Relation()
				f.events = append(f.events, e)
			}
		})},
		{"a schedule", change(scheduled(t, account.SampledSteps{NoiseMultiplier: 3.25, Sampling: .125, Count: 2},
			account.SampledSteps{NoiseMultiplier: 4.5, Sampling: .0625, Count: 3}), func(f *folder) {
			f.algorithm.Name, f.trusted = "dp-sgd", []string{"samples are drawn independently"}
		})},
		{"stopped early", change(people(t, "p", 5), func(f *folder) { f.events, f.complete = f.events[:3], false })},
		{"no model", change(plain, func(f *folder) { f.noModel, f.complete = true, false })},
		{"nothing released", change(plain, func(f *folder) { f.noModel, f.complete, f.events = true, false, nil })},
		{"no plan", change(plain, func(f *folder) { f.algorithm.Plan = json.RawMessage(`{"steps":"seven"}`) })},
		{"one fit of the table", change(plain, func(f *folder) { f.ledger = entries(f.budget, "/d/one.csv") })},
		{"three fits of the table", change(plain, func(f *folder) {
			f.ledger = entries(wide(.3, 2e-7, account.ReplaceOne), "/d/one.csv")
			own := strings.SplitAfter(entries(f.budget, "x", "/d/two.csv", "/d/one.csv", "/d/one.csv"), "\n")
			f.ledger += strings.Join(own[2:6], "") + strings.Replace(own[6], "settled", "reserved", 1)
			f.ledger = strings.Replace(f.ledger, `"entry":"settled","fit":3`, `"entry":"interrupted","fit":3`, 1)
		})},
		{"fits that do not add up", change(plain, func(f *folder) {
			f.ledger = entries(wide(.3, 2e-7, account.AddOrRemove), `C:\d\one.csv`)
			own := strings.SplitAfter(entries(f.budget, "x", "two", `C:\d\one.csv`), "\n")
			f.ledger += strings.Join(own[2:6], "")
		})},
		{"an unfinished line", change(plain, func(f *folder) { f.ledger = entries(f.budget, "/d/one.csv") + `{"time":` })},
	} {
		page(c.name, read(t, c.folder))
	}

	facts := read(t, plain)
	facts.plan = planned(&runrecord.Trace{Noise: []float64{.01, .02, .015}, StepSizes: []float64{.5}, WeightNoise: .0456})
	facts.plan.Late, facts.plan.Arrived = &runrecord.Late{Steps: 3, Gradient: .0456, Noise: .0567}, "more steps would only add noise"
	facts.plan.Measured = &runrecord.Measured{Loss: .678, LossSigma: .0123, GradientNorm: .0789, GradientSigma: .00891}
	facts.plan.Curvature = &runrecord.Curved{Curvature: -.00912, Sigma: .0234, Directions: 1}
	facts.plan.SelectedNorm = &runrecord.SelectedNorm{GradientNorm: .345, Sigma: .0456, Radius: .0678, Among: 1}
	facts.plan.Foreseen, facts.plan.StepSize = .00234, 0
	facts.plan.Recovered = &runrecord.Rebuilt{Step: 3, Note: "made from a journal"}
	facts.GradientNorms = []float64{.5, .4, .3}
	facts.Public = &model.Metrics{N: 912, Skipped: 3, Accuracy: new(.8123), AUC: new(.7654), RMSE: new(12.34), MAE: new(9.87), Objective: new(.4321),
		GradientNorm: new(.0123), LeastEigenvalue: new(-.0456), EigenvalueResidual: new(.00078)}
	page("all facts", facts)
	facts.plan.Curvature, facts.plan.SelectedNorm.Radius = &runrecord.Curved{Curvature: -.912, Sigma: .0234, Directions: 7}, 0
	facts.GradientNorms, facts.plan.Clip = []float64{.5, .4}, math.Inf(1)
	facts.Public = &model.Metrics{N: 12345, Skipped: 1, LeastEigenvalue: new(.0456), NoEigenvalue: "too many features"}
	page("other facts", facts)
	large := people(t, "p", 4)
	for i := range mostRows {
		large.schema.Columns = append(large.schema.Columns, dataset.Column{Name: fmt.Sprint("n", i), Kind: dataset.Number, High: float64(i + 1)})
	}
	large.schema.Columns = append(large.schema.Columns, dataset.Column{Name: "left", Kind: dataset.Ignore},
		dataset.Column{Name: "many", Kind: dataset.Category, Categories: vector.Make(60, func(i int) string { return fmt.Sprint("level", i) })})
	page("many columns", read(t, large))
}

// TestPicturesAreWhatTheyWere compares pictures of every form, as SVG, with testdata/pictures.golden.
func TestPicturesAreWhatTheyWere(t *testing.T) {
	line := func(n int, f func(x float64) float64) (s Series) {
		for i := range n {
			s.X, s.Y = append(s.X, float64(i)+.5), append(s.Y, f(float64(i)))
		}
		s.Name = "line"
		return s
	}
	plot := func(title string, x, y Axis, list ...Series) Plot {
		return Plot{Title: title, Caption: "C.", X: x, Y: y, Series: list}
	}
	x, y := Axis{Label: "across"}, Axis{Label: "up"}
	banded := line(7, func(x float64) float64 { return x*x - 7 })
	for i, v := range banded.Y {
		banded.Low, banded.High = append(banded.Low, v-1-float64(i)), append(banded.High, v+2)
	}
	one := Series{Name: "one", X: []float64{3}, Y: []float64{5}, Low: []float64{4}, High: []float64{7}}
	steps := line(5, func(x float64) float64 { return 3 * x })
	steps.Style, steps.Name = Steps, "steps with a name that is too long for its place"
	long := line(3001, func(x float64) float64 { return math.Sin(x/300) + .1*math.Cos(x) })
	long.Style = Line
	logarithm := Axis{Label: "up", Log: true}
	var r strings.Builder
	parts := []Part{
		plot("joined", x, y, banded), plot("one point", x, y, one), plot("long", x, y, long), plot("steps", x, y, steps),
		plot("decades", x, logarithm, line(5, func(x float64) float64 { return math.Pow(10, 5*x-9) })),
		plot("one decade", x, logarithm, line(5, func(x float64) float64 { return 2 + x })),
		plot("narrow", x, logarithm, line(5, func(x float64) float64 { return 3 + x/100 })),
		plot("alike", x, logarithm, line(3, func(x float64) float64 { return 7 })),
		plot("large", x, y, line(4, func(x float64) float64 { return 1e9 + 3e8*x })),
		plot("small", x, y, line(4, func(x float64) float64 { return -1e-7 - 2e-8*x })),
		plot("level", Axis{Label: "x", Min: 1, Max: 3}, y, line(4, func(x float64) float64 { return -4 })),
		plot("seven", x, Axis{Label: "a label that is too long for the height of a plot, which is not that of a page of a book at all"},
			slices.Repeat([]Series{banded}, 7)...),
		Plot{Title: "marked", X: x, Y: y, Series: []Series{steps}, Shaded: []Interval{{-3, 1}, {2, 2.5}, {4, 90}},
			References: []Reference{Level("level", 4), {Name: "rising", X: []float64{0, 2, 5}, Y: []float64{0, 5, 9}}}},
		Bars{Title: "bars", X: x, Items: []Bar{{Name: "a", Value: 12.5, Interval: Interval{9, 14}}, {Name: "b", Value: -3.25, Faint: true}, {Name: "c"}}},
		Bars{Title: "up", X: x, Items: []Bar{{Name: "a", Value: 123456}, {Name: "b", Value: 3}}},
		Bars{Title: "down", X: x, Items: []Bar{{Name: "a", Value: -.00000123}, {Name: "b", Value: -.00000456, Faint: true}}},
		Bars{Title: "dots", Dots: true, X: Axis{Label: "x", Log: true}, Marks: []Mark{{"mark", 5}, {"other", 20}}, Items: []Bar{
			{Name: "a name that is too long to stand beside its bar", Value: 12.5, Interval: Interval{9, 14}}, {Name: "b", Value: 3.25}}},
		Bars{Title: "few", Dots: true, X: Axis{Label: "x", Min: -1, Max: 1}, Items: []Bar{{Name: "a", Value: -.5, Interval: Interval{-.75, .25}}}},
		Heat{Title: "heat", X: "u", Y: "v", Columns: []string{"a", "b", "c"}, Rows: []string{"p", "q"}, Cells: [][]HeatCell{
			{{Value: 1.5, Text: "1.5"}, {Value: -3, Text: "-3"}, {Value: .25, Text: ".25", Faint: true}},
			{{Value: 9, Text: "9", Thin: true}, {}, {Value: .5, Text: ".5"}}}},
		Heat{Title: "zeros", X: "u", Y: "v", Columns: []string{"a"}, Rows: []string{"p"}, Cells: [][]HeatCell{{{}}}},
		Code{"c", "a < b\n\tc\x07\u202e"}, Note("n & \xff"), Text("t"),
	}
	for i, part := range parts {
		if err := part.check(); err != nil {
			t.Fatal(err)
		}
		text, err := part.html(fmt.Sprint("p", i))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&r, "%s\n", strings.ReplaceAll(string(text), "><", ">\n<"))
	}
	if err := parts[0].(Plot).SVG(&r); err != nil {
		t.Error(err)
	}
	for _, v := range []float64{0, -0.5, 1234.5, 12345.678, 1e9 + .5, 123456789012, 1e15, 4.567e-5, 1.2345e-4, 9.9996, .00099996, math.NaN(), math.Inf(-1),
		-1.5e-300} {
		fmt.Fprintln(&r, Number(v), digits(v, 5), exact(v), Above(v, 2), percent(math.Abs(v)/1e4, true), percent(.123456*math.Abs(v), false))
	}
	for _, v := range []float64{.000123, .00999, .01, .5, .98999, .99001, .999999, 1} {
		fmt.Fprintln(&r, percent(v, true), percent(v, false))
	}
	series := []Series{line(2, func(x float64) float64 { return x })}
	cut := series[0]
	cut.Y = cut.Y[:1]
	crossed := one
	crossed.Low = []float64{8}
	for _, part := range []Part{ // that cannot be shown
		Plot{}, plot("p", Axis{}, y, series...), plot("p", x, y), plot("p", x, y, slices.Repeat(series, 8)...),
		Plot{Title: "p", X: x, Y: y, Series: series, References: slices.Repeat([]Reference{Level("l", 1)}, 4)},
		plot("p", x, Axis{Label: "y", Min: -1, Max: 1, Log: true}, series...), plot("p", x, y, Series{X: []float64{1}, Y: []float64{1}}),
		plot("p", x, y, cut), plot("p", x, y, crossed), plot("p", x, logarithm, series...), plot("p", x, y, Series{Name: "s", Style: "dotted",
			X: []float64{1}, Y: []float64{1}}), plot("p", x, y, Series{Name: "s", X: []float64{1, math.Inf(1)}, Y: []float64{1, 2}}),
		Plot{Title: "p", X: x, Y: y, Series: series, Shaded: []Interval{{3, 1}}},
		Plot{Title: "p", X: x, Y: y, Series: series, References: []Reference{{Y: []float64{1}}}},
		Plot{Title: "p", X: x, Y: y, Series: series, References: []Reference{{Name: "r", Y: []float64{1, 2}}}},
		Plot{Title: "p", X: x, Y: y, Series: series, References: []Reference{{Name: "r", X: []float64{1}, Y: []float64{1, 2}}}},
		Bars{}, Bars{Title: "b"}, Bars{Title: "b", X: x}, Bars{Title: "b", X: logarithm, Items: []Bar{{}}},
		Bars{Title: "b", X: x, Items: []Bar{{}}, Marks: make([]Mark, 4)}, Bars{Title: "b", X: x, Items: []Bar{{Value: math.Inf(-1)}}},
		Bars{Title: "b", X: x, Items: []Bar{{Name: "i", Interval: Interval{2, 1}}}}, Bars{Title: "b", X: x, Items: make([]Bar, 201)},
		Heat{}, Heat{Title: "h", X: "x", Y: "y", Rows: []string{"r"}}, Heat{Title: "h", X: "x", Y: "y", Rows: []string{"r"}, Columns: []string{"c"}},
		Heat{Title: "h", X: "x", Y: "y", Rows: []string{"r"}, Columns: []string{"c"}, Cells: [][]HeatCell{{}}},
		Heat{Title: "h", X: "x", Y: "y", Rows: []string{"r"}, Columns: []string{"c"}, Cells: [][]HeatCell{{{Value: math.NaN()}}}},
		Heat{Title: "h", X: "x", Y: "y", Rows: make([]string, 61), Columns: []string{"c"}},
		Table{}, Table{Title: "t"}, Table{Title: "t", Columns: make([]Column, 2), Rows: []Row{{Cells: []string{"a", "b"}}, {Cells: []string{"a"}}}},
	} {
		fmt.Fprintln(&r, part.check())
	}
	recordedtest.Compare(t, "testdata/pictures.golden", r.String())
}
