package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Compare estimates whether a released model is better than the best constant. The best constant is the
// model of the same loss that gives every row the same margins. Its margins are the base rate of the problem
// (see [BaseRate]), or 0 if the problem has none. Compare makes two releases in this order, each a single
// number:
//
//  1. The mean loss of the constant.
//  2. The mean difference between the losses of the model and of the constant. The difference of each
//     record is clipped to [-C, C] with C = min(F0, L0 ||v||, 2 L0 s), but at least F0/8. Here v is the
//     difference of the two models' weights, and s^2 is the mean square of v'x over the rows, computed from
//     the released second moment. F0 and L0 ||v|| bound every difference. 2 L0 s is often the smallest of
//     the three numbers. A smaller C lowers the noise, and with C = 2 L0 s few differences are clipped.
//
// The first release is charged 1/10 of Charge and the second the rest.
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
	return Workload{}.Count(query.Value, 1, 1).Count(query.ValueChange, 1, 1)
}

// sigma returns the standard deviation of the noise in a released mean over all records, if each
// record contributes a number clipped to [-clip, clip] and the release costs charge.
func (c Compare) sigma(p Problem, clip, charge float64) float64 {
	return query.Gradient.Facts().Moves(p.Relation) * clip / (p.Records * math.Sqrt(charge*usable))
}

const (
	valueShare   = .1
	compareShare = .9
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
	if p.Base != nil {
		out.Margins = p.Base.Margins
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
