package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// recordedFit is a fit whose noise is recorded: a schema of numbers with unlike means and spreads and of levels with
// unlike shares, a loss, and a run whose steps differ in noise, size and momentum.
type recordedFit struct {
	name, loss string
	numbers    int // columns of numbers
	curve      int // knots of the first number; 0 for a line
	levels     int // of a category; 0 for none
	classes    int // of the target; 0 for a number
	read       float64
	sigma      float64 // of the second moment
	ridge      float64
	about      bool // the mean row
	plain      bool // no metric: the curvature at the result is released
	high       float64
	target     func(t *dataset.Target)
	size       float64 // of the weights
	change     func(f *Fit, l *runrecord.Trace)
	regular    string
	slow       bool // is left out with -short
}

func (c recordedFit) fit(t *testing.T) *Fit {
	t.Helper()
	def := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: -1, High: 1}}
	if c.high > 0 {
		def.Target.Low, def.Target.High = 0, c.high
	}
	for i := range c.classes {
		def.Target.Kind, def.Target.Low, def.Target.High = dataset.Category, 0, 0
		def.Target.Classes = append(def.Target.Classes, fmt.Sprint("k", i))
	}
	if c.target != nil {
		c.target(&def.Target)
	}
	for i := range c.numbers {
		column := dataset.Column{Name: fmt.Sprint("n", i), Kind: dataset.Number, Low: -float64(i%4) - 1, High: 3}
		if i == 0 {
			column.Curve = c.curve
		}
		def.Columns = append(def.Columns, column)
	}
	if c.levels > 0 {
		g := dataset.Column{Name: "g", Kind: dataset.Category}
		for i := range c.levels {
			g.Categories = append(g.Categories, fmt.Sprint("g", i))
		}
		def.Columns = append(def.Columns, g)
	}
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.ParseFor(c.loss, max(c.classes, 1))
	if err != nil {
		t.Fatal(err)
	}
	d, r := s.Dim(), rand.New(rand.NewPCG(31, uint64(len(c.name))))
	rows, mean := mat.NewSymDense(d, nil), make([]float64, d)
	header := []string{}
	for _, column := range s.Columns() {
		header = append(header, column.Name)
	}
	of, err := s.BindUnlabelled(header)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1500
	for i := range n {
		shared, cells := r.NormFloat64(), []string{}
		for j := range c.numbers {
			v := .3*float64(j%3) - .4 + (.2+.1*float64(j%4))*(.7*shared+r.NormFloat64())
			cells = append(cells, fmt.Sprint(min(max(v, -1), 3)))
		}
		if c.levels > 0 {
			level := int(float64(c.levels) * math.Pow(r.Float64(), 1.7))
			cells = append(cells, fmt.Sprint("g", level))
		}
		x := make([]float32, d)
		if _, ok := of.Encode(x, cells); !ok {
			t.Fatal("no row")
		}
		if c.read > 0 && float64(i) >= c.read*n {
			continue
		}
		row := mat.NewVecDense(d, nil)
		for j, v := range x {
			row.SetVec(j, float64(v))
			mean[j] += float64(v) / n
		}
		rows.SymRankOne(rows, 1./n, row)
	}
	g := noisy(rows, c.sigma, r)
	k := max(1, loss.Count(l))
	weights := make([]float64, loss.Parameters(l, d))
	for j := range weights {
		weights[j] = c.size * (1.3*math.Sin(2.3*float64(j)+.7) + .2)
		if j >= k*d {
			weights[j] = .3 + .4*float64(j-k*d)
		}
	}
	reg := loss.None()
	if c.regular != "" {
		if reg, err = loss.ParseRegularizer(c.regular); err != nil {
			t.Fatal(err)
		}
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: reg, Schema: s, Weights: weights,
		Privacy: model.Privacy{Neighbour: "one row", Certificate: "certificate.json",
			Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6}}})
	if err != nil {
		t.Fatal(err)
	}
	run := &runrecord.Trace{WeightNoise: .3, Scales: make([]float64, d), Weights: []float64{0, 0, 0, .2, .3, .1, .4}}
	for step := range 6 {
		run.Noise = append(run.Noise, .01+.002*float64(step*step%5))
		run.StepSizes = append(run.StepSizes, .9-.1*float64(step%3))
		run.Momentum = append(run.Momentum, float64(step)/float64(step+3))
	}
	switch {
	case c.plain:
		curved := mat.NewSymDense(d, nil)
		curved.ScaleSym(.23, g)
		run.Scales, run.StepSizes = nil, []float64{4, 5, 4, 3, 5, 4}
		run.Curvature = runrecord.NewMoment(curved.RawSymmetric().Data, d, .23*c.sigma, 0)
	case c.about:
		g.SymRankOne(g, -1, mat.NewVecDense(d, mean))
		run.Moment = runrecord.NewMoment(g.RawSymmetric().Data, d, c.sigma, c.ridge)
		run.Moment.Mean, run.Moment.MeanSigma, run.Moment.MeanWeight = mean, c.sigma/2, 3
	default:
		run.Moment = runrecord.NewMoment(g.RawSymmetric().Data, d, c.sigma, c.ridge)
	}
	if run.Moment != nil {
		run.Moment.Slope = .31
	}
	f := &Fit{Model: m, plan: runrecord.Run{Trace: run}}
	if c.change != nil {
		c.change(f, run)
	}
	return f
}

