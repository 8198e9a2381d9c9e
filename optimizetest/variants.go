package optimizetest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Variants returns each problem of Problems three times: unchanged, with a ball as feasible set and a start
// outside the ball, and with a regularizer and a start other than 0.
func Variants(t testing.TB) []Problem {
	t.Helper()
	list := Problems()
	for _, p := range Problems() {
		ball, err := convex.NewBall(nil, .3)
		if err != nil {
			t.Fatal(err)
		}
		p.Name += " in a ball, from outside"
		p.Public.Set = ball
		p.Public.Start = make([]float64, p.Public.Dim())
		p.Public.Start[0] = -2
		list = append(list, p)
	}
	for _, p := range Problems() {
		p.Name += " with a regularizer and a start"
		p.Public.Regularizer = L2(t, .3)
		p.Public.Start = make([]float64, p.Public.Dim())
		p.Public.Start[0] = -2
		list = append(list, p)
	}
	return list
}

// Crowd returns the problem with each row repeated, copies times in all, so that cohorts can be drawn.
func Crowd(p Problem, copies int) Problem {
	rows, targets := p.Rows, p.Targets
	for range copies - 1 {
		p.Rows, p.Targets = append(p.Rows, rows...), append(p.Targets, targets...)
	}
	return p
}

// BudgetOf returns the budget of the given epsilon and delta = 1e-6 under the relation r.
func BudgetOf(t testing.TB, r account.Relation, epsilon float64) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Relations returns an oracle for the problem under each of the two neighbouring relations. The budget is epsilon and
// delta = 1e-6. Under add-or-remove the declared number of records is 4.5 more than the true number.
func Relations(t testing.TB, p Problem, epsilon float64) map[account.Relation]*Oracle {
	t.Helper()
	list := map[account.Relation]*Oracle{}
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		b, err := account.NewBudget(epsilon, 1e-6, r)
		if err != nil {
			t.Fatal(err)
		}
		c := p.Config(b, 1, 11)
		c.Declared = float64(len(p.Rows)) + 4.5
		list[r] = New(c)
	}
	return list
}

// WantedBall returns the ball to which a gradient difference between points at the given distance must be clipped. c is
// the setting Fraction of optimize.DifferenceBall. For c = 0 the centre of the ball is the middle of the curvature
// interval times the displacement, and its radius is half the interval's length times the distance. For c > 0 its
// centre is zero and its radius is c times the smoothness times the distance. If the radius is at least 2 L0, twice the
// clip norm of gradients, the ball is instead the ball of radius 2 L0 around zero.
func WantedBall(p optimize.Problem, c, distance float64) query.ClipBall {
	lo, hi := min(p.Constants.Curvature.Lo, 0), max(p.Constants.Curvature.Hi, 0)
	b := query.ClipBall{Radius: (hi - lo) / 2 * distance, Centre: (lo + hi) / 2}
	if c > 0 {
		b = query.ClipBall{Radius: c * max(-lo, hi) * distance}
	}
	if b.Radius >= 2*p.Constants.Lipschitz {
		b = query.ClipBall{Radius: 2 * p.Constants.Lipschitz}
	}
	return b
}

// IsDifference fails the test unless the term of query number k is the gradient difference from prev to w, clipped to
// [WantedBall]. The radius may deviate by a relative 1e-12, because distances are rounded up.
func IsDifference(t testing.TB, k int, p optimize.Problem, c float64, term query.Term, w, prev []float64) {
	t.Helper()
	want := WantedBall(p, c, length(Add(term.Point(), -1, term.Previous())))
	got := term.Ball()
	if term.Kind() != query.Difference || !Same(term.Point(), w) || !Same(term.Previous(), prev) ||
		!Close(got.Radius, want.Radius, 1e-12) || got.Centre != want.Centre {
		t.Fatalf("question %d: %v from %v to %v in %v: want a difference from %v to %v in %v",
			k, term.Kind(), term.Previous(), term.Point(), got, prev, w, want)
	}
}

// ConvexProblems returns each convex problem of Problems three times: unchanged, with a regularizer and a
// start other than 0, and with the regularizer, the start and a ball as feasible set. The rows are repeated
// to at least 240, so that cohorts can be drawn.
func ConvexProblems(t testing.TB) []Problem {
	t.Helper()
	ball, err := convex.NewBall(nil, .5)
	if err != nil {
		t.Fatal(err)
	}
	var list []Problem
	for _, p := range Problems()[:3] {
		rows, targets := p.Rows, p.Targets
		for len(p.Rows) < 240 {
			p.Rows, p.Targets = append(p.Rows, rows...), append(p.Targets, targets...)
		}
		list = append(list, p)
		p.Name += " with a regularizer and a start"
		p.Public.Regularizer = L2(t, .05)
		p.Public.Start = make([]float64, p.Public.Dim())
		p.Public.Start[0] = -1
		list = append(list, p)
		p.Name += " in a ball"
		p.Public.Set = ball
		list = append(list, p)
	}
	return list
}

// Wide returns a quadratic in d directions with the eigenvalues max(slowest, .2 + .8 j/d) for j from 0 to
// d-1. Its minimiser is 0, and every coordinate of the start is 1. The clip norm 4 d is so large that
// gradients between the start and the minimiser are not clipped.
func Wide(d int, slowest float64) Problem {
	var l Quadratic
	p := Problem{Name: "wide", Rows: [][]float32{make([]float32, d)}, Targets: []float64{0}, Minimiser: make([]float64, d)}
	for j := range d {
		l.Eigenvalues = append(l.Eigenvalues, max(slowest, .2+.8*float64(j)/float64(d)))
		p.Public.Start = append(p.Public.Start, 1)
	}
	l.Lipschitz, l.InitialGap = 4*float64(d), float64(d)
	p.Loss = l
	p.Public.Shape, p.Public.Constants = optimize.Vector(d), l.Constants()
	return p
}
