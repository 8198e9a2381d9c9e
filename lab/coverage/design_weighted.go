package coverage

import (
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
}
