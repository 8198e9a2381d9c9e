package coverage

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// levels is a population with a category of levels that noise hides in part, with the given shares and effects, and two
// numbers. The mean of the first number differs between levels by up to apart. The target has proportional odds over three
// ordered classes, three classes without an order, counts, a number or two classes, as the loss says. The asked contrasts are
// judged, whichever levels the fit drops.
func levels(name, loss string, epsilon, apart float64, shares, effects []float64) Design {
	d := Design{Name: name, Records: 20_000, Epsilon: epsilon, Loss: loss, Classes: []string{"no", "yes"}, Intervals: true,
		Truth: map[string]float64{}, AskedTruth: true}
	add := func(term string, v float64) { d.Truth[term] = v }
	kind, _, _ := strings.Cut(loss, "(")
	switch kind {
	case "ordered":
		d.Classes = []string{"low", "mid", "high"}
	case "softmax":
		d.Classes = []string{"first", "second", "third"}
		add = func(term string, v float64) { d.Truth["second: "+term], d.Truth["third: "+term] = v, -.5*v }
	case "squared":
		d.Classes, d.Least, d.Most = nil, -8, 8
	case "poisson":
		d.Classes, d.Most = nil, 12
	}
	add("x1", .8)
	add("x2", -.5)
	var list []string
	for i, e := range effects {
		list = append(list, "s"+strconv.Itoa(i))
		if i > 0 {
			add("s=s"+strconv.Itoa(i), e-effects[0])
		}
	}
	d.Columns = []Column{Number("x1", -3, 3), Number("x2", -3, 3), Category("s", list...)}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		at, level := r.Float64(), 0
		for level < len(shares)-1 && at > shares[level] {
			at -= shares[level]
			level++
		}
		a, b := r.NormFloat64()+apart*float64(level%3-1), r.NormFloat64()
		x := []float64{min(max(a, -3), 3), min(max(b, -3), 3), float64(level)}
		z := .8*x[0] - .5*x[1] + effects[level]
		switch kind {
		case "ordered":
			y := 0.
			u := r.Float64()
			u = math.Log(u / (1 - u))
			for _, cut := range []float64{-.5, 1} {
				if z+u > cut {
					y++
				}
			}
			return x, y
		case "softmax":
			return x, drawn(r, []float64{0, z, -.5 * z})
		case "squared":
			return x, min(max(z+r.NormFloat64(), -8), 8)
		case "poisson":
			return x, poissonOf(r, math.Exp(z-1))
		}
		return x, bernoulli(r, z-.3)
	}
	return d
}

func (d Design) unweighted() Design {
	d.Name, d.Unweighted = d.Name+", unweighted rows", true
	return d
}

func init() {
	ten := []float64{0, .5, -.5, .3, 0, .8, -.2, .4, 1, 2}
	add(levels("ten levels, two rare", "logistic", 1, 0, []float64{.05, .15, .15, .15, .1, .1, .1, .1, .05, .05}, ten))
	add(levels("ten levels, one rare, far from the reference", "logistic", 1, 0,
		[]float64{.11, .11, .11, .11, .11, .11, .11, .1, .1, .03}, []float64{0, .5, -.5, .3, 0, .8, -.2, .4, .1, 3}))
	six := []float64{0, .5, -.5, .3, -1, 2.5}
	add(levels("six levels, rare reference, epsilon .5", "logistic", .5, 0, []float64{.06, .3, .25, .2, .15, .04}, six))
	add(levels("six levels, unlike numbers", "logistic", .7, .7, []float64{.3, .25, .2, .15, .06, .04}, six).unweighted())
	add(levels("six levels, ordered", "ordered(3)", .7, .3, []float64{.25, .25, .25, .12, .08, .05}, six))
	add(levels("six levels, three classes", "softmax(3)", .7, 0, []float64{.3, .25, .2, .15, .06, .04}, six))
	// These had no part in the choice of the constants.
	add(levels("new, ten levels, linear", "squared(1)", .7, .5, []float64{.2, .2, .15, .15, .1, .06, .05, .04, .03, .02}, ten))
	add(levels("new, ten levels, counts", "poisson(0.5)", 2, 0, []float64{.2, .2, .15, .15, .1, .06, .05, .04, .03, .02},
		[]float64{0, .5, -.5, .3, 0, .8, -.2, .4, 1, 1}))
	add(levels("new, eight levels of falling shares", "logistic", .7, .5,
		[]float64{.4, .24, .14, .09, .05, .04, .03, .01}, []float64{0, .6, -.6, 1, -1, 1.5, -1.5, 2}))
	add(levels("new, eight levels, ordered", "ordered(3)", 1, .5, []float64{.15, .15, .15, .15, .15, .1, .1, .05}, ten[:8]).unweighted())
	add(levels("new, eight levels, three classes", "softmax(3)", 1, .5, []float64{.15, .15, .15, .15, .15, .1, .1, .05}, ten[:8]).unweighted())
}
