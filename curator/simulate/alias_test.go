package simulate_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestWritingIntoSlicesChangesNothing makes the same queries in two sessions with the same random
// bits. For the second, the test writes into the rows it was made of, into every answer and into
// every exchange. Answers, events and exchanges must be equal to the bit.
func TestWritingIntoSlicesChangesNothing(t *testing.T) {
	run := func(spoil func(...[]float64), spoilExchange func([]simulate.Exchange)) (answers [][]float64,
		events []account.Event, list []simulate.Exchange) {
		rows, targets := table(60, 4)
		c := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, "logistic"), Budget: budget(t, account.ReplaceOne),
			Seed: 5}
		s := record(t, c)
		spoil(targets)
		for _, x := range rows {
			for j := range x {
				x[j] = float32(spoiled(spoil, float64(x[j])))
			}
		}
		keep := func(r query.Release, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, slices.Clone(r.Mean))
			spoil(r.Mean)
			spoilExchange(s.Exchanges())
		}
		ctx := context.Background()
		for _, m := range []query.Factorization{query.Tree, query.Toeplitz} {
			p, err := s.OpenPrefix(query.Prefix{Factorization: m, Items: 4, Sensitivity: 1, Charge: 1e-4})
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				cohort, err := s.Draw(5)
				if err != nil {
					t.Fatal(err)
				}
				w, prev := []float64{1, 2, 3, 4}, make([]float64, 4)
				terms := []query.Term{query.GradientAt(cohort, w, 1), query.DifferenceByCurvature(cohort, w, prev, 0, .25)}
				spoil(w, prev)
				keep(p.Add(ctx, terms...))
			}
		}
		for range 2 {
			cohort, err := s.Draw(9)
			if err != nil {
				t.Fatal(err)
			}
			pass := query.Pass{Start: make([]float64, 4), Step: 1, Clip: 1, Radius: 1, Lambda: .1, Linear: []float64{1, 0, 0, 0},
				Centre: []float64{0, 0, 1, 0}}
			q, err := query.NewStable(1e-4, cohort, pass)
			if err != nil {
				t.Fatal(err)
			}
			spoil(pass.Start, pass.Linear, pass.Centre)
			keep(s.Stable(ctx, q))
			shift := []float64{1, 1, 1, 1}
			ask := question(t, 1e-4, []query.Term{query.NormAt(s.All(), shift, 1, shift)})
			spoil(shift)
			for range 2 {
				keep(s.Ask(ctx, ask))
			}
		}
		return answers, s.Ledger().Events(), s.Exchanges()
	}
	leave := func(...[]float64) {}
	write := func(list ...[]float64) {
		for _, v := range list {
			for j := range v[:cap(v)] {
				v[:cap(v)][j] = math.NaN()
			}
		}
	}
	a, events, seen := run(leave, func([]simulate.Exchange) {})
	b, eventsToo, seenToo := run(write, func(list []simulate.Exchange) {
		for _, e := range list {
			clear(e.Exact)
			clear(e.Scores)
			clear(e.Noisy)
			clear(e.Members)
			clear(e.Released.(query.Release).Mean)
		}
		clear(list)
	})
	if !slices.Equal(events, eventsToo) {
		t.Error("writing into slices changed the events")
	}
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			t.Errorf("answer %d: %v, want %v", i, b[i], a[i])
		}
		x, y := seen[i], seenToo[i]
		if !slices.Equal(x.Exact, y.Exact) || !slices.Equal(x.Scores, y.Scores) || !slices.Equal(x.Noisy, y.Noisy) ||
			!slices.Equal(x.Members, y.Members) ||
			!slices.Equal(x.Released.(query.Release).Mean, y.Released.(query.Release).Mean) {
			t.Errorf("exchange %d: %+v, want %+v", i, y, x)
		}
	}
}

func spoiled(spoil func(...[]float64), v float64) float64 {
	one := []float64{v}
	spoil(one)
	return one[0]
}
