package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// bowl is a least-squares problem whose rows have two numbers and a category with three levels, one
// of which occurs in no row. Its method fit simulates accelerated steps with a privately released
// preconditioner (metric), with the noise of every release.
type bowl struct {
	schema            *dataset.Schema
	second            *mat.SymDense // second moment of the rows
	best              *mat.VecDense
	law               trace
	sigma, ridge, reg float64
}

func newBowl(t *testing.T, reg float64) *bowl {
	t.Helper()
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "a", Kind: dataset.Number, Low: 0, High: 10}, {Name: "b", Kind: dataset.Number, Low: 0, High: 1},
			{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		},
		Target: dataset.Target{Column: "t", Kind: dataset.Number, Low: -1, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &bowl{schema: s, reg: reg, sigma: .0015}
	d := s.Dim()
	w.second, w.best = mat.NewSymDense(d, nil), mat.NewVecDense(d, []float64{.8, -.5, .3, -.3, 0, .2})
	r := rand.New(rand.NewPCG(1, 1))
	const n = 4000
	for range n {
		a, b := .4*r.NormFloat64(), .25*r.NormFloat64()
		b += .5 * a
		x := []float64{min(max(a, -1), 1), min(max(b, -1), 1), 0, 0, 0, 1}
		x[2+r.IntN(2)] = 1
		w.second.SymRankOne(w.second, 1/(n*s.Scale()*s.Scale()), mat.NewVecDense(d, x))
	}
	const steps = 12
	w.ridge = w.sigma*math.Sqrt(2*float64(d)) + reg
	w.law = trace{StepSizes: []float64{1}, Weights: make([]float64, steps+1)}
	for t := range steps {
		w.law.Noise = append(w.law.Noise, .01+.001*float64(t%3))
		w.law.Momentum = append(w.law.Momentum, float64(t)/float64(t+3))
		if t >= steps/2 {
			w.law.Weights[t] = 1. / (steps / 2)
		}
	}
	return w
}

// fit simulates a run and returns its weights and its law, the description of its steps and noise
// that its certificate would state.
func (w *bowl) fit(r *rand.Rand) ([]float64, *trace) {
	d := w.second.SymmetricDim()
	g := mat.NewSymDense(d, nil)
	step := 0x1p-14
	m := &moment{Features: d, Step: step, Sigma: w.sigma, Ridge: w.ridge, Slope: .2}
	for j := range d {
		var row []string
		for k := j; k < d; k++ {
			noise := w.sigma * r.NormFloat64()
			if k > j {
				noise /= math.Sqrt2
			}
			v := math.RoundToEven((w.second.At(j, k) + noise) / step)
			g.SetSym(j, k, v*step)
			row = append(row, fmt.Sprint(int64(v)))
		}
		m.Rows = append(m.Rows, strings.Join(row, " "))
	}
	metric, err := decomposed(g, m)
	if err != nil {
		panic(err)
	}
	p := metric.power(-.5)
	at, last := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	sum := make([]float64, d)
	for t, sigma := range w.law.Noise {
		y := mat.NewVecDense(d, nil)
		y.SubVec(at, last)
		y.AddScaledVec(at, w.law.Momentum[t], y)
		for j := range sum {
			sum[j] += w.law.Weights[t] * y.AtVec(j)
		}
		var off, slope, inside, next mat.VecDense
		off.SubVec(y, w.best)
		slope.MulVec(w.second, &off)
		slope.AddScaledVec(&slope, w.reg, y)
		inside.MulVec(p, &slope)
		for j := range d {
			inside.SetVec(j, inside.AtVec(j)+sigma*r.NormFloat64())
		}
		next.MulVec(p, &inside)
		last.CopyVec(at)
		at.SubVec(y, &next)
	}
	l := w.law
	l.Moment = (*runrecord.Moment)(m)
	l.WeightNoise, l.Scales = 1, make([]float64, d)
	return sum, &l
}

