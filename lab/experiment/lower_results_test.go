//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestLowerBounds prints, for the instances of lower bounds, the order of the paper with a constant of 1, the bound with
// its constant, and what algorithms reach. It fails where a measured error is below a bound with its constant.
func TestLowerBounds(t *testing.T) {
	budget := func(epsilon float64, n int) account.Budget {
		b, err := account.NewBudget(epsilon, math.Pow(float64(n), -1.5), account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	above := func(name string, measured, bound float64) {
		if measured < bound {
			t.Errorf("%s: %v is below the bound %v", name, measured, bound)
		}
	}
	t.Run("Errors", func(t *testing.T) { lowerErrors(t, budget, above) })
	t.Run("Codes", func(t *testing.T) { lowerCodes(t, budget, above) })
	t.Run("Tables", func(t *testing.T) { lowerTables(t, budget, above) })
}

const lowerDim = 100

// lowered are the algorithms of the tables of excess risks.
var lowered = []train.Train{{Algorithm: "gd"}, {Algorithm: "storm"}, {Algorithm: "kl-geometric"}}

type budgetOf = func(epsilon float64, n int) account.Budget

type atLeast = func(name string, measured, bound float64)

func lowerErrors(t *testing.T, budget budgetOf, above atLeast) {
	const d = lowerDim
	fmt.Println("\n## Errors of released gradients and differences")
	fmt.Println("\n| n | codes | order | bound: gradient | measured | bound: difference | measured |\n|---|---|---|---|---|---|---|")
	for _, n := range []int{1000, 10_000, 100_000} {
		b := budget(1, n)
		codes, whole := experiment.BestCodes(d/2, n, b.Mu())
		bound := whole / math.Sqrt(d) // rows are corners over sqrt(d)
		var first, second float64
		const draws = 20
		for seed := range uint64(draws) {
			f := &experiment.Family{Name: "lemma4", Sample: experiment.Codes(d, n, codes, seed), Loss: experiment.Lemma4{}}
			w, v := make([]float64, d), make([]float64, d)
			for j := range v {
				v[j] = 1 / math.Sqrt(d) * float64(2*(j%2)-1)
			}
			at := func(w []float64) []float64 {
				g, err := stationarity.Gradient(f.Loss, nil, f.Sample, w)
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			for k, term := range []func(c query.Cohort) query.Term{
				func(c query.Cohort) query.Term { return query.GradientAt(c, w, 1) },
				func(c query.Cohort) query.Term { return query.DifferenceWithin(c, v, w, 1) },
			} {
				o, err := f.Session(b, seed)
				if err != nil {
					t.Fatal(err)
				}
				q, err := query.New(b.Mu()*b.Mu()*(1-1e-9), term(o.All()))
				if err != nil {
					t.Fatal(err)
				}
				a, err := o.Ask(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				exact, low, high := at(w), 0, d/2
				if k == 1 {
					for j, x := range at(v) {
						exact[j] = x - exact[j]
					}
					low, high = d/2, d
				}
				var square float64
				for j := low; j < high; j++ {
					square += (a.Mean[j] - exact[j]) * (a.Mean[j] - exact[j]) / draws
				}
				if k == 0 {
					first += square
				} else {
					second += square
				}
			}
		}
		// The difference of gradients is u_j sqrt(d) x_j on the second half, and w - v has length 1.
		variation := whole / math.Sqrt(d)
		order := math.Sqrt(d*math.Log(1/b.Delta())) / float64(n)
		fmt.Printf("| %d | %d | %.2g | %.2g | %.2g | %.2g | %.2g |\n", n, codes, order, bound, math.Sqrt(first), variation,
			math.Sqrt(second))
		above("a gradient", math.Sqrt(first), bound)
		above("a difference", math.Sqrt(second), variation)
	}
}

// lowerRun returns the excess risk of a run.
func lowerRun(t *testing.T, f *experiment.Family, b account.Budget, s train.Train, seed uint64) float64 {
	instance := experiment.Instance{Family: f, Repeat: 1, Budget: b}
	p, err := instance.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p.KL = optimize.KL{}
	plan, _, err := s.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	o, err := instance.Run(context.Background(), plan, seed)
	if err != nil {
		t.Fatal(err)
	}
	return *o.Excess
}

// lowerStart returns the excess risk at 0.
func lowerStart(t *testing.T, f *experiment.Family) float64 {
	v, err := stationarity.Objective(f.Loss, nil, f.Sample, make([]float64, f.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	return v - *f.Minimum
}

func lowerCodes(t *testing.T, budget budgetOf, above atLeast) {
	const d = lowerDim
	algorithms := lowered
	fmt.Println("\n## Excess risks on codes")
	fmt.Println("\n| theorem | n | codes | order | bound | at the start | gd | storm | kl-geometric |\n|---|---|---|---|---|---|---|---|---|")
	for _, theorem := range []string{"7", "6, growth 2", "6, growth 4"} {
		for _, n := range []int{500, 2000} {
			b := budget(1, n)
			codes, _ := experiment.BestCodes(d, n, b.Mu())
			G := float64(codes) / float64(n)
			l := experiment.Growth{Tau: 2, Weight: 1, Cap: 1}
			order := math.Sqrt(d) / float64(n)
			switch theorem {
			case "7":
				l.Weight, l.Cap = G, 4*G
			case "6, growth 2":
				order *= order / 2
			case "6, growth 4":
				l.Tau, order = 4, math.Pow(order, 4./3)/math.Cbrt(4)
			}
			q := l.Tau / (l.Tau - 1)
			l.Gap = math.Pow(l.Weight, -1/(l.Tau-1)) * math.Pow(G, q) / q
			const draws = 6
			reached, begun := make([]float64, len(algorithms)), 0.
			for seed := range uint64(draws) {
				f := l.Family(d, n, codes, seed)
				begun += lowerStart(t, f) / draws
				for k, a := range algorithms {
					reached[k] += lowerRun(t, f, b, a, seed) / draws
				}
			}
			bound := l.Bound(d, n, codes, b.Mu())
			fmt.Printf("| %s | %d | %d | %.2g | %.2g | %.2g | %.2g | %.2g | %.2g |\n", theorem, n, codes, order, bound, begun, reached[0],
				reached[1], reached[2])
			for k, x := range append(reached, begun) {
				above(fmt.Sprint(theorem, " ", k), x, bound)
			}
		}
	}
}

func lowerTables(t *testing.T, budget budgetOf, above atLeast) {
	algorithms := lowered
	fmt.Println("\n## Excess risks on two tables")
	fmt.Println("\n| kappa | n | bound | at the start | gd | storm | kl-geometric |\n|---|---|---|---|---|---|---|")
	for _, kappa := range []float64{2, 3, 4} {
		for _, n := range []int{100, 400} {
			b := budget(.5, n)
			l := experiment.TwoTables{Kappa: kappa, Records: float64(n), Epsilon: .5}
			const draws = 10
			reached, begun := make([]float64, len(algorithms)), 0.
			for k, a := range algorithms {
				for _, sign := range []float64{-1, 1} {
					var sum float64
					for seed := range uint64(draws) {
						sum += lowerRun(t, l.Family(sign), b, a, seed) / draws
					}
					reached[k], begun = max(reached[k], sum), max(begun, lowerStart(t, l.Family(sign)))
				}
			}
			fmt.Printf("| %v | %d | %.2g | %.2g | %.2g | %.2g | %.2g |\n", kappa, n, l.Bound(), begun, reached[0], reached[1], reached[2])
			for k, x := range append(reached, begun) {
				above(fmt.Sprint("kappa ", kappa, " ", k), x, l.Bound())
			}
		}
	}
}
