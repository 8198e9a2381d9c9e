package onestep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Curvature states how fast the second derivative of a loss changes with the margin z. It selects the value that
// is assumed for the ratio of the third derivative's absolute value to the second derivative.
type Curvature uint8

const (
	// Flat is for quadratic losses, and for quadratic losses whose slope is clipped: the ratio is 0.
	Flat Curvature = iota
	// Logistic is for log loss: the ratio is |tanh(z/2)|, taken at the mean margin z.
	Logistic
	// Exponential is for Poisson regression with a logarithmic link: the ratio is 1.
	Exponential
	// Relative is for losses of relative residuals with a logarithmic link, such as gamma's: the ratio is at most 1, and
	// 1 is assumed. The fit begins at the released base rate.
	Relative
	// Ordered is for ordered classes by proportional odds: the ratio is that of the model, taken at the mean margin. The fit
	// begins at the released base rate. Its coefficients are those of the row and the gaps between thresholds, in which the loss is
	// convex.
	Ordered
)

// Intervals is the estimate of a generalised linear model with confidence intervals. The method is
// new here. Its parts are the sandwich variance (Huber 1967; Liang and Zeger 1986 for units of
// several rows), the one-step estimate (Le Cam 1956) and the region of Fieller (1954) and Anderson
// and Rubin (1949).
//
//	Gt = mean x x' + noise                                           .10 of the budget
//	drop columns until every direction of Gt is visible above the curvature's noise
//	P = (Gt_+ + lambda I)^(-1/2) on the other columns, lambda the edge of Gt's noise
//	b_0: Nesterov's method in the metric on mean u phi' P x,         .08, the same for each step
//	     from the released base rate
//	b_1 = b_0 - H_0^-1 g_0, with g_0 and H_0 released at b_0          .14 and .09
//	estimate = b_1 - H^-1 g, with g released at b_1                   .36
//	                         and H and S released at b_1 + d/2        .17 and .06
//
// Here b are coefficients, phi' is the derivative of the loss in the margin, and Gt_+ is Gt without its
// negative eigenvalues. d = -s H_0^-1 g is the step that is expected from b_1. The released step -H_0^-1 g
// has the noise of g and of g_0. The factor s = .36/(.36 + .14) is the coefficient in a regression of the
// true step on the released step. H is released at the middle of the expected step, since a Newton step
// with the curvature at its middle is exact to the third order. If noise hides the direction of least
// curvature of H_0, d is 0.
//
// H is the mean second derivative matrix (curvature) and S the second moment of the records' gradients. The
// edge is the largest eigenvalue of the noise in Gt. The weights u = min(1, B^2/||P x||^2) limit the
// contribution of a row. They depend on rows alone, so they do not bias the estimate as a clip of slopes
// would. B^2 = min(beta d_eff, 1/lambda), where d_eff is the number of directions along which Gt exceeds
// lambda. beta is 4 if the noise of the final gradient is expected to be small compared with the sampling
// error (ratio of variances below .3), and 2.5 otherwise. A larger beta causes more noise. A smaller beta
// makes more weights far below 1, and such weights change the estimated quantity if the model is wrong.
// Package inference computes the variance and the region.
//
// Guarantee: mu-GDP whatever the constants. Charges are fixed in the plan; the metric, the columns
// and the points depend on earlier releases, as adaptive composition allows.
//
// Simulation shows that intervals cover the true coefficient with the nominal frequency
// (lab/results/inference.md). No theorem states this coverage for a finite number of records.
type Intervals struct {
	// Level is the nominal coverage of an interval, for example .95.
	Level float64
	// Columns are the columns of the formula. Categories are coded against reference levels.
	Columns []inference.Column
	// Curvature describes the curvature of the loss.
	Curvature Curvature
	// Intercept is the value of the last feature, which is the same in all rows.
	Intercept float64
	// Known is what the public base rate of the target tells: the mean second derivative of the loss, and the mean square of
	// its slope, at the best constant. Both are 0 if no base rate is public.
	Known struct{ Curvature, Square float64 }
	// Features is the number of features of a row. If a record is a unit of several rows, Features is the
	// number for one of these rows.
	Features int
}

