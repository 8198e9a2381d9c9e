package query

import "fmt"

// The kinds of terms in this file are for estimates and confidence intervals of generalised linear
// models. A row x is replaced by
//
//	z = sqrt(u) R x,   u = min(1, B^2/||R x||^2)
//
// for the matrix R of a public metric and a public bound B on lengths (the reach), so that ||z|| <=
// B. The weight u depends on the row alone, unlike the factor by which a gradient is clipped. The
// weight is part of the estimating equation mean u phi' R x = 0 for the slopes phi' of the loss. This
// equation has a solution whatever the targets are.
//
// A record is a row, or all rows of a unit with their weights in the unit's loss, which sum to at
// most 1. A record's contribution is an average of vectors, each of length at most the clip radius,
// so that the radius bounds the contribution. The engine shortens the computed R x, and clips slopes
// and second derivatives.

// WeightedGradientAt returns the term of the per-record u phi' R x at w, for the row x, the metric's matrix
// R, the weight u = min(1, reach^2/||R x||^2) for a public bound reach on lengths, and the slope phi' of
// the loss, clipped to [-slope, slope]. The clip norm is slope times reach. The answer has one coordinate
// for each feature.
func WeightedGradientAt(c Cohort, w []float64, slope, reach float64, m Metric) Term {
	return weighted(WeightedGradient, c, w, slope, reach, float64(slope*reach), m)
}

// WeightedCurvatureAt returns the term of the per-record u c R x x' R at w, the derivative of the weighted
// gradient (see WeightedGradientAt), for the row x, the metric's matrix R, the weight u = min(1, reach^2/||R
// x||^2), and the second derivative c of the loss in its margin, clipped to [0, bound]. The clip norm is
// bound times reach^2. The answer is the upper triangle of a symmetric matrix as a vector, in the form of
// [SecondMomentOf]'s answer.
func WeightedCurvatureAt(c Cohort, w []float64, bound, reach float64, m Metric) Term {
	return weighted(WeightedCurvature, c, w, bound, reach, float64(bound*float64(reach*reach)), m)
}

// ScoreMomentAt returns the term of the per-record s s' at w for the record's weighted gradient s (see
// WeightedGradientAt): the middle factor of a sandwich variance. For a unit, s is the mean over the unit's
// rows. slope and reach limit s as in WeightedGradientAt. The clip norm is (slope times reach)^2.
// The answer is the upper triangle of a symmetric matrix as a vector, in the form of [SecondMomentOf]'s
// answer.
func ScoreMomentAt(c Cohort, w []float64, slope, reach float64, m Metric) Term {
	most := float64(slope * reach)
	return weighted(ScoreMoment, c, w, slope, reach, float64(most*most), m)
}

// WeightedMomentOf returns the term of the per-record u R x x' R, for the row x, the metric's matrix R, and
// the weight u = min(1, reach^2/||R x||^2) for a public bound reach on lengths. It does not depend on the
// loss. For a unit it is the weighted mean over the unit's rows. The clip norm is reach^2. If R is the
// identity and reach is 1, then u R x x' R is x x'. The answer is the upper triangle of a symmetric matrix as
// a vector, in the form of [SecondMomentOf]'s answer.
func WeightedMomentOf(c Cohort, reach float64, m Metric) Term {
	return weighted(WeightedMoment, c, make([]float64, m.Dim()), 1, reach, float64(reach*reach), m)
}

func weighted(k Kind, c Cohort, w []float64, slope, reach, radius float64, m Metric) Term {
	t := Term{kind: k, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: radius}, slope: slope, reach: reach,
		metric: m}
	if !(reach >= 0x1p-20 && reach <= 0x1p20) {
		t.err = fmt.Errorf("query: %v: reach = %v: must be between 2^-20 and 2^20", k, reach)
	} else if !(slope >= 0x1p-80 && slope <= 0x1p80) {
		t.err = fmt.Errorf("query: %v: limit of the scalar = %v: must be between 2^-80 and 2^80", k, slope)
	}
	return t
}

// Reach returns the public bound B of a term of a weighted kind. The term multiplies each row by the
// metric's matrix, and shortens products that are longer than B to length B. Reach returns 0 for other
// kinds.
func (t Term) Reach() float64 { return t.reach }

// Identity returns the metric whose matrix is the identity of the given dimension.
func Identity(dim int) (Metric, error) {
	if dim < 1 || dim > MaxPairs {
		return Metric{}, fmt.Errorf("query: metric: dimension = %d: must be between 1 and %d", dim, MaxPairs)
	}
	p := make([]float64, dim*dim)
	for j := range dim {
		p[j*dim+j] = 1
	}
	return NewMetric(dim, p)
}

var weightedGradientForms = []Form{
	one("weighted gradient", func(c Cohort, w, prev []float64, b Bounds) Term {
		return WeightedGradientAt(c, w, b.Lipschitz, 1, near(prev, len(w)))
	}),
	one("weighted gradient, short reach", func(c Cohort, w, prev []float64, b Bounds) Term {
		return WeightedGradientAt(c, w, b.Lipschitz/20, .1, near(prev, len(w)))
	}),
}

var weightedCurvatureForms = []Form{
	one("weighted curvature", func(c Cohort, w, prev []float64, b Bounds) Term {
		return WeightedCurvatureAt(c, w, b.Hi, 1, near(prev, len(w)))
	}),
	one("weighted curvature, short reach", func(c Cohort, w, prev []float64, b Bounds) Term {
		return WeightedCurvatureAt(c, w, b.Hi/50, .1, near(prev, len(w)))
	}),
}

var scoreMomentForms = []Form{
	one("second moment of weighted gradients", func(c Cohort, w, prev []float64, b Bounds) Term {
		return ScoreMomentAt(c, w, b.Lipschitz, 1, near(prev, len(w)))
	}),
	one("second moment of weighted gradients, short reach", func(c Cohort, w, prev []float64, b Bounds) Term {
		return ScoreMomentAt(c, w, b.Lipschitz/20, .1, near(prev, len(w)))
	}),
}

var weightedMomentForms = []Form{
	one("weighted second moment", func(c Cohort, w, prev []float64, _ Bounds) Term {
		return WeightedMomentOf(c, 1, near(prev, len(w)))
	}),
	one("weighted second moment, short reach", func(c Cohort, w, prev []float64, _ Bounds) Term {
		return WeightedMomentOf(c, .1, near(prev, len(w)))
	}),
}

// near returns the metric of the matrix I + u u'/<u, u>, where u are the first dim numbers of v, or at most
// MaxPairs. Forms of weighted kinds use it as an example of a metric.
func near(v []float64, dim int) Metric { return towards(v[:min(dim, len(v), MaxPairs)]) }

// weightedShape returns an error if the metric of a term of a weighted kind is diagonal, or if its dimension
// is 0 or differs from the number of coordinates of w.
func (t Term) weightedShape() error {
	if t.metric.Diagonal() {
		return fmt.Errorf("query: %v: metric: must not be diagonal", t.kind)
	}
	if t.metric.Dim() == 0 || len(t.w) != t.metric.Dim() {
		return fmt.Errorf("query: %v: metric of dimension %d: must be the number of features, as the point's %d "+
			"coordinates are", t.kind, t.metric.Dim(), len(t.w))
	}
	return nil
}
