package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// fresh is a population of designs that had no part in any rule: numbers of which neighbours have the correlation rho and
// effects of alternating sign, categories with a level in a share of the rows each, and an outcome with the given intercept.
// The categories stand before the numbers if first is set.
func fresh(name string, numbers int, rho float64, shares []float64, intercept float64, first bool) Design {
	d := Design{Name: "fresh, " + name, Records: 20_000, Epsilon: 1, Loss: "logistic", Classes: []string{"no", "yes"},
		Intervals: true, Truth: map[string]float64{}}
	var numeric, levels []Column
	for i := range numbers {
		n := fmt.Sprintf("n%d", i+1)
		numeric = append(numeric, Number(n, -4, 4))
		d.Truth[n] = effect(i)
	}
	for i := range shares {
		n := fmt.Sprintf("k%d", i+1)
		levels = append(levels, Category(n, "u", "v"))
		d.Truth[n+"=v"] = -1.6 * effect(i)
	}
	d.Columns = append(numeric, levels...)
	if first {
		d.Columns = append(levels, numeric...)
	}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		var x, k []float64
		z, last := intercept, r.NormFloat64()
		for i := range numbers {
			if i > 0 {
				last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
			}
			last := min(max(last, -4), 4)
			x, z = append(x, last), z+effect(i)*last
		}
		for i, share := range shares {
			v := 0.
			if r.Float64() < share {
				v = 1
			}
			k, z = append(k, v), z-1.6*effect(i)*v
		}
		y := bernoulli(r, z)
		if first {
			return append(k, x...), y
		}
		return append(x, k...), y
	}
	return d
}

// effect is the effect of number i of a fresh design.
func effect(i int) float64 { return []float64{.6, -.4, .2, -.5, .3}[i%5] }

func init() {
	strong := rare("fresh, 3% positive, strong", []float64{.1, .3}, 2.5, -5, true)
	for _, d := range []Design{
		strong,
		fresh("eight numbers of correlation .6", 8, .6, nil, 0, false),
		fresh("numbers of correlation -.7 and rare levels", 3, -.7, []float64{.01, .04, .15, .5}, .3, true),
		fresh("3% positive", 3, .4, []float64{.1, .3}, -3.8, false),
		fresh("90% positive, rare levels", 2, .3, []float64{.01, .02, .05, .1}, 2.4, true),
		fresh("two numbers of correlation .95", 2, .95, []float64{.1, .5}, 0, false),
	} {
		add(d)
	}
}
