package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Compare estimates whether a released model is better than the best constant. The best constant is the
// model of the same loss that gives every row the same margins. Compare makes three groups of releases
// in this order, each release a single number:
//
//  1. The constant. With one margin, bisection finds it from the sign of the mean change of the loss
//     between two nearby margins. With several margins, the margin of a class is the logarithm of the
//     released share of the class.
//  2. The mean loss of the constant.
//  3. The mean difference between the losses of the model and of the constant. The difference of each
//     record is clipped to [-C, C] with C = min(F0, L0 ||v||, 2 L0 s), but at least F0/8. Here v is the
//     difference of the two models' weights, and s^2 is the mean square of v'x over the rows, computed from
//     the released second moment. F0 and L0 ||v|| bound every difference. 2 L0 s is often the smallest of
//     the three numbers. A smaller C lowers the noise, and with C = 2 L0 s few differences are clipped.
//
// The first group is charged 1/2 of Charge, the second 1/20 and the third the rest. If noise makes the
// bisection choose the wrong half of its interval, the loss of the constant rises by about the noise of the
// bisection. The model is then compared with a constant that is not the best one. This favours the model by
// the difference between the losses of the two constants.
//
// The comparison decides, at no further charge, whether to publish the model, the constant, or the
// weights halfway between them (see runrecord.Compared.Decide).
type Compare struct {
	// Charge is the total charge of all releases, a part of the budget mu^2.
	Charge float64
	// Loss is the loss of a record, for which both models are scored.
	Loss loss.Loss
	// Features is the number of features of a row. Intercept is the value of the last feature, which is
	// the same in all rows. Intercept 0 means that rows have no intercept: the constant is then the
	// model whose weights are all zero.
	Features  int
	Intercept float64
	// Keep means that the model is published whatever the comparison finds. It is set for fits with
	// confidence intervals, since the published weights must be the estimates to which the intervals
	// belong.
	Keep bool
}

// Resolves reports whether the comparison could distinguish the model from the constant if the mean loss of
// the model were lower by F0/2, half of the bound on the initial gap. This needs noise of standard
// deviation below F0/6 for the clip F0. If Resolves returns false, the comparison is not worth its part of
// the budget.
func (c Compare) Resolves(p Problem) bool {
	return c.Charge > 0 && 3*c.sigma(p, p.Constants.InitialGap, c.Charge*compareShare) < p.Constants.InitialGap/2
}

// Workload says which queries Ask makes.
func (c Compare) Workload() Workload {
	changes, of := 1., loss.Outputs(c.Loss)
	k := loss.Count(of)
	if _, ok := c.weights(make([]float64, k)); ok {
		if changes += float64(k); k == 1 {
			changes = 1 + bisections
		}
	}
	return Workload{}.Count(query.Value, 1, 1).Count(query.ValueChange, changes, 1)
}

// sigma returns the standard deviation of the noise in a released mean over all records, if each
// record contributes a number clipped to [-clip, clip] and the release costs charge.
func (c Compare) sigma(p Problem, clip, charge float64) float64 {
	return query.Gradient.Facts().Moves(p.Relation) * clip / (p.Records * math.Sqrt(charge*usable))
}

const (
	constantShare = .5
	valueShare    = .05
	compareShare  = .45
	// leastClip is the smallest allowed ratio of the clip C to F0. With a smaller clip the noise of the
	// comparison could be smaller than the excess of the loss of the found constant over the loss of the
	// best constant.
	leastClip = .125
	// differences is the ratio of the clip C to L0 s, where s is the root mean square, over the rows, of
	// the difference between the margins of the two models. A record is not clipped if its margins differ
	// by at most 2 s.
	differences = 2
)

