package query

import (
	"fmt"
	"math"
)

// ProductAt is the per-record H v at w, H being the Hessian of the record's loss and
// v a public vector, for a loss whose curvature lies in [lo, hi], lo <= 0 <= hi. Such
// a product lies in the ball around ((lo+hi)/2) v of radius ((hi-lo)/2) ||v||, as a
// difference of gradients over a step v does, and is clipped to it: with M = max(|lo|,
// hi), to M ||v|| where hi = -lo, and to half of that for convex losses.
//
// It is asked of losses of margins, for which it is phi” <v,x> x, no matrix being
// formed, and of those that write products themselves. The answer has the
// sensitivity of a difference of gradients between two points at distance ||v||.
func ProductAt(c Cohort, w, v []float64, lo, hi float64) Term {
	t := Term{kind: Product, cohort: c, weight: 1, w: clone(w), lo: lo, hi: hi, centred: true}
	t.direct(v, lo, hi)
	t.step = t.along
	t.ball = ClipBall{Radius: (hi - lo) / 2 * t.Distance(), Centre: (lo + hi) / 2}
	return t
}

// ProductChangeAt is the per-record (H(w) - H(prev)) v, for a loss whose Hessian lies
// in [lo, hi] and moves by at most rho times the distance of two points. It is
// clipped to min(rho ||w - prev||, hi - lo) ||v||, around zero: what lies in [lo, hi] at
// either point may differ either way. rho may be infinite.
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

// CurvatureAlongAt is the per-record v'Hv at w, H being the Hessian of the record's loss
// and v a public unit vector: a scalar, clipped to [lo, hi], in which it lies if the
// loss's curvature does. Its noise has the standard deviation Sigma = (hi-lo)/(n
// sqrt(charge)) under replace-one, half of that under add-or-remove.
func CurvatureAlongAt(c Cohort, w, v []float64, lo, hi float64) Term {
	t := Term{kind: CurvatureAlong, cohort: c, weight: 1, w: clone(w)}
	t.direct(v, lo, hi)
	t.ball = ClipBall{Radius: (hi - lo) / 2, Centre: (lo + hi) / 2}
	return t
}

// direct sets what Hessians in [lo, hi] are multiplied by.
func (t *Term) direct(v []float64, lo, hi float64) {
	t.along = clone(v)
	switch {
	case t.err != nil:
	case len(v) != len(t.w):
		t.err = fmt.Errorf("query: %v: vector has %d coordinates: must have as many as w, %d", t.kind, len(v), len(t.w))
	case !(lo <= 0 && 0 <= hi && lo < hi) || math.IsInf(hi-lo, 0):
		t.err = fmt.Errorf("query: %v: curvature interval = [%v, %v]: must be finite with lo <= 0 <= hi, lo < hi", t.kind, lo, hi)
	}
}
