package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// momentOf returns a released second moment of independent features with the square 1/dim, and a clip norm.
func momentOf(dim int, clip float64) *runrecord.Moment {
	matrix := make([]float64, dim*dim)
	for j := range dim {
		matrix[j*dim+j] = 1 / float64(dim)
	}
	m := runrecord.NewMoment(matrix, dim, .001, .01)
	m.Clip = clip
	return m
}

// TestWhatTheClipMoves compares the move of a margin with one that is worked out by hand. At the probability .1 the slope of
// the rarer class is -.9 and that of the other .1. Rows have the length 5 in the metric, so that a clip norm of 2 is a slope
// of .4: the rarer class loses .5 of .9, the mean slope .1 times .5, and the margin moves by .05 over .09.
func TestWhatTheClipMoves(t *testing.T) {
	logit := math.Log(.1 / .9)
	f := people(t, "p", 4)
	fit := read(t, f)
	d := fit.Model.Schema().Dim()
	fit.plan.Trace = &runrecord.Trace{Moment: momentOf(d, 2)}
	h := fit.holding()
	if h == nil {
		t.Fatal("the clip's moves are not known")
	}
	h.mean, h.square, h.rest = []float64{0, .5}, mat.NewSymDense(2, []float64{100, 0, 0, 100}), 0
	h.weights, h.g = []float64{0, 2 * logit}, mat.NewSymDense(2, []float64{.04, 0, 0, .25})
	near := func(name string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("%s: %v: must be %v", name, got, want)
		}
	}
	near("two classes", h.moved([]float64{0, .5})[0], -.05/.09)
	// Rows with a length of which the rest is .25, 1 and 1.75 times 75: 5 is the length of the second.
	h.rest = 75
	h.square.Zero()
	want := 0.
	for _, far := range []float64{.25, 1, 1.75} {
		want -= .1 * max(0, .9-2/math.Sqrt(far*75)) / 3 / .09
	}
	near("other columns", h.moved([]float64{0, .5})[0], want)
	// A level: the mean row is at the length 5, the level at sqrt(50).
	h.rest = 0
	h.square = mat.NewSymDense(2, []float64{100, 0, 0, 100})
	level := -.1*(.9-2/math.Sqrt(50))/.09 + .05/.09
	got := h.moves([]dataset.Group{{First: 0, Width: 1}}, .5)
	near("a level", got[0], 2*level)
	near("the intercept", got[1], 2*-.05/.09)
	// A number with the deviation .2: the moves at both sides are the same.
	near("a number", h.moves(nil, .5)[0], 0)
	// Of a number whose weight is 1, the line through the moves at .2 sqrt 3 on both sides of the mean row.
	h.weights[0] = 1
	far := .2 * math.Sqrt(3)
	near("a number with an effect", h.moves(nil, .5)[0], (h.moved([]float64{far, .5})[0]-h.moved([]float64{-far, .5})[0])/(2*far))
	h.weights[0] = 0
	// Counts of at most 2 with the mean .5: slopes in shares are .25 - n/2, the curvature .25.
	poisson, err := loss.Poisson(1)
	if err != nil {
		t.Fatal(err)
	}
	target := dataset.Target{Column: "height", Kind: dataset.Number, High: 2}
	f.schema.Target, f.loss = target, poisson.Name()
	fit = read(t, f)
	fit.plan.Trace = &runrecord.Trace{Moment: momentOf(fit.Model.Schema().Dim(), 2)}
	counts := fit.holding()
	counts.mean, counts.square, counts.rest = h.mean, h.square, 0
	counts.weights = []float64{0, 2 * math.Log(.25)}
	near("counts", counts.moved([]float64{0, .5})[0], math.Exp(-.5)*.125*(.25-1+.4)/.25)
	// Three classes of the shares .1, .1 and .8: slopes of the first class are (-.9, .1, .8), of the length sqrt(1.46).
	softmax, err := loss.Softmax(3)
	if err != nil {
		t.Fatal(err)
	}
	h.slopes = softmax.Slopes
	h.weights = []float64{0, 2 * math.Log(.1), 0, 2 * math.Log(.1), 0, 2 * math.Log(.8)}
	first, third := 1-.4/math.Sqrt(1.46), 1-.4/math.Sqrt(.06)
	third = max(third, 0)
	moved := h.moved([]float64{0, .5})
	near("the first of three classes", moved[0], (-.1*.9*first+.1*.1*first+.8*.1*third)/.09)
	near("the last of three classes", moved[2], (2*.1*.8*first-.8*.2*third)/.16)
}