// fitted returns a Fit with these weights and this law (the description of the run's steps and
// noise), as if it had been read from a folder.
func (w *bowl) fitted(t *testing.T, weights []float64, l *trace) *Fit {
	t.Helper()
	f := folder{schema: dataset.Definition{Columns: w.schema.Columns(), Target: w.schema.Target(),
		Interactions: w.schema.Interactions()}, loss: "squared(2)", software: "test", budget: budget(t, account.ReplaceOne),
		weights: func(j int) float64 { return weights[j] }}
	m, err := model.Parse(f.model(t))
	if err != nil {
		t.Fatal(err)
	}
	if w.reg > 0 {
		text := strings.Replace(string(f.model(t)), `"regularizer":"none"`, fmt.Sprintf(`"regularizer":"l2(%v)"`, w.reg), 1)
		if m, err = model.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return &Fit{Model: m, plan: runrecord.Run{Trace: (*runrecord.Trace)(l)}}
}

// TestCovarianceIsTheSpread compares the stated covariance of coefficients with their spread over
// 300 simulated runs. Standard deviations agree within a third, also for a level that no row has,
// and correlations within .2. (300 runs determine a standard deviation to 4%.) The test fails if
// the recursion for the noise leaves out the noise of a step, the momentum, the average, the pull
// of the data or the noise of the metric, or if it has a wrong sign.
func TestCovarianceIsTheSpread(t *testing.T) {
	for _, reg := range []float64{0, .02} {
		w := newBowl(t, reg)
		r := rand.New(rand.NewPCG(2, uint64(1000*reg)))
		const runs = 300
		const looked = 6 // of which the stated covariance is the mean: each takes as long as a hundred runs
		var names []string
		var values [][]float64
		var stated [][]float64
		for run := range runs {
			weights, l := w.fit(r)
			f := w.fitted(t, weights, l)
			if run < looked {
				e, ok := f.explained(f.noise())
				if !ok || e.how != estimated {
					t.Fatalf("%v, %s", e.how, e.why)
				}
				if run == 0 {
					stated = make([][]float64, len(e.list))
				}
				for i, c := range e.list {
					if run == 0 {
						names, stated[i] = append(names, c.name), make([]float64, len(e.list))
					}
					if c.effectSD != math.Sqrt(e.covariance.At(i, i)) {
						t.Errorf("%s: deviation %v, variance %v", c.name, c.effectSD, e.covariance.At(i, i))
					}
					for j := range e.list {
						stated[i][j] += e.covariance.At(i, j) / float64(looked)
					}
				}
			}
			var row []float64
			for _, term := range f.Model.Schema().Terms(false) {
				row = append(row, term.Of(weights))
			}
			values = append(values, row)
		}
		spread := func(i, j int) float64 {
			var si, sj, sij float64
			for _, v := range values {
				si, sj, sij = si+v[i], sj+v[j], sij+v[i]*v[j]
			}
			return (sij - si*sj/runs) / (runs - 1)
		}
		for i, name := range names {
			if ratio := math.Sqrt(stated[i][i] / spread(i, i)); !(ratio > .75 && ratio < 1.33) {
				t.Errorf("reg %v: %s: stated %.3g, measured %.3g: ratio %.2f", reg, name, math.Sqrt(stated[i][i]),
					math.Sqrt(spread(i, i)), ratio)
			}
			for j := range i {
				got := stated[i][j] / math.Sqrt(stated[i][i]*stated[j][j])
				want := spread(i, j) / math.Sqrt(spread(i, i)*spread(j, j))
				if !(math.Abs(got-want) <= .2) {
					t.Errorf("reg %v: correlation of %s and %s: stated %.2f, measured %.2f", reg, name, names[j], got, want)
				}
			}
		}
	}
}

// TestCovarianceIsNotStated tests runs that do not follow the recursion for the noise, and
// certificates that lack a number that the recursion needs or have an impossible one. No standard
// deviation and no covariance may then be stated, and why must give the reason.
func TestCovarianceIsNotStated(t *testing.T) {
	w := newBowl(t, 0)
	weights, right := w.fit(rand.New(rand.NewPCG(3, 3)))
	_, err := right.covariance(nil, append(slices.Clone(weights), 0), nil, 0, 0, nil)
	if err == nil || err.Error() != "no covariance is computed for models with thresholds" {
		t.Errorf("a threshold beside the weights of rows: %v", err)
	}
	for name, c := range map[string]struct {
		change func(l *trace, m *moment)
		why    string
	}{
		"an earlier version":  {func(l *trace, m *moment) { l.Moment = nil }, "earlier version"},
		"too many features":   {func(l *trace, m *moment) { m.Rows = nil }, "does not hold the second moment"},
		"a row short":         {func(l *trace, m *moment) { m.Rows = m.Rows[1:] }, "has 5 rows for 6"},
		"an entry short":      {func(l *trace, m *moment) { m.Rows[1] = "1 2" }, "row 2 of the second moment has 2 entries"},
		"no number":           {func(l *trace, m *moment) { m.Rows[5] = "x" }, "is no whole number"},
		"a huge entry":        {func(l *trace, m *moment) { m.Rows[5] = "9000000000000000000" }, "to compute with"},
		"a huge step":         {func(l *trace, m *moment) { m.Step = math.Inf(1) }, "to compute with"},
		"steps without end":   {func(l *trace, m *moment) { l.StepSizes = []float64{1e300} }, "to compute with"},
		"no noise":            {func(l *trace, m *moment) { m.Sigma = 0 }, "to compute with"},
		"other features":      {func(l *trace, m *moment) { m.Features = 5 }, "other features"},
		"chosen":              {func(l *trace, m *moment) { l.Chosen = 3 }, "looking at noisy numbers"},
		"mixed":               {func(l *trace, m *moment) { l.Keep = []float64{.5} }, "mixing"},
		"short columns":       {func(l *trace, m *moment) { l.Weights = l.Weights[1:] }, "different lengths"},
		"no slopes were seen": {func(l *trace, m *moment) { m.Slope = 0 }, "the curvature"},
	} {
		l, m := *right, moment(*right.Moment)
		m.Rows = slices.Clone(m.Rows)
		l.Moment = (*runrecord.Moment)(&m)
		c.change(&l, &m)
		f := w.fitted(t, weights, &l)
		e, ok := f.explained(f.noise())
		if !ok || e.how != unstated || !strings.Contains(e.why, c.why) || e.list[0].effectSD != 0 || e.covariance != nil {
			t.Errorf("%s: %v, %q: want nothing, because %q", name, e.how, e.why, c.why)
		}
		for _, k := range e.list {
			if k.within() {
				t.Errorf("%s: %s is said to be within noise", name, k.name)
			}
		}
	}
}

// TestStructureOfRows tests the equations and inequalities that a schema implies for the second moment of
// its rows. impose must not change an exact second moment of rows. In a second moment with noise it must
// set the entries of a level that no row has to 0, and make the entries of a category's levels add up to
// the intercept's entries. If the schema limits the norm of rows, structureOf must return no equations.
func TestStructureOfRows(t *testing.T) {
	w := newBowl(t, 0)
	x, ok := structureOf(w.schema)
	if !ok {
		t.Fatal("no structure")
	}
	d := w.second.SymmetricDim()
	same := mat.NewSymDense(d, nil)
	same.CopySym(w.second)
	x.impose(same, w.sigma)
	noisy := mat.NewSymDense(d, nil)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range d {
		for j := i; j < d; j++ {
			if !(math.Abs(same.At(i, j)-w.second.At(i, j)) <= 1e-5) {
				t.Errorf("entry %d, %d: %v became %v", i, j, w.second.At(i, j), same.At(i, j))
			}
			noisy.SetSym(i, j, w.second.At(i, j)+.3*w.sigma*r.NormFloat64())
		}
	}
	noisy.SetSym(4, 4, w.sigma) // noise in the entry of a level that no row has
	noisy.SetSym(4, 5, w.sigma)
	x.impose(noisy, w.sigma)
	for j := range d {
		if v := noisy.At(4, j); !(math.Abs(v) <= 1e-12) {
			t.Errorf("the level that no row has: entry %d is %v", j, v)
		}
		levels := noisy.At(2, j) + noisy.At(3, j) + noisy.At(4, j) - noisy.At(5, j)
		if !(math.Abs(levels) <= 1e-6) {
			t.Errorf("levels less the intercept, entry %d: %v", j, levels)
		}
	}
	if s, err := dataset.New(dataset.Definition{Columns: w.schema.Columns(), Target: w.schema.Target(),
		Norm: 1.5}); err != nil {
		t.Fatal(err)
	} else if _, ok := structureOf(s); ok {
		t.Error("of rows that may be cut nothing is known")
	}
}

// TestCovarianceOfClasses compares the noise of a model of three classes with the noise of a model with one
// margin whose loss has curvature 1. At zero weights, the loss of three classes has curvature 1/3 in every
// direction of the margins except the one in which all margins change equally. With steps three times as
// long and a third of the noise, each direction of the three classes therefore behaves like the one margin.
// If v is a covariance for the one margin, the covariance of terms minus their mean over the classes must
// be 2v/3 within a class and -v/3 between two classes.
func TestCovarianceOfClasses(t *testing.T) {
	w := newBowl(t, 0)
	_, l := w.fit(rand.New(rand.NewPCG(4, 4)))
	zero := make([]float64, 3*w.schema.Dim())
	one := w.fitted(t, zero, l)
	single, ok := one.explained(one.noise())
	if !ok || single.how != estimated {
		t.Fatal(single.why)
	}
	longer := *l
	longer.StepSizes, longer.Noise = []float64{3}, nil
	for _, s := range l.Noise {
		longer.Noise = append(longer.Noise, s/3)
	}
	f := folder{
		schema: dataset.Definition{Columns: w.schema.Columns(),
			Target: dataset.Target{Column: "t", Kind: dataset.Category, Classes: []string{"r", "g", "b"}}},
		loss: "softmax(3)", software: "test", budget: budget(t, account.ReplaceOne),
	}
	text := strings.Replace(string(f.model(t)), `"version":1`, `"version":2`, 1)
	at := strings.Index(text, `"weights":[`)
	end := at + strings.Index(text[at:], "]")
	text = text[:at] + `"weights":[` + strings.TrimSuffix(strings.Repeat("0,", len(zero)), ",") + text[end:]
	m, err := model.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	classes := &Fit{Model: m, plan: runrecord.Run{Trace: (*runrecord.Trace)(&longer)}}
	e, ok := classes.explained(classes.noise())
	if !ok || e.how != estimated || len(e.list) != 3*len(single.list) {
		t.Fatalf("%d coefficients, %s", len(e.list), e.why)
	}
	for i := range single.list {
		for j := range single.list {
			v := single.covariance.At(i, j)
			for a := range 3 {
				for b := range 3 {
					want := -v / 3
					if a == b {
						want = 2 * v / 3
					}
					if got := e.covariance.At(3*i+a, 3*j+b); !(math.Abs(got-want) <= 2e-3*math.Sqrt(single.covariance.At(i,
						i)*single.covariance.At(j, j))) {
						t.Errorf("%s %s, %s %s: %v: want %v", e.list[3*i+a].name, e.list[3*i+a].class, e.list[3*j+b].name,
							e.list[3*j+b].class, got, want)
					}
				}
			}
		}
	}
}

// TestSeenCurvature tests the curvature in the weights that follows from a released one: with little noise it is that
// of the rows in all directions in which they vary, with much noise it is the mean second derivative times the second
// moment, and along a direction in which no row varies it is 0 in both cases.
func TestSeenCurvature(t *testing.T) {
	const d, ridge = 3, .01
	rows := mat.NewSymDense(d, []float64{.5, .2, 0, .2, .3, 0, 0, 0, 0})
	here := mat.NewSymDense(d, []float64{.1, .05, 0, .05, .2, 0, 0, 0, 0})
	of, err := decomposed(rows, (*moment)(runrecord.NewMoment(rows.RawSymmetric().Data, d, 1e-6, ridge)))
	if err != nil {
		t.Fatal(err)
	}
	p := of.power(-.5)
	seen := inference.Between(p, here)
	mean := mat.Trace(seen) / mat.Trace(inference.Between(p, rows))
	for sigma, want := range map[float64]func(i, j int) float64{
		1e-6: here.At,
		10:   func(i, j int) float64 { return mean * rows.At(i, j) },
	} {
		l := trace{Curvature: runrecord.NewMoment(seen.RawSymmetric().Data, d, 1e-6, 0)}
		l.Curvature.Sigma = sigma
		level, apart, err := l.seenCurvature(of, rows)
		if err != nil || !(math.Abs(level-mean) <= 1e-4) {
			t.Fatalf("%v: mean %v: must be %v", err, level, mean)
		}
		for i := range d {
			for j := range d {
				if got := level*rows.At(i, j) + apart.At(i, j); !(math.Abs(got-want(i, j)) <= 1e-3) {
					t.Errorf("noise %v: entry %d, %d is %v: must be %v", sigma, i, j, got, want(i, j))
				}
			}
		}
		l.Curvature.Sigma = math.NaN()
		if _, _, err := l.seenCurvature(of, rows); err == nil {
			t.Error("noise that is no number is taken")
		}
	}
	if level, apart, err := new(trace).seenCurvature(of, rows); level != 0 || apart != nil || err != nil {
		t.Error(level, apart, err)
	}
}

// TestSeenCurvatureIsShrunkByEntries: in the metric, rows with the second moment g and the ridge .05 have u = g/(g + .05). A
// difference of the curvature from its mean times the moment keeps the share a/(a + 2 n sigma^2) in the entry i, j, for a =
// (mean/2)^2 u_i u_j and n directions with u of at least .2.
func TestSeenCurvatureIsShrunkByEntries(t *testing.T) {
	for second, directions := range map[float64]float64{.5: 2, .201: 2, .199: 1} {
		u, sigma := []float64{10. / 11, second}, .06
		rows := mat.NewSymDense(2, []float64{.5, 0, 0, .05 * second / (1 - second)})
		of, err := decomposed(rows, (*moment)(runrecord.NewMoment(rows.RawSymmetric().Data, 2, 1e-6, .05)))
		if err != nil {
			t.Fatal(err)
		}
		here := []float64{.5, .1, .1, .4}
		l := trace{Curvature: runrecord.NewMoment(here, 2, 1e-6, 0)}
		l.Curvature.Sigma = sigma
		level, apart, err := l.seenCurvature(of, rows)
		mean := .9 / (u[0] + u[1])
		if err != nil || !(math.Abs(level-mean) <= 1e-4) {
			t.Fatalf("%v: mean %v: must be %v", err, level, mean)
		}
		for i := range 2 {
			for j := range 2 {
				want := here[2*i+j]
				if i == j {
					want -= mean * u[i]
				}
				a := mean * mean / 4 * u[i] * u[j]
				want *= a / (a + 2*directions*sigma*sigma) * math.Sqrt((rows.At(i, i)+.05)*(rows.At(j, j)+.05))
				if got := apart.At(i, j); !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("u = %v, entry %d, %d is %v: must be %v", u, i, j, got, want)
				}
			}
		}
	}
}

