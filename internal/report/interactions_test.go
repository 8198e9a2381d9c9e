package report

import (
	"math"
	"math/rand/v2"
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

// TestInteractionsInNumbers compares the section about found interactions with a table of 3 by 3 pairs of levels: the
// variance of the score over them, the part that the means of each column make, that of the best sum, by least squares,
// and what is left. The distance from the released second moment is worked out from the rows.
func TestInteractionsInNumbers(t *testing.T) {
	base, err := dataset.New(dataset.Definition{Columns: []dataset.Column{
		{Name: "a", Kind: dataset.Category, Categories: []string{"u", "v"}},
		{Name: "b", Kind: dataset.Category, Categories: []string{"s", "t"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
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
	moment[0] += .01 // no table has this: the distance is about as much
	coin := rand.New(rand.NewPCG(2, 8))
	normal := func(n int) (list []float64) {
		for range n {
			list = append(list, coin.NormFloat64())
		}
		return list
	}
	effects := dataset.Effects{Seed: 3, Features: 8, Weight: 2, Scale: .7, Centres: normal(2), Weights: normal(d)}
	with, err := base.WithEffects(effects)
	if err != nil {
		t.Fatal(err)
	}
	w := normal(with.Dim())
	m, err := model.New(model.Params{Software: "test v1", Loss: loss.Logistic(), Regularizer: loss.None(), Schema: with, Weights: w,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	const stated = .0123456
	f := &Fit{Model: m, plan: runrecord.Run{Effects: &runrecord.Effects{Synthetic: &runrecord.Synthetic{Rows: synthetic.Rows,
		Moment: runrecord.NewMoment(moment, d, 1e-6, 0), Distance: stated}}}}
	p, ok := f.population()
	if !ok {
		t.Fatal("no population")
	}
	var mass, squares, score [9]float64
	var cells []int
	got := make([]float64, d*d)
	if err := p.Features(base, func(_ int, x []float32, of float64) {
		at := 0
		for j, v := range x[:d-1] {
			if v != 0 {
				at += []int{0, 3, 6, 0, 1, 2}[j]
			}
			for k, u := range x {
				got[j*d+k] += of * float64(v) * float64(u)
			}
		}
		for k, u := range x {
			got[(d-1)*d+k] += of * float64(x[d-1]) * float64(u)
		}
		cells = append(cells, at)
		mass[at] += of
		squares[at] += of * of
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Features(with, func(i int, x []float32, _ float64) {
		score[cells[i]] = 0
		for j, v := range x {
			score[cells[i]] += w[j] * float64(v)
		}
	}); err != nil {
		t.Fatal(err)
	}
	mean, variance, distance := 0., 0., 0.
	for i, v := range score {
		mean += mass[i] * v
	}
	for i, v := range score {
		variance += mass[i] * (v - mean) * (v - mean)
	}
	for i, v := range moment {
		distance += (got[i] - v) * (got[i] - v)
	}
	alone := func(of func(i int) int) (share float64) {
		for k := range 3 {
			m, sum := 0., 0.
			for i := range score {
				if of(i) == k {
					m, sum = m+mass[i], sum+mass[i]*(score[i]-mean)
				}
			}
			share += sum * sum / m
		}
		return share / variance
	}
	design, target := mat.NewDense(9, 5, nil), mat.NewVecDense(9, nil)
	for i, v := range score {
		root := math.Sqrt(mass[i])
		for j, one := range []bool{true, i/3 == 0, i/3 == 1, i%3 == 0, i%3 == 1} {
			if one {
				design.Set(i, j, root)
			}
		}
		target.SetVec(i, root*v)
	}
	var best, rest mat.VecDense
	if err := best.SolveVec(design, target); err != nil {
		t.Fatal(err)
	}
	rest.MulVec(design, &best)
	rest.SubVec(target, &rest)
	left := mat.Dot(&rest, &rest)
	pair := left
	for i := range score {
		pair -= left * squares[i] / mass[i]
	}

	s, ok := f.interactions()
	if !ok {
		t.Fatal("no section")
	}
	text := string(s.Parts[0].(Note))
	if said := f.additive(); !strings.Contains(said, " with 8 weights that cannot be interpreted") {
		t.Error(said)
	}
	for _, want := range []string{"Its second moment differs from the released one by " + digits(math.Sqrt(distance), 3) +
		" where the certificate states 0.0123.", "explains " + ofVariance(1-left/variance) + " of the score's variance",
		"table of 20,000 rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	bars := partOf(t, s, func(Bars) bool { return true })
	for j, want := range []float64{alone(func(i int) int { return i / 3 }), alone(func(i int) int { return i % 3 })} {
		if v := bars.Items[j].Value; !near(v, want, 1e-9) {
			t.Errorf("%s alone explains %v: must be %v", bars.Items[j].Name, v, want)
		}
	}
	if heat := partOf(t, s, func(Heat) bool { return true }); !strings.Contains(heat.Caption, " It is "+ofVariance(pair/variance)+" of the") {
		t.Errorf("%s: must be %s", heat.Caption, ofVariance(pair/variance))
	}
}

// TestInteractionsNeedNoSecondColumn tests the section of a model with one column alone: the column explains all of the
// score, and no pair is drawn.
func TestInteractionsNeedNoSecondColumn(t *testing.T) {
	base, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Category, Categories: []string{"u", "v"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	d, level := base.Dim(), 1/base.Scale()
	moment := make([]float64, d*d)
	for j, share := range []float64{.5, .3, .2} {
		for _, at := range []int{j*d + j, j*d + d - 1, (d-1)*d + j, (d-1)*d + d - 1} {
			moment[at] += share * level * level
		}
	}
	with, err := base.WithEffects(dataset.Effects{Seed: 3, Features: 2, Weight: 2, Scale: .7, Centres: []float64{.1}, Weights: make([]float64, d)})
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, with.Dim())
	for j := range w {
		w[j] = .1 * float64(j+1)
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: loss.Logistic(), Regularizer: loss.None(), Schema: with, Weights: w,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
			Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fit{Model: m, plan: runrecord.Run{Effects: &runrecord.Effects{Synthetic: &runrecord.Synthetic{Rows: synthetic.Rows,
		Moment: runrecord.NewMoment(moment, d, 1e-6, 0)}}}}
	s, ok := f.interactions()
	if !ok {
		t.Fatal("no section")
	}
	if bars := partOf(t, s, func(Bars) bool { return true }); len(bars.Items) != 1 || !near(bars.Items[0].Value, 1, 1e-9) || len(s.Parts) != 2 {
		t.Errorf("%+v, %d parts", bars.Items, len(s.Parts))
	}
}

// TestNoiseOfEffectsIsNotStated tests the sentence by which the page says why the noise of coefficients beside
// interactions is not stated, and which fit states such noise.
func TestNoiseOfEffectsIsNotStated(t *testing.T) {
	f := read(t, people(t, "p", 4))
	f.plan.Effects = &runrecord.Effects{}
	n := f.noise()
	e, ok := f.explained(n)
	note, is := f.certainty(e).(Note)
	want := Note("How much of each coefficient is noise is not stated here: the fit has two stages, and the noise of the first is " +
		"in the features and in the start of the second. Each stage spends a part of the budget. A fit with family: curves, " +
		"with a budget of its own, states the noise of such terms. Small coefficients may be noise alone.")
	if !ok || !is || note != want {
		t.Errorf("%v, %v: %q", ok, is, note)
	}
}
