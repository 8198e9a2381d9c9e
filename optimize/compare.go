package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Compare estimates whether a released model is better than the best constant. The best constant is the
// model of the same loss that gives every row the same margins. Its margins are the base rate of the problem
// (see [BaseRate]), or 0 if the problem has none.
//
// # The difference
//
// Compare releases the mean difference D between the losses of the model and of the constant. The margins of a legal
// row lie in an interval that follows from the weights and from the row map (Reach), and the difference of the losses
// then lies in an interval [least, most] (see loss.ChangeRange). Contributions are clipped to this interval, which
// changes none of them. Under replace-one the sum changes by at most most - least if a record is replaced. Under
// add-or-remove the interval is [-r, r] with r = max(|least|, |most|): around another centre, each record by which the
// table's size differs from the declared size would count as a record with the centre as its difference.
//
// Predictions of numbers and counts are clamped to the bounds of the target. With exposures predictions are rates, of
// which none is clamped, and the record says that expected counts were (runrecord.Compared.Clamped). A model's differences
// are therefore counted as at most those of its clamped predictions: the clip moves no record's contribution below the
// difference that the record has by what the model predicts.
//
// The interval can be so wide that no likely difference exceeds its noise: rows far from all records of the table
// are legal, too. Differences above -least are then counted as -least, which is much below most. The mean
// difference is at least the number released: the model can be called worse than the constant, but not better
// (runrecord.Compared.LowerBound).
//
// A loss of relative residuals with a cap above usualCap, such as tweedie(1.5,50,10), has an interval that is wide because of
// numbers more than usualCap times above their mean, which few records have. The differences of all records are then cut to
// the interval that the loss with the cap usualCap would have, on both sides (runrecord.Compared.Cut). The verdict is about
// these.
//
// # The constant's own noise
//
// The base rate has noise, so that its constant is not the best one. Its mean loss exceeds the smallest possible one
// by w Z^2/2, to second order, for a standard normal Z and the number w in Base.Excess. With K classes it is
// the sum of w_k Z_k^2/2. Compare therefore states D + w/2 as the difference to the best constant, with the standard
// deviation hypot(sigma, 1.05 w) for the noise sigma of D. The factor makes a false verdict as rare as for normal
// noise: if D had no noise, the model would be called better than an equally good constant if Z^2 > 1 + 2 x 2 x 1.05,
// in one of 44 comparisons.
//
// # The mean prediction of a rare class
//
// The clip shortens the gradients of a rare class most, so that a fit predicts this class too seldom. If Calibrate is above
// 0, Compare first releases the mean residual, the fit's prediction minus the outcome, and shifts all margins of the fit so
// that the mean prediction is about the base rate (recalibration in the large: Steyerberg and others, Statistics in
// Medicine 23, 2004, 2567-2586). The residual is the change of the loss between the margins z+h and z-h, divided by 2h.
// It lies in [p-1, p] for the prediction p, and counts as at most calibrateMost, or with the other class rare as at least
// -calibrateMost: predictions above calibrateMost of a rare class that a row does not have count as that.
//
// For counts the mean S is known, and the mean prediction P is released. From margin z+29 to z+30 the loss of a record rises
// by (e^30 - e^29) q e^z minus its count, a share of the largest count and less than 1e-12 of the first factor. Divided by
// it the rise is the expected count q e^z. It counts as at most a cap: calibrateCap times S, or more as long as the noise of
// P is half of that of S. The sum over records changes by at most the cap.
//
// The comparison decides, at no further charge, where the published model lies between the fit and the constant (see
// runrecord.Compared.Decide).
type Compare struct {
	// Charge is the total charge of all releases, a part of the budget mu^2.
	Charge float64
	// Calibrate is the part of Charge that releases the mean residual of two classes, or mean prediction of counts; 0 for none.
	Calibrate float64
	// Loss is the loss of a record, for which both models are scored.
	Loss loss.Loss
	// Features is the number of features of a row. Intercept is the value of the last feature, which is the same in all
	// rows. Intercept 0 means that rows have no intercept: the constant is then the model whose weights are all zero.
	Features  int
	Intercept float64
	// Reach returns an interval that contains the product of a vector v and every legal row. If it is nil, rows are
	// all vectors of norm at most 1 with the given intercept.
	Reach func(v []float64) (low, high float64)
	// Keep means that the model is published whatever the comparison finds. It is set for fits with confidence
	// intervals, since the published weights must be the estimates to which the intervals belong.
	Keep bool
}

