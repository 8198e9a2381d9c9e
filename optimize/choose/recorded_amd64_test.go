package choose

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestCandidatesAreWhatTheyWere compares the candidates for problems of all kinds, sizes and goals, in their order, and
// the reason of the first, with testdata/candidates.golden, which go test ./optimize/choose -run
// CandidatesAreWhatTheyWere -update writes. For each candidate that are its forecast, the number by which it is
// ordered, the least eigenvalue that it is predicted to leave, and whether the limit on passes cuts it short. A line
// that came before has the name alone.
func TestCandidatesAreWhatTheyWere(t *testing.T) {
	var got strings.Builder
	seen := map[string]bool{}
	for _, c := range []struct {
		loss, regularizer string
		dim               int
		records           float64
		change            func(*optimize.Problem)
	}{
		{"logistic", "none", 13, 23_000, nil},
		{"logistic", "l2(0.03)", 13, 230_000, nil},
		{"logistic", "none", 13, 300, nil},
		{"logistic", "none", 900, 3_000, nil},
		{"logistic", "none", 13, 23_000, func(p *optimize.Problem) { p.KL.Kappa, p.KL.Gamma = 2, 5 }},
		{"logistic", "none", 13, 23_000, func(p *optimize.Problem) { p.Base = &optimize.Base{Curvature: .1} }},
		{"logistic", "none", 13, 23_000, func(p *optimize.Problem) { p.Scored = true }},
		{"tanh", "none", 13, 23_000, nil},
		{"tanh", "none", 13, 230_000, func(p *optimize.Problem) { p.Products = true }},
		{"tanh", "l2(0.03)", 13, 2_300, nil},
		{"softmax(3)", "none", 13, 23_000, nil},
		{"huber(0.2)", "none", 13, 23_000, nil},
		{"huber(0.2)", "none", 13, 300, nil},
		{"poisson(2)", "none", 13, 23_000, nil},
		{"poisson(2)", "none", 13, 300, nil},
		{"huber(0.2)", "none", 13, 130, nil},
		{"poisson(2)", "none", 13, 130, nil},
		{"logistic", "none", 13, 130, nil},
		{"tanh", "none", 13, 900_000, nil},
		{"hinge", "none", 13, 23_000, nil},
		{"hinge", "none", 13, 900, nil},
		{"ramp", "none", 13, 23_000, nil},
		{"logistic", "none", 3_000, 4_000, func(p *optimize.Problem) { p.Filled = 9 }},
		{"network(7,tanh,logistic)", "none", 13, 23_000, nil},
		{"network(7,relu,logistic)", "none", 13, 23_000, nil},
	} {
		for _, a := range []Auto{{}, {Passes: 1}, {Passes: 2.5}, {Goal: Population}, {Goal: Population, Passes: 3}, {Goal: ExcessRisk}, {Goal: SecondOrder}, {Goal: SecondOrder, Gap: .3}, {Goal: SecondOrder, Gap: .011},
			{Goal: SecondOrder, Gap: .035},
			{Goal: SecondOrder, Gap: .3, Passes: 1}, {Goal: SecondOrder, Gap: .04, Passes: 30}} {
			if a.Gap > 0 && c.loss != "tanh" && c.loss != "ramp" {
				continue // as with no gap
			}
			a.WithoutSamples = a.Passes != 2.5 // the calibration of samples takes longest
			b, err := account.NewBudget(1.7, 3e-6, account.ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			l, err := loss.Parse(c.loss)
			if err != nil {
				t.Fatal(err)
			}
			p, err := optimize.NewProblem(l, b, optimize.Stated(c.dim, c.records))
			if err != nil {
				t.Fatal(err)
			}
			if c.regularizer != "none" {
				if p.Regularizer, err = loss.ParseRegularizer(c.regularizer); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(&p)
			}
			fmt.Fprintf(&got, "=== %s, %s, %d weights, %.0f records, N %.4g, goal %v, gap %v, passes %v\n", c.loss, c.regularizer, p.Dim(),
				c.records, p.Effective(), a.Goal, a.Gap, a.Passes)
			list, err := a.Candidates(context.Background(), p)
			if err != nil {
				fmt.Fprintf(&got, "refused: %v\n", err)
				continue
			}
			fmt.Fprintf(&got, "%s\n", a.Why(list))
			for i, k := range list {
				s := Shown(p, k.Summary)
				line := fmt.Sprintf("  %s: %d steps, %.5g passes, %s %.5g, ranked %.5g", k.Summary.Algorithm, k.Summary.Steps, k.Summary.Passes,
					a.Goal.Describe(), k.Predicted, k.Ranked)
				if a.Goal == SecondOrder {
					line += fmt.Sprintf(", eigenvalue %.5g, cut %v", k.curvature, k.cut)
				}
				line += fmt.Sprintf(", stated %.5g %.5g %.5g %v\n", s.Predicted, s.Excess, s.Population, Foreseen(p))
				if i > 0 && seen[line] {
					line = "  " + k.Summary.Algorithm + "\n"
				}
				seen[line] = true
				got.WriteString(line)
			}
		}
	}
	recordedtest.Compare(t, "testdata/candidates.golden", got.String())
}
