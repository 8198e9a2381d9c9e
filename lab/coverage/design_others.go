package coverage

import (
	"math"
	"math/rand/v2"
)

// counted is a population of counts with a rare level, and spread one of numbers with errors of unequal spread.
func counted() Design {
	return Design{Name: "counts with a rare level", Records: 20_000, Epsilon: 1, Loss: "poisson(0.5)", Most: 8,
		Intervals: true, Columns: []Column{Number("x", -1, 1), Category("c", "a", "b")}, Truth: map[string]float64{"x": .4, "c=b": .5},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{2*r.Float64() - 1, 0}
			if r.Float64() < .06 {
				x[1] = 1
			}
			rate, y := math.Exp(-.4+.4*x[0]+.5*x[1]), 0.
			for at := r.ExpFloat64(); at < rate && y < 8; at += r.ExpFloat64() {
				y++
			}
			return x, y
		}}
}

func unequal() Design {
	return Design{Name: "numbers with unequal errors", Records: 20_000, Epsilon: 1, Loss: "squared(1)", Most: 10,
		Intervals: true, Columns: []Column{Number("x", -1, 1), Category("c", "a", "b")}, Truth: map[string]float64{"x": .8, "c=b": -1},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{2*r.Float64() - 1, 0}
			if r.Float64() < .05 {
				x[1] = 1
			}
			return x, 5 + .8*x[0] - x[1] + (.3+.5*math.Abs(x[0]))*r.NormFloat64()
		}}
}

func init() {
	add(counted().inShort(3000, 6))
	add(unequal().inShort(3000, 6))
}