// Found has the facts about a fit that a comparison uses to decide how far the published model goes to the
// constant. The zero Found has none.
type Found struct {
	// Square returns the mean square of v'x over the rows x for a weight difference v, from the released second
	// moment; nil if it is not known.
	Square func(v []float64) float64
	// Excess is the forecast excess risk that noise left in the fit; 0 if it is not known.
	Excess float64
}

// Resolves reports whether the comparison could distinguish the model from the constant if the mean loss of
// the model were lower by F0/2, half of the bound on the initial gap. This needs noise of standard
// deviation below F0/6, if differences lie in an interval of radius usualRange times F0. If Resolves returns false, the
// comparison is not worth its part of the budget.
func (c Compare) Resolves(p Problem) bool {
	f0 := p.Constants.InitialGap
	return c.Charge > 0 && 3*c.sigma(p, usualRange*f0, c.Charge) < f0/2
}

// Workload says which queries Ask makes.
func (c Compare) Workload() Workload {
	w := Workload{}.Count(query.ValueChange, 1, 1)
	if c.Calibrate > 0 {
		w = w.Count(query.ValueChange, 1, 1)
	}
	if c.valued() {
		w = w.Count(query.Value, 1, 1)
	}
	return w
}

// valued reports whether Ask makes a query for the mean loss of the constant: if its base rate does not determine it.
func (c Compare) valued() bool {
	of := loss.Outputs(c.Loss)
	return loss.Count(of) == 1 && !loss.Counts(c.Loss) && !loss.IsLogistic(loss.Unweighted(c.Loss))
}

// sigma returns the standard deviation of the noise in a released mean over all records, if each
// record contributes a number clipped to an interval of radius clip and the release costs charge.
func (c Compare) sigma(p Problem, clip, charge float64) float64 {
	return query.Gradient.Facts().Moves(p.Relation) * clip / (p.Records * math.Sqrt(charge*usable))
}

const (
	valueShare   = .05
	compareShare = .95
	// hopeless is the least share of the constant's loss that two standard deviations of a difference's noise
	// must have for differences to be capped.
	hopeless = .5
	// usualRange is the radius of an interval of differences, in units of F0, that plans assume.
	usualRange = 1.5
	// usualCap is the largest cap of relative residuals with which all of a record's difference counts. A larger one widens
	// the range of differences by numbers that few records have.
	usualCap = 5
	// leastRange is the smallest radius of an interval of differences. It is above the rounding of losses.
	leastRange = 1e-9
)

// Ask releases the comparison of the model with parameters w to the best constant. Each release is charged before it
// is computed. Ask returns an error if the budget does not allow a release.
func (c Compare) Ask(ctx context.Context, o Oracle, p Problem, w []float64, f Found) (Compared, error) {
	if err := p.ValidateKinked(); err != nil {
		return Compared{}, err
	}
	base := Base{Resolved: true, Margins: make([]float64, max(loss.Count(loss.Outputs(c.Loss)), 1))}
	if p.Base != nil {
		base = *p.Base
	}
	constant := c.Constant(base.Margins, len(w))
	out := Compared{Margins: base.Margins, Unresolved: !base.Resolved, Counts: loss.Counts(c.Loss),
		Clamped: loss.LeastExposure(c.Loss) > 0 && oddsOf(c.Loss) == nil}
	if _, other := c.weights(base.Margins); other && (p.Base == nil || base.Public) {
		out.LowerBound = true // another constant may be better
	}
	if err := c.value(ctx, o, p, base, constant, &out); err != nil {
		return Compared{}, err
	}
	if c.Calibrate > 0 {
		if err := c.calibrate(ctx, o, p, base, w, constant, &out); err != nil {
			return Compared{}, err
		}
		w = out.Calibrated(w, constant)
	}
	if err := c.difference(ctx, o, p, base, w, constant, &out); err != nil {
		return Compared{}, err
	}
	if !c.Keep {
		curvature, rise := c.line(p, base, w, constant, f)
		out.Decide(p.Convex(), curvature, rise)
		if out.Counts && oddsOf(c.Loss) == nil && curvature > 0 {
			out.Raise(curvature / base.Curvature)
		}
	}
	return out, nil
}

