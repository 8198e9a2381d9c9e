// Package querytest has examples of queries of every kind, for tests and audits.
package querytest

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Form is an example of a query of some kind. Audits use forms: they ask every form of every kind of the
// records under test. Ask returns the terms of one query about a cohort, with the points w and prev, for
// a loss with the given bounds.
type Form struct {
	Name string
	Ask  func(c query.Cohort, w, prev []float64, b Bounds) []query.Term
}

// Bounds holds constants of a loss from which forms choose clip norms. Lipschitz is a bound on the gradient's norm.
// InitialGap is a bound on the mean loss at w = 0 minus the least mean loss. [Lo, Hi] is the interval of the curvature.
// Features is the number of features of a row. The number of coordinates of a point is a multiple of Features.
type Bounds struct {
	Lipschitz, InitialGap, Lo, Hi float64
	Features                      int
	// Beside is the number of parameters of a loss with a score beside those of the features. A metric has a dimension
	// for them, too.
	Beside int
	// Smoothing is the smoothing of the loss, for terms whose kind allows smoothing.
	Smoothing query.Smoothing
}

// Forms returns the examples of queries of a kind. It returns none for an invalid kind.
func Forms(k query.Kind) (list []Form) {
	for _, e := range examples[k] {
		list = append(list, Form{e.name, func(c query.Cohort, w, prev []float64, b Bounds) []query.Term {
			t := e.term(asked{c, w, prev, min(0, b.Lo), max(0, b.Hi), b})
			if b.Smoothing.On() && k.Facts().Smooths && !t.Smoothing().On() {
				t = t.Smoothed(b.Smoothing)
			}
			return []query.Term{t}
		}})
	}
	return list
}

// example makes the term of a query.
type example struct {
	name string
	term func(a asked) query.Term
}

// asked has what a term is about. The interval [lo, hi] is the loss's curvature, extended to contain zero.
type asked struct {
	c       query.Cohort
	w, prev []float64
	lo, hi  float64
	Bounds
}

// gradients and values are smoothings of terms by gradients and by values around the point.
func gradients(directions int) query.Smoothing {
	return query.Smoothing{Radius: .05, By: query.Gradients, Directions: directions, Seed: 3}
}

var values = query.Smoothing{Radius: .1, By: query.Values, Directions: 5, Seed: 4}

