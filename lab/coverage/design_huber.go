package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// uneven is a population of numbers with long tails, whose residuals grow with the number x1: the Huber loss is hardly
// curved where x1 is large, and much where it is small. It has no intervals.
func uneven(name string, records int, epsilon, delta float64) Design {
	d := Design{Name: name, Records: records, Epsilon: epsilon, Loss: fmt.Sprintf("huber(%v)", delta), Most: 20, Tables: true,
		Columns: []Column{Number("x1", 0, 4), Number("x2", -3, 3), Category("b", "u", "v"), Category("c", "u", "v", "w")}}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{4 * r.Float64() * r.Float64(), r.NormFloat64(), float64(r.IntN(2)), float64(r.IntN(3))}
		t3 := r.NormFloat64() / math.Sqrt((math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2)+math.Pow(r.NormFloat64(), 2))/3)
		y := 6 + x[0] - .5*x[1] + .8*x[2] - .4*x[3] + (.3+x[0])*t3
		return x, min(max(y, 0), 20)
	}
	return d
}

func init() {
	add(uneven("noise, Huber, residuals that grow with a column", 20_000, 1, .1).inShort(3000, 8))
	add(uneven("noise, Huber, residuals that grow with a column, epsilon 4", 20_000, 4, .1))
	add(uneven("noise, Huber, residuals that grow with a column, a short clip", 20_000, 1, .03))
}

// shortClip is a population of numbers with a Huber loss, of which most tables are small for the budget.
func shortClip(records int, epsilon, delta, slope float64) Design {
	return Design{Name: fmt.Sprintf("Huber %v, %d rows, epsilon %v, slope %v", delta, records, epsilon, slope), Records: records,
		Epsilon: epsilon, Loss: fmt.Sprintf("huber(%v)", delta), Most: 10, Intervals: true,
		Columns: []Column{Number("x1", -1, 1), Number("x2", -1, 1), Category("c", "a", "b")},
		Truth:   map[string]float64{"x1": slope, "x2": .5, "c=b": -.6},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{2*r.Float64() - 1, max(-1, min(1, .4*r.NormFloat64())), float64(r.IntN(2))}
			return x, 5 + slope*x[0] + .5*x[1] - .6*x[2] + 1.2*r.NormFloat64()
		}}
}

func init() {
	for _, delta := range []float64{.05, .1, .3} {
		add(shortClip(4000, 1, delta, .8))
	}
	add(shortClip(4000, 4, .1, .8))
	add(shortClip(20_000, 1, .1, .8))
}