// TestWhatIsReleasedOfTheRows compares the facts of a released second moment G with those worked out by an inverse: P^2 is
// (G + ridge I)^-1, the mean row m is the row of the intercept over the intercept, and the rest is tr P^2 G - m'P^2 m. Nothing
// is known where the intercept's square is below two deviations of the noise.
func TestWhatIsReleasedOfTheRows(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	d, scale := fit.Model.Schema().Dim(), fit.Model.Schema().Scale()
	entries := make([]float64, d*d)
	for i := range d {
		for j := range d {
			entries[i*d+j] = .01 * float64((i+2)*(j+3)+(j+2)*(i+3)) / float64(2*d)
		}
		entries[i*d+i] += .1 + .03*float64(i)
	}
	const ridge = .07
	own := entries[d*d-1]
	for sigma, known := range map[float64]bool{own / 2.01: true, own / 1.99: false, own / 30: true} {
		m := runrecord.NewMoment(slices.Clone(entries), d, sigma, ridge)
		m.Clip = 3
		fit.plan.Trace = &runrecord.Trace{Moment: m}
		h := fit.holding()
		if (h != nil) != known {
			t.Fatalf("noise %v beside %v: known %v", sigma, own, h != nil)
		}
		if h == nil {
			continue
		}
		stated, err := m.Matrix() // rounded to a small part of the noise
		if err != nil {
			t.Fatal(err)
		}
		g := mat.NewDense(d, d, stated)
		more, square, product := mat.DenseCopyOf(g), new(mat.Dense), new(mat.Dense)
		mean := mat.NewVecDense(d, nil)
		for j := range d {
			more.Set(j, j, more.At(j, j)+ridge)
			mean.SetVec(j, g.At(j, d-1)/g.At(d-1, d-1)/scale)
		}
		if err := square.Inverse(more); err != nil {
			t.Fatal(err)
		}
		product.Mul(square, g)
		rest := mat.Trace(product) - mat.Inner(mean, square, mean)
		if !mat.EqualApprox(h.square, square, 1e-9) || !mat.EqualApprox(mat.NewVecDense(d, h.mean), mean, 1e-9) ||
			!(math.Abs(h.rest-rest) <= 1e-9) || !(rest > .1) || h.clip != 3 {
			t.Errorf("square %v, mean %v, rest %v: must be %v, %v, %v", h.square, h.mean, h.rest, square, mean.RawVector().Data, rest)
		}
	}
	// Counts of up to 2,000 are added up one by one.
	h := holding{most: 3000}
	y, share := h.outcomes([]float64{math.Log(2. / 3)})
	sum := 0.
	for _, p := range share {
		sum += p
	}
	if len(y) != 2001 || !(math.Abs(y[2000]-1./3) <= 1e-9) || !(math.Abs(sum-.5) < .02) { // half of the counts around 2,000
		t.Errorf("%d counts, the last %v, with the probability %v", len(y), y[len(y)-1], sum)
	}
}

// TestALevelTakesThePlaceOfItsColumn: the row of a level has none of the column's other levels.
func TestALevelTakesThePlaceOfItsColumn(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	of := l.(interface{ Slopes(dst, z, y []float64) })
	square := mat.NewSymDense(4, []float64{100, 0, 0, 0, 0, 90, 0, 0, 0, 0, 80, 0, 0, 0, 0, 100})
	h := &holding{clip: 2, square: square, g: square, mean: []float64{.1, .15, .25, .5}, weights: []float64{1, 3, -2, 2 * math.Log(.1/.9)},
		slopes: of.Slopes}
	base, second := h.moved(h.mean)[0], h.moved([]float64{0, .5, 0, .5})[0]
	if got, want := h.moves([]dataset.Group{{First: 0, Width: 3}}, .5)[1], 2*(second-base); want == 0 || !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%v: must be %v", got, want)
	}
}

// TestAHatTakesThePlaceOfItsCurve: the row of a curve's last knot has none of its others.
func TestAHatTakesThePlaceOfItsCurve(t *testing.T) {
	f := people(t, "p", 4)
	f.schema.Columns[0].Curve = 4
	fit := read(t, f)
	s := fit.Model.Schema()
	hats := s.Hats()[0]
	last := hats.First + hats.Width - 1
	entries := make([]float64, s.Dim()*s.Dim())
	for i := range s.Dim() {
		for j := range s.Dim() {
			entries[i*s.Dim()+j] = .02
		}
		entries[i*s.Dim()+i] = .1
	}
	m := runrecord.NewMoment(entries, s.Dim(), .001, .01)
	m.Clip = .1
	fit.plan.Trace = &runrecord.Trace{Moment: m}
	h := fit.holding()
	x := slices.Clone(h.mean)
	clear(x[hats.First : last+1])
	x[last] = 1 / s.Scale()
	move := math.Abs(h.moved(x)[0]-h.moved(h.mean)[0]) * s.Scale()
	if got := fit.clipMoves()[last]; move == 0 || !(math.Abs(math.Abs(got)-move) <= 1e-12) {
		t.Errorf("the clip moves the last knot by %v: must be %v", got, move)
	}
}

