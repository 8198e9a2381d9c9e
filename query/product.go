package query

import (
	"fmt"
	"math"
)

// ProductAt returns the term of the per-record H v at w, for the Hessian H of the record's loss and a
// public vector v. The curvature of the loss lies in [lo, hi], lo <= 0 <= hi. Like a difference of
// gradients at two points that differ by v, the product lies in the ball around ((lo+hi)/2) v of radius
// ((hi-lo)/2) ||v||, and is clipped to this ball. The radius is hi ||v|| if lo = -hi, and half of this for
// a convex loss, whose lo is 0.
//
// The loss must be a loss of margins, or a loss that computes the product H v itself. For a loss of one
// margin the product is the second derivative of phi times <v,x> x, and no matrix is formed. Its
// sensitivity is the same as the sensitivity of a difference of gradients between two points at distance
// ||v||.
func ProductAt(c Cohort, w, v []float64, lo, hi float64) Term {
	t := Term{kind: Product, cohort: c, weight: 1, w: clone(w), lo: lo, hi: hi, centred: true}
	t.direct(v, lo, hi)
	t.step = t.along
	t.ball = ClipBall{Radius: (hi - lo) / 2 * t.Distance(), Centre: (lo + hi) / 2}
	return t
}

// ProductChangeAt returns the term of the per-record (H(w) - H(prev)) v, for a public vector v and a loss
// whose Hessian H(w) has eigenvalues in [lo, hi] and changes by at most rho times the distance of two
// points. The product is clipped to norm min(rho ||w - prev||, hi - lo) ||v|| around zero, since two such
// Hessians may differ in either direction. rho must be > 0 and may be infinite.
func ProductChangeAt(c Cohort, w, prev, v []float64, lo, hi, rho float64) Term {
	t := Term{kind: ProductChange, cohort: c, weight: 1, w: clone(w), prev: clone(prev)}
	t.displace()
	t.direct(v, lo, hi)
	if t.err == nil && !(rho > 0) {
		t.err = fmt.Errorf("query: %v: Lipschitz constant of the Hessian = %v: must be > 0", t.kind, rho)
	}
	most := hi - lo
	if d := t.Distance(); d == 0 {
		most = 0
	} else if d*rho < most {
		most = d * rho
	}
	t.ball = ClipBall{Radius: most * norm(t.along)}
	return t
}

// CurvatureAlongAt returns the term of the per-record v'Hv at w, for the Hessian H of the record's loss and
// a public unit vector v. It is a number, clipped to [lo, hi], which contains v'Hv if the loss's curvature
// lies in [lo, hi]. For n records and a charge in units of mu^2, its noise has standard deviation Sigma =
// (hi-lo)/(n sqrt(charge)) under replace-one and half of this under add-or-remove.
func CurvatureAlongAt(c Cohort, w, v []float64, lo, hi float64) Term {
	t := Term{kind: CurvatureAlong, cohort: c, weight: 1, w: clone(w)}
	t.direct(v, lo, hi)
	t.ball = ClipBall{Radius: (hi - lo) / 2, Centre: (lo + hi) / 2}
	return t
}

// direct sets the vector v by which the term multiplies Hessians. It records an error if v does not fit the
// point or if [lo, hi] is not an interval that contains 0.
func (t *Term) direct(v []float64, lo, hi float64) {
	t.along = clone(v)
	switch {
	case t.err != nil:
	case len(v) != len(t.w):
		t.err = fmt.Errorf("query: %v: vector has %d coordinates: must have as many as w, %d", t.kind, len(v), len(t.w))
	case !(lo <= 0 && 0 <= hi && lo < hi) || math.IsInf(hi-lo, 0):
		t.err = fmt.Errorf("query: %v: curvature interval = [%v, %v]: must be finite with lo <= 0 <= hi, lo < hi", t.kind, lo,
			hi)
	}
}
