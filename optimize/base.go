package optimize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BaseRate releases the base rate: the margins of the best constant, which is the best model that gives every row
// the same margins. A fit releases it once, before anything else about the targets, and begins there (see
// [Problem.From]). The comparison of the fit with the constant uses the same numbers (see [Compare]).
//
// All queries are for the mean change of the loss between two constants, a single number (query.ValueChange). The
// two constants are chosen such that the change of a record is a known multiple of what is asked for:
//
//   - Classes with logistic or softmax loss. Where the margin of class j falls from -32 to -33 and all other margins
//     are 0, the loss of a record of class j rises by its weight and the loss of any other record by less than e^-31.
//     With one margin, the margin of the second class falls so, and that of the first rises from 32 to 33. The answer
//     is the mean weight of the records of class j: their share, if records have weight 1.
//   - Counts. From margin -32 to -33 the loss rises by the record's count as a share s of the largest count. From
//     margin 29 to 30 it rises by (e^30 - e^29) q - s for the exposure q as a share of the largest exposure. The
//     exposure is 1 where records have none.
//   - Numbers with squared loss. From margin 0 to 1 the loss rises by 1/2 - y for the target y in [-1, 1], and from
//     margin 0 to -1 by 1/2 + y. The sum of the two is 1.
//   - Other losses of one margin. Bisection finds the best margin from the signs of the mean changes between nearby
//     margins.
//
// A record without a readable target contributes 0 to every query, as it does to every gradient. Shares of classes
// therefore sum to the share of the records that are read, which is not public. This is why every class has a query,
// why counts without exposures have a query for their exposure, and why the mean of numbers takes two queries.
//
// # Sensitivities
//
// A record of class j contributes a number in [0, a_j] to the query about class j, for the largest weight a_j that a
// record of the class can have (1 without weights of classes), and other records contribute 0. The same holds for a
// unit of several rows, whose contribution is the mean over its rows, or their sum over the largest number of rows.
// If a record is replaced, the sum over records therefore changes by at most a_j. The query says so: contributions
// are clipped to the interval [0, a_j], with its middle as the centre and the radius a_j/2, which changes none of
// them. Under add-or-remove the sum also changes by at most a_j. There the interval is [-a_j, a_j], around 0: an answer
// about a centre would count each record by which the table's size differs from the declared size as half a record
// of the class.
//
// Each class has a query with an equal part of the charge. As a vector, the K answers have sensitivity sqrt 2
// (replace-one) or 1 (add-or-remove), but a query of the kind answers with one number, so K queries are charged one by
// one, which is an upper bound.
//
// Counts and exposures are in [0, 1] and are asked for like classes, with half of the charge each. Counts without
// exposures have four fifths of the charge, since they are mostly far below 1, which is the exposure of all readable
// records. For a target y in [-1, 1], the numbers 1/2 - y and 1/2 + y are in [-1/2, 3/2]. The change between margins at
// distance a is at most L0 a for the Lipschitz constant L0 of the loss.
type BaseRate struct {
	// Charge is the total charge of all releases, a part of the budget mu^2.
	Charge float64
	// Loss is the loss of a record.
	Loss loss.Loss
	// Features is the number of features of a row. Intercept is the value of the last feature, which is the same in
	// all rows. Intercept 0 means that rows have no intercept.
	Features  int
	Intercept float64
	// Interval is the mean hazard of the intervals of events, as a share of the hazard up to the end, for the loss of a
	// time that is known by its interval alone, whose exposures end where the interval of an event begins. It is public.
	Interval float64
}

// BaseShare is the default share of the budget for the base rate.
const BaseShare = .02

// baseKind is the way in which the base rate of a loss is released.
type baseKind int

const (
	noBase baseKind = iota
	ofClasses
	ofCounts
	ofMean
	ofSlopes
)

// steep and steeper are two margins at which the loss of a record of the class, or of a record with a count, is
// linear in the margin, and that of any other record is constant, to less than e^-31.
const steep, steeper = 32., 33.

// far and farther are margins between which the loss of a record rises by its exposure alone, to less than 1e-12.
const far, farther = 29., 30.