// Ask releases the comparison of the model with parameters w to the best constant. The function
// square, if not nil, returns the mean square of v'x over the rows x for a weight difference v, from
// the released second moment. Each release is charged before it is computed. Ask returns an error if
// the budget does not allow a release.
func (c Compare) Ask(ctx context.Context, o Oracle, p Problem, w []float64, square func(v []float64) float64) (Compared,
	error) {
	if err := p.ValidateKinked(); err != nil {
		return Compared{}, err
	}
	f0 := p.Constants.InitialGap
	var out Compared
	var err error
	if out.Margins, err = c.constant(ctx, o); err != nil {
		return Compared{}, stepError("compare", 0, err)
	}
	constant := c.Constant(out.Margins, len(w))
	if _, ok := c.weights(out.Margins); !ok {
		out.Margins = make([]float64, max(len(out.Margins), 1))
	}
	value, err := ask(ctx, o, c.Charge*valueShare*usable, query.ValueAt(o.All(), constant, f0, f0))
	if err != nil {
		return Compared{}, stepError("compare", 1, err)
	}
	out.Clip = c.clip(p, w, constant, square)
	difference, err := ask(ctx, o, c.Charge*compareShare*usable, query.ValueChangeAt(o.All(), w, constant, out.Clip))
	if err != nil {
		return Compared{}, stepError("compare", 2, err)
	}
	out.Constant, out.ConstantSigma = value.Mean[0], value.Sigma
	out.Difference, out.Sigma = difference.Mean[0], difference.Sigma
	if !c.Keep {
		out.Decide(p.Convex())
	}
	return out, nil
}

// clip returns the bound C to which each record's difference between the losses of the model w and of
// the constant is clipped.
func (c Compare) clip(p Problem, w, constant []float64, square func(v []float64) float64) float64 {
	k, l0 := p.Constants, p.Constants.Lipschitz
	v := append([]float64(nil), w...)
	Descend(v, constant, 1)
	most := k.InitialGap
	if length := Norm(v); length > 0 {
		most = min(most, l0*length)
	}
	if square != nil && p.Shape.Margins == 1 {
		if s := square(v); s > 0 {
			most = min(most, differences*l0*math.Sqrt(s))
		}
	}
	return max(most, leastClip*k.InitialGap)
}

// Constant returns the weights of the constant model, which gives every row the margins z that Ask
// found. The weights are all zero if no model gives every row these margins.
func (c Compare) Constant(z []float64, parameters int) []float64 {
	if w, ok := c.weights(z); ok {
		return w
	}
	return make([]float64, parameters)
}

// weights returns the weights of the model that gives every row the margins z. It returns false if rows
// have no intercept, z is empty or no model of the loss gives every row these margins.
func (c Compare) weights(z []float64) ([]float64, bool) {
	if c.Intercept == 0 || len(z) == 0 {
		return nil, false
	}
	return loss.ConstantWeights(loss.RowLoss(c.Loss), c.Features, c.Intercept, z)
}

// constant makes the releases that determine the margins of the best constant model, and returns the
// margins. It returns nil, without a release, if rows have no intercept or the loss has no margins.
func (c Compare) constant(ctx context.Context, o Oracle) ([]float64, error) {
	of := loss.Outputs(c.Loss)
	k := loss.Count(of)
	if _, ok := c.weights(make([]float64, k)); !ok {
		return nil, nil
	}
	if k == 1 {
		return c.bisect(ctx, o, of)
	}
	return c.shares(ctx, o, of.(loss.Margins))
}

// bisections is the number of times that the search for the best constant halves its interval of
// margins.
const bisections = 12

// margins returns the interval in which the best constant's margin is searched. It is [-1, 1] for real
// targets. It is [-16, 2] for counts, whose margin is the logarithm of the expected count over the largest
// count. It is [-8, 8] for two classes, whose margin is a log odds.
func margins(of loss.Loss) (lo, hi float64) {
	switch {
	case loss.Counts(of):
		return -16, 2
	case of.Target() == loss.Real:
		return -1, 1
	}
	return -8, 8
}

// bisect finds the margin of the best constant by bisection. Each step releases the mean change of
// the loss between two nearby margins, divided by their distance, and follows the sign of this slope.
// A record's slope is at most L0, whatever the distance. Near the optimum noise makes the sign of a
// slope unsure. bisect therefore returns the root of a line through all released slopes (see root),
// which averages the noise of the nearby slopes.
func (c Compare) bisect(ctx context.Context, o Oracle, of loss.Loss) ([]float64, error) {
	lo, hi := margins(of)
	apart := (hi - lo) / (1 << bisections)
	clip := of.Constants().Lipschitz * apart
	if u, ok := c.Loss.(loss.Units); ok && u.Summed() {
		clip *= float64(u.Rows())
	}
	var slopes []slope
	for range bisections {
		middle := (lo + hi) / 2
		from, _ := c.weights([]float64{middle - apart/2})
		to, _ := c.weights([]float64{middle + apart/2})
		change, err := ask(ctx, o, c.Charge*constantShare/bisections*usable, query.ValueChangeAt(o.All(), to, from, clip))
		if err != nil {
			return nil, err
		}
		slopes = append(slopes, slope{middle, change.Mean[0], change.Sigma})
		if change.Mean[0] > 0 {
			hi = middle
		} else {
			lo = middle
		}
	}
	least, most := margins(of)
	return []float64{root(slopes, (lo+hi)/2, (hi-lo)/2, (most-least)*nearby)}, nil
}

