package simulate_test

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

var w0, w1 = []float64{.9, -1.7, .4}, []float64{-.3, 1.1, 2.2}

// forms are queries of every kind, with every type of clip ball. The points and vectors of the first
// of them have a coordinate for each feature.
var forms = []func(query.Cohort) []query.Term{
	func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, w0, 1)} },
	func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, w1, .1)} },
	func(c query.Cohort) []query.Term { return []query.Term{query.DifferenceByCurvature(c, w0, w1, 0, .25)} },
	func(c query.Cohort) []query.Term {
		return []query.Term{query.DifferenceByCurvature(c, w1, w0, -.4, .7)}
	},
	func(c query.Cohort) []query.Term { return []query.Term{query.DifferenceWithin(c, w0, w1, .3)} },
	func(c query.Cohort) []query.Term {
		return []query.Term{
			query.GradientAt(c, w0, 1).Weighted(.3),
			query.DifferenceByCurvature(c, w0, w1, 0, .25).Weighted(.7),
			query.DifferenceWithin(c, w1, w0, .2).Weighted(2),
		}
	},
	func(c query.Cohort) []query.Term { return []query.Term{query.ValueAt(c, w0, .7, .5)} },
	func(c query.Cohort) []query.Term { return []query.Term{query.ValueAt(c, w1, 3, .25).Weighted(2)} },
	func(c query.Cohort) []query.Term {
		return []query.Term{query.ValueAt(c, w1, .1, .5), query.ValueAt(c, w0, .2, .5).Weighted(.5)}
	},
	func(c query.Cohort) []query.Term { return []query.Term{query.NormAt(c, w0, 1, nil)} },
	func(c query.Cohort) []query.Term { return []query.Term{query.NormAt(c, w1, .2, w0)} },
}

const vectors = 6

// asker makes queries in a session.
type asker struct {
	t        *testing.T
	s        *recordtest.Recording
	relation account.Relation
	loss     loss.Loss
}

const charge = 1e-2

func (a *asker) ask(terms []query.Term) {
	a.t.Helper()
	q, err := query.New(charge, terms...)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.s.Ask(context.Background(), q); err != nil {
		a.t.Fatal(err)
	}
}

func (a *asker) draw() query.Cohort {
	a.t.Helper()
	draw := func() (query.Cohort, error) { return a.s.Draw(5) }
	if a.relation == account.AddOrRemove {
		draw = func() (query.Cohort, error) { return a.s.DrawEach(.06) }
	}
	c, err := draw()
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// measured makes queries about pairs of features and in a metric.
func (a *asker) measured() {
	for _, c := range []query.Cohort{a.s.All(), a.draw()} {
		terms := []query.Term{query.SecondMomentOf(c, len(w0))}
		if _, ok := a.loss.(loss.RankOne); ok {
			m := metric(a.t, len(w0))
			terms = append(terms, query.CurvatureAt(c, w0, .2), query.GradientInMetric(c, w1, .3, 1, m),
				query.GradientInMetric(c, w0, 2, .1, m).Weighted(.5), query.SquaredSlopeAt(c, w0, .1, m))
		}
		for _, t := range terms {
			a.ask([]query.Term{t})
		}
	}
}

func (a *asker) everything() {
	for _, f := range forms {
		a.ask(f(a.s.All()))
	}
	for _, f := range forms {
		a.ask(f(a.draw()))
	}
	for _, m := range []query.Factorization{query.Tree, query.Toeplitz} {
		sum, err := a.s.OpenPrefix(query.Prefix{Factorization: m, Items: vectors, Sensitivity: 2, Charge: charge})
		if err != nil {
			a.t.Fatal(err)
		}
		for _, f := range forms[:vectors] {
			if _, err := sum.Add(context.Background(), f(a.draw())...); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	for i, c := range []query.Cohort{a.s.All(), a.draw()} {
		var values, norms []query.Term
		for _, w := range [][]float64{w0, w1, {0, 0, float64(i)}} {
			values = append(values, query.ValueAt(c, w, .7, .5))
			norms = append(norms, query.NormAt(c, w, .5, w))
		}
		for _, candidates := range [][]query.Term{values, norms} {
			sel, err := query.NewSelection(.5, candidates...)
			if err != nil {
				a.t.Fatal(err)
			}
			if _, err := a.s.Select(context.Background(), sel); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	if a.loss.Name() != "logistic" || a.relation != account.ReplaceOne {
		return
	}
	for _, p := range []query.Pass{{Step: .5, Clip: 1},
		{Step: 1, Clip: .5, Lambda: .1, Linear: w1, Radius: 2, Centre: w0}} {
		c, err := a.s.Draw(12)
		if err != nil {
			a.t.Fatal(err)
		}
		p.Start = w0
		q, err := query.NewStable(charge, c, p)
		if err != nil {
			a.t.Fatal(err)
		}
		if _, err := a.s.Stable(context.Background(), q); err != nil {
			a.t.Fatal(err)
		}
	}
}