// TestSeenCurvatureIsOfEachMoment: a curvature that is released without noise is the curvature for each second moment that
// the rows may have. The shares of the way are then the same for all of them.
func TestSeenCurvatureIsOfEachMoment(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: -1, High: 1},
		{Name: "b", Kind: dataset.Number, Low: -1, High: 1}}, Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: 0, High: 10}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Huber(.5)
	if err != nil {
		t.Fatal(err)
	}
	weights := []float64{.2, -.1, .1}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: loss.None(), Schema: s, Weights: weights,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	one := 1 / s.Scale() / s.Scale()
	rows := mat.NewSymDense(3, []float64{.1, .05, 0, .05, .12, 0, 0, 0, one})
	released := runrecord.NewMoment(rows.RawSymmetric().Data, 3, .01, .05)
	of, err := decomposed(rows, (*moment)(released))
	if err != nil {
		t.Fatal(err)
	}
	here := inference.Between(of.power(-.5), mat.NewSymDense(3, []float64{.03, .01, 0, .01, .07, 0, 0, 0, .5 * one}))
	run := trace{Noise: []float64{.01, .01}, StepSizes: []float64{.8}, Moment: released,
		Curvature: runrecord.NewMoment(here.RawSymmetric().Data, 3, 1e-8, 0)}
	c, err := run.covariance(m, weights, make([]float64, 3), 1/s.Scale(), .1, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := inference.Decompose(here)
	if err != nil {
		t.Fatal(err)
	}
	for n, a := range c.ways[0].seen {
		for i, v := range e.Values {
			if want := 1 - math.Pow(1-.8*v, 2); !(math.Abs(a.shares[i]-want) <= 1e-4) {
				t.Errorf("moment %d, coordinate %d: a share of %v: must be %v", n, i, a.shares[i], want)
			}
		}
	}
}

