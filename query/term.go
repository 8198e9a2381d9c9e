package query

import (
	"cmp"
	"fmt"
	"math"
)

// least and most bound nonzero weights, nonzero clip radii, and the lengths of declared curvature
// intervals. Products of numbers within these bounds stay far from the ends of the float64 range, where
// relative errors of rounding have no bound.
const least, most = 0x1p-200, 0x1p200

// ClipBall is the ball to which a record's contribution is clipped. For a vector, the ball's centre is
// Centre times the displacement W - Prev between the two points of the term. For a product of Hessians
// and a vector, the ball's centre is Centre times this vector. For a number, the ball is the interval from
// Centre - Radius to Centre + Radius. Centre is 0 for most kinds (see Facts.Centre). The ball of a vector
// contains zero, the contribution of a malformed (faulty) record.
type ClipBall struct {
	Radius float64
	Centre float64
}

// Term is one summand of a query: the per-record vector or number that its kind defines, clipped to a
// ball, times a public weight.
type Term struct {
	kind    Kind
	cohort  Cohort
	weight  float64
	w, prev []float64
	step    []float64
	shift   []float64
	along   []float64
	ball    ClipBall
	lo, hi  float64
	centred bool
	metric  Metric
	slope   float64
	reach   float64
	err     error

	smoothing Smoothing
}

// GradientAt returns the term of the per-record gradient of the loss at w, clipped to norm clip and summed
// over the cohort c.
func GradientAt(c Cohort, w []float64, clip float64) Term {
	return Term{kind: Gradient, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: clip}}
}

// ValueAt returns the term of the per-record loss at w, clipped to [centre-clip, centre+clip] and summed
// over the cohort c. centre is a public number, for instance the loss at w = 0.
func ValueAt(c Cohort, w []float64, centre, clip float64) Term {
	return Term{kind: Value, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: clip, Centre: centre}}
}

// ValueChangeAt returns the term of the per-record loss at w minus the loss at prev, clipped to [-clip,
// clip]. The loss itself may be arbitrarily large at both points. The mean change can be asked with a
// smaller clip norm, and therefore with less noise, than the mean losses at the two points.
func ValueChangeAt(c Cohort, w, prev []float64, clip float64) Term {
	t := Term{kind: ValueChange, cohort: c, weight: 1, w: clone(w), prev: clone(prev), ball: ClipBall{Radius: clip}}
	t.displace()
	return t
}

// ValueChangeWithin returns the term of the per-record loss at w minus the loss at prev, clipped to [centre-clip,
// centre+clip]. centre is a public number. If it is the middle of the interval that bounds all changes between the
// two points, and clip half the interval's length, no change is clipped.
func ValueChangeWithin(c Cohort, w, prev []float64, centre, clip float64) Term {
	t := ValueChangeAt(c, w, prev, clip)
	t.ball.Centre = centre
	return t
}

// NormAt returns a term for the norm of a vector: the mean of the per-record gradients at w, each clipped to norm clip,
// plus shift. shift is a public vector such as a regularizer's gradient, nil for none. The answer is one number. Its
// sensitivity is the sensitivity of the mean gradient, but noise is added to this one number only.
func NormAt(c Cohort, w []float64, clip float64, shift []float64) Term {
	t := Term{kind: Norm, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: clip}, shift: clone(shift)}
	if shift != nil && len(shift) != len(w) {
		t.err = fmt.Errorf("query: norm: shift has %d coordinates: must have as many as w, %d", len(shift), len(w))
	}
	return t
}

// DifferenceWithin returns the term of the per-record gradient at w minus the gradient at prev, clipped to
// norm radius. It needs no bound on the curvature of the loss.
func DifferenceWithin(c Cohort, w, prev []float64, radius float64) Term {
	t := Term{kind: Difference, cohort: c, weight: 1, w: clone(w), prev: clone(prev), ball: ClipBall{Radius: radius}}
	t.displace()
	return t
}