// Shares of the budget that the releases get, and constants of the method.
const (
	momentShare                   = .10
	fitShare                      = .08
	firstGradient, firstCurvature = .14, .09
	lastGradient, lastCurvature   = .36, .17
	middleShare                   = .06
	fewSteps, manySteps           = 8, 24 // steps of the fit; with more of them the noise of each would be larger
	betaTrusted, beta             = 4., 2.5
	trusted                       = .3     // largest ratio of privacy to sampling variance for betaTrusted
	usualSquare                   = .15    // assumed mean squared slope over L0^2, for the choice of beta
	usualCurvature                = .48    // assumed mean second derivative over its bound, for dropping columns
	nearBase                      = .8     // assumed mean second derivative over that at the base rate
	usualCurvatureOfCounts        = .25    // the same for counts, whose bound is mostRates times the mean rate
	usualRate                     = 1. / 3 // mean rate of counts, over the clip, that Foresee assumes
	levels                        = 3      // number of the fit's steps that find the mean rate of counts
	mostRates                     = 4.
	usualOfOrdered, mostOfOrdered = .3, .5 // mean curvature of ordered classes in the score, and its bound
)

type plan struct {
	optimize.Settled
	Intervals
}

// Plan returns the plan for the problem p. It returns an error if p is not valid, or if the method has no
// intervals for p. It has none unless the loss is a generalised linear model with one margin. It has none
// with a feasible set, a regularizer or a smoothing, or for more than query.MaxPairs features.
func (c Intervals) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.check(p); err != nil {
		return nil, err
	}
	g := &plan{Intervals: c}
	if p.Beyond != nil {
		last := len(c.Columns) - 1
		g.Columns = slices.Clone(c.Columns[:last])
		for j := range p.Beside {
			g.Columns = append(g.Columns, inference.Column{Feature: c.Features + j, Kept: true, Level: true})
		}
		g.Columns = append(g.Columns, c.Columns[last])
	}
	moment := query.SecondMoment
	if p.Grouped {
		moment = query.WeightedMoment
	}
	var err error
	g.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: Name,
			Citation:  "two Newton steps from a fit with a preconditioner learned privately, with sandwich variance",
			Steps:     c.steps() + 2,
			StepSize:  1 / p.DataSmoothness(),
			Charges: fmt.Sprintf("%.2g of the budget to the second moment of the rows, %.2g to the fit, %.2g and %.2g to "+
				"gradient and curvature of the first Newton step, %.2g, %.2g and %.2g to gradient, curvature and variance of "+
				"the second",
				momentShare, fitShare, firstGradient, firstCurvature, lastGradient, lastCurvature, middleShare),
			Passes: float64(c.steps()) + 2, PairPasses: 4,
			Output: "the estimate: a Newton step with released gradient and curvature",
		},
		Properties: optimize.Properties{Convex: true},
		Workload: optimize.Workload{}.Count(moment, 1, 1).Count(query.WeightedGradient, float64(c.steps()+2), 1).
			Count(query.WeightedCurvature, 2, 1).Count(query.ScoreMoment, 1, 1),
		Output: optimize.Last,
	})
	if err != nil {
		return nil, err
	}
	noise := p.Neighbours() * p.Constants.Lipschitz / (p.Records * p.Mu * math.Sqrt(lastGradient))
	k := float64(len(g.Columns))
	g.Expect(optimize.Forecast{Gradient: noise * math.Sqrt(beta*k), Population: noise * math.Sqrt(beta*k),
		Excess: noise * noise * beta * k / p.DataSmoothness()})
	return g, nil
}

// Foresee returns the expected standard error of a column's coefficient for n records and a budget of mu
// (total), and the standard error that sampling alone would cause (sampling). Both are in units of 1/s,
// where s is the standard deviation of the column given the other columns. Foresee assumes the usual first
// and second derivatives of the loss, and that no column is dropped.
func (c Intervals) Foresee(p optimize.Problem, n, mu float64) (total, sampling float64) {
	l0 := p.Constants.Lipschitz
	square := usualSquare * l0 * l0 / n
	if c.Curvature == Relative {
		square = min(usualSquare*l0*l0, 1) / n // the square of a relative residual
	}
	if c.Known.Square > 0 {
		square = min(usualSquare*l0*l0, c.Known.Square) / n
	}
	noise := p.Neighbours() * l0 * c.reach(p, n, mu) / (n * mu * math.Sqrt(lastGradient))
	curvature := c.usual(p) * p.DataSmoothness()
	switch c.Curvature {
	case Ordered:
		// The information of a record is (1 - sum of the cubes of the shares)/3.
		square, curvature = usualOfOrdered/n, usualOfOrdered
	case Flat:
		curvature = p.DataSmoothness() // the second derivative of the square is the same everywhere
	case Exponential:
		if curvature = c.Known.Curvature; curvature == 0 {
			curvature = usualRate * l0
		}
	}
	return math.Sqrt(square+noise*noise) / curvature, math.Sqrt(square) / curvature
}