// kind returns the way in which the base rate is released, or noBase if no model of the loss gives every row the
// same margins, or if no such way is known.
func (b BaseRate) kind(r account.Relation) baseKind {
	of := loss.Outputs(b.Loss)
	plain := loss.Unweighted(b.Loss)
	k := loss.Count(of)
	if k == 0 {
		return noBase
	}
	if _, ok := b.weights(make([]float64, k)); !ok {
		return noBase
	}
	switch {
	case loss.Counts(b.Loss):
		return ofCounts
	case plain.Target() == loss.Real:
		_, weighted := of.(interface{ Weights() loss.Weights })
		if loss.IsSquared(plain) && !weighted && r == account.ReplaceOne && !b.summed() {
			return ofMean
		}
		return ofSlopes
	case loss.IsLogistic(plain), k > 1:
		return ofClasses
	case k == 1:
		return ofSlopes
	}
	return noBase
}

// Possible reports whether the base rate can be released, under the relation r.
func (b BaseRate) Possible(r account.Relation) bool { return b.kind(r) != noBase }

// classesOf returns the number of classes of a loss.
func classesOf(l loss.Loss) int {
	if l.Target() == loss.Binary {
		return 2
	}
	return loss.Count(l)
}

// classPoints returns the margins of the two constants by whose change of loss the records of class j are counted.
func classPoints(l loss.Loss, j int) (from, to []float64) {
	k := loss.Count(l)
	from, to = make([]float64, k), make([]float64, k)
	if k == 1 {
		sign := 1 - 2*float64(j)
		from[0], to[0] = sign*steep, sign*steeper
		return from, to
	}
	from[j], to[j] = -steep, -steeper
	return from, to
}

// factors returns the weight of a record of each class, without weights by row.
func (b BaseRate) factors(k int) []float64 {
	out := slices.Repeat([]float64{1}, k)
	if w, ok := loss.Outputs(b.Loss).(interface{ Weights() loss.Weights }); ok && len(w.Weights().Classes) == k {
		copy(out, w.Weights().Classes)
	}
	return out
}

// summed reports whether a record is a unit whose loss is the sum over its rows, divided by the largest number of rows.
func (b BaseRate) summed() bool {
	u, ok := b.Loss.(loss.Units)
	return ok && u.Summed()
}

// questions returns the number of queries that Ask makes.
func (b BaseRate) questions(r account.Relation) int {
	switch b.kind(r) {
	case ofClasses:
		return classesOf(loss.Unweighted(b.Loss))
	case ofCounts, ofMean:
		return 2
	case ofSlopes:
		return bisections
	}
	return 0
}

// Workload says which queries Ask makes.
func (b BaseRate) Workload(r account.Relation) Workload {
	return Workload{}.Count(query.ValueChange, float64(b.questions(r)), 1)
}

// weights returns the weights of the model that gives every row the margins z. It returns false if rows have no
// intercept or no model of the loss gives every row these margins.
func (b BaseRate) weights(z []float64) ([]float64, bool) {
	if b.Intercept == 0 || len(z) == 0 {
		return nil, false
	}
	return loss.ConstantWeights(loss.RowLoss(b.Loss), b.Features, b.Intercept, z)
}

// Ask releases the base rate. Each release is charged before it is computed. Ask returns an error if the budget does
// not allow a release, or if the base rate of the loss cannot be released (see Possible).
func (b BaseRate) Ask(ctx context.Context, o Oracle, p Problem) (Base, error) {
	var out Base
	var err error
	switch b.kind(p.Relation) {
	case ofClasses:
		out, err = b.shares(ctx, o, p)
	case ofCounts:
		out, err = b.rate(ctx, o, p)
	case ofMean:
		out, err = b.mean(ctx, o, p)
	case ofSlopes:
		out, err = b.bisect(ctx, o, p, loss.Outputs(b.Loss))
	default:
		err = fmt.Errorf("loss %s: must be one of classes, counts or numbers, with an intercept", b.Loss.Name())
	}
	if err != nil {
		return Base{}, stepError("base rate", 0, err)
	}
	return out, nil
}