// DifferenceByCurvature returns the term of the per-record gradient at w minus the gradient at prev, for a loss whose
// curvature lies in [lo, hi], lo <= 0 <= hi. The difference is H (w - prev) for a matrix H with eigenvalues in [lo,
// hi]. It therefore lies in the ball around ((lo+hi)/2)(w - prev) of radius ((hi-lo)/2) ||w - prev||, and is clipped to
// this ball. For convex losses lo is 0, and the radius is (hi/2) ||w - prev||.
func DifferenceByCurvature(c Cohort, w, prev []float64, lo, hi float64) Term {
	t := Term{kind: Difference, cohort: c, weight: 1, w: clone(w), prev: clone(prev), lo: lo, hi: hi, centred: true}
	t.displace()
	if t.err == nil && (!(lo <= 0 && 0 <= hi && lo < hi) || math.IsInf(hi-lo, 0)) {
		t.err = fmt.Errorf("query: curvature interval = [%v, %v]: must be finite with lo <= 0 <= hi, lo < hi", lo, hi)
	}
	t.ball = ClipBall{Radius: (hi - lo) / 2 * t.Distance(), Centre: (lo + hi) / 2}
	return t
}

func (t *Term) displace() {
	if len(t.w) != len(t.prev) {
		t.err = fmt.Errorf("query: difference: prev has %d coordinates: must have as many as w, %d", len(t.prev), len(t.w))
		return
	}
	t.step = make([]float64, len(t.w))
	for j := range t.w {
		t.step[j] = t.w[j] - t.prev[j]
	}
}

// Weighted returns the same term with its weight multiplied by the given factor.
func (t Term) Weighted(weight float64) Term {
	t.weight *= weight
	return t
}

// Over returns the same term, summed over another cohort.
func (t Term) Over(c Cohort) Term {
	t.cohort = c
	return t
}

// Kind returns the term's kind.
func (t Term) Kind() Kind { return t.kind }

// name returns the name of the term's kind, with the smoothing if there is one, as queries and events
// show it.
func (t Term) name() string {
	if t.smoothing.Sampled() {
		return t.kind.String() + t.smoothing.sampledName()
	}
	if t.inBlock() > 1 {
		return t.kind.String() + " and pairs"
	}
	return t.kind.String()
}

// Cohort returns the cohort over which the term is summed.
func (t Term) Cohort() Cohort { return t.cohort }

// Weight returns the factor on the clipped vector.
func (t Term) Weight() float64 { return t.weight }

// Ball returns the clip ball.
func (t Term) Ball() ClipBall { return t.ball }

// Curvature returns the declared curvature interval of a term made by DifferenceByCurvature or ProductAt. ok
// is false for other terms.
func (t Term) Curvature() (lo, hi float64, ok bool) { return t.lo, t.hi, t.centred }

// Point returns a copy of the term's point w.
func (t Term) Point() []float64 { return clone(t.w) }

// Previous returns a copy of the point prev. It returns nil for kinds with one point.
func (t Term) Previous() []float64 { return clone(t.prev) }

// Step returns a copy of the displacement w - prev as rounded to float64, for a term of two points. All
// bounds on a difference refer to this rounded displacement. For a term made by ProductAt, Step returns the
// vector by which Hessians are multiplied. It returns nil for other kinds.
func (t Term) Step() []float64 { return clone(t.step) }

// Distance returns the norm of the vector that Step returns, rounded up. It is 0 if Step returns nil.
func (t Term) Distance() float64 { return norm(t.step) }

// Shift returns a copy of the vector that a term for a norm adds to the mean gradient before the norm
// is taken. It returns nil if there is none.
func (t Term) Shift() []float64 { return clone(t.shift) }

// Along returns a copy of the vector by which Hessians are multiplied. It returns nil for kinds without one.
func (t Term) Along() []float64 { return clone(t.along) }

// Metric returns the metric in which contributions are measured. It returns the zero Metric for kinds without
// one.
func (t Term) Metric() Metric { return t.metric }

// Slope returns the limit to which the term clips the slope of a record's loss in its margin. For a
// WeightedCurvature it returns the limit of the second derivative, and for a WeightedMoment, which has
// neither, 1. It returns 0 for kinds without such a limit.
func (t Term) Slope() float64 { return t.slope }

