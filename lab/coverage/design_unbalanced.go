package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// unbalanced is a population without intervals in which the second class and one level of a category are both uncommon. Rows of
// the class at the level have the longest gradients, so that the clip holds most of them back. Two numbers have effects.
func unbalanced(loss string, intercept, level, effect, epsilon float64) Design {
	d := Design{Name: fmt.Sprintf("unbalanced, %s, intercept %g, level %g, epsilon %g", loss, intercept, level, epsilon),
		Records: 20_000, Epsilon: epsilon, Loss: loss, Classes: []string{"no", "yes"},
		Columns: []Column{Number("x1", -3, 3), Number("x2", 0, 10), Category("c", "u", "w")}}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{r.NormFloat64(), 10 * r.Float64(), 0}
		if r.Float64() < level {
			x[2] = 1
		}
		return x, drawn(r, []float64{0, intercept + .8*x[0] + .1*(x[1]-5) + effect*x[2]})
	}
	return d
}

// uncommon is such a population with a table of its own for each fit. rate is the share of the second class, or about
// that of the third of three, or the mean count.
func uncommon(loss string, rate, level, effect, epsilon float64, records int) Design {
	d := Design{Name: fmt.Sprintf("uncommon, %s, rate %g, level %g, epsilon %g, %d records", loss, rate, level, epsilon, records),
		Records: records, Epsilon: epsilon, Loss: loss, Tables: true,
		Columns: []Column{Number("x1", -3, 3), Number("x2", 0, 10), Category("c", "u", "w")}}
	counts := loss == "poisson(0.5)"
	scale := 1.
	switch {
	case counts:
		scale, d.Most = .4, 10*math.Ceil(rate/2)
	case loss == "softmax(3)":
		d.Classes = []string{"a", "b", "c"}
	default:
		d.Classes = []string{"no", "yes"}
	}
	columns := func(r *rand.Rand) (x []float64, z float64) {
		x = []float64{r.NormFloat64(), 10 * r.Float64(), 0}
		if r.Float64() < level {
			x[2] = 1
		}
		return x, scale*(.8*x[0]+.1*(x[1]-5)) + effect*x[2]
	}
	low, high := -9., 9.
	for range 40 {
		r, sum, middle := rand.New(rand.NewPCG(7, 7)), 0., (low+high)/2
		for range 4000 {
			_, z := columns(r)
			if mean := math.Exp(middle + z); counts {
				sum += mean / 4000
			} else {
				sum += mean / (1 + mean) / 4000
			}
		}
		if sum < rate {
			low = middle
		} else {
			high = middle
		}
	}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x, z := columns(r)
		switch {
		case counts:
			k, at := 0., r.ExpFloat64()
			for ; at < math.Exp(low+z) && k < d.Most; at += r.ExpFloat64() {
				k++
			}
			return x, k
		case len(d.Classes) == 3:
			return x, drawn(r, []float64{0, .3*x[0] - .3*x[2], low + z + .7})
		}
		return x, drawn(r, []float64{0, low + z})
	}
	return d
}

func init() {
	for _, records := range []int{5000, 20_000, 100_000} {
		for _, epsilon := range []float64{.5, 1, 4} {
			for _, of := range []struct {
				loss  string
				rates []float64
			}{{"logistic", []float64{.03, .1, .5, .86, .97}}, {"softmax(3)", []float64{.03, .1, .5}}, {"poisson(0.5)", []float64{.2, 3}}} {
				for _, rate := range of.rates {
					for _, level := range []float64{.02, .05, .1, .3} {
						add(uncommon(of.loss, rate, level, -.4, epsilon, records))
					}
				}
			}
		}
	}
	short := uncommon("logistic", .1, .1, -.4, 4, 5000)
	short.Name += ", short"
	add(short.inShort(5000, 4))
	add(unbalanced("logistic", -2.4, .07, 0, 1))
	add(unbalanced("logistic", -2.4, .07, 0, 4))
	add(unbalanced("logistic", -2.5, .1, .3, 1))
	add(unbalanced("logistic", -1, .1, .3, 1))
	add(unbalanced("logistic", 0, .1, .3, 1))
	add(unbalanced("logistic", 2, .07, 0, 1))
}
