package coverage

import (
	"math"
	"math/rand/v2"
)

// stated is a population without intervals: three numbers, of which the first two have the correlation rho, and two
// categories. The margins of the classes but the first are intercepts[m] plus the effects, halved for each class.
func stated(name string, records int, rho, missing float64, intercepts ...float64) Design {
	d := Design{Name: name, Records: records, Epsilon: 1, Loss: "logistic", Classes: []string{"no", "yes"},
		Columns: []Column{Number("x1", -3, 3), Number("x2", -3, 3), Number("x3", 0, 10), Category("b", "u", "v"),
			Category("c", "u", "v", "w")}}
	if len(intercepts) > 1 {
		d.Loss, d.Classes = "softmax(3)", []string{"no", "maybe", "yes"}
	}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{r.NormFloat64(), 0, 10 * r.Float64(), float64(r.IntN(2)), float64(min(2, int(1.5*r.ExpFloat64())))}
		x[1] = rho*x[0] + math.Sqrt(1-rho*rho)*r.NormFloat64()
		z := .75*x[0] - .4*x[1] + .1*(x[2]-5) + .5*x[3] - .3*x[4]
		margins := []float64{0}
		for m, a := range intercepts {
			margins = append(margins, a+z/float64(m+1))
		}
		y := drawn(r, margins)
		if r.Float64() < missing {
			y = math.NaN()
		}
		return x, y
	}
	return d
}

// drawn draws a class with the given margins.
func drawn(r *rand.Rand, margins []float64) float64 {
	sum := 0.
	for _, v := range margins {
		sum += math.Exp(v)
	}
	u := r.Float64() * sum
	for m, v := range margins {
		if u -= math.Exp(v); u < 0 {
			return float64(m)
		}
	}
	return float64(len(margins) - 1)
}

func init() {
	add(stated("noise, balanced", 10_000, .3, 0, 0))
	add(stated("noise, 40% of the targets missing", 10_000, .3, .4, 0).inShort(2500, 4))
	add(stated("noise, 85% of one class", 10_000, .3, 0, 1.9).inShort(2500, 4))
	weighted := stated("noise, weighted classes", 10_000, .3, 0, -1.2)
	weighted.Weights = map[string]float64{"no": .5, "yes": 1}
	add(weighted)
	add(stated("noise, three classes", 10_000, .3, 0, .3, -.4).inShort(2500, 6))
	correlated := stated("noise, columns correlated .9", 4_000, .9, 0, 0).inShort(2500, 1)
	add(correlated)
}