// Dim returns the number of coordinates of the answer.
func (t Term) Dim() int { return t.kind.Facts().Dim(len(t.w)) + t.pairs() }

// SumDim returns the number of coordinates that are summed over records before the answer is computed
// from the sum.
func (t Term) SumDim() int { return t.kind.Facts().SumDim(len(t.w)) + t.pairs() }

func (t Term) validate() error {
	if t.err != nil {
		return t.err
	}
	facts := t.kind.Facts()
	if facts.Name == "" {
		return fmt.Errorf("query: kind = %d: not a kind", uint8(t.kind))
	}
	if !(t.cohort.size > 0) {
		return fmt.Errorf("query: %v: cohort: must come from a session (All or Draw)", t.kind)
	}
	if len(t.w) == 0 {
		return fmt.Errorf("query: %v: point: must have at least one coordinate", t.kind)
	}
	for _, v := range [][]float64{t.w, t.prev, t.step, t.shift, t.along} {
		for j, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("query: %v: point: coordinate %d = %v: must be finite", t.kind, j, x)
			}
		}
	}
	if err := cmp.Or(t.shaped(facts), t.validateSmoothing(facts)); err != nil {
		return err
	}
	if !moderate(t.weight) {
		return fmt.Errorf("query: %v: weight = %v: must be 0 or between 2^-200 and 2^200", t.kind, t.weight)
	}
	if t.centred && (t.hi-t.lo < least || t.hi-t.lo > most) {
		return fmt.Errorf("query: %v: curvature interval = [%v, %v]: must have a length between 2^-200 and 2^200", t.kind,
			t.lo, t.hi)
	}
	if !moderate(t.ball.Radius) || t.centred && t.ball.Radius == 0 && t.Distance() > 0 {
		return fmt.Errorf("query: %v: clip radius = %v: must be 0 or between 2^-200 and 2^200", t.kind, t.ball.Radius)
	}
	if !finite(t.ball.Centre) {
		return fmt.Errorf("query: %v: clip centre = %v: must be finite", t.kind, t.ball.Centre)
	}
	if facts.Centre == AtZero && t.ball.Centre != 0 {
		return fmt.Errorf("query: %v: clip centre = %v: must be 0", t.kind, t.ball.Centre)
	}
	// For lo <= 0 <= hi, |lo + hi| <= hi - lo. Rounding preserves this inequality.
	if facts.Centre == AlongStep && t.ball.Centre != 0 && !(math.Abs(t.ball.Centre)*t.Distance() <= t.ball.Radius) {
		return fmt.Errorf("query: %v: clip ball: centre %v at radius %v: must hold zero, which a faulty record contributes",
			t.kind, t.ball.Centre, t.ball.Radius)
	}
	return nil
}

// norm returns the Euclidean norm, rounded up. The computed sum of squares has a relative error below (len+2)
// 2^-53 and is scaled so that it neither over- nor underflows. Charges depend on the result being no less
// than the norm. vector.Norm does not guarantee this: its last bits may be too low.
func norm(v []float64) float64 {
	var big float64
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	if big == 0 {
		return 0
	}
	_, exp := math.Frexp(big)
	var sum float64
	for _, x := range v {
		y := math.Ldexp(x, -exp)
		sum += float64(y * y)
	}
	return math.Ldexp(math.Sqrt(sum), exp) * (1 + float64(len(v)+8)*0x1p-53)
}

func moderate(x float64) bool { return x == 0 || x >= least && x <= most }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func clone(v []float64) []float64 { return append([]float64(nil), v...) }

// ProductAt returns the term of the per-record H v at w, for the Hessian H of the record's loss and a public vector v.
// The curvature of the loss lies in [lo, hi], lo <= 0 <= hi. Like a difference of gradients at two points that differ
// by v, the product lies in the ball around ((lo+hi)/2) v of radius ((hi-lo)/2) ||v||, and is clipped to this ball. The
// radius is hi ||v|| if lo = -hi, and half of this for a convex loss, whose lo is 0.
//
// The loss must be a loss of margins, or a loss that computes the product H v itself. For a loss of one margin the
// product is the second derivative of phi times <v,x> x, and no matrix is formed. Its sensitivity is the same as the
// sensitivity of a difference of gradients between two points at distance ||v||.
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

