package query

import "math"

// Form is an example of a query of some kind. Audits use forms: they ask every form of every kind of the
// records under test. Ask returns the terms of one query about a cohort, with the points w and prev, for
// a loss with the given bounds.
type Form struct {
	Name string
	Ask  func(c Cohort, w, prev []float64, b Bounds) []Term
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
	Smoothing Smoothing
}

// smoothed returns the form f with its terms smoothed by the smoothing of the bounds. Terms whose kind does
// not allow smoothing, and terms that have a smoothing already, stay as they are.
func (f Form) smoothed() Form {
	return Form{f.Name, func(c Cohort, w, prev []float64, b Bounds) []Term {
		terms := f.Ask(c, w, prev, b)
		for i, t := range terms {
			if b.Smoothing.On() && t.kind.Facts().Smooths && !t.smoothing.On() {
				terms[i] = t.Smoothed(b.Smoothing)
			}
		}
		return terms
	}}
}

// ball returns the interval of the loss's curvature, extended to contain zero.
func (b Bounds) ball() (lo, hi float64) { return min(0, b.Lo), max(0, b.Hi) }

// one returns a form whose query has one term, made by the given function.
func one(name string, term func(c Cohort, w, prev []float64, b Bounds) Term) Form {
	return Form{name, func(c Cohort, w, prev []float64, b Bounds) []Term { return []Term{term(c, w, prev, b)} }}
}

var gradientForms = []Form{
	one("gradient", func(c Cohort, w, _ []float64, b Bounds) Term { return GradientAt(c, w, b.Lipschitz) }),
	one("gradient, short clip", func(c Cohort, w, _ []float64, b Bounds) Term { return GradientAt(c, w, b.Lipschitz/20) }),
	one("gradient by gradients around", func(c Cohort, w, _ []float64, b Bounds) Term {
		return GradientAt(c, w, b.Lipschitz).Smoothed(Smoothing{Radius: .05, By: Gradients, Directions: 2, Seed: 3})
	}),
	one("gradient by values around", func(c Cohort, w, _ []float64, b Bounds) Term {
		return GradientAt(c, w, b.Lipschitz/2).Smoothed(Smoothing{Radius: .1, By: Values, Directions: 5, Seed: 4})
	}),
}

var differenceForms = []Form{
	one("difference by curvature", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return DifferenceByCurvature(c, w, prev, lo, hi)
	}),
	one("difference around 0", func(c Cohort, w, prev []float64, b Bounds) Term { return around(c, w, prev, b, 1) }),
	one("difference around 0, part of the radius",
		func(c Cohort, w, prev []float64, b Bounds) Term { return around(c, w, prev, b, .2) }),
	one("difference by gradients around", func(c Cohort, w, prev []float64, b Bounds) Term {
		return around(c, w, prev, b, .3).Smoothed(Smoothing{Radius: .05, By: Gradients, Directions: 2, Seed: 3})
	}),
	one("difference by values around", func(c Cohort, w, prev []float64, b Bounds) Term {
		return around(c, w, prev, b, .1).Smoothed(Smoothing{Radius: .1, By: Values, Directions: 5, Seed: 4})
	}),
}

// around returns a term for a difference of gradients, clipped to a fraction of the largest
// difference that the curvature allows.
func around(c Cohort, w, prev []float64, b Bounds, fraction float64) Term {
	lo, hi := b.ball()
	far := DifferenceByCurvature(c, w, prev, lo, hi)
	return DifferenceWithin(c, w, prev, fraction*max(-lo, hi)*far.Distance())
}

var valueForms = []Form{
	one("value", func(c Cohort, w, _ []float64, b Bounds) Term { return ValueAt(c, w, b.InitialGap, b.InitialGap) }),
	one("value, short clip", func(c Cohort, w, _ []float64,
		b Bounds) Term {
		return ValueAt(c, w, b.InitialGap/2, b.InitialGap/20)
	}),
}

var valueChangeForms = []Form{
	one("difference of values", func(c Cohort, w, prev []float64,
		b Bounds) Term {
		return ValueChangeAt(c, w, prev, b.InitialGap)
	}),
	one("difference of values, short clip", func(c Cohort, w, prev []float64, b Bounds) Term {
		return ValueChangeAt(c, prev, w, b.InitialGap/20)
	}),
	one("difference of values, off centre", func(c Cohort, w, prev []float64, b Bounds) Term {
		return ValueChangeWithin(c, w, prev, b.InitialGap/10, b.InitialGap/8)
	}),
}

var normForms = []Form{
	one("norm", func(c Cohort, w, _ []float64, b Bounds) Term { return NormAt(c, w, b.Lipschitz, nil) }),
	one("norm, shifted", func(c Cohort, w, prev []float64, b Bounds) Term { return NormAt(c, w, b.Lipschitz/5, prev) }),
	one("norm by gradients around", func(c Cohort, w, _ []float64, b Bounds) Term {
		return NormAt(c, w, b.Lipschitz/5, nil).Smoothed(Smoothing{Radius: .05, By: Gradients, Directions: 1, Seed: 3})
	}),
}

