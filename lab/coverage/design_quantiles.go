package coverage

import (
	"math"
	"math/rand/v2"
)

// quantiles is a population of numbers with skewed residuals that grow with the number x1, without intervals.
func quantiles(name string, records int, epsilon float64, loss string) Design {
	d := Design{Name: name, Records: records, Epsilon: epsilon, Loss: loss, Most: 20, Tables: true,
		Columns: []Column{Number("x1", 0, 4), Number("x2", -3, 3), Number("x3", -3, 3), Category("b", "u", "v"),
			Category("c", "u", "v", "w")}}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{4 * r.Float64(), r.NormFloat64(), 0, float64(r.IntN(2)), float64(r.IntN(3))}
		x[2] = .5*x[1] + math.Sqrt(.75)*r.NormFloat64()
		y := 6 + .8*x[0] - .5*x[1] + .4*x[2] + .8*x[3] - .4*x[4] + (.6+.3*x[0])*(r.ExpFloat64()-1+r.NormFloat64())
		return x, min(max(y, 0), 20)
	}
	return d
}

func init() {
	for _, loss := range []string{"absolute", "pinball(0.25)", "pinball(0.5)", "pinball(0.9)"} {
		add(quantiles("quantiles, "+loss, 8000, 1, loss))
		add(quantiles("quantiles, "+loss+", epsilon 4", 4000, 4, loss))
	}
	add(quantiles("quantiles, pinball(0.75), few rows", 3000, 1, "pinball(0.75)").inShort(3000, 2))
}