// Size returns the size on which the share of the coefficients with an interval depends: n mu/k^1.5 for k columns, times
// the mean second derivative of the loss over its bound if that is less than of common classes.
func (c Intervals) Size(p optimize.Problem, n, mu float64) float64 {
	return n * mu * min(1, c.usual(p)/usualCurvature) / math.Pow(float64(len(c.Columns)), 1.5)
}

// steps returns the number of steps of the fit. Losses with a logarithmic link have a second derivative far below its
// bound, by which a step is divided, so that few steps do not arrive.
func (c Intervals) steps() int {
	if c.Curvature == Exponential || c.Curvature == Relative {
		return manySteps
	}
	return fewSteps
}

// reach returns the value that is expected for B, the limit above which the method reduces the weight
// of a row, if no column is dropped.
func (c Intervals) reach(p optimize.Problem, n, mu float64) float64 {
	k := len(c.Columns)
	moment := query.SecondMoment.Facts().Moves(p.Relation) / (n * mu * math.Sqrt(momentShare))
	of := func(beta float64) float64 { return math.Sqrt(min(beta*float64(k), 1/inference.Edge(moment, k))) }
	if far := of(betaTrusted); c.trusts(p, far, n, mu) {
		return far
	}
	return of(beta)
}

// trusts reports whether the noise of the final gradient is expected to be small compared with the sampling
// error: whether the ratio of the variances is at most trusted. If it returns true, beta is betaTrusted and
// rows get larger weights.
func (c Intervals) trusts(p optimize.Problem, reach, n, mu float64) bool {
	noise := p.Neighbours() * reach / (n * mu * math.Sqrt(lastGradient))
	return noise*noise <= trusted*usualSquare/n
}

// Name is the algorithm's name in summaries and certificates.
const Name = "intervals"

func (c Intervals) check(p optimize.Problem) error {
	if err := inference.CheckLevel(c.Level); err != nil {
		return err
	}
	switch {
	case c.Curvature == Ordered && p.Beyond == nil && p.Beside > 0 && p.Dim() == c.Features+p.Beside:
		return nil // before the base rate is released
	case !(p.RankOne && p.Shape.Margins == 1 || p.Grouped && p.Dim() == c.Features || p.Beyond != nil):
		return errors.New("optimize: intervals: loss: must be that of a generalised linear model with one margin")
	case p.Set != nil:
		return errors.New("optimize: intervals: a set of parameters: must be none: an estimate on its boundary has no " +
			"interval")
	case p.Regularizer != nil:
		return errors.New("optimize: intervals: a regularizer: must be none: it moves the coefficients towards 0")
	case p.Smoothing.On():
		return errors.New("optimize: intervals: a smoothing: must be none")
	case c.Features != p.Dim()-p.Beside:
		return fmt.Errorf("optimize: intervals: %d features: must be as many as the model's weights, %d", c.Features, p.Dim())
	case p.Dim() > query.MaxPairs:
		return fmt.Errorf("optimize: intervals: %d features: must be at most %d, of whose pairs there is a sum each",
			c.Features, query.MaxPairs)
	case len(c.Columns) == 0 || !(c.Intercept > 0):
		return errors.New("optimize: intervals: the formula must have a column and an intercept")
	}
	return nil
}

// usual returns the mean second derivative of the loss that forecasts assume, as a share of its
// bound.
func (c Intervals) usual(p optimize.Problem) float64 {
	switch c.Curvature {
	case Exponential:
		if rate := c.Known.Curvature; rate > 0 {
			return rate / max(p.Constants.Lipschitz, mostRates*rate)
		}
		return usualCurvatureOfCounts
	case Relative:
		return 1 / p.DataSmoothness()
	case Ordered:
		return usualOfOrdered / mostOfOrdered
	}
	at := c.Known.Curvature
	if p.Base != nil && p.Base.Curvature > 0 {
		at = p.Base.Curvature
	}
	if c.Curvature == Logistic && at > 0 {
		return min(usualCurvature, nearBase*at/p.DataSmoothness())
	}
	return usualCurvature
}