// examples has at least one example of each kind. A kind has several if the record that changes the answer most differs
// from example to example.
//
// An example takes its public point m from the first features of prev. The examples with a large limit scale m by
// 1/100, so that m is near the rows. Those with a small limit use m as it is. m may then be far from all rows, and seen
// from m all rows lie in about the same direction.
var examples = map[query.Kind][]example{
	query.Gradient: {
		{"gradient", func(a asked) query.Term { return query.GradientAt(a.c, a.w, a.Lipschitz) }},
		{"gradient, short clip", func(a asked) query.Term { return query.GradientAt(a.c, a.w, a.Lipschitz/20) }},
		{"gradient by gradients around", func(a asked) query.Term {
			return query.GradientAt(a.c, a.w, a.Lipschitz).Smoothed(gradients(2))
		}},
		{"gradient by values around", func(a asked) query.Term {
			return query.GradientAt(a.c, a.w, a.Lipschitz/2).Smoothed(values)
		}},
	},
	query.Difference: {
		{"difference by curvature", func(a asked) query.Term {
			return query.DifferenceByCurvature(a.c, a.w, a.prev, a.lo, a.hi)
		}},
		{"difference around 0", func(a asked) query.Term { return a.around(1) }},
		{"difference around 0, part of the radius", func(a asked) query.Term { return a.around(.2) }},
		{"difference by gradients around", func(a asked) query.Term { return a.around(.3).Smoothed(gradients(2)) }},
		{"difference by values around", func(a asked) query.Term { return a.around(.1).Smoothed(values) }},
	},
	query.Value: {
		{"value", func(a asked) query.Term { return query.ValueAt(a.c, a.w, a.InitialGap, a.InitialGap) }},
		{"value, short clip", func(a asked) query.Term {
			return query.ValueAt(a.c, a.w, a.InitialGap/2, a.InitialGap/20)
		}},
	},
	query.ValueChange: {
		{"difference of values", func(a asked) query.Term { return query.ValueChangeAt(a.c, a.w, a.prev, a.InitialGap) }},
		{"difference of values, short clip", func(a asked) query.Term {
			return query.ValueChangeAt(a.c, a.prev, a.w, a.InitialGap/20)
		}},
		{"difference of values, off centre", func(a asked) query.Term {
			return query.ValueChangeWithin(a.c, a.w, a.prev, a.InitialGap/10, a.InitialGap/8)
		}},
	},
	query.Norm: {
		{"norm", func(a asked) query.Term { return query.NormAt(a.c, a.w, a.Lipschitz, nil) }},
		{"norm, shifted", func(a asked) query.Term { return query.NormAt(a.c, a.w, a.Lipschitz/5, a.prev) }},
		{"norm by gradients around", func(a asked) query.Term {
			return query.NormAt(a.c, a.w, a.Lipschitz/5, nil).Smoothed(gradients(1))
		}},
	},
	query.SecondMoment: {
		{"second moment", func(a asked) query.Term { return query.SecondMomentOf(a.c, a.Features) }},
	},
	query.RowMean: {
		{"mean row", func(a asked) query.Term { return query.RowMeanOf(a.c, a.Features) }},
	},
	query.SquaredDistance: {
		{"squared distance", func(a asked) query.Term { return query.SquaredDistanceFrom(a.c, a.near(), 1) }},
		{"squared distance, low limit", func(a asked) query.Term {
			return query.SquaredDistanceFrom(a.c, a.prev[:a.Features], .1)
		}},
	},
	query.CentredMoment: {
		{"centred second moment", func(a asked) query.Term { return query.CentredMomentOf(a.c, a.near(), 1) }},
		{"centred second moment, short radius", func(a asked) query.Term {
			return query.CentredMomentOf(a.c, a.prev[:a.Features], .3)
		}},
	},
	query.Curvature: {
		{"curvature", func(a asked) query.Term { return query.CurvatureAt(a.c, a.w, a.Hi) }},
		{"curvature, short clip", func(a asked) query.Term { return query.CurvatureAt(a.c, a.w, a.Hi/50) }},
	},
	query.MetricGradient: {
		{"gradient in a metric", func(a asked) query.Term {
			return query.GradientInMetric(a.c, a.w, a.Lipschitz, a.Lipschitz, a.metric())
		}},
		{"gradient in a metric, short clip", func(a asked) query.Term {
			return query.GradientInMetric(a.c, a.w, a.Lipschitz/20, 4*a.Lipschitz, a.metric())
		}},
		{"gradient in a metric, diagonal", func(a asked) query.Term {
			return query.GradientInMetric(a.c, a.w, a.Lipschitz/5, a.Lipschitz, a.diagonal())
		}},
	},
	query.SquaredSlope: {
		{"squared slope", func(a asked) query.Term {
			return query.SquaredSlopeAt(a.c, a.w, a.Lipschitz*a.Lipschitz/4, a.metric())
		}},
		{"squared slope, diagonal", func(a asked) query.Term {
			return query.SquaredSlopeAt(a.c, a.w, a.Lipschitz*a.Lipschitz/4, a.diagonal())
		}},
	},
	query.Product: { // with the vector prev, or prev scaled to length 1
		{"Hessian product", func(a asked) query.Term { return query.ProductAt(a.c, a.w, a.prev, a.lo, a.hi) }},
		{"Hessian product, part of the interval", func(a asked) query.Term {
			return query.ProductAt(a.c, a.w, a.prev, a.lo/5, a.hi/10)
		}},
	},
	query.ProductChange: {
		{"difference of Hessian products", func(a asked) query.Term {
			return query.ProductChangeAt(a.c, a.w, a.prev, a.prev, a.lo, a.hi, math.Inf(1))
		}},
		{"difference of Hessian products, short clip", func(a asked) query.Term {
			return query.ProductChangeAt(a.c, a.w, a.prev, a.prev, a.lo, a.hi, (a.hi-a.lo)/40)
		}},
	},
	query.CurvatureAlong: {
		{"curvature along a direction", func(a asked) query.Term {
			return query.CurvatureAlongAt(a.c, a.w, unit(a.prev), a.lo, a.hi)
		}},
		{"curvature along a direction, part of the interval", func(a asked) query.Term {
			return query.CurvatureAlongAt(a.c, a.w, unit(a.prev), a.lo/4, a.hi/8)
		}},
	},
	query.WeightedGradient: {
		{"weighted gradient", func(a asked) query.Term {
			return query.WeightedGradientAt(a.c, a.w, a.Lipschitz, 1, a.weights())
		}},
		{"weighted gradient, short reach", func(a asked) query.Term {
			return query.WeightedGradientAt(a.c, a.w, a.Lipschitz/20, .1, a.weights())
		}},
	},
	query.WeightedCurvature: {
		{"weighted curvature", func(a asked) query.Term {
			return query.WeightedCurvatureAt(a.c, a.w, a.Hi, 1, a.weights())
		}},
		{"weighted curvature, short reach", func(a asked) query.Term {
			return query.WeightedCurvatureAt(a.c, a.w, a.Hi/50, .1, a.weights())
		}},
	},
	query.ScoreMoment: {
		{"second moment of weighted gradients", func(a asked) query.Term {
			return query.ScoreMomentAt(a.c, a.w, a.Lipschitz, 1, a.weights())
		}},
		{"second moment of weighted gradients, short reach", func(a asked) query.Term {
			return query.ScoreMomentAt(a.c, a.w, a.Lipschitz/20, .1, a.weights())
		}},
	},
	query.WeightedMoment: {
		{"weighted second moment", func(a asked) query.Term { return query.WeightedMomentOf(a.c, 1, a.weights()) }},
		{"weighted second moment, short reach", func(a asked) query.Term {
			return query.WeightedMomentOf(a.c, .1, a.weights())
		}},
	},
	query.SquaredFeatures: {
		{"squared features", func(a asked) query.Term { return query.SquaredFeaturesOf(a.c, a.Features) }},
		{"squared features and pairs", func(a asked) query.Term {
			whole := make([]bool, a.Features)
			for j := range min(a.Features, query.MaxPairs/2) {
				whole[a.Features-1-j] = j%3 != 1
			}
			return query.BlockMomentOf(a.c, whole)
		}},
	},
}