var momentForms = []Form{
	one("second moment", func(c Cohort, _, _ []float64, b Bounds) Term { return SecondMomentOf(c, b.Features) }),
}

var rowMeanForms = []Form{
	one("mean row", func(c Cohort, _, _ []float64, b Bounds) Term { return RowMeanOf(c, b.Features) }),
}

// A form takes its public point m from the first features of prev. The forms with a large limit scale m by
// 1/100, so that m is near the rows. The forms with a small limit use m as it is. m may then be far from
// all rows, and seen from m all rows lie in about the same direction.
var distanceForms = []Form{
	one("squared distance", func(c Cohort, _, prev []float64, b Bounds) Term {
		return SquaredDistanceFrom(c, scaled(prev[:b.Features], .01), 1)
	}),
	one("squared distance, low limit", func(c Cohort, _, prev []float64, b Bounds) Term {
		return SquaredDistanceFrom(c, prev[:b.Features], .1)
	}),
}

var centredForms = []Form{
	one("centred second moment", func(c Cohort, _, prev []float64, b Bounds) Term {
		return CentredMomentOf(c, scaled(prev[:b.Features], .01), 1)
	}),
	one("centred second moment, short radius", func(c Cohort, _, prev []float64, b Bounds) Term {
		return CentredMomentOf(c, prev[:b.Features], .3)
	}),
}

// scaled returns v times the number by, in a new slice.
func scaled(v []float64, by float64) []float64 {
	u := clone(v)
	for j := range u {
		u[j] *= by
	}
	return u
}

var curvatureForms = []Form{
	one("curvature", func(c Cohort, w, _ []float64, b Bounds) Term { return CurvatureAt(c, w, b.Hi) }),
	one("curvature, short clip", func(c Cohort, w, _ []float64, b Bounds) Term { return CurvatureAt(c, w, b.Hi/50) }),
}

var metricForms = []Form{
	one("gradient in a metric", func(c Cohort, w, prev []float64, b Bounds) Term {
		return GradientInMetric(c, w, b.Lipschitz, b.Lipschitz, towards(prev[:b.Features+b.Beside]))
	}),
	one("gradient in a metric, short clip", func(c Cohort, w, prev []float64, b Bounds) Term {
		return GradientInMetric(c, w, b.Lipschitz/20, 4*b.Lipschitz, towards(prev[:b.Features+b.Beside]))
	}),
	one("gradient in a metric, diagonal", func(c Cohort, w, prev []float64, b Bounds) Term {
		return GradientInMetric(c, w, b.Lipschitz/5, b.Lipschitz, along(prev[:b.Features+b.Beside]))
	}),
}

var slopeForms = []Form{
	one("squared slope", func(c Cohort, w, prev []float64, b Bounds) Term {
		return SquaredSlopeAt(c, w, b.Lipschitz*b.Lipschitz/4, towards(prev[:b.Features+b.Beside]))
	}),
	one("squared slope, diagonal", func(c Cohort, w, prev []float64, b Bounds) Term {
		return SquaredSlopeAt(c, w, b.Lipschitz*b.Lipschitz/4, along(prev[:b.Features+b.Beside]))
	}),
}

// These forms ask for the Hessian times a vector. The vector is prev, or prev scaled to length 1.
var productForms = []Form{
	one("Hessian product", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return ProductAt(c, w, prev, lo, hi)
	}),
	one("Hessian product, part of the interval", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return ProductAt(c, w, prev, lo/5, hi/10)
	}),
}

var productChangeForms = []Form{
	one("difference of Hessian products", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return ProductChangeAt(c, w, prev, prev, lo, hi, math.Inf(1))
	}),
	one("difference of Hessian products, short clip", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return ProductChangeAt(c, w, prev, prev, lo, hi, (hi-lo)/40)
	}),
}

var alongForms = []Form{
	one("curvature along a direction", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return CurvatureAlongAt(c, w, unit(prev), lo, hi)
	}),
	one("curvature along a direction, part of the interval", func(c Cohort, w, prev []float64, b Bounds) Term {
		lo, hi := b.ball()
		return CurvatureAlongAt(c, w, unit(prev), lo/4, hi/8)
	}),
}

// unit returns v scaled to length 1. Its entries are NaN if v is zero.
func unit(v []float64) []float64 {
	u, size := clone(v), norm(v)
	for j := range u {
		u[j] /= size
	}
	return u
}

// towards returns the metric of the matrix I + v v'/<v, v>, which lengthens the direction of v.
func towards(v []float64) Metric {
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
	m, _ := NewMetric(d, p) // the zero Metric, which is refused, if v is not finite
	return m
}