// mass releases the mean over records of a contribution in [0, most], which is the change of the loss from one
// constant to another. The release costs the given share of the charge. Under add-or-remove contributions are clipped
// around 0 (see BaseRate).
func (b BaseRate) mass(ctx context.Context, o Oracle, p Problem, from, to []float64, most, share float64) (query.Release,
	error) {
	before, _ := b.weights(from)
	after, _ := b.weights(to)
	centre, radius := p.LossBall(0, most)
	return ask(ctx, o, b.Charge*share*usable, query.ValueChangeWithin(o.All(), after, before, centre, radius))
}

// shares releases the mean weight of the records of each class.
func (b BaseRate) shares(ctx context.Context, o Oracle, p Problem) (Base, error) {
	plain := loss.Unweighted(b.Loss)
	k := classesOf(plain)
	a := b.factors(k)
	shares, sigma := make([]float64, k), 0.
	for i := range k {
		j := k - 1 - i // the second of two classes first
		from, to := classPoints(plain, j)
		m, err := b.mass(ctx, o, p, from, to, a[j], 1/float64(k))
		if err != nil {
			return Base{}, err
		}
		shares[j], sigma = m.Mean[0]/a[j], m.Sigma/a[j]
	}
	return baseOfShares(plain, a, shares, sigma, 1/p.Records), nil
}

// baseOfShares computes the base rate from the released shares of the classes. a are the weights of the classes,
// sigma is the standard deviation of the noise in a share, and least the smallest share other than 0.
func baseOfShares(l loss.Loss, a, shares []float64, sigma, least float64) Base {
	k := len(shares)
	floor := max(sigma, least)
	out := Base{Sums: make([]float64, k), Sigma: sigma, Resolved: true}
	weight := 0.
	for j, s := range shares {
		out.Sums[j] = float64(a[j] * s)
		out.Resolved = out.Resolved && s > 3*sigma
		shares[j] = a[j] * min(max(s, floor), max(1-floor, floor))
		weight += shares[j]
	}
	// P are the class probabilities under the constant. The mean loss is sum_j S_j log(1/P_j) for the mean weights S_j.
	P := make([]float64, k)
	var squares, loss2, mean float64
	for j, s := range shares {
		P[j] = s / weight
		d := sigma * a[j]
		out.Gap -= s * math.Log(P[j])
		squares += d * d / s
		loss2 += d * d * math.Log(P[j]) * math.Log(P[j])
		mean += d * d
	}
	out.LossSigma, out.Excess = math.Sqrt(loss2), squares-mean/weight
	out.Loss, out.LossSigma = out.Gap+out.Excess/2, math.Hypot(out.LossSigma, out.Excess)
	out.Curvature = weight * mostSpread(P)
	if loss.Count(l) == 1 {
		out.Margins = []float64{math.Log(P[1] / P[0])}
		out.MarginSigma = []float64{math.Sqrt(out.Excess / out.Curvature)}
		return out
	}
	for j := range P {
		out.Margins = append(out.Margins, math.Log(P[j]))
		out.MarginSigma = append(out.MarginSigma, sigma*a[j]/shares[j])
	}
	out.Margins = centred(out.Margins)
	return out
}

// mostSpread returns the largest eigenvalue of diag(P) - P P' for probabilities P; for two classes half of it, P_0
// P_1, the second derivative in the one margin.
func mostSpread(P []float64) float64 {
	if len(P) == 2 {
		return P[0] * P[1]
	}
	v := vector.Make(len(P), func(j int) float64 { return P[j] * (1 + float64(j)/float64(len(P))) })
	most := 0.
	for range 100 { // the power method
		mean := vector.Dot(P, v)
		for j := range v {
			v[j] = P[j] * (v[j] - mean)
		}
		if most = Norm(v); !(most > 0) {
			return 0
		}
		vector.Divide(v, most)
	}
	return most
}

