package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// plainFit simulates a run of the bowl whose steps are taken in no metric. Each estimate keeps the given share of the noise
// of the one before it. The run releases the curvature at its result, with noise of deviation sigma.
func (w *bowl) plainFit(r *rand.Rand, keep, sigma float64) ([]float64, *trace) {
	d := w.second.SymmetricDim()
	const steps = 60
	l := trace{StepSizes: []float64{1.5}, Weights: make([]float64, steps+1), WeightNoise: 1}
	at, last, off, slope := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	noise, sum := make([]float64, d), make([]float64, d)
	for t := range steps {
		l.Noise = append(l.Noise, .004+.001*float64(t%3))
		if l.Momentum = append(l.Momentum, float64(t)/float64(t+3)); t >= steps/2 {
			l.Weights[t] = 1. / (steps / 2)
		}
		if keep > 0 {
			l.Keep = append(l.Keep, keep)
		}
		y := mat.NewVecDense(d, nil)
		y.SubVec(at, last)
		y.AddScaledVec(at, l.Momentum[t], y)
		off.SubVec(y, w.best)
		slope.MulVec(w.second, off)
		for j := range d {
			noise[j] = keep*noise[j] + l.Noise[t]*r.NormFloat64()
			slope.SetVec(j, slope.AtVec(j)+noise[j])
			sum[j] += l.Weights[t] * y.AtVec(j)
		}
		last.CopyVec(at)
		at.AddScaledVec(y, -l.StepSizes[0], slope)
	}
	var h []float64
	for j := range d {
		for k := range d {
			v := w.second.At(j, k)
			if k >= j {
				if v += sigma * r.NormFloat64() / math.Sqrt2; k == j {
					v += sigma * r.NormFloat64() / math.Sqrt2
				}
			} else {
				v = h[k*d+j]
			}
			h = append(h, v)
		}
	}
	l.Curvature = runrecord.NewMoment(h, d, sigma, 0)
	return sum, &l
}

// TestNoiseWithoutAMetricIsTheSpread compares the stated noise of the coefficients of runs in no metric, which released
// the curvature at their result, with the spread of 300 such runs: the deviations must agree within a fifth. A run whose
// curvature is noise must state none, with the reason.
func TestNoiseWithoutAMetricIsTheSpread(t *testing.T) {
	for _, keep := range []float64{0, .6} {
		w := newBowl(t, 0)
		r := rand.New(rand.NewPCG(8, 1))
		const runs = 300
		sums, squares, stated := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for run := range runs {
			weights, l := w.plainFit(r, keep, .0004)
			f := w.fitted(t, weights, l)
			for _, term := range f.Model.Schema().Terms(false) {
				v := term.Of(weights)
				sums[term.Name], squares[term.Name] = sums[term.Name]+v/runs, squares[term.Name]+v*v/runs
			}
			if run > 2 {
				continue
			}
			e, ok := f.explained(f.noise())
			if !ok || e.how != estimated {
				t.Fatalf("%v, %s", e.how, e.why)
			}
			for _, c := range e.list {
				stated[c.name] += c.noiseSD / 3
			}
		}
		for name, mean := range sums {
			of := name
			if name == "(intercept)" {
				of = "intercept"
			}
			spread := math.Sqrt(squares[name] - mean*mean)
			if ratio := stated[of] / spread; name != "c=other" && !(ratio > .8 && ratio < 1.25) {
				t.Errorf("keep %v: %s: noise %.3g, spread %.3g: ratio %.2f", keep, of, stated[of], spread, ratio)
			}
		}
		weights, l := w.plainFit(r, keep, .0004)
		l.Curvature = runrecord.NewMoment(make([]float64, len(weights)*len(weights)), len(weights), .0004, 0)
		f := w.fitted(t, weights, l)
		if e, _ := f.explained(f.noise()); e.how != unstated || e.why != "the noise hides the released curvature" {
			t.Errorf("a curvature of 0: %v, %s", e.how, e.why)
		}
	}
}

