package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// sparse is a population of two classes without intervals: two numbers of correlation rho, and a category whose levels from
// the second on have the given shares of the rows and effects.
func sparse(name string, rho, intercept float64, shares, effects []float64) Design {
	c := Column{Name: "c", Levels: []string{"most"}}
	for i := range shares {
		c.Levels = append(c.Levels, fmt.Sprintf("l%d", i+1))
	}
	return Design{Name: name, Loss: "logistic", Classes: []string{"no", "yes"},
		Columns: []Column{Number("x1", -3, 3), Number("x2", -4, 4), c},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{min(max(r.NormFloat64(), -3), 3), 0, 0}
			x[1] = rho*x[0] + math.Sqrt(1-rho*rho)*r.NormFloat64()
			z, at := intercept+.7*x[0]-.4*x[1], r.Float64()
			for i, share := range shares {
				if at -= share; at < 0 {
					x[2], z = float64(i+1), z+effects[i]
					break
				}
			}
			return x, bernoulli(r, z)
		}}
}

func init() {
	// The rule for many numbers with a number as the target was chosen on these and on those of design_wide.go.
	for _, d := range []Design{
		factored("fresh, 30 numbers in pairs of correlation .85", 12_000, 30, 2, .85, .1, 1.5, .3),
		measured(factored("fresh, 28 numbers in groups of four, .8 in a group, Huber", 25_000, 28, 4, .8, .1, 1, 0), "huber(0.1)"),
		measured(factored("fresh, 21 numbers in pairs of correlation .9, Huber", 15_000, 21, 2, .9, 0, 1, 0), "huber(0.3)"),
		measured(factored("fresh, 26 numbers in pairs of correlation .9, squares", 20_000, 26, 2, .9, 0, 1, 0), "squared(1)"),
	} {
		confirms(d, 1, 4)
	}
	// These had no part in them.
	for _, d := range []Design{
		measured(factored("unseen, 23 numbers in groups of six, .7 in a group, Huber", 20_000, 23, 6, .7, .1, 1, 0), "huber(0.2)"),
		measured(factored("unseen, 32 numbers in pairs of correlation .93, squares", 20_000, 32, 2, .93, 0, 1, 0), "squared(1)"),
		measured(factored("unseen, 30 numbers in groups of three, .85 in a group, 5,000 rows, Huber", 5_000, 30, 3, .85, 0, 1, 0), "huber(0.3)"),
		measured(many("unseen, 26 numbers, neighbours correlated .9, Huber", 20_000, 26, .9, 0), "huber(0.1)"),
		measured(factored("unseen, 22 numbers of one factor, correlation .5, 5,000 rows, squares", 5_000, 22, 22, .5, 0, 1, 0), "squared(1)"),
	} {
		confirms(d, 1, 4)
	}
	for _, records := range []int{5_000, 20_000} {
		for _, d := range []Design{
			sparse("a level of 2%, 12% positive", .3, -2.2, []float64{.02, .2}, []float64{.8, -.6}),
			sparse("levels of 1% and 3%, balanced", .3, 0, []float64{.01, .03, .3}, []float64{1.5, -1.5, .3}),
			sparse("levels of 3%, 85% positive", 0, 1.9, []float64{.03, .03}, []float64{-1.5, .7}),
			sparse("a common rare outcome at a level of 3%", -.5, -1.2, []float64{.03, .1, .3}, []float64{2, -1, .5}),
		} {
			d.Name, d.Records = fmt.Sprintf("unseen, %s, %d rows", d.Name, records), records
			confirms(d, 1, 4)
		}
	}
}