// rate releases the mean count and the mean exposure.
func (b BaseRate) rate(ctx context.Context, o Oracle, p Problem) (Base, error) {
	share := .5
	if loss.LeastExposure(b.Loss) == 0 {
		share = .8
	}
	count, err := b.mass(ctx, o, p, []float64{-steep}, []float64{-steeper}, 1, share)
	if err != nil {
		return Base{}, err
	}
	rise, unit, odds := math.Exp(farther)-math.Exp(far), math.Exp(farther)-math.Exp(far), oddsOf(b.Loss)
	if odds != nil {
		rise, unit = float64(len(odds)), 1 // the number of intervals at risk without the event
	}
	exposure, err := b.mass(ctx, o, p, []float64{far}, []float64{farther}, rise, 1-share)
	if err != nil {
		return Base{}, err
	}
	S, sigma := count.Mean[0], count.Sigma
	Q, wide := exposure.Mean[0]/unit, exposure.Sigma/unit
	out := Base{Sums: []float64{S, Q}, Sigma: sigma, Resolved: S > 3*sigma && Q > 3*wide}
	Q = min(max(Q, wide, loss.LeastExposure(b.Loss)), rise/unit)
	S = min(max(S, sigma, Q/p.Records), 1)
	if odds != nil {
		return atOdds(out, odds, S, Q, wide), nil
	}
	z := math.Log(S / Q)
	for range 50 { // in the interval of an event the mean exposure is a share 1/u - 1/(e^u-1) of it, for u expected events
		if u := b.Interval * math.Exp(z); u > 1e-3 {
			z = math.Log(S / (Q + S*b.Interval*(1/u-1/math.Expm1(u))))
		}
	}
	Q = S / math.Exp(z)
	out.Margins = []float64{z}
	out.Curvature = S
	out.Excess = sigma*sigma/S + S*wide*wide/(Q*Q)
	out.MarginSigma = []float64{math.Sqrt(out.Excess / S)}
	out.Loss, out.LossSigma = S-S*z+out.Excess/2, math.Hypot(math.Hypot(sigma*z, wide*S/Q), out.Excess)
	// The infimum of the loss of a count is 0 if the count is 0. For others it is s - s log(s/q).
	out.Gap = S * (1 + max(0, -z))
	return out, nil
}

// oddsOf returns the baseline odds of the intervals if the loss is of logit hazards, as shares of their sum.
func oddsOf(l loss.Loss) []float64 {
	if of, ok := loss.Unweighted(l).(interface{ Odds() []float64 }); ok {
		return of.Odds()
	}
	return nil
}

// atOdds completes the base rate of a loss of logit hazards. S is the mean number of events, and Q that of intervals at
// risk without one, with the noise wide. The constant has the ratio of the two if records leave by events alone.
func atOdds(out Base, odds []float64, S, Q, wide float64) Base {
	var events, bends, losses, risked float64
	lo, hi := -20., 20.
	for range 60 {
		z, left := (lo+hi)/2, 1.
		events, bends, losses, risked = 0, 0, 0, 0
		for _, h := range odds {
			a := h * math.Exp(z)
			s := a / (1 + a)
			events, bends, losses, risked = events+left*s, bends+left*s*(1-s), losses+left*math.Log1p(a), risked+left
			left *= 1 - s
		}
		if events*Q < (risked-events)*S {
			lo = z
		} else {
			hi = z
		}
	}
	z, sigma := (lo+hi)/2, out.Sigma
	out.Margins = []float64{z}
	out.Curvature = S * bends / events
	out.Excess = sigma*sigma/S + S*wide*wide/(Q*Q)
	out.MarginSigma = []float64{math.Sqrt(out.Excess / out.Curvature)}
	out.Loss = (S+Q)*losses/risked - S*z + out.Excess/2
	out.LossSigma = math.Hypot(math.Hypot(sigma*z, wide*S/Q), out.Excess)
	// The infimum of the loss of an event is the logarithm of the odds of its interval.
	out.Gap = S * (1 + max(0, -z) + math.Log(float64(len(odds))))
	return out
}

// mean releases the mean target: half of the difference of two answers, over their sum, which is the share of the
// records that are read.
func (b BaseRate) mean(ctx context.Context, o Oracle, p Problem) (Base, error) {
	zero, _ := b.weights([]float64{0})
	var answers [2]query.Release
	for i, z := range []float64{1, -1} {
		to, _ := b.weights([]float64{z})
		var err error
		answers[i], err = ask(ctx, o, b.Charge/2*usable, query.ValueChangeWithin(o.All(), to, zero, .5, 1))
		if err != nil {
			return Base{}, err
		}
	}
	below, above, sigma := answers[0].Mean[0], answers[1].Mean[0], answers[0].Sigma
	read := below + above
	out := Base{Sums: []float64{(above - below) / 2, read}, Sigma: sigma / math.Sqrt2, Resolved: read > 3*math.Sqrt2*sigma}
	read = min(max(read, math.Sqrt2*sigma, 1/p.Records), 1)
	m := min(max((above-below)/2/read, -1), 1)
	spread := sigma * math.Sqrt(.5+2*m*m) / read
	out.Margins, out.MarginSigma, out.Excess = []float64{m}, []float64{spread}, read*spread*spread
	return out, nil
}