// around returns a term for a difference of gradients, clipped to a fraction of the largest
// difference that the curvature allows.
func (a asked) around(fraction float64) query.Term {
	far := query.DifferenceByCurvature(a.c, a.w, a.prev, a.lo, a.hi)
	return query.DifferenceWithin(a.c, a.w, a.prev, fraction*max(-a.lo, a.hi)*far.Distance())
}

// near returns the first features of prev, times 1/100.
func (a asked) near() []float64 {
	u := slices.Clone(a.prev[:a.Features])
	for j := range u {
		u[j] *= .01
	}
	return u
}

// metric returns an example of a metric, diagonal one of a diagonal metric, which has the entries 1 + |v_j|/max |v|,
// each with the sign of v_j, and weights one for weighted kinds: it has the dimension of a margin's parameters, or of
// all if there are parameters beside the features, but at most MaxPairs.
func (a asked) metric() query.Metric { return towards(a.prev[:a.Features+a.Beside]) }

func (a asked) diagonal() query.Metric {
	v, big := a.prev[:a.Features+a.Beside], least
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	entries := make([]float64, len(v))
	for j, x := range v {
		entries[j] = math.Copysign(1+math.Abs(x)/big, x)
	}
	m, _ := query.NewDiagonal(entries) // the zero Metric, which is refused, if v is not finite
	return m
}

func (a asked) weights() query.Metric {
	dim := len(a.w)
	if a.Beside == 0 && a.Features > 0 {
		dim = min(dim, a.Features)
	}
	return towards(a.prev[:min(dim, len(a.prev), query.MaxPairs)])
}

// least is a number that a divisor is at least.
const least = 0x1p-200

// unit returns v scaled to length 1. Its entries are NaN if v is zero.
func unit(v []float64) []float64 {
	u, square := slices.Clone(v), 0.
	for _, x := range v {
		square += x * x
	}
	for j := range u {
		u[j] /= math.Sqrt(square)
	}
	return u
}

// towards returns the metric of the matrix I + v v'/<v, v>, which lengthens the direction of v.
func towards(v []float64) query.Metric {
	d, square := len(v), 0.
	for _, x := range v {
		square += float64(x * x)
	}
	p := make([]float64, d*d)
	for j := range d {
		for k := range d {
			p[j*d+k] = v[j] * v[k] / max(square, least)
		}
		p[j*d+j]++
	}
	m, _ := query.NewMetric(d, p) // the zero Metric, which is refused, if v is not finite
	return m
}
