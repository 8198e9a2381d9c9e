package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Compare asks whether a released model is better than the best constant: the model of the
// same loss that gives every row the same margins. Three releases follow each other, all
// of single numbers:
//
//  1. the constant. Of one margin it is found by bisection on the sign of the mean change
//     of the loss between two margins close to each other; of several, the margins of
//     classes are the logarithms of the classes' released shares;
//  2. the mean loss of the constant;
//  3. the mean difference of the losses of the model and of the constant, each record's
//     clipped to F0 at either side.
//
// The first takes 3/5 of the charge, the second 1/20, the third the rest. A wrong turn of
// the bisection costs a loss of the order of its noise; a constant that is not the best
// one speaks for the model, by as much.
type Compare struct {
	// Charge is what all releases together are charged.
	Charge float64
	// Loss is the loss of a record.
	Loss loss.Loss
	// Features is how many features a row has, and Intercept the value of the last one,
	// which all rows share. Intercept 0 stands for rows without one: the constant is then
	// the model whose weights are all zero.
	Features  int
	Intercept float64
}

// Resolves reports whether the comparison can tell apart a model that saves half of F0
// from the constant. Where it cannot, its charge is better kept for the model.
func (c Compare) Resolves(p Problem) bool {
	return c.Charge > 0 && 2*c.sigma(p, p.Constants.InitialGap, c.Charge*compareShare) < p.Constants.InitialGap/2
}

// sigma is the noise of a mean of numbers clipped to [-clip, clip].
func (c Compare) sigma(p Problem, clip, charge float64) float64 {
	return query.Gradient.Facts().Moves(p.Relation) * clip / (p.Records * math.Sqrt(charge*usable))
}

const (
	constantShare = .6
	valueShare    = .05
	compareShare  = .35
)

// Ask compares the model with parameters w. The whole of it is post-processing of single
// numbers, each charged before it is computed.
func (c Compare) Ask(ctx context.Context, o Oracle, p Problem, w []float64) (Compared, error) {
	if err := p.ValidateKinked(); err != nil {
		return Compared{}, err
	}
	f0 := p.Constants.InitialGap
	out := Compared{Clip: f0}
	var err error
	if out.Margins, err = c.constant(ctx, o); err != nil {
		return Compared{}, stepError("compare", 0, err)
	}
	constant, ok := c.weights(out.Margins)
	if !ok {
		constant, out.Margins = make([]float64, len(w)), make([]float64, max(len(out.Margins), 1))
	}
	value, err := ask(ctx, o, c.Charge*valueShare*usable, query.ValueAt(o.All(), constant, f0, f0))
	if err != nil {
		return Compared{}, stepError("compare", 1, err)
	}
	difference, err := ask(ctx, o, c.Charge*compareShare*usable, query.ValueChangeAt(o.All(), w, constant, f0))
	if err != nil {
		return Compared{}, stepError("compare", 2, err)
	}
	out.Constant, out.ConstantSigma = value.Mean[0], value.Sigma
	out.Difference, out.Sigma = difference.Mean[0], difference.Sigma
	return out, nil
}

// weights are those of the model that gives every row the margins z.
func (c Compare) weights(z []float64) ([]float64, bool) {
	if c.Intercept == 0 || len(z) == 0 {
		return nil, false
	}
	return loss.ConstantWeights(loss.RowLoss(c.Loss), c.Features, c.Intercept, z)
}

// constant finds the margins of the best constant; none where rows have no intercept or
// the loss no margins.
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

// bisections is how often an interval of margins is cut in half.
const bisections = 12

// margins are where the best constant is looked for: numbers lie in [-1, 1], logarithms of
// shares of a largest count, and of odds, in wider intervals.
func margins(of loss.Loss) (lo, hi float64) {
	switch {
	case loss.Counts(of):
		return -16, 2
	case of.Target() == loss.Real:
		return -1, 1
	}
	return -8, 8
}

// bisect follows the sign of the mean change of the loss between two margins, which is a
// slope of Lipschitz constant L0 whatever their distance.
func (c Compare) bisect(ctx context.Context, o Oracle, of loss.Loss) ([]float64, error) {
	lo, hi := margins(of)
	apart := (hi - lo) / (1 << bisections)
	clip := of.Constants().Lipschitz * apart
	if u, ok := c.Loss.(loss.Units); ok && u.Summed() {
		clip *= float64(u.Rows())
	}
	for range bisections {
		middle := (lo + hi) / 2
		from, _ := c.weights([]float64{middle - apart/2})
		to, _ := c.weights([]float64{middle + apart/2})
		change, err := ask(ctx, o, c.Charge*constantShare/bisections*usable, query.ValueChangeAt(o.All(), to, from, clip))
		if err != nil {
			return nil, err
		}
		if change.Mean[0] > 0 {
			hi = middle
		} else {
			lo = middle
		}
	}
	return []float64{(lo + hi) / 2}, nil
}

// shares finds the margins of classes from how much the loss changes where the margin of
// one of them rises from 0 to 1: by log((e+K-1)/K) for every record, and by 1 less for
// those of the class, times a record's weight. Sum over classes tells the weights' mean.
// What is no more than its noise counts as that.
func (c Compare) shares(ctx context.Context, o Oracle, of loss.Margins) ([]float64, error) {
	k := of.K()
	rise := math.Log((math.E + float64(k) - 1) / float64(k))
	clip := of.Constants().Lipschitz / math.Sqrt2 // the largest weight
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

// centred is z less its mean.
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