// value sets the mean loss of the best constant and its noise. For classes and counts they follow from the base
// rate. For other losses value releases the mean loss of the constant. It leaves both 0 if they are unknown.
func (c Compare) value(ctx context.Context, o Oracle, p Problem, base Base, constant []float64, out *Compared) error {
	if base.Loss > 0 {
		out.Constant, out.ConstantSigma = base.Loss, base.LossSigma
		return nil
	}
	most, ok := loss.MostValue(c.Loss, base.Margins)
	if !c.valued() || !ok {
		if least, most, ok := loss.AtZero(loss.RowLoss(c.Loss)); ok && least == most && Norm(constant) == 0 {
			out.Constant = most
		}
		return nil
	}
	centre, radius := p.LossBall(0, most)
	value, err := ask(ctx, o, c.Charge*valueShare*usable, query.ValueAt(o.All(), constant, centre, radius))
	if err != nil {
		return stepError("compare", 0, err)
	}
	out.Constant, out.ConstantSigma = value.Mean[0]-base.Excess/2, math.Hypot(value.Sigma, excessNoise*base.Excess)
	return nil
}

// calibrate releases the mean residual, or the mean prediction, of the model w, and sets the shift of its margins (see
// [Compare]).
func (c Compare) calibrate(ctx context.Context, o Oracle, p Problem, base Base, w, constant []float64, out *Compared) error {
	low, high, unit := -calibrateStep, calibrateStep, 2*calibrateStep
	least, most := -1., calibrateMost
	switch {
	case out.Counts:
		low, high, unit = far, farther, math.Exp(farther)-math.Exp(far)
		alike := base.Sigma / 2 * p.Records * math.Sqrt(c.Calibrate*usable)
		least, most = 0, max(calibrateCap*base.Sums[0], alike)
	case out.Margins[0] > 0:
		least, most = -calibrateMost, 1.
	}
	centre, radius := p.LossBall(least, most)
	up, down := Compared{Margins: out.Margins, Shift: high}, Compared{Margins: out.Margins, Shift: low}
	r, err := ask(ctx, o, c.Calibrate*usable, query.ValueChangeWithin(o.All(), up.Calibrated(w, constant),
		down.Calibrated(w, constant), unit*centre, unit*radius))
	if err != nil {
		return stepError("calibrate", 0, err)
	}
	out.Residual, out.ResidualSigma = r.Mean[0]/unit, r.Sigma/unit
	if out.Counts {
		S := base.Sums[0]
		out.Residual, out.ResidualSigma = out.Residual/S-1, math.Hypot(out.ResidualSigma, base.Sigma)/S
	}
	out.Calibrate()
	return nil
}

const (
	// calibrateStep is h: a smaller step is more exact, and more of its change of losses is rounding.
	calibrateStep = .1
	calibrateMost = .5
	// calibrateCap is the least cap of an expected count, in units of the mean count.
	calibrateCap = 5
)

// difference releases the mean difference between the losses of the model w and of the constant.
func (c Compare) difference(ctx context.Context, o Oracle, p Problem, base Base, w, constant []float64,
	out *Compared) error {
	least, most, ok := loss.ChangeRange(c.Loss, w, base.Margins, c.reach)
	if !ok {
		least, most = -p.Constants.InitialGap, p.Constants.InitialGap
		out.Unresolved = true
	}
	charge := c.Charge - c.Calibrate
	if c.valued() {
		charge *= compareShare
	}
	of := loss.Unweighted(c.Loss)
	if _, relative := of.(interface{ LeastMean() float64 }); relative && ok && of.Constants().Lipschitz > usualCap {
		most = usualCap / of.Constants().Lipschitz * max(-least, most)
		least, out.Cut = -most, true
	}
	centre, radius := (least+most)/2, (most-least)/2
	gap := out.Constant + 2*out.ConstantSigma
	if !(gap > 0) || gap > p.Constants.InitialGap {
		gap = p.Constants.InitialGap
	}
	if 2*c.sigma(p, radius, charge) > hopeless*gap && !out.Cut && least < 0 && most > -2*least {
		most, centre, radius, out.LowerBound = -least, 0, -least, true
	}
	if p.Relation == account.AddOrRemove {
		centre, radius = 0, max(-least, most)
	}
	radius = max(radius*(1+leastRange), leastRange) // losses are rounded
	out.Least, out.Most, out.Clip = centre-radius, centre+radius, radius
	d, err := ask(ctx, o, charge*usable, query.ValueChangeWithin(o.All(), w, constant, centre, radius))
	if err != nil {
		return stepError("compare", 1, err)
	}
	own, spread := base.Excess, base.Excess
	if len(base.Margins) > 1 && len(base.Sums) == len(base.Margins) {
		spread = 0
		for _, s := range base.Sums {
			spread = math.Hypot(spread, base.Sigma*base.Sigma/max(s, base.Sigma))
		}
		spread = min(spread, own)
	}
	out.Difference, out.Sigma = d.Mean[0]+own/2, math.Hypot(d.Sigma, excessNoise*spread)
	return nil
}

