package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

func init() {
	byOutcome := func(_ *rand.Rand, x []float64, y float64) float64 { return math.Pow(3, 1-y*(1+x[0])/2) }
	columns := []Column{Number("x", -1, 1), Category("c", "a", "b")}
	for name, d := range map[string]Design{
		"noise, survey weights": {Records: 8000, Epsilon: 1, Loss: "logistic", Classes: []string{"0", "1"}, Draw: survey(3, ill, byOutcome)},
		"noise, survey weights, numbers": {Records: 8000, Epsilon: 1, Loss: "squared(1)", Most: 10,
			Draw: survey(3, spent, func(_ *rand.Rand, x []float64, _ float64) float64 { return math.Pow(3, (1-x[0])/2) })},
	} {
		d.Name, d.Surveyed, d.Columns, d.Tables = name, true, columns, true
		add(d)
		d.Name, d.Records, d.Epsilon = name+", epsilon 4", 4000, 4
		add(d.inShort(4000, 4))
	}
	// Designs by which the clip of weighted rows was chosen (chance) and confirmed (group, outcome).
	byChance := func(most float64) func(*rand.Rand, []float64, float64) float64 {
		return func(r *rand.Rand, _ []float64, _ float64) float64 { return math.Pow(most, r.Float64()) }
	}
	byGroup := func(most float64) func(*rand.Rand, []float64, float64) float64 {
		return func(_ *rand.Rand, x []float64, _ float64) float64 { return 1 + (most-1)*(1-x[1]) }
	}
	byBoth := func(most float64) func(*rand.Rand, []float64, float64) float64 {
		return func(_ *rand.Rand, x []float64, y float64) float64 { return math.Pow(most, 1-y*(1+x[0])/2) }
	}
	for _, most := range []float64{3, 10} {
		for _, epsilon := range []float64{1, 4} {
			for by, weight := range map[string]func(*rand.Rand, []float64, float64) float64{
				"chance": byChance(most), "a group": byGroup(most), "outcome": byBoth(most)} {
				add(Design{Name: fmt.Sprintf("noise, weights to %v by %s, epsilon %v", most, by, epsilon), Records: 12_000,
					Epsilon: epsilon, Loss: "logistic", Classes: []string{"0", "1"}, Draw: survey(most, bent, weight),
					Surveyed: true, Columns: columns, Tables: true})
			}
		}
	}
}