// The kinds of terms in this file are for estimates and confidence intervals of generalised linear
// models. A row x is replaced by
//
//	z = sqrt(u) R x,   u = min(1, B^2/||R x||^2)
//
// for the matrix R of a public metric and a public bound B on lengths (the reach), so that ||z|| <= B. The weight u
// depends on the row alone, unlike the factor by which a gradient is clipped. The weight is part of the estimating
// equation mean u phi' R x = 0 for the slopes phi' of the loss. This equation has a solution whatever the targets are.
//
// A record is a row, or all rows of a unit with their weights in the unit's loss, which sum to at most 1. A record's
// contribution is an average of vectors, each of length at most the clip radius, so that the radius bounds the
// contribution. The engine shortens the computed R x, and clips slopes and second derivatives.

// WeightedGradientAt returns the term of the per-record u phi' R x at w, for the row x, the metric's matrix R, the
// weight u = min(1, reach^2/||R x||^2) for a public bound reach on lengths, and the slope phi' of the loss, clipped to
// [-slope, slope]. The clip norm is slope times reach. The answer has one coordinate for each feature. For a loss of several
// margins, phi' is a vector with an entry for each margin, whose length is clipped to slope, and the answer has u phi' R x for
// each of its entries, one margin after the other.
func WeightedGradientAt(c Cohort, w []float64, slope, reach float64, m Metric) Term {
	return weighted(WeightedGradient, c, w, slope, reach, float64(slope*reach), m)
}

// WeightedCurvatureAt returns the term of the per-record u c R x x' R at w, the derivative of the weighted gradient
// (see WeightedGradientAt), for the row x, the metric's matrix R, the weight u = min(1, reach^2/||R x||^2), and the
// second derivative c of the loss in its margin, clipped to [0, bound]. The clip norm is bound times reach^2. The
// answer is the upper triangle of a symmetric matrix as a vector, in the form of [SecondMomentOf]'s answer. For a loss of
// several margins, c is the matrix sum_(i<j) c_ij (e_i - e_j)(e_i - e_j)' with c_ij = max(0, -d2 phi/dz_i dz_j), which is the
// second derivative of a softmax, and c R x x' R is their Kronecker product. c is scaled down where its Frobenius norm is above
// bound.
func WeightedCurvatureAt(c Cohort, w []float64, bound, reach float64, m Metric) Term {
	return weighted(WeightedCurvature, c, w, bound, reach, float64(bound*float64(reach*reach)), m)
}

// ScoreMomentAt returns the term of the per-record s s' at w for the record's weighted gradient s (see
// WeightedGradientAt): the middle factor of a sandwich variance. For a unit, s is the mean over the unit's rows. slope
// and reach limit s as in WeightedGradientAt. The clip norm is (slope times reach)^2. The answer is the upper triangle
// of a symmetric matrix as a vector, in the form of [SecondMomentOf]'s answer.
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

// Reach returns the public bound B of a term of a weighted kind. The term multiplies each row by the metric's matrix,
// and shortens products that are longer than B to length B. Reach returns 0 for other kinds.
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

// weightedShape returns an error if the metric of a term of a weighted kind is diagonal, or if its dimension is 0 or does not
// divide the number of coordinates of w.
func (t Term) weightedShape() error {
	if t.metric.Diagonal() {
		return fmt.Errorf("query: %v: metric: must not be diagonal", t.kind)
	}
	if t.metric.Dim() == 0 || len(t.w)%t.metric.Dim() != 0 {
		return fmt.Errorf("query: %v: metric of dimension %d: must be the number of features, of which the point's %d "+
			"coordinates are a multiple", t.kind, t.metric.Dim(), len(t.w))
	}
	return nil
}