// TestReleasedCurvatureTakesThePlaceOfTheRest compares the stated noise of least squares, whose second derivative is 1,
// with that of two losses of which a second derivative of 1 was released: the absolute loss, of which it is that of the
// intercept, and least squares of rows with weights, of which it is the matrix in the metric. A released number that is
// noise, or none, states nothing and says why.
func TestReleasedCurvatureTakesThePlaceOfTheRest(t *testing.T) {
	w := newBowl(t, 0)
	weights, right := w.fit(rand.New(rand.NewPCG(3, 3)))
	d := w.schema.Dim()
	explained := func(loss, weight string, change func(l *trace)) explanation {
		t.Helper()
		target := w.schema.Target()
		target.Weight = weight
		f := folder{schema: dataset.Definition{Columns: w.schema.Columns(), Target: target}, loss: loss, software: "test",
			budget: budget(t, account.ReplaceOne), weights: func(j int) float64 { return weights[j] }}
		m, err := model.Parse(f.model(t))
		if err != nil {
			t.Fatal(err)
		}
		l := *right
		change(&l)
		e, _ := (&Fit{Model: m, plan: runrecord.Run{Trace: (*runrecord.Trace)(&l)}}).explained(runNoise{convex: true})
		return e
	}
	want := explained("squared(2)", "", func(*trace) {})
	about, err := (*moment)(right.Moment).symmetric()
	if err != nil {
		t.Fatal(err)
	}
	of, err := decomposed(about, (*moment)(right.Moment))
	if err != nil {
		t.Fatal(err)
	}
	metric := of.power(-.5)
	var h []float64
	h = append(h, mat.DenseCopyOf(inference.Between(metric, w.second)).RawMatrix().Data...)
	shared := 1 / w.schema.Scale()
	level := func(v float64) func(l *trace) {
		return func(l *trace) { l.Level, l.LevelSigma = v*shared*shared, .01*shared*shared }
	}
	for name, got := range map[string]explanation{
		"absolute": explained("absolute", "", level(1)),
		"weighted": explained("weighted(squared(2),row)", "v", func(l *trace) { l.Curvature = runrecord.NewMoment(h, d, .001, 0) }),
	} {
		if got.how != estimated {
			t.Fatalf("%s: %v, %s", name, got.how, got.why)
		}
		for i, c := range got.list {
			if c.name != "c=other" && !near(c.noiseSD, want.list[i].noiseSD, .15) {
				t.Errorf("%s: %s: noise %.4g: must be near %.4g", name, c.name, c.noiseSD, want.list[i].noiseSD)
			}
		}
	}
	if got := explained("absolute", "", level(4)); !(got.list[0].noiseSD < .9*want.list[0].noiseSD) {
		t.Errorf("a curvature of 4: noise %v, %v for a curvature of 1", got.list[0].noiseSD, want.list[0].noiseSD)
	}
	for name, got := range map[string]explanation{
		"the noise hides the released curvature":                                    explained("absolute", "", level(.015)),
		"the density of targets at a quantile below .2 or above .8 is not released": explained("pinball(0.81)", "", func(*trace) {}),
		"the curvature of the loss on these rows does not follow from the releases: the mean weight of the rows is not released": explained(
			"weighted(squared(2),row)", "v", func(*trace) {}),
	} {
		if got.how != unstated || got.why != name {
			t.Errorf("%v, %s: must be %s", got.how, got.why, name)
		}
	}
}

// TestCurvatureTellsTheRows tests the second moment of the rows that a released curvature tells: the curvature over its level,
// which is that of the intercept over the square of the intercept's value, with noise that is smaller by it.
func TestCurvatureTellsTheRows(t *testing.T) {
	h := []float64{.3, .1, .1, .5}
	released := runrecord.NewMoment(h, 2, .004, 0)
	m, level, err := (&trace{Curvature: released}).rowMoment(.5)
	if err != nil || !near(level, 2, 1e-2) || m.Sigma != .004/level || m.Step != released.Step/level {
		t.Fatalf("%v: %+v at the level %v", err, m, level)
	}
	got, err := m.symmetric()
	if err != nil || !near(got.At(0, 1), .05, 1e-2) || !near(got.At(1, 1), .25, 1e-2) {
		t.Errorf("%v: %v", err, got)
	}
	released.Sigma = .26
	if _, _, err := (&trace{Curvature: released}).rowMoment(.5); err == nil {
		t.Error("the noise hides the curvature of the intercept")
	}
}