// TestMovesByTheClipAreCounted: the mean square of a move is twice the square of its estimate, in variances and covariances. A
// coefficient is not stated from a move of 1.5 deviations without it on. Without a known move nothing is added.
func TestMovesByTheClipAreCounted(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	d := fit.Model.Schema().Dim()
	fit.plan.Trace = &runrecord.Trace{Moment: momentOf(d, .1)}
	moves := fit.clipMoves()
	if moves == nil || moves[d-1] == 0 || moves[d-1] != fit.holding().moves(fit.Model.Schema().Groups(), 1/fit.Model.Schema().Scale())[d-1] {
		t.Fatalf("the moves by the clip are %v", moves)
	}
	parts := func(j int) []dataset.Part { return []dataset.Part{{Feature: j, Factor: 1}} }
	for sd, want := range map[float64]bool{2 / 1.499: false, 2 / 1.501: true} {
		e := explanation{how: estimated, list: []coefficient{{parts: parts(1), effectSD: math.Hypot(sd, 2*math.Sqrt2)}}}
		if e.hold(); e.list[0].clipped {
			t.Error("a coefficient is clipped without a known move")
		}
		e.noise.moves = []float64{0, -2}
		if e.hold(); e.list[0].clipped != want {
			t.Errorf("a move of %.3f deviations: clipped must be %v", 2/sd, want)
		}
		// Nothing is said of a coefficient that the steps have not reached, of bounds, and of features that are combined.
		for name, change := range map[string]func(*explanation){
			"late":   func(e *explanation) { e.list[0].late = true },
			"bounds": func(e *explanation) { e.how = bounded },
			"lifted": func(e *explanation) { e.noise.lift.size = 3 },
		} {
			of := explanation{how: estimated, list: []coefficient{{parts: parts(1), effectSD: e.list[0].effectSD}}, noise: e.noise}
			change(&of)
			if of.hold(); of.list[0].clipped {
				t.Errorf("%s: is clipped", name)
			}
		}
	}
	one := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	k := carried{kept: 1, covariance: &covariance{mix: mat.NewDense(1, 1, []float64{1}), ways: []way{{noise: make([]float64, 2), seen: []arrival{{
		back: one, half: one, shares: []float64{1, 1}, went: make([]float64, 2), noise: []float64{1, 1}, prior: []float64{1, 1}}}}}}}
	list := [][]dataset.Part{parts(0), parts(1)}
	if got := k.rest(list); got.At(0, 0) != 0 || got.At(1, 1) != 0 {
		t.Errorf("the rest of ways that were covered is %v", mat.Formatted(got))
	}
	k.moves = []float64{3, -2}
	if got := k.rest(list); got.At(0, 0) != 18 || got.At(0, 1) != -12 || got.At(1, 1) != 8 {
		t.Errorf("the moves by the clip are counted as %v", mat.Formatted(got))
	}
}

// TestClippedTermsAreNotStated tests that a coefficient that the clip moves has no deviation, no covariance and no clear
// effect anywhere, and that its reason and name are told.
func TestClippedTermsAreNotStated(t *testing.T) {
	c := coefficient{name: "c=w", effect: 3, effectSD: .1, noiseSD: .1, span: 3, spanSD: .1, clipped: true}
	got := c.term(estimated)
	if got.Deviation != nil || got.State != "not stated" || got.Noise() != "-" || *got.Value != 3 ||
		got.Reason != "the clip of gradients may move it by more than 1.5 deviations" {
		t.Errorf("%+v", got)
	}
	if !c.within() || !c.hidden() {
		t.Error("a coefficient that the clip moves counts as clear")
	}
	c.clipped = false
	if got := c.term(estimated); got.State != "stated" || got.Reason != "" || c.within() {
		t.Errorf("%+v", got)
	}
	e := explanation{list: []coefficient{{name: "x", effectSD: 1}, {name: "c=w", clipped: true}}}
	fit := read(t, people(t, "p", 4))
	if said := fit.meaning(e); !strings.Contains(said, " Not stated, since the clip may move the coefficient too far: c=w.") {
		t.Errorf("%q", said)
	}
	if slices.ContainsFunc(e.list[:1], coefficient.hidden) {
		t.Error("a coefficient is hidden without a reason")
	}
}