// Run makes all releases of the plan and returns the estimate with its intervals.
func (g *plan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	r := &state{plan: g, run: g.Begin(ctx, o, observe), w: g.Problem().StartPoint()}
	fit, err := r.all()
	if err != nil {
		return r.run.ResultAt(r.w, false), r.run.Failed(err)
	}
	res := r.run.ResultAt(r.w, true)
	res.Inference = fit
	return res, nil
}

// state is the state of a run of the plan.
type state struct {
	*plan
	run         *optimize.Run
	w           []float64
	moment      []float64 // released second moment of all features
	shape       *inference.Shape
	momentSigma float64 // standard deviation of the noise in a diagonal entry of moment
	metric      query.Metric
	rate        float64 // mean rate of counts that the first steps find; 0 before these steps and for other targets
}

func (r *state) charge(share float64) float64 { return r.Problem().Charge() * share }

// all makes all releases and returns the estimate with its intervals.
func (r *state) all() (*inference.Fit, error) {
	if r.Curvature == Ordered && r.Problem().Beyond == nil {
		return nil, errors.New("optimize: intervals: the base rate of ordered classes must be released first")
	}
	dropped, err := r.begin()
	if err != nil {
		return nil, err
	}
	b, err := r.fit()
	if err != nil {
		return nil, err
	}
	gradient, _, err := r.gradient(b, firstGradient)
	if err != nil {
		return nil, err
	}
	curvature, sigma, err := r.pairs(firstCurvature,
		query.WeightedCurvatureAt(r.run.All(), r.w, r.bound(), r.shape.Reach, r.metric))
	if err != nil {
		return nil, err
	}
	step, err := inference.NewtonStep(gradient, curvature, sigma)
	if err != nil {
		return nil, err
	}
	for j := range b {
		b[j] += step[j]
	}
	return r.estimate(b, dropped, func(g []float64) ([]float64, error) {
		return inference.Ahead(g, curvature, sigma, lastGradient/(firstGradient+lastGradient))
	})
}

// bound returns the bound to which the second derivative of the loss in the margin is clipped. For counts
// the second derivative is the rate. The bound is then mostRates times the mean rate found by the first
// steps, but at least the bound on slopes and at most the loss's own bound. The loss's own bound is many
// times any rate, and would make the noise of the curvature many times larger.
func (r *state) bound() float64 {
	b := r.Problem().DataSmoothness()
	if r.Curvature == Ordered {
		return mostOfOrdered
	}
	if r.rate == 0 {
		return b
	}
	return min(b, max(r.slope(), mostRates*r.rate))
}

// slope returns the bound on slopes. The two cuts beside a class have slopes of different signs, whose absolute values sum
// to less than 1.
func (r *state) slope() float64 {
	if r.Curvature == Ordered {
		return 1
	}
	return r.Problem().Constants.Lipschitz
}

// begin releases the second moment of the rows. From it, begin computes the columns that stay in the
// formula, the metric (preconditioner) and the limit B above which rows get less weight. It returns
// the indices of the dropped columns.
func (r *state) begin() ([]int, error) {
	p, d := r.Problem(), r.Features
	term := query.SecondMomentOf(r.run.All(), d)
	if p.Grouped {
		same, err := query.Identity(d)
		if err != nil {
			return nil, err
		}
		term = query.WeightedMomentOf(r.run.All(), 1, same)
	}
	answer, err := r.run.Ask(r.charge(momentShare), term)
	if err != nil {
		return nil, err
	}
	if r.moment, _, err = query.Symmetric(answer.Mean); err != nil {
		return nil, err
	}
	moves := query.WeightedCurvature.Facts().Moves(p.Relation)
	of := inference.Bounds{
		MomentSigma: answer.Sigma, Unit: moves / (p.Records * math.Sqrt(r.charge(lastCurvature))), Usual: r.usual(p),
		Beta: betaTrusted,
	}
	if p.Beyond != nil {
		d, r.moment = p.Dim(), p.Beyond.Moment(r.moment, d, false)
	}
	moment := mat.NewSymDense(d, r.moment)
	shape, dropped, err := inference.Shorten(moment, r.Columns, of)
	if err != nil {
		return nil, err
	}
	if !r.trusts(p, shape.Reach, p.Records, p.Mu) {
		of.Beta = beta
		if shape, dropped, err = inference.Shorten(moment, r.Columns, of); err != nil {
			return nil, err
		}
	}
	r.shape, r.momentSigma = shape, of.MomentSigma
	r.metric, err = query.NewMetric(d, shape.Full(d))
	return dropped, err
}

