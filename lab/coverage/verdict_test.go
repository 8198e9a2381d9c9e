package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestVerdictsLong prints the verdicts of fits of amounts with many zeros against the constant, by hand: -long.fits. A
// table has an effect, or none. A verdict is right if it is "better" where the published model's Tweedie deviance on a
// fresh sample is below the constant's, and not "better" elsewhere.
func TestVerdictsLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	fmt.Println("| table | loss | epsilon | fits | better | unclear | worse | better and wrong | deviance less the constant's, mean |\n" +
		"|---|---|---|---|---|---|---|---|---|")
	for _, d := range []struct {
		name          string
		x, g          float64 // effects of a number and of a group of 10%
		zeros, spread float64 // the share of zeros, and the deviation of the logarithm of an amount
	}{
		{"effects, half zeros", .6, .5, .48, .7},
		{"effects, 80% zeros, heavy tail", .8, .7, .8, 1.2},
		{"no effect, 80% zeros, heavy tail", 0, 0, .8, 1.2},
	} {
		draw := func(r *rand.Rand, n int) []testedRow {
			rows := make([]testedRow, n)
			for i := range rows {
				rows[i].x = 2*r.Float64() - 1
				if r.Float64() < .1 {
					rows[i].g = 1
				}
				if r.Float64() > d.zeros {
					mean := 30 * math.Exp(d.x*rows[i].x+d.g*float64(rows[i].g))
					rows[i].y = min(mean*math.Exp(d.spread*r.NormFloat64()-d.spread*d.spread/2), 100_000)
				}
			}
			return rows
		}
		fresh := draw(rand.New(rand.NewPCG(9, 9)), 200_000)
		for _, name := range []string{"tweedie(1.5,50,10,100000)"} {
			l, err := loss.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, epsilon := range []float64{.5, 1, 2} {
				verdicts, wrong, gain := map[string]int{}, 0, 0.
				for i := range *longFits {
					schema, err := dataset.New(dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 100_000},
						Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, Low: -1, High: 1},
							{Name: "g", Kind: dataset.Category, Categories: []string{"0", "1"}}}})
					if err != nil {
						t.Fatal(err)
					}
					rows := draw(rand.New(rand.NewPCG(uint64(i), 0x7BED)), 20_000)
					fit, err := stillpoint.Fit(t.Context(), stillpoint.Spec{Table: stillpoint.Rows(rows,
						stillpoint.Number("x", func(r testedRow) float64 { return r.x }),
						stillpoint.Text("g", func(r testedRow) string { return fmt.Sprint(r.g) }),
						stillpoint.Number("y", func(r testedRow) float64 { return r.y })), Schema: schema, Loss: l, Family: "lines", Anyway: true,
						Budget: stillpoint.Budget{Epsilon: epsilon, Delta: 1e-6, Relation: account.ReplaceOne}})
					if err != nil {
						t.Fatal(err)
					}
					verdict := map[byte]string{'b': "better", 'W': "worse"}[(fit.Verdict + "?")[0]]
					verdicts[verdict]++
					less := deviances(fit, fresh)
					gain += less / float64(*longFits)
					if verdict == "better" && less >= 0 {
						wrong++
					}
				}
				fmt.Printf("| %s | %s | %v | %d | %d | %d | %d | %d | %.3f |\n", d.name, name, epsilon, *longFits, verdicts["better"],
					verdicts[""], verdicts["worse"], wrong, gain)
			}
		}
	}
}

// deviances returns the mean Tweedie deviance of a model on rows, without the cap, less that of their mean.
func deviances(fit *stillpoint.Result, rows []testedRow) (less float64) {
	m, mean := fit.Model, 0.
	for _, r := range rows {
		mean += r.y / float64(len(rows))
	}
	of := m.Loss().(interface{ Deviance(v, mean float64) float64 })
	to, err := m.Schema().Bind([]string{"x", "g", "y"})
	if err != nil {
		return math.NaN()
	}
	x, w := make([]float32, m.Schema().Dim()), m.Weights()
	for _, r := range rows {
		to.Encode(x, []string{fmt.Sprint(r.x), fmt.Sprint(r.g), "0"})
		z := 0.
		for j, v := range x {
			z += float64(v) * w[j]
		}
		less += (of.Deviance(r.y, 100_000*math.Exp(z)) - of.Deviance(r.y, mean)) / float64(len(rows))
	}
	return less
}
