package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// factored is a population with many numbers that share a factor in groups: two numbers of a group have the correlation rho,
// two of different groups the correlation across. Effects are drawn once and add to a margin of deviation about spread.
func factored(name string, records, numbers, group int, rho, across, spread, intercept float64) Design {
	d := Design{Name: name, Records: records, Loss: "logistic", Classes: []string{"no", "yes"}}
	once := rand.New(rand.NewPCG(7, uint64(numbers)))
	var effects []float64
	for i := range numbers {
		d.Columns = append(d.Columns, Number(fmt.Sprintf("n%d", i+1), -4, 4))
		effects = append(effects, spread*once.NormFloat64()/math.Sqrt(float64(numbers)))
	}
	d.Columns = append(d.Columns, Category("k", "u", "v", "w"))
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		var x []float64
		z, all, own := intercept, r.NormFloat64(), 0.
		for i := range numbers {
			if i%group == 0 {
				own = r.NormFloat64()
			}
			v := math.Sqrt(across)*all + math.Sqrt(rho-across)*own + math.Sqrt(1-rho)*r.NormFloat64()
			x, z = append(x, v), z+effects[i]*min(max(v, -4), 4)
		}
		k := 0.
		if u := r.Float64(); u < .1 {
			k = 1
		} else if u < .4 {
			k = 2
		}
		return append(x, k), bernoulli(r, z+.4*k)
	}
	return d
}

// measured is a population of numbers with a number as its target: the score of a population of classes plus an error.
func measured(d Design, loss string) Design {
	d.Loss, d.Classes, d.Most = loss, nil, 10
	draw := d.Draw
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x, _ := draw(r)
		y := 5 + .7*r.NormFloat64()
		for i, v := range x {
			y += .3 * effect(i) * v
		}
		return x, min(max(y, 0), 10)
	}
	return d
}

func init() {
	for _, d := range []Design{
		factored("wide, 24 numbers in groups of four, .85 in a group", 20_000, 24, 4, .85, .1, 1.5, 0),
		factored("wide, 30 numbers of one factor, correlation .6", 20_000, 30, 30, .6, 0, 2, -1),
		factored("wide, 25 numbers in pairs of correlation .95", 50_000, 25, 2, .95, .2, 1.5, 0),
		factored("wide, 35 numbers in groups of seven, .7, 10% positive", 40_000, 35, 7, .7, .3, 1, -2.6),
		factored("wide, 22 numbers in groups of three, .8, 5,000 rows", 5_000, 22, 3, .8, 0, 1.5, .5),
		many("wide, 28 numbers, neighbours correlated .9", 30_000, 28, .9, .5),
		many("wide, 16 numbers, neighbours correlated .8", 20_000, 16, .8, 0),
		many("wide, 12 numbers, neighbours correlated .9", 20_000, 12, .9, 0),
		measured(many("wide, 24 numbers, neighbours correlated .8, squares", 20_000, 24, .8, 0), "squared(1)"),
		measured(many("wide, 24 numbers, neighbours correlated .8, Huber", 20_000, 24, .8, 0), "huber(0.2)"),
	} {
		confirms(d, .3, 1, 4)
	}
	for _, d := range []Design{ // without part in any choice
		factored("apart, 26 numbers in groups of five, .75 in a group", 25_000, 26, 5, .75, .2, 1.2, .8),
		factored("apart, 22 numbers of one factor, correlation .8", 30_000, 22, 22, .8, 0, 1.5, 0),
		factored("apart, 36 numbers in pairs of correlation .9", 30_000, 36, 2, .9, 0, 2, -.5),
		many("apart, 32 numbers, neighbours correlated .6", 20_000, 32, .6, .5),
		measured(many("apart, 30 numbers, neighbours correlated .7, squares", 25_000, 30, .7, 0), "squared(1)"),
	} {
		confirms(d, 1, 4)
	}
}