// slope is a released slope of the mean loss at a margin. The field at is the margin. The field change is
// the released change of the mean loss between two margins around it, at a distance that is the same for
// all slopes. The field sigma is the standard deviation of the noise in change.
type slope struct{ at, change, sigma float64 }

// nearby is the largest value of the distance near in the function root, as a share of the length of the
// searched interval. The sign of a slope counts as unsure if the slope is at most unsure standard
// deviations of its noise away from zero.
const nearby, unsure = 1. / 16, 3

// root fits a line to the released slopes by weighted least squares and returns the margin at which the
// line is zero, moved to within near of the margin end at which the bisection stopped. A slope has the
// weight 1/(1 + (its distance from end)^4/near^4). near is the largest distance from end at which a slope
// has an unsure sign, limited to [least, most]. Slopes farther from end have sure signs, so the bisection
// chose the right half there. Such slopes get little weight, because they need not lie on the line. If the
// fitted line does not rise, root returns end.
func root(slopes []slope, end, least, most float64) float64 {
	near := least
	for _, s := range slopes {
		if math.Abs(s.change) <= unsure*s.sigma {
			near = max(near, math.Abs(s.at-end))
		}
	}
	near = min(near, most)
	var sum, at, change, square, product float64
	for range 2 { // the first pass computes the means, the second the moments about the means
		square, product = 0, 0
		var weights, ats, changes float64
		for _, s := range slopes {
			weight := 1 / (1 + math.Pow((s.at-end)/near, 4))
			weights, ats, changes = weights+weight, ats+weight*s.at, changes+weight*s.change
			square += weight * (s.at - at) * (s.at - at)
			product += weight * (s.at - at) * (s.change - change)
		}
		sum, at, change = weights, ats/weights, changes/weights
	}
	if !(sum > 0 && square > 0 && product > 0) {
		return end
	}
	return min(max(at-change*square/product, end-near), end+near)
}

// shares returns the margins of the best constant for several classes, computed from the released share of
// each class. For each class it releases the mean change of the loss if the margin of the class rises from
// 0 to 1 and all other margins stay 0. With K classes, the loss of a record of weight a changes by a
// log((e+K-1)/K), less a if the record is of the class. The sum of the changes over the classes determines
// the mean weight. A class share below the standard deviation of its noise is replaced by this deviation.
func (c Compare) shares(ctx context.Context, o Oracle, of loss.Margins) ([]float64, error) {
	k := of.K()
	rise := math.Log((math.E + float64(k) - 1) / float64(k))
	clip := of.Constants().Lipschitz / math.Sqrt2 // the largest weight of a record
	clip *= math.Max(rise, 1-rise)
	if u, ok := c.Loss.(loss.Units); ok && u.Summed() {
		clip *= float64(u.Rows())
	}
	none, _ := c.weights(make([]float64, k))
	changes, sum, sigma := make([]float64, k), 0., 0.
	for j := range changes {
		z := make([]float64, k)
		z[j] = 1
		at, _ := c.weights(z)
		change, err := ask(ctx, o, c.Charge*constantShare/float64(k)*usable, query.ValueChangeAt(o.All(), at, none, clip))
		if err != nil {
			return nil, err
		}
		changes[j], sigma = change.Mean[0], change.Sigma
		sum += change.Mean[0]
	}
	total := sum / (float64(k)*rise - 1)
	z := make([]float64, k)
	for j, change := range changes {
		z[j] = math.Log(math.Max(total*rise-change, sigma))
	}
	return centred(z), nil
}

// centred subtracts the mean of z from z, in place, and returns z.
func centred(z []float64) []float64 {
	sum := 0.
	for _, v := range z {
		sum += v
	}
	for j := range z {
		z[j] -= sum / float64(len(z))
	}
	return z
}
