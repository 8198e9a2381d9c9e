package coverage

import (
	"fmt"
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

func init() {
	add(unbalanced("logistic", -2.4, .07, 0, 1))
	add(unbalanced("logistic", -2.4, .07, 0, 4))
	add(unbalanced("logistic", -2.5, .1, .3, 1))
	add(unbalanced("logistic", -1, .1, .3, 1))
	add(unbalanced("logistic", 0, .1, .3, 1))
	add(unbalanced("logistic", 2, .07, 0, 1))
}
