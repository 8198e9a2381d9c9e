package audit

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// boundsOf returns the bounds on a loss's slopes and curvatures from which a form of query computes its
// clip norm.
func boundsOf(k loss.Constants, features int) query.Bounds {
	if math.IsInf(k.Curvature.Hi-k.Curvature.Lo, 0) {
		// The slope of the loss jumps, and its curvature has no bound. Queries are then on the smoothed loss.
		// Clipping enforces any curvature interval, here [-1, 2].
		k.Curvature = loss.CurvatureInterval{Lo: -1, Hi: 2}
		b := boundsOf(k, features)
		b.Smoothing = query.Smoothing{Radius: .4}
		return b
	}
	return query.Bounds{Features: features, Lipschitz: k.Lipschitz, InitialGap: k.InitialGap, Lo: k.Curvature.Lo,
		Hi: k.Curvature.Hi}
}

// vectors returns the forms of query that a prefix sum can add up and whose answers have one coordinate for
// each feature. The last form is a weighted sum of several kinds (see [mix]).
func vectors() []query.Form {
	return append(formsOf(query.Item), mixed())
}

func mixed() query.Form { return query.Form{Name: "mix", Ask: mix} }

// mix makes a weighted sum of terms, with alternating weights .3 and .7. The terms are the first form of
// each kind of query that can be mixed with others and added up in a prefix sum.
func mix(c query.Cohort, w, prev []float64, b query.Bounds) []query.Term {
	var terms []query.Term
	for _, k := range query.Kinds() {
		if k.May(query.Mixed | query.Item) {
			term := k.Forms()[0].Ask(c, w, prev, b)[0]
			terms = append(terms, term.Weighted([]float64{.3, .7}[len(terms)%2]))
		}
	}
	return terms
}

// numbers returns the forms of query that can be a candidate's score in a private selection. Their answer
// is one number.
func numbers() []query.Form { return formsOf(query.Candidate) }

// alone returns the forms of query that the loss allows and that neither a prefix sum nor a private
// selection can use.
func alone(l loss.Loss) []query.Form {
	var list []query.Form
	for _, k := range query.Kinds() {
		if !k.May(query.Item) && !k.May(query.Candidate) &&
			k.Facts().Suits(loss.Count(l), loss.Products(l), loss.UnitOfMargin(l)) {
			list = append(list, k.Forms()...)
		}
	}
	return list
}

func formsOf(u query.Ways) []query.Form {
	var list []query.Form
	for _, k := range query.Kinds() {
		if k.May(u) {
			list = append(list, k.Forms()...)
		}
	}
	return list
}
