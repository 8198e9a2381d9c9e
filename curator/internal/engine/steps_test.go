package engine_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// overflowing returns queries of every kind with centre zero. The weight of their terms is so large
// that a nonzero contribution is infinite in steps of 2^-1023.
func overflowing(t *testing.T, l loss.Loss, dim int) map[string]query.Question {
	t.Helper()
	p := loss.Parameters(l, dim)
	w, prev := make([]float64, p), make([]float64, p)
	for j := range w {
		w[j], prev[j] = 1+.25*float64(j), .5-.125*float64(j)
	}
	entries := make([]float64, dim*dim)
	for j := range dim {
		entries[j*dim+j] = 1
	}
	m, err := query.NewMetric(dim, entries)
	if err != nil {
		t.Fatal(err)
	}
	on := query.NewCohort(0, 10)
	all := map[string]query.Question{}
	for name, term := range map[string]query.Term{
		"gradient":           query.GradientAt(on, w, 1),
		"norm":               query.NormAt(on, w, 1, nil),
		"difference":         query.DifferenceWithin(on, w, prev, 1),
		"by curvature":       query.DifferenceByCurvature(on, w, prev, -1, 1),
		"value":              query.ValueAt(on, w, 0, 1),
		"product":            query.ProductAt(on, w, prev, -1, 1),
		"product change":     query.ProductChangeAt(on, w, prev, prev, -1, 1, math.Inf(1)),
		"along":              query.CurvatureAlongAt(on, w, prev, -1, 1),
		"second moment":      query.SecondMomentOf(on, dim),
		"mean row":           query.RowMeanOf(on, dim),
		"squared features":   query.SquaredFeaturesOf(on, dim),
		"distance":           query.SquaredDistanceFrom(on, w[:dim], 1),
		"centred moment":     query.CentredMomentOf(on, w[:dim], .3),
		"curvature":          query.CurvatureAt(on, w, 1),
		"in a metric":        query.GradientInMetric(on, w, 1, 1, m),
		"weighted gradient":  query.WeightedGradientAt(on, w, 1, 1, m),
		"weighted curvature": query.WeightedCurvatureAt(on, w, 1, 1, m),
		"scores":             query.ScoreMomentAt(on, w, 1, 1, m),
		"weighted moment":    query.WeightedMomentOf(on, 1, m),
		"smoothed":           query.GradientAt(on, w, 1).Smoothed(query.Smoothing{Radius: .5}),
		"sampled": query.GradientAt(on, w, 1).Smoothed(
			query.Smoothing{Radius: .5, By: query.Values, Directions: 3, Seed: 1}),
	} {
		q, err := query.New(1, term.Weighted(0x1p190))
		if err == nil && engine.Answers(l, q) == nil {
			all[name] = q
		}
	}
	return all
}

// TestNotFiniteInSteps tests, in every query, that a record with a coefficient that is not finite in
// grid steps is treated as faulty: it adds nothing, and no number beyond the limit of engine.Round is
// rounded.
func TestNotFiniteInSteps(t *testing.T) {
	enginetest.Rounds(t)
	const dim = 4
	asked := map[string]bool{}
	for _, name := range []string{
		"tanh", "softmax(3)", "slow-tail", "network(3,tanh,huber(0.5))", "capped-absolute(0.5)", "squared(1)",
	} {
		l, err := testloss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		layout, err := row.NewLayout(dim, []row.Group{{First: 0, Width: 2}})
		if err != nil {
			t.Fatal(err)
		}
		table, err := row.NewTableOf(layout, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 70 {
			table.AppendCoded([]float32{.5, -.25}, .25, []uint32{uint32(i % 2)}, 1, true)
			table.AppendCoded([]float32{0, 0}, 0, []uint32{uint32(i % 2)}, 1, true) // has no slopes of a first layer
		}
		e, err := engine.New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		for kind, q := range overflowing(t, l, dim) {
			asked[kind] = true
			sum, err := e.Sum(context.Background(), q, 0x1p1023, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sum.Residual, make([]int64, len(sum.Residual))) {
				t.Errorf("%s, %s: %v: want zeros, of faulty records", name, kind, sum.Residual)
			}
		}
	}
	if len(asked) < 13 {
		t.Errorf("only %v are asked", asked)
	}
}

// TestUnroundedIsTold tests that, for every kind of query, the function engine.Unrounded is called
// with a finite number of steps that is too large to be rounded.
func TestUnroundedIsTold(t *testing.T) {
	was := engine.Unrounded
	defer func() { engine.Unrounded = was }()
	for _, name := range []string{"tanh", "softmax(3)", "slow-tail", "network(3,tanh,huber(0.5))"} {
		l, err := testloss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		layout, err := row.NewLayout(4, []row.Group{{First: 2, Width: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for part, x := range map[string][]float32{"numbers": {.5, -.25, 0}, "groups": {0, 0, .25}} {
			table, err := row.NewTableOf(layout, 0)
			if err != nil {
				t.Fatal(err)
			}
			table.AppendCoded(x[:2], x[2], []uint32{1}, 1, true)
			e, err := engine.New(table, l, 1)
			if err != nil {
				t.Fatal(err)
			}
			for kind, q := range overflowing(t, l, 4) {
				told := 0
				engine.Unrounded = func(p float64) { told++ }
				if _, err := e.Sum(context.Background(), q, 0x1p-100, nil); err != nil {
					t.Fatal(err)
				}
				if told == 0 {
					t.Errorf("%s, %s, of %s alone: nothing is told", name, kind, part)
				}
			}
		}
	}
}
