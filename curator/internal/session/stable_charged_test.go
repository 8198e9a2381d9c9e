package session

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPassErrorsAreCharged tests passes far from 0. For these the bound on the float64 errors of
// the steps is a considerable share of the sensitivity. The stated sensitivity must be at least the
// sum of the exact sensitivity, the errors and the grid's rounding, and the stated noise must be at
// most the added noise.
func TestPassErrorsAreCharged(t *testing.T) {
	l := parse(t, "logistic")
	most := 0.
	for _, far := range []float64{1, 1e6, 1e9, 1e10, 1e11, 3e11} {
		const n, d = 100, 30
		start := make([]float64, d)
		start[0] = far
		p := query.Pass{Start: start, Step: 1, Clip: .5}
		clean, dirt := engine.Bound(p, l.Constants(), n).Moved()
		q := stableQuestion(t, 1e-8, query.NewCohort(1, n), p)
		g, err := newStableGrid(q, l.Constants(), n)
		if err != nil {
			continue
		}
		most = max(most, dirt/clean)
		if need := clean + dirt + math.Sqrt(d)/g.scale; !(g.sensitivity >= need && g.sensitivity <= need*(1+1e-12)) {
			t.Errorf("from %v: sensitivity %v: want %v, of which %v is for rounding errors", far, g.sensitivity, need, dirt)
		}
		if noise := math.Ldexp(1, g.bits) / g.scale; !(g.sigma <= noise && g.sigma >= noise*(1-1e-12)) {
			t.Errorf("from %v: sigma %v: want %v", far, g.sigma, noise)
		}
	}
	if most < .001 {
		t.Errorf("errors are at most %v of the sensitivity: the test shows nothing", most)
	}
}

// TestPassIsChargedToItsCohort tests that each pass is charged to its own cohort, in addition to
// the charges of other answers.
func TestPassIsChargedToItsCohort(t *testing.T) {
	const d = 3
	records := randomRecords(rand.New(rand.NewPCG(3, 3)), 40, d)
	s := open(t, records, parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne), nil)
	var cohorts []query.Cohort
	for range 3 {
		c, err := s.Draw(10)
		if err != nil {
			t.Fatal(err)
		}
		cohorts = append(cohorts, c)
	}
	all := s.Ledger().Budget().Charge()
	p := query.Pass{Start: make([]float64, d), Step: 1, Clip: 1}
	for _, c := range cohorts[1:] {
		if _, err := s.Stable(context.Background(), stableQuestion(t, .7*all, c, p)); err != nil {
			t.Fatal(err)
		}
		if left := s.Ledger().Left(c.ID()); !(left > .29*all && left < .31*all) {
			t.Errorf("cohort %d: %v of %v left after a pass for .7 of it", c.ID(), left, all)
		}
		if _, err := s.Ask(context.Background(), question(t, .4*all, query.GradientAt(c, p.Start, 1))); err == nil {
			t.Errorf("cohort %d: a question for .4 of the budget was answered after a pass for .7", c.ID())
		}
	}
	if left := s.Ledger().Left(cohorts[0].ID()); left != all {
		t.Errorf("a cohort of which nothing was asked has %v of %v left", left, all)
	}
}