// TestNoiseOfManyNumbersIsWidened: of more than 20 features that are numbers, the noise of the steps is 1.3 times that of
// the recursion, and of up to 20, or with a large ridge, it is that noise. The released curvature has no noise, so that its eigenvalues are known.
func TestNoiseOfManyNumbersIsWidened(t *testing.T) {
	l, err := loss.Huber(.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		numbers     int
		ridge, want float64
	}{{19, .005, 1}, {20, .005, 1.3}, {20, .0119, 1.3}, {20, .0121, 1}} {
		numbers, want := c.numbers, c.want
		def := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: 0, High: 10}}
		for i := range numbers {
			def.Columns = append(def.Columns, dataset.Column{Name: fmt.Sprint("n", i), Kind: dataset.Number, Low: -1, High: 1})
		}
		s, err := dataset.New(def)
		if err != nil {
			t.Fatal(err)
		}
		d := numbers + 1
		rows, curved := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
		for j := range d {
			rows.SetSym(j, j, .01)
			curved.SetSym(j, j, .001*float64(j+2)/float64(d))
		}
		rows.SetSym(numbers, numbers, 1/s.Scale()/s.Scale())
		curved.SetSym(numbers, numbers, .3/s.Scale()/s.Scale())
		m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: loss.None(), Schema: s,
			Weights: make([]float64, d), Privacy: model.Privacy{Neighbour: "one row", Certificate: "certificate.json",
				Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6}}})
		if err != nil {
			t.Fatal(err)
		}
		released := runrecord.NewMoment(rows.RawSymmetric().Data, d, 1e-6, c.ridge)
		of, err := decomposed(rows, (*moment)(released))
		if err != nil {
			t.Fatal(err)
		}
		here := inference.Between(of.power(-.5), curved)
		run := trace{Noise: []float64{.01, .02}, StepSizes: []float64{.8}, Moment: released,
			Curvature: runrecord.NewMoment(here.RawSymmetric().Data, d, 1e-9, 0)}
		known, ok := structureOf(s)
		if !ok {
			t.Fatal("no structure")
		}
		c, err := run.covariance(m, make([]float64, d), make([]float64, d), 1/s.Scale(), .1, &known)
		if err != nil {
			t.Fatal(err)
		}
		e, err := inference.Decompose(here)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range e.Values {
			noise := .8 * math.Hypot(.01*(1-.8*v), .02)
			if got := c.ways[0].noise[i] / noise; !(math.Abs(got-want) <= 1e-3) {
				t.Errorf("%d numbers, ridge %v, coordinate %d: %v times the noise of the steps: must be %v", numbers, of.Ridge, i, got, want)
			}
		}
	}
}