// Assumed returns the base rate with equal shares of all classes, for plans that are made before the base rate is
// released. ok is false for other losses.
func (b BaseRate) Assumed() (base Base, ok bool) {
	k := classesOf(loss.Unweighted(b.Loss))
	if b.kind(account.ReplaceOne) != ofClasses {
		return Base{}, false
	}
	return b.AtShares(slices.Repeat([]float64{1 / float64(k)}, k))
}

// AtShares returns the base rate for public shares of the classes, which must be above 0 and sum to 1. ok is false if
// they are not, or if the loss is not a log loss of as many classes.
func (b BaseRate) AtShares(shares []float64) (base Base, ok bool) {
	l := loss.Unweighted(b.Loss)
	if b.kind(account.ReplaceOne) != ofClasses || classesOf(l) != len(shares) {
		return Base{}, false
	}
	sum := 0.
	for _, s := range shares {
		if !(s > 0) {
			return Base{}, false
		}
		sum += s
	}
	base = baseOfShares(l, b.factors(len(shares)), slices.Clone(shares), 0, 0)
	return base, math.Abs(sum-1) < 1e-6
}

// AtRate returns the base rate for a public rate of counts: the mean count for the largest exposure, as a share of the
// largest count. The mean exposure is taken to be the geometric mean of its bounds. ok is false for other losses.
func (b BaseRate) AtRate(rate float64) (base Base, ok bool) {
	if b.kind(account.ReplaceOne) != ofCounts || !Positive(rate) {
		return Base{}, false
	}
	mean := rate
	if least := loss.LeastExposure(b.Loss); least > 0 {
		mean *= math.Sqrt(least)
	}
	z, mean := math.Log(rate), min(mean, 1)
	return Base{Margins: []float64{z}, Curvature: mean, Gap: mean * (1 + max(0, -z)), Resolved: true}, true
}

// AtValue returns the base rate for a public prediction y in [-1, 1] of a loss of numbers. ok is false for other
// losses.
func (b BaseRate) AtValue(y float64) (base Base, ok bool) {
	k, z := b.kind(account.ReplaceOne), y
	if mean := leastMean(b.Loss); mean > 0 {
		least := 0.
		if l, ok := loss.Unweighted(b.Loss).(interface{ LeastValue() float64 }); ok {
			least = l.LeastValue()
		}
		z = math.Log(max(mean, least+(1-least)*(1+y)/2))
	}
	return Base{Margins: []float64{z}, Resolved: true}, (k == ofMean || k == ofSlopes) && math.Abs(y) <= 1
}

// Begin returns the problem p for a fit that begins at the constant with the released base rate. Its initial gap is
// the one there, if that is smaller and known. The start of p is kept if the loss is not convex in the margins, or if
// the regularizer makes the constant worse than that start.
func (b BaseRate) Begin(p Problem, base Base) Problem {
	p.Base = &base
	w, ok := b.weights(base.Margins)
	if lo := loss.Outputs(b.Loss).Constants().Curvature.Lo; !ok || lo < 0 && loss.Outputs(b.Loss).Target() != loss.Real {
		return p
	}
	begin := p.StartPoint() // of a network, the weights of the hidden layers
	vector.Add(begin, 1, w)
	gap := p.Constants.InitialGap
	if base.Gap > 0 {
		gap = base.Gap
	}
	if p.Regularizer != nil {
		more := p.Regularizer.Value(begin) - p.Regularizer.Value(p.StartPoint())
		if gap += max(more, 0); gap >= p.Constants.InitialGap && base.Gap > 0 {
			return p
		}
	}
	p.Start, p.Constants.InitialGap = begin, min(gap, p.Constants.InitialGap)
	p.Beyond = beyondOf(b, begin)
	for _, sigma := range base.MarginSigma {
		p.startNoise = max(p.startNoise, sigma/math.Abs(b.Intercept))
	}
	return p
}