// at sets the point of the next releases to the coefficients b.
func (r *state) at(b []float64) {
	r.w = r.shape.Weights(b, r.Problem().Dim())
	if r.Curvature == Ordered {
		r.Problem().Beyond.Parameters(r.w)
	}
}

// gradient releases the weighted gradient at the coefficients b, multiplied by the metric. It returns the
// released gradient and the standard deviation of its noise.
func (r *state) gradient(b []float64, share float64) ([]float64, float64, error) {
	r.at(b)
	answer, err := r.run.Ask(r.charge(share),
		query.WeightedGradientAt(r.run.All(), r.w, r.slope(), r.shape.Reach, r.metric))
	if err != nil {
		return nil, 0, err
	}
	g := r.shape.Reduce(answer.Mean)
	r.run.Reach(r.w, optimize.Norm(g), answer.Sigma, 1/r.bound())
	return g, answer.Sigma, nil
}

// pairs releases the symmetric matrix of the query term t, in the coordinates of the metric. It returns the
// released matrix and the standard deviation of its noise.
func (r *state) pairs(share float64, t query.Term) (*mat.SymDense, float64, error) {
	answer, err := r.run.Ask(r.charge(share), t)
	if err != nil {
		return nil, 0, err
	}
	all, _, err := query.Symmetric(answer.Mean)
	if err != nil {
		return nil, 0, err
	}
	return r.shape.ReduceMatrix(all, r.Problem().Dim()), answer.Sigma, nil
}

// fit runs Nesterov's method with the metric P as preconditioner and returns the average of the second half
// of its iterates. The step size is 1 over the largest second derivative (see bound). This is stable, since
// P G P is at most I for the rows' second moment G. The bound on P G P holds because lambda is at least the
// largest eigenvalue of the noise and the weights u of rows are at most 1.
func (r *state) fit() ([]float64, error) {
	b, err := r.start()
	if err != nil {
		return nil, err
	}
	k := len(b)
	last, sum := slices.Clone(b), make([]float64, k)
	count := 0.
	first := 0
	if r.Curvature == Exponential {
		first = levels
	}
	steps := r.steps()
	for t := range steps - first {
		y := make([]float64, k)
		for j := range y {
			y[j] = b[j] + float64(t)/float64(t+3)*(b[j]-last[j])
		}
		g, _, err := r.gradient(y, fitShare/float64(steps))
		if err != nil {
			return nil, err
		}
		copy(last, b)
		for j := range b {
			b[j] = y[j] - g[j]/r.bound()
		}
		if 2*(t+1) > steps-first {
			count++
			for j := range sum {
				sum[j] += b[j]
			}
		}
	}
	for j := range sum {
		sum[j] /= count
	}
	return sum, nil
}

// start returns the coefficients at which the fit begins. For other targets than counts they are the constant of the
// released base rate, or 0 if none was released. For counts, coefficients of 0 would mean the largest rate, so
// the fit begins at the constant rate at which the mean slope (derivative of the loss) is 0. Each of the first steps releases the mean slope at a
// constant rate e^z and subtracts it from the rate. The mean slope is e^z less the mean count if nothing is
// clipped, which holds for rates up to the clip and counts up to twice the clip. (With exposures, or rows
// without a target, each step corrects a part of the error only.)
func (r *state) start() ([]float64, error) {
	k := len(r.shape.Columns)
	b := make([]float64, k)
	p := r.Problem()
	if r.Curvature == Ordered {
		at := p.StartPoint()
		p.Beyond.Gaps(at)
		began := mat.NewVecDense(k, r.shape.Reduce(at))
		if err := began.SolveVec(r.shape.Metric, began); err != nil {
			return nil, errors.New("optimize: intervals: the metric is singular")
		}
		return began.RawVector().Data, nil
	}
	if r.Curvature != Exponential && p.Base == nil {
		return b, nil
	}
	constant := mat.NewVecDense(k, nil) // the coefficients that give every row the margin 1
	unit := mat.NewVecDense(k, nil)
	unit.SetVec(k-1, 1/r.Intercept)
	if err := constant.SolveVec(r.shape.Metric, unit); err != nil {
		return nil, errors.New("optimize: intervals: the metric is singular")
	}
	if r.Curvature != Exponential {
		for j := range b {
			b[j] = constant.AtVec(j) * p.Base.Margins[0]
		}
		return b, nil
	}
	r.rate = min(1, r.slope())
	for range levels {
		b = slices.Clone(constant.RawVector().Data)
		for j := range b {
			b[j] *= math.Log(r.rate)
		}
		g, _, err := r.gradient(b, fitShare/float64(r.steps()))
		if err != nil {
			return nil, err
		}
		// The intercept's entry of P^-1 g is the mean slope times the intercept.
		slope := mat.Dot(constant, mat.NewVecDense(k, g))
		r.rate = max(r.rate-slope, r.rate/8)
	}
	for j := range b {
		b[j] = constant.AtVec(j) * math.Log(r.rate)
	}
	return b, nil
}