// seen adds to a run in a metric the released curvature at its result, in the metric.
func seen(f *Fit, l *runrecord.Trace) {
	of := (*moment)(l.Moment)
	about, _, shape, err := of.matrices()
	if err != nil {
		panic(err)
	}
	metric, err := decomposed(shape, of)
	if err != nil {
		panic(err)
	}
	here := inference.Between(metric.power(-.5), about)
	for j := range here.SymmetricDim() {
		here.SetSym(j, j, here.At(j, j)*(.3+.1*float64(j%3)))
	}
	l.Curvature = runrecord.NewMoment(here.RawSymmetric().Data, here.SymmetricDim(), .02, 0)
}

func recordedFits() []recordedFit {
	numbers := func(name, loss string, change func(*recordedFit)) recordedFit {
		c := recordedFit{name: name, loss: loss, numbers: 2, levels: 3, sigma: .0015, ridge: .006, size: .6}
		if change != nil {
			change(&c)
		}
		return c
	}
	of := func(change func(f *Fit, l *runrecord.Trace)) func(*recordedFit) {
		return func(c *recordedFit) { c.change = change }
	}
	classes := func(k int, more func(*recordedFit)) func(*recordedFit) {
		return func(c *recordedFit) {
			if c.classes = k; more != nil {
				more(c)
			}
		}
	}
	return []recordedFit{
		numbers("squared", "squared(2)", nil),
		numbers("logistic, regularized", "logistic", classes(2, func(c *recordedFit) { c.regular = "l2(0.003)" })),
		numbers("logistic, rows not read", "logistic", classes(2, func(c *recordedFit) { c.read = .6 })),
		numbers("logistic, mean row", "logistic", classes(2, func(c *recordedFit) { c.about = true })),
		numbers("logistic, mean row, rows not read", "logistic", classes(2, func(c *recordedFit) { c.about, c.read = true, .55 })),
		numbers("logistic, start", "logistic", classes(2, of(func(f *Fit, l *runrecord.Trace) {
			l.Start, f.plan.Base = .04, &runrecord.Base{Margins: []float64{.25}, MarginSigma: []float64{.02}}
		}))),
		numbers("squared, estimates keep", "squared(2)", of(func(f *Fit, l *runrecord.Trace) {
			l.Scales, l.Keep = nil, []float64{0, .5, .4, .3, .6, .5}
			l.Curvature = l.Moment
			l.Moment, l.StepSizes = nil, []float64{3, 2, 4, 3, 2, 3}
		})),
		numbers("huber, curvature seen", "huber(0.4)", of(seen)),
		numbers("huber, curvature seen, mean row", "huber(0.4)", func(c *recordedFit) { c.about, c.change = true, seen }),
		numbers("huber, slopes alone", "huber(0.4)", nil),
		numbers("huber, no metric", "huber(0.4)", func(c *recordedFit) { c.plain = true }),
		numbers("squared, no metric, rows not read", "squared(2)", func(c *recordedFit) { c.plain, c.read = true, .7 }),
		numbers("absolute, value", "absolute", func(c *recordedFit) {
			c.slow = true
			c.change = func(f *Fit, l *runrecord.Trace) {
				f.plan.Compared = &runrecord.Compared{Constant: .4, Difference: -.15, Sigma: .01, ConstantSigma: .01, Margins: []float64{.2}}
			}
		}),
		numbers("pinball, level, rows not read", "pinball(0.3)", func(c *recordedFit) {
			c.read = .8
			c.change = func(f *Fit, l *runrecord.Trace) { l.Level, l.LevelSigma = .21, .011 }
		}),
		numbers("logistic", "logistic", classes(2, nil)),
		numbers("logistic, steep", "logistic", classes(2, func(c *recordedFit) { c.size = 2.6 })),
		numbers("logistic, steep, rows not read", "logistic", classes(2, func(c *recordedFit) { c.size, c.read = 2.2, .65 })),
		numbers("logistic, weights of classes", "weighted(logistic,1,4)", classes(2, func(c *recordedFit) { c.size = 1.5 })),
		numbers("logistic, shrunk", "logistic", classes(2, of(func(f *Fit, l *runrecord.Trace) {
			f.plan.Base = &runrecord.Base{Margins: []float64{.7}, MarginSigma: []float64{.03}}
			f.plan.Compared = &runrecord.Compared{Constant: .5, Difference: -.1, Sigma: .02, ConstantSigma: .01, Margins: []float64{.7},
				Shrunk: .3, ShrunkSigma: .08, Shift: .1, ShiftSigma: .05, Residual: -.02, ResidualSigma: .01}
		}))),
		numbers("logistic, clipped", "logistic", classes(2, of(func(f *Fit, l *runrecord.Trace) { l.Moment.Clip = .9 }))),
		numbers("logistic, clipped far", "logistic", classes(2, of(func(f *Fit, l *runrecord.Trace) { l.Moment.Clip = .35 }))),
		numbers("logistic, many levels", "logistic", classes(2, func(c *recordedFit) { c.levels, c.size = 9, 1.1 })),
		numbers("softmax", "softmax(3)", classes(3, nil)),
		numbers("softmax, clipped", "softmax(3)", classes(3, of(func(f *Fit, l *runrecord.Trace) { l.Moment.Clip = .8 }))),
		numbers("softmax, rows not read", "softmax(4)", classes(4, func(c *recordedFit) { c.read, c.size, c.slow = .7, 1.2, true })),
		numbers("ordered", "ordered(3)", classes(3, nil)),
		numbers("poisson", "poisson(0.6)", func(c *recordedFit) { c.high, c.size = 7, .4 }),
		numbers("poisson, clipped, shrunk", "poisson(0.6)", func(c *recordedFit) {
			c.high, c.size = 7, .4
			c.change = func(f *Fit, l *runrecord.Trace) {
				l.Moment.Clip = .5
				f.plan.Base = &runrecord.Base{Margins: []float64{-1.2}, MarginSigma: []float64{.05}}
				f.plan.Compared = &runrecord.Compared{Constant: .5, Difference: -.1, Sigma: .02, ConstantSigma: .01, Counts: true,
					Margins: []float64{-1.2}, Shrunk: .2, ShiftSigma: .03, Shift: .04}
			}
		}),
		numbers("logistic, curve", "logistic", classes(2, func(c *recordedFit) { c.curve = 5 })),
		numbers("logistic, curve, mean row", "logistic", classes(2, func(c *recordedFit) { c.curve, c.about, c.read = 6, true, .8 })),
		numbers("many numbers", "squared(2)", func(c *recordedFit) { c.numbers, c.levels, c.sigma, c.ridge = 23, 0, .0001, .0005 }),
		numbers("many numbers, long", "squared(2)", func(c *recordedFit) {
			c.numbers, c.levels, c.sigma, c.ridge = 21, 2, .0002, .004
			c.change = func(f *Fit, l *runrecord.Trace) {
				l.Noise, l.StepSizes, l.Momentum, l.Weights = nil, []float64{.95}, nil, nil
				for i := range 300 {
					l.Noise, l.Momentum = append(l.Noise, .002+.001*float64(i%2)), append(l.Momentum, float64(i)/float64(i+3))
				}
			}
		}),
		numbers("many numbers, noise", "logistic", classes(2, func(c *recordedFit) {
			c.numbers, c.levels, c.sigma, c.ridge, c.about, c.read = 24, 3, .0003, .0005, true, .8
		})),
		numbers("many columns, large ridge", "squared(2)", func(c *recordedFit) { c.numbers, c.levels, c.sigma, c.ridge = 24, 0, .003, .4 }),
		numbers("bounded, unlike steps", "squared(2)", of(func(f *Fit, l *runrecord.Trace) {
			l.Moment, l.Scales, l.Keep, l.Back, l.Start = nil, nil, []float64{0, .5, .7}, []int{1, 1, 2}, .2
		})),
		numbers("bounded, chosen", "squared(2)", of(func(f *Fit, l *runrecord.Trace) { l.Moment, l.Scales, l.Chosen = nil, nil, 4 })),
		numbers("bounded, moves", "squared(2)", of(func(f *Fit, l *runrecord.Trace) { l.Moment, l.Scales, l.Move = nil, nil, .1 })),
		numbers("bounded, rounds", "squared(2)", of(func(f *Fit, l *runrecord.Trace) {
			l.Moment, l.Scales, l.Rounds, l.Momentum = nil, nil, []int{3, 6}, nil
		})),
	}
}