// TestLevelIsOfTheRowsThatAreRead: a released curvature of the intercept is a mean over all rows, in which those that are not
// read count 0. The second derivative over the rows that are read is that over their share and over the square of the intercept's
// value, for each share, and with it the margins have their mean and variance.
func TestLevelIsOfTheRowsThatAreRead(t *testing.T) {
	w := newBowl(t, 0)
	f := folder{schema: dataset.Definition{Columns: w.schema.Columns(), Target: w.schema.Target()}, loss: "absolute", software: "test",
		budget: budget(t, account.ReplaceOne)}
	m, err := model.Parse(f.model(t))
	if err != nil {
		t.Fatal(err)
	}
	const want = 1.75
	shared, weights := 1/w.schema.Scale(), []float64{0, 0, 0, 0, 0, .5}
	for _, share := range []float64{1, .8, .4} {
		g := mat.NewSymDense(w.schema.Dim(), nil)
		g.ScaleSym(share, w.second)
		level := want * shared * shared * share
		l := &trace{Level: level, LevelSigma: level / 100}
		of, err := l.margins(m, g, weights, shared, share, 0, 0, &moment{Sigma: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		if got := of.at.At(0, 0); !near(got, want, 1e-12) {
			t.Errorf("of a share of %v the second derivative is %v: must be %v", share, got, want)
		}
		if !near(of.mean[0], .5*shared, 1e-9) || !(math.Abs(of.spread[0][0]) <= 1e-12) {
			t.Errorf("of a share of %v the margins are %v with the variance %v: must be %v with 0", share, of.mean, of.spread, .5*shared)
		}
	}
}

// TestPossibleMomentsAreOfTheNoise tests the first two of the possible moments of rows: the first is that of the rows with
// noise, corrected for noise of the standard deviation of the release, and the second is not corrected. Of up to 20
// features the added noise is 1.3 times that of the release.
func TestPossibleMomentsAreOfTheNoise(t *testing.T) {
	const sigma = .05
	for d, wide := range map[int]float64{3: 1.3, 20: 1.3, 21: 1} {
		rows := mat.NewSymDense(d, nil)
		for i := range d {
			rows.SetSym(i, i, .1+.3/float64(1+i))
			rows.SetSym(0, i, rows.At(0, i)+.02)
		}
		list, err := possible(rows, rows, nil, nil, sigma)
		if err != nil {
			t.Fatal(err)
		}
		coins := rand.New(rand.NewPCG(5, 6))
		for n := range 2 {
			noisy := mat.NewSymDense(d, nil)
			for i := range d {
				noisy.SetSym(i, i, rows.At(i, i)+wide*sigma*coins.NormFloat64())
				for j := i + 1; j < d; j++ {
					noisy.SetSym(i, j, rows.At(i, j)+wide*sigma*coins.NormFloat64()/math.Sqrt2)
				}
			}
			want := noisy
			if n == 0 {
				r, err := decomposed(noisy, &moment{Sigma: sigma})
				if err != nil {
					t.Fatal(err)
				}
				want = r.rows()
				if r.moment = (&moment{Sigma: 1.0625 * sigma}); mat.EqualApprox(list[0], r.rows(), 1e-6) {
					t.Error("the correction does not know the noise")
				}
			}
			if !mat.EqualApprox(list[n], want, 1e-9) {
				t.Errorf("%d features, moment %d: %v: must be %v", d, n, mat.Formatted(list[n]), mat.Formatted(want))
			}
		}
	}
}

// TestLikelihoodIsTempered tests the probabilities of two moments, of which the distances that the steps covered have the
// normal densities n1 and n2: with one feature they are as the roots of the densities, and with 21 as the densities.
func TestLikelihoodIsTempered(t *testing.T) {
	for d, power := range map[int]float64{1: .5, 20: .5, 21: 1} {
		seen := func(prior float64) arrival {
			a := arrival{shares: make([]float64, d), went: make([]float64, d), noise: make([]float64, d), prior: make([]float64, d)}
			for i := range d {
				a.noise[i], a.prior[i] = 1, 1
			}
			a.shares[0], a.went[0], a.prior[0] = .5, 2, prior
			return a
		}
		c := covariance{ways: []way{{noise: make([]float64, d), seen: []arrival{seen(4), seen(60)}}}}
		density := func(variance float64) float64 { return math.Exp(-4/(2*variance)) / math.Sqrt(variance) }
		want := math.Pow(density(2)/density(16), power)
		if got := c.likely(); !(math.Abs(got[0]/got[1]-want) <= 1e-9) || !(math.Abs(got[0]+got[1]-1) <= 1e-12) {
			t.Errorf("%d features: %v: must be in the ratio %v", d, got, want)
		}
	}
}

// TestPossibleMomentsAreOfRows: every possible moment satisfies the equations of the schema, as rows do. No row has two
// levels of a category, and the levels add up to the intercept, whose value is known.
func TestPossibleMomentsAreOfRows(t *testing.T) {
	w := newBowl(t, 0)
	known, ok := structureOf(w.schema)
	if !ok {
		t.Fatal("the schema has no structure")
	}
	list, err := possible(w.second, w.second, &known, nil, .05)
	if err != nil || len(list) < 2 {
		t.Fatalf("%v: %d moments", err, len(list))
	}
	last, of := w.schema.Dim()-1, 1/(w.schema.Scale()*w.schema.Scale())
	for n, m := range list {
		levels := m.At(2, last) + m.At(3, last) + m.At(4, last)
		if !(math.Abs(m.At(last, last)-of) <= 1e-9) || !(math.Abs(m.At(2, 3)) <= 1e-6) || !(math.Abs(levels-of) <= 1e-6) {
			t.Errorf("moment %d: intercept %v, levels %v, two levels %v: want %v, the same, and 0", n, m.At(last, last), levels,
				m.At(2, 3), of)
		}
	}
}
