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
//   1. The constant. With one margin, bisection finds it from the sign of the mean change of the loss
//      between two nearby margins. With several margins, the margin of a class is the logarithm of the
//      released share of the class.
//   2. The mean loss of the constant.
//   3. The mean difference between the losses of the model and of the constant. The difference of each
//      record is clipped to [-F0, F0].
//
// The first group spends 3/5 of the charge, the second 1/20, the third the rest. A wrong turn of the
// bisection costs a loss of the order of its noise. If the constant found is not the best one, the
// comparison favours the model by the loss that the constant is above the best.
type Compare struct {
	// Charge is the charge of all releases together.
	Charge float64
	// Loss is the loss of a record.
	Loss loss.Loss
	// Features is the number of features of a row. Intercept is the value of the last feature, which is
	// the same in all rows. Intercept 0 means that rows have no intercept: the constant is then the
	// model whose weights are all zero.
	Features  int
	Intercept float64
}

// Resolves reports whether the noise of the comparison is small enough to tell a model that saves half
// of F0 from the constant. If it is not, the charge is better spent on the model.
func (c Compare) Resolves(p Problem) bool {
	return c.Charge > 0 && 2*c.sigma(p, p.Constants.InitialGap, c.Charge*compareShare) < p.Constants.InitialGap/2
}

// sigma is the standard deviation of the noise of a mean of numbers clipped to [-clip, clip].
func (c Compare) sigma(p Problem, clip, charge float64) float64 {
	return query.Gradient.Facts().Moves(p.Relation) * clip / (p.Records * math.Sqrt(charge*usable))
}

const (
	constantShare = .6
	valueShare    = .05
	compareShare  = .35
)

// Ask compares the model with parameters w to the best constant. Each release is a single number that
// is charged before it is computed; all else is post-processing.
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

// weights returns the weights of the model that gives every row the margins z. It returns false if rows
// have no intercept, z is empty or the loss has no such model.
func (c Compare) weights(z []float64) ([]float64, bool) {
	if c.Intercept == 0 || len(z) == 0 {
		return nil, false
	}
	return loss.ConstantWeights(loss.RowLoss(c.Loss), c.Features, c.Intercept, z)
}

// constant returns the margins of the best constant. It returns none if rows have no intercept or the
// loss has no margins.
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

// bisections is the number of times the bisection halves its interval of margins.
const bisections = 12

// margins returns the interval in which the best constant is searched: [-1, 1] for real targets, [-16,
// 2] for counts, whose margin is the logarithm of a share of the largest count, and [-8, 8] for log
// odds.
func margins(of loss.Loss) (lo, hi float64) {
	switch {
	case loss.Counts(of):
		return -16, 2
	case of.Target() == loss.Real:
		return -1, 1
	}
	return -8, 8
}

// bisect follows the sign of the mean change of the loss between two margins. The change divided by the
// distance of the margins is at most L0, whatever the distance.
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

// shares returns the margins of classes. For each class it releases how much the loss changes if the
// margin of the class rises from 0 to 1. A record's loss changes by log((e+K-1)/K), minus 1 if the
// record is of the class, times the record's weight. The sum over classes determines the mean weight. A
// share below the standard deviation of its noise is replaced by that deviation.
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
