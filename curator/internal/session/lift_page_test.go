package session

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestLiftedRoundingIsThePages tests by how much rounding increases the sensitivity of a query whose
// sum is multiplied by a metric's matrix. It compares the increase with
// docs/explanation/exactness.md. The increase is twice the norm of half a step in each coordinate of
// every margin, plus a step for errors of products, both times the metric's norm. The test fails if
// margins or products are left out. No search for bad records comes near enough to these terms to
// show that they are needed.
func TestLiftedRoundingIsThePages(t *testing.T) {
	const clip = .25
	all := query.NewCohort(account.Everyone, 1)
	for _, d := range []int{1, 5, 30} {
		p := make([]float64, d*d)
		for j := range d {
			p[j*d+j] = 1 + float64(j)
		}
		m, err := query.NewMetric(d, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, margins := range []int{1, 2, 7} {
			for relation, moves := range map[account.Relation]float64{account.ReplaceOne: 2, account.AddOrRemove: 1} {
				q := question(t, 1e-3, query.GradientInMetric(all, make([]float64, margins*d), clip, 1, m))
				g, err := newGrid(q, relation, 0x1p33)
				if err != nil {
					t.Fatal(err)
				}
				got := (g.sensitivity - moves*clip*(1+slack(margins*d))) * g.scale
				// The difference errs by a few roundings of the sensitivity.
				want := (math.Sqrt(float64(margins*d)) + 1) * m.Norm()
				if excess := got - want; !(excess >= -1 && excess <= 1+g.sensitivity*g.scale*0x1p-48) {
					t.Errorf("%d margins of %d features, %v: rounding is charged %v steps: want %v", margins, d, relation, got, want)
				}
			}
		}
	}
}
