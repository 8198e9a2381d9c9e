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
		if math.Abs(got-want) > 1e-9 {
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

// TestHalfOfADeviationIsHeld: a coefficient is not stated from a move of half of its deviation on.
func TestHalfOfADeviationIsHeld(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	d, s := fit.Model.Schema().Dim(), fit.Model.Schema()
	fit.plan.Trace = &runrecord.Trace{Moment: momentOf(d, .1)}
	move := math.Abs(fit.holding().moves(s.Groups(), 1/s.Scale())[d-1])
	if !(move > 0) {
		t.Fatal("the clip moves nothing")
	}
	for sd, want := range map[float64]bool{move / .499: false, move / .501: true} {
		e := explanation{how: estimated, list: []coefficient{{parts: []dataset.Part{{Feature: d - 1, Factor: 1}}, effectSD: sd}}}
		if fit.hold(&e); e.list[0].clipped != want {
			t.Errorf("a move of %.3f deviations: clipped must be %v", move/sd, want)
		}
	}
}

// TestClippedTermsAreNotStated tests that a coefficient that the clip moves has no deviation, no covariance and no clear
// effect anywhere, and that its reason and name are told.
func TestClippedTermsAreNotStated(t *testing.T) {
	c := coefficient{name: "c=w", effect: 3, effectSD: .1, noiseSD: .1, span: 3, spanSD: .1, clipped: true}
	got := c.term(estimated)
	if got.Deviation != nil || got.State != "not stated" || got.Noise() != "-" || *got.Value != 3 ||
		got.Reason != "the clip of gradients may move it by more than half of the noise" {
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
	if said := fit.meaning(e, runNoise{}); !strings.Contains(said, " Not stated, since the clip may move the coefficient too far: c=w.") {
		t.Errorf("%q", said)
	}
	if slices.ContainsFunc(e.list[:1], coefficient.hidden) {
		t.Error("a coefficient is hidden without a reason")
	}
}