// estimate makes the last three releases and computes the estimate. It releases the gradient at the
// coefficients b. It then releases the curvature and the second moment of the records' gradients halfway
// between b and the expected estimate. ahead returns the expected step from b for a released gradient, or
// nil if the step is taken as 0.
func (r *state) estimate(b []float64, dropped []int, ahead func(g []float64) ([]float64, error)) (*inference.Fit,
	error) {
	p := r.Problem()
	of := inference.Released{Records: p.Records, At: b}
	var err error
	if of.Gradient, of.GradientSigma, err = r.gradient(b, lastGradient); err != nil {
		return nil, err
	}
	next, err := ahead(of.Gradient)
	if err != nil {
		return nil, err
	}
	half := slices.Clone(b)
	for j, v := range next {
		half[j] += v / 2
	}
	r.at(half)
	all := r.run.All()
	if of.Curvature, of.CurvatureSigma, err = r.pairs(lastCurvature,
		query.WeightedCurvatureAt(all, r.w, r.bound(), r.shape.Reach, r.metric)); err != nil {
		return nil, err
	}
	if of.Middle, of.MiddleSigma, err = r.pairs(middleShare,
		query.ScoreMomentAt(all, r.w, r.slope(), r.shape.Reach, r.metric)); err != nil {
		return nil, err
	}
	e, err := inference.Solve(of, r.Level)
	if err != nil {
		return nil, err
	}
	r.at(e.B)
	fit, err := inference.NewFit(r.shape, dropped, e, of, e.Allowance(r.shape.Seen, r.curvature(), next))
	if err != nil {
		return nil, err
	}
	for i, c := range fit.Columns {
		if c.Feature >= r.Features { // thresholds are in order, also about a class without records
			fit.Beta[i] = max(fit.Beta[i], optimize.LeastGap)
		}
	}
	fit.Halfway = next != nil
	fit.Absorbed = inference.Absorb(mat.NewSymDense(p.Dim(), r.moment), r.shape.Columns, dropped, r.momentSigma)
	if r.Curvature != Flat {
		fit.Remainders = e.Allowances(r.shape, r.Intercept, r.curvatureBetween, next)
	}
	return fit, nil
}

// curvatureBetween returns the largest ratio of the third derivative's absolute value to the second derivative between
// two margins.
func (r *state) curvatureBetween(from, to float64) float64 {
	switch r.Curvature {
	case Ordered:
		b := r.Problem().Beyond
		return max(b.Bend(r.w, from), b.Bend(r.w, to))
	case Exponential, Relative:
		return 1
	}
	return math.Tanh(max(math.Abs(from), math.Abs(to)) / 2)
}

// curvature returns the ratio of the third derivative's absolute value to the second derivative of the loss (see
// [Curvature]), at the mean margin of the estimate.
func (r *state) curvature() float64 {
	switch r.Curvature {
	case Exponential, Relative:
		return 1
	case Logistic, Ordered:
		// The intercept's row of the second moment is the mean row times the intercept.
		var margin float64
		last := r.Features - 1
		for j, w := range r.w[:r.Features] {
			margin += w * r.moment[last*r.Problem().Dim()+j] / r.Intercept
		}
		if r.Curvature == Ordered {
			return r.Problem().Beyond.Bend(r.w, margin)
		}
		return math.Abs(math.Tanh(margin / 2))
	}
	return 0
}
