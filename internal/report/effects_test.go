package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// staged is a fit of numbers from 0 to 10 with features of effects of two columns, and its laws: with the steps of the
// first stage in a metric of the ridge .2, and those of the second of the ridge .05.
func staged(t *testing.T, first, second runrecord.Trace) (*Fit, *dataset.Schema) {
	return stagedOf(t, 8, first, second)
}

// stagedOf is staged with a number of features of effects.
func stagedOf(t *testing.T, features int, first, second runrecord.Trace) (*Fit, *dataset.Schema) {
	base, err := dataset.New(dataset.Definition{Columns: []dataset.Column{
		{Name: "a", Kind: dataset.Category, Categories: []string{"u", "v"}},
		{Name: "b", Kind: dataset.Category, Categories: []string{"s", "t"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: 0, High: 10}})
	if err != nil {
		t.Fatal(err)
	}
	d, level := base.Dim(), 1/base.Scale()
	moment := make([]float64, d*d)
	for i, share := range []float64{.2, .05, .1, .1, .15, .05, .05, .1, .2} {
		row := []int{i / 3, 3 + i%3, d - 1}
		for _, j := range row {
			for _, k := range row {
				moment[j*d+k] += share * level * level
			}
		}
	}
	weights := []float64{.3, -.2, .1, .4, -.3, .2, .05}
	with, err := base.WithEffects(dataset.Effects{Seed: 3, Features: features, Weight: 2, Scale: .2, Centres: []float64{0, 0}, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	_, ratio := with.EffectFactors()
	w := make([]float64, with.Dim())
	for j, v := range weights {
		w[j] = v / ratio
	}
	w[d-1], w[len(w)-1] = 0, weights[d-1]/ratio
	huber, err := loss.Huber(.5)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: huber, Regularizer: loss.None(), Schema: with, Weights: w,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	second.Moment = &runrecord.Moment{Features: with.Dim(), Ridge: .05}
	second.Level = .4 / with.Scale() / with.Scale() // rows of length 1 have the curvature .4
	return &Fit{Model: m, plan: runrecord.Run{Trace: &second, Effects: &runrecord.Effects{Synthetic: &runrecord.Synthetic{
		Rows: synthetic.Rows, Moment: runrecord.NewMoment(moment, d, 1e-9, .2), Law: &first}}}}, base
}

// squareOf returns the mean square over the rows, and over the draws, of redrawn scores less the published score.
func squareOf(t *testing.T, f *Fit, unit float64, count int) (square float64, p *synthetic.Population, draws [][]float64) {
	p, ok := f.population()
	if !ok {
		t.Fatal("no population")
	}
	score, err := scoresOf(p, f.Model.Schema(), f.Model.Weights())
	if err != nil {
		t.Fatal(err)
	}
	draws = f.redrawn(p, score, unit, count)
	for _, of := range draws {
		for i, v := range of {
			square += p.Mass[i] * math.Pow(v-unit*score[i], 2) / float64(len(draws))
		}
	}
	return square, p, draws
}

// noiseOfSteps works out, without eigenvectors, the mean square over rows with the second moment s of the noise that two
// steps of size eta leave, if the second has the momentum beta: each release's noise sigma goes through the matrices of the
// steps. The metric is (g + ridge)^(-1/2), and bend is the curvature of rows of length 1.
func noiseOfSteps(s *mat.SymDense, ridge, bend, eta, beta, sigma float64) float64 {
	d := s.SymmetricDim()
	m := mat.NewSymDense(d, nil)
	m.CopySym(s)
	for j := range d {
		m.SetSym(j, j, m.At(j, j)+ridge)
	}
	var c mat.Cholesky
	var inverse mat.SymDense
	if !c.Factorize(m) || c.InverseTo(&inverse) != nil {
		panic("no inverse")
	}
	step := mat.NewDense(d, d, nil) // I - eta bend M^-1 S
	step.Mul(&inverse, s)
	step.Scale(-eta*bend, step)
	for j := range d {
		step.Set(j, j, step.At(j, j)+1)
	}
	step.Scale(1+beta, step) // w_1 reaches the end through y_1 = (1 + beta) w_1 - beta w_0
	square := 0.
	for _, through := range []*mat.Dense{step, nil} {
		var noise mat.Dense
		noise.CloneFrom(&inverse)
		if through != nil {
			noise.Mul(through, &noise)
			noise.Mul(&noise, through.T())
		}
		noise.Mul(&noise, s)
		square += eta * eta * sigma * sigma * mat.Trace(&noise)
	}
	return square
}

// TestScoresAreRedrawn compares the mean square of redrawn scores with the noise of the steps by matrices: of the first
// stage alone, of the second alone, and of a second stage that goes the whole way. The 60 draws are fixed.
func TestScoresAreRedrawn(t *testing.T) {
	steps := func(sigma float64) runrecord.Trace {
		return runrecord.Trace{Noise: []float64{sigma, sigma}, StepSizes: []float64{.8}, Momentum: []float64{0, .3}}
	}
	still := runrecord.Trace{Noise: []float64{0}, StepSizes: []float64{1e-9}}
	near := func(name string, got, want float64) {
		if !(got > .85*want && got < 1.15*want) {
			t.Errorf("%s: a mean square of %v: must be about %v", name, got, want)
		}
	}

	f, base := staged(t, steps(.02), still)
	square, p, _ := squareOf(t, f, 1, 60)
	entries, err := p.Moment(base)
	if err != nil {
		t.Fatal(err)
	}
	rows := mat.NewSymDense(base.Dim(), entries)
	first := noiseOfSteps(rows, .2, .4, .8, .3, .02)
	near("the first stage", square, first)
	two, _, _ := squareOf(t, f, 1, 2)
	if five, _, _ := squareOf(t, f, 5, 2); !(math.Abs(five/two-25) <= 1e-6) {
		t.Errorf("in units of 5 the mean square is %v times that: must be 25", five/two)
	}

	f, _ = staged(t, still, steps(.03))
	square, p, _ = squareOf(t, f, 1, 60)
	second := 0.
	for n := range 60 {
		e, _ := f.Model.Schema().Effects()
		e.Seed += uint64(n)
		with, err := base.WithEffects(e)
		if err != nil {
			t.Fatal(err)
		}
		if entries, err = p.Moment(with); err != nil {
			t.Fatal(err)
		}
		second += noiseOfSteps(mat.NewSymDense(with.Dim(), entries), .05, .4, .8, .3, .03) / 60
	}
	near("the second stage", square, second)
	_, p, draws := squareOf(t, f, 1, redraws)
	text, stated := f.predictionNoise(draws, p.Mass), 0.
	for i, m := range p.Mass {
		mean := 0.
		for _, of := range draws {
			mean += of[i] / redraws
		}
		for _, of := range draws {
			stated += m * math.Pow(of[i]-mean, 2) / (redraws - 1)
		}
	}
	if want := "deviation of about " + digits(1.2*math.Sqrt(stated), 2) + " (units of y). It is a root mean square over the " +
		"synthetic rows, from 8 draws"; !strings.Contains(text, want) {
		t.Errorf("no %q in %q", want, text)
	}
	s, ok := f.interactions()
	if want := "about " + digits(5*1.2*math.Sqrt(stated), 2) + " (units of y)"; !ok || !strings.Contains(string(s.Parts[0].(Note)), want) {
		t.Errorf("%v: no %q in %v", ok, want, s.Parts)
	}

	// A second stage that goes all of the way takes back the noise of the first.
	whole := runrecord.Trace{Noise: slices.Repeat([]float64{0}, 4000), StepSizes: []float64{1}}
	f, _ = staged(t, steps(.02), whole)
	if square, _, _ = squareOf(t, f, 1, 2); !(square < 1e-3*first) {
		t.Errorf("a mean square of %v after the whole way: must be near 0, and was %v before", square, first)
	}
	for name, change := range map[string]func(*Fit){
		"no law of the first stage":  func(f *Fit) { f.plan.Effects.Synthetic.Law = nil },
		"no law of the second stage": func(f *Fit) { f.plan.Trace = nil },
		"no steps":                   func(f *Fit) { f.plan.Trace.Noise = nil },
		"no ridge":                   func(f *Fit) { f.plan.Trace.Moment = nil },
	} {
		f, _ := staged(t, steps(.02), steps(.02))
		change(f)
		if _, p, draws := squareOf(t, f, 1, 2); draws != nil || f.predictionNoise(draws, p.Mass) != "" {
			t.Errorf("%s: %d draws", name, len(draws))
		}
	}
}

// TestRedrawsHaveAtMostAllWaves: draws for a fit of more than 200 features of effects are those for one of 200, and draws for
// fewer features are others.
func TestRedrawsHaveAtMostAllWaves(t *testing.T) {
	steps := runrecord.Trace{Noise: []float64{.02}, StepSizes: []float64{.8}}
	f, _ := stagedOf(t, 200, steps, steps)
	_, p, most := squareOf(t, f, 1, 1)
	for features, same := range map[int]bool{198: false, 202: true} {
		f, _ := stagedOf(t, features, steps, steps)
		score, err := scoresOf(p, f.Model.Schema(), f.Model.Weights())
		if err != nil {
			t.Fatal(err)
		}
		differ := 0.
		for i, v := range f.redrawn(p, score, 1, 1)[0] {
			differ = max(differ, math.Abs(v-most[0][i]))
		}
		if (differ < 1e-12) != same {
			t.Errorf("draws for %d features differ by %v from those for 200", features, differ)
		}
	}
}

// TestRedrawsOfOneRow: if all synthetic rows are alike, most directions of the features have no rows, so that their second
// moment is exactly 0. Draws are finite numbers then, too.
func TestRedrawsOfOneRow(t *testing.T) {
	steps := runrecord.Trace{Noise: []float64{.02}, StepSizes: []float64{.8}}
	f, _ := staged(t, steps, steps)
	p, ok := f.population()
	score, err := scoresOf(p, f.Model.Schema(), f.Model.Weights())
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	clear(p.Mass)
	p.Mass[0] = 1
	for i, v := range f.redrawn(p, score, 1, 1)[0] {
		if !(math.Abs(v-score[i]) < 5) {
			t.Fatalf("row %d has the score %v, and another draw %v", i, score[i], v)
		}
	}
}