// excessNoise is the factor on w in the stated noise of a difference (see [Compare]).
const excessNoise = 1.05

// reach returns an interval that contains the product of v and every legal row.
func (c Compare) reach(v []float64) (low, high float64) {
	if c.Reach != nil {
		return c.Reach(v)
	}
	last := len(v) - 1
	if c.Intercept == 0 {
		long := Norm(v)
		return -long, long
	}
	at, long := v[last]*c.Intercept, Norm(v[:last])*math.Sqrt(max(1-c.Intercept*c.Intercept, 0))
	return at - long, at + long
}

// line returns the second derivative of the mean loss along the line from the constant to the model, at the constant,
// and a forecast of the first derivative at the model. The second derivative is the curvature at the constant times the
// mean square of the change of the margins. The first derivative is twice the excess risk E that noise left in the
// model: noise that is independent of the signal adds 2 E to the second derivative, and nothing to the first
// derivative at the constant. curvature is 0 if one of these facts is unknown. (Released gradients do not tell the first
// derivative: the model has moved along minus their noise.)
func (c Compare) line(p Problem, base Base, w, constant []float64, f Found) (curvature, rise float64) {
	if f.Square == nil || !(f.Excess > 0) || !p.RankOne || !(base.Curvature > 0) {
		return 0, 0
	}
	v := append([]float64(nil), w...)
	Descend(v, constant, 1)
	for k := range p.Shape.Margins {
		curvature += base.Curvature * f.Square(v[k*p.Shape.Features:(k+1)*p.Shape.Features])
	}
	return curvature, 2 * f.Excess
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
	return BaseRate{Loss: c.Loss, Features: c.Features, Intercept: c.Intercept}.weights(z)
}

// Measure releases two numbers about a released point: the mean loss and the norm of the mean gradient. The
// noise in a single number is far smaller than the noise in a vector of d coordinates, so a few percent of
// a budget are enough for precise numbers.
type Measure struct {
	// Charge is the total charge of the two releases, a part of the budget mu^2.
	Charge float64
}

// Workload says which queries Ask makes.
func (Measure) Workload() Workload {
	return Workload{}.Count(query.Value, 1, 1).Count(query.Norm, 1, 1)
}

// Ask releases the mean loss and the norm of the mean gradient at w, over all records. The regularizer is
// included in both numbers, without noise.
func (m Measure) Ask(ctx context.Context, o Oracle, p Problem, w []float64) (Measured, error) {
	if err := p.ValidateKinked(); err != nil {
		return Measured{}, err
	}
	f0 := p.Constants.InitialGap
	charge := m.Charge / 2 * usable
	value, err := ask(ctx, o, charge, query.ValueAt(o.All(), w, f0, f0))
	if err != nil {
		return Measured{}, stepError("measure", 0, err)
	}
	gradient, err := ask(ctx, o, charge, p.NormAt(o.All(), w, p.Constants.Lipschitz))
	if err != nil {
		return Measured{}, stepError("measure", 1, err)
	}
	return Measured{
		Loss: value.Mean[0] + p.Penalty().Value(w), LossSigma: value.Sigma, LossClip: 2 * f0,
		GradientNorm: math.Max(gradient.Mean[0], 0), GradientSigma: gradient.Sigma,
	}, nil
}

func ask(ctx context.Context, o Oracle, charge float64, terms ...query.Term) (query.Release, error) {
	q, err := query.New(charge, terms...)
	if err != nil {
		return query.Release{}, err
	}
	return o.Ask(ctx, q)
}
