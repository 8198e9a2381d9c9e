package coverage

import (
	"math"
	"math/rand/v2"
)

// rare is a population with two correlated numbers, three columns of which a share of the rows are 1, as numbers and as
// categories, and an outcome with the given intercept.
func rare(name string, p []float64, effect, intercept float64, category bool) Design {
	d := Design{Name: name, Records: 20_000, Epsilon: 1, Loss: "logistic", Classes: []string{"no", "yes"}, Intervals: true,
		Truth: map[string]float64{"x1": .8, "x2": -.5}}
	d.Columns = []Column{Number("x1", -3, 3), Number("x2", -3, 3)}
	for i := range p {
		at := "r" + string(rune('1'+i))
		if category {
			d.Columns = append(d.Columns, Category(at, "b", "a"))
			at += "=a"
		} else {
			d.Columns = append(d.Columns, Number(at, 0, 1))
		}
		d.Truth[at] = effect
	}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		a := r.NormFloat64()
		b := .5*a + math.Sqrt(.75)*r.NormFloat64()
		x := []float64{min(max(a, -3), 3), min(max(b, -3), 3)}
		z := intercept + .8*x[0] - .5*x[1]
		for _, share := range p {
			v := 0.
			if r.Float64() < share {
				v = 1
			}
			x, z = append(x, v), z+effect*v
		}
		return x, bernoulli(r, z)
	}
	return d
}

// bernoulli draws 1 with the log odds z, else 0.
func bernoulli(r *rand.Rand, z float64) float64 {
	if r.Float64() < 1/(1+math.Exp(-z)) {
		return 1
	}
	return 0
}

func init() {
	for _, d := range []Design{
		rare("rare numbers", []float64{.02, .1, .5}, 1, -.5, false).inShort(4000, 6),
		rare("rare numbers, strong", []float64{.03, .05}, 2.5, -.5, false).inShort(4000, 6),
		rare("rare levels", []float64{.02, .05, .2}, 1, -.5, true).inShort(5000, 8),
		rare("rare levels, strong", []float64{.03, .3}, -2, .5, true),
	} {
		add(d)
	}
}
