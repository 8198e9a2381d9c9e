package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// survey draws persons of a population until one is in the sample: a person is sampled with the probability 1/w of a
// weight w from 1 to most, and the row's last number is w/most. The weighted sample stands for the population, so the
// estimand is the population's coefficient.
func survey(most float64, population func(r *rand.Rand) (x []float64, y float64), weight func(r *rand.Rand, x []float64, y float64) float64,
) func(r *rand.Rand) ([]float64, float64) {
	return func(r *rand.Rand) ([]float64, float64) {
		for {
			x, y := population(r)
			if w := min(max(weight(r, x, y), 1), most); r.Float64() < 1/w {
				return append(x, w/most), y
			}
		}
	}
}

// ill is a population of two classes by a number and a group of 15%, and spent one of numbers with unequal errors.
func ill(r *rand.Rand) ([]float64, float64) {
	x := []float64{2*r.Float64() - 1, 0}
	if r.Float64() < .15 {
		x[1] = 1
	}
	if r.Float64() < 1/(1+math.Exp(.4-.8*x[0]-.6*x[1])) {
		return x, 1
	}
	return x, 0
}

func spent(r *rand.Rand) ([]float64, float64) {
	x := []float64{2*r.Float64() - 1, 0}
	if r.Float64() < .15 {
		x[1] = 1
	}
	return x, 5 + .8*x[0] - x[1] + (.6+.4*math.Abs(x[0]))*r.NormFloat64()
}

// bent is a population whose log-odds bend, so that a line fits another slope to each part of it.
func bent(r *rand.Rand) ([]float64, float64) {
	x := []float64{2*r.Float64() - 1, 0}
	if r.Float64() < .15 {
		x[1] = 1
	}
	if r.Float64() < 1/(1+math.Exp(.4-2*x[0]*math.Abs(x[0])-x[0]*x[0]-.6*x[1])) {
		return x, 1
	}
	return x, 0
}

func init() {
	byChance := func(most float64) func(r *rand.Rand, x []float64, y float64) float64 {
		return func(r *rand.Rand, _ []float64, _ float64) float64 { return math.Pow(most, r.Float64()) }
	}
	byGroup := func(most float64) func(r *rand.Rand, x []float64, y float64) float64 {
		return func(_ *rand.Rand, x []float64, _ float64) float64 { return 1 + (most-1)*(1-x[1]) }
	}
	// Who is ill and has a large x is in the sample most often: without weights the slope would be wrong.
	byOutcome := func(most float64) func(r *rand.Rand, x []float64, y float64) float64 {
		return func(_ *rand.Rand, x []float64, y float64) float64 { return math.Pow(most, 1-y*(1+x[0])/2) }
	}
	byAmount := func(most float64) func(r *rand.Rand, x []float64, y float64) float64 {
		return func(_ *rand.Rand, _ []float64, y float64) float64 { return math.Pow(most, 1-min(max(y/10, 0), 1)) }
	}
	byNumber := func(most float64) func(r *rand.Rand, x []float64, y float64) float64 {
		return func(_ *rand.Rand, x []float64, _ float64) float64 { return math.Pow(most, (1-x[0])/2) }
	}
	columns := []Column{Number("x", -1, 1), Category("c", "a", "b")}
	truth := map[string]float64{"x": .8, "c=b": .6}
	for _, most := range []float64{3, 20} {
		named := func(by string) string { return fmt.Sprintf("survey weights to %v by %s", most, by) }
		classes := func(by string, draw func(r *rand.Rand) ([]float64, float64), truth map[string]float64) Design {
			return Design{Name: named(by), Records: 20_000, Epsilon: 2, Loss: "logistic", Classes: []string{"0", "1"}, Surveyed: true,
				Intervals: true, Columns: columns, Truth: truth, Draw: draw}
		}
		add(classes("chance", survey(most, ill, byChance(most)), truth))
		add(classes("a group", survey(most, ill, byGroup(most)), truth))
		byBoth := classes("outcome and number", survey(most, ill, byOutcome(most)), truth)
		if most == 3 {
			byBoth = byBoth.inShort(6000, 6)
		}
		add(byBoth)
		add(classes("a number, bent", survey(most, bent, byNumber(most)), nil))
		add(Design{Name: named("amount, numbers"), Records: 20_000, Epsilon: 2, Loss: "squared(1)", Most: 10, Surveyed: true,
			Intervals: true, Columns: columns, Truth: map[string]float64{"x": .8, "c=b": -1}, Draw: survey(most, spent, byAmount(most))})
		for _, d := range []Design{
			skewed(named("chance, costs"), "gamma(5,1e-06)", 1, 1e6, 7, func(r *rand.Rand, mean float64) float64 { return gammaOf(r, .7, mean) }),
			skewed(named("chance, counts"), "negbinomial(1.5,5,1000)", 0, 1000, 1, visits),
		} {
			d.Surveyed, d.Epsilon, d.Draw = true, 6, survey(most, d.Draw, byChance(most))
			add(d)
		}
	}
}