// TestStatedNoisesAreWhatTheyWere compares what a report states of the noise of the coefficients of runs with what it was, for
// each loss and kind of release, at numbers where formulas with a wrong factor, index or unit differ. Random numbers
// have fixed seeds. testdata/noise.golden is written by go test ./internal/report -run StatedNoisesAreWhatTheyWere -update,
// after other tests have told that a change is right.
func TestStatedNoisesAreWhatTheyWere(t *testing.T) {
	var got bytes.Buffer
	for _, c := range recordedFits() {
		if c.slow && testing.Short() {
			continue
		}
		f := c.fit(t)
		n := f.noise()
		e, ok := f.explained(n)
		fmt.Fprintf(&got, "= %s: %v %d %q\n", c.name, ok, e.how, e.why)
		for _, v := range n.estimate[:min(len(n.estimate), 8)] {
			fmt.Fprintf(&got, "%.7g ", v)
		}
		fmt.Fprintf(&got, "and %.7g %.7g\n", n.weight, e.noise.kept)
		for i, k := range e.list {
			share := math.NaN()
			if k.share != nil {
				share = *k.share
			}
			fmt.Fprintf(&got, "%s: %.7g %.7g %.7g %.7g %.7g %.7g %v %v %v", k.label(), k.effect, k.noiseSD, k.effectSD, k.spanSD, k.bias,
				share, k.late, k.clipped, k.part())
			if e.covariance != nil {
				fmt.Fprintf(&got, " %.7g", e.covariance.At(i, (i+1)%len(e.list)))
			}
			fmt.Fprintln(&got)
		}
		for j, v := range e.noise.moves {
			fmt.Fprintf(&got, "moves %d: %.7g\n", j, v)
		}
	}
	then, now := bySection(recordedtest.File(t, "testdata/noise.golden", got.String())), bySection(got.String())
	if len(now) != len(then) && !testing.Short() {
		t.Errorf("%d sections: must be %d", len(now), len(then))
	}
	for name, section := range now {
		for i, line := range section {
			if i >= len(then[name]) || len(then[name]) != len(section) {
				t.Fatalf("%s: %d lines: must be %d", name, len(section), len(then[name]))
			}
			if was := then[name][i]; !sameNumbers(was, line) {
				t.Errorf("%s:\nnow  %s\nthen %s", name, line, was)
			}
		}
	}
}

// bySection returns the lines of each section of a text, by the line with which it begins.
func bySection(text string) map[string][]string {
	sections, name := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "= ") {
			name = line
		}
		sections[name] = append(sections[name], line)
	}
	return sections
}

// sameNumbers compares two lines word by word: numbers may differ by a millionth of themselves.
func sameNumbers(was, is string) bool {
	then, now := strings.Fields(was), strings.Fields(is)
	if len(then) != len(now) {
		return false
	}
	for i := range then {
		a, err := strconv.ParseFloat(then[i], 64)
		b, other := strconv.ParseFloat(now[i], 64)
		if then[i] != now[i] && (err != nil || other != nil || !(math.Abs(a-b) <= 1e-6*math.Abs(a)+1e-13)) {
			return false
		}
	}
	return true
}
