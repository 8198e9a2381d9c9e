package onestep

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

var errSingular = errors.New("optimize: intervals: the metric is singular")

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
	moment      []float64        // released second moment of all features
	rows        *inference.Shape // of the formula for a row
	shape       *inference.Shape // rows or, of several classes, that of all coefficients
	momentSigma float64          // standard deviation of the noise in a diagonal entry of moment
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
	gradient, _, err := r.gradient(b, firstGradient, r.shape.Reach)
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
	vector.Add(b, 1, step)
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
		MomentSigma: answer.Sigma, Usual: r.usual(p),
		Unit: moves * math.Sqrt(r.blocks(p)) / (p.Records * math.Sqrt(r.charge(lastCurvature))),
		Beta: betaTrusted, Rows: r.Rows, Whole: r.Unweighted, Intercept: r.Intercept,
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
	r.rows, r.shape, r.momentSigma = shape, shape, of.MomentSigma
	r.metric, err = query.NewMetric(d, shape.Full(d))
	if r.Curvature == Softmax {
		r.shape = shape.Classes(p.Shape.Margins, d)
	}
	return dropped, err
}

// blocks returns the number of classes but the reference, or 1 for a loss of one margin.
func (c Intervals) blocks(p optimize.Problem) float64 {
	if c.Curvature == Softmax {
		return float64(p.Shape.Margins - 1)
	}
	return 1
}

// at sets the point of the next releases to the coefficients b.
func (r *state) at(b []float64) {
	r.w = r.shape.Weights(b, r.Problem().Dim())
	if r.Curvature == Ordered {
		r.Problem().Beyond.Parameters(r.w)
	}
}

// gradient releases the gradient of rows weighted by reach at the coefficients b, multiplied by the metric. It returns the
// released gradient and the standard deviation of its noise.
func (r *state) gradient(b []float64, share, reach float64) ([]float64, float64, error) {
	r.at(b)
	answer, err := r.run.Ask(r.charge(share),
		query.WeightedGradientAt(r.run.All(), r.w, r.slope(), reach, r.metric))
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
	last, first := slices.Clone(b), 0
	var mean vector.Mean
	if r.Curvature == Exponential {
		first = levels
	}
	steps := r.steps()
	for t := range steps - first {
		y := vector.Make(k, func(j int) float64 { return b[j] + float64(t)/float64(t+3)*(b[j]-last[j]) })
		g, _, err := r.gradient(y, fitShare/float64(steps), r.shape.Reach)
		if err != nil {
			return nil, err
		}
		copy(last, b)
		for j := range b {
			b[j] = y[j] - g[j]/r.bound()
		}
		if 2*(t+1) > steps-first {
			mean.Add(1, b)
		}
	}
	return mean.Or(b), nil
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
		return r.solved(r.shape.Reduce(at))
	}
	if r.Curvature != Exponential && p.Base == nil {
		return b, nil
	}
	if r.Curvature == Softmax {
		every := k / (p.Shape.Margins - 1)
		for j, z := range p.Base.Margins[1:] {
			b[(j+1)*every-1] = (z - p.Base.Margins[0]) / r.Intercept
		}
		return r.solved(b)
	}
	b[k-1] = 1 / r.Intercept
	constant, err := r.solved(b) // the coefficients that give every row the margin 1
	if err != nil {
		return nil, err
	}
	every := func(margin float64) []float64 {
		b := slices.Clone(constant)
		vector.Scale(b, margin)
		return b
	}
	if r.Curvature != Exponential {
		return every(p.Base.Margins[0]), nil
	}
	r.rate = min(1, r.slope())
	for range levels {
		g, _, err := r.gradient(every(math.Log(r.rate)), fitShare/float64(r.steps()), r.shape.Reach)
		if err != nil {
			return nil, err
		}
		// The intercept's entry of P^-1 g is the mean slope times the intercept.
		r.rate = max(r.rate-floats.Dot(constant, g), r.rate/8)
	}
	return every(math.Log(r.rate)), nil
}

// solved returns the coefficients that the metric turns into v.
func (r *state) solved(v []float64) ([]float64, error) {
	b := mat.NewVecDense(len(v), nil)
	if err := b.SolveVec(r.shape.Metric, mat.NewVecDense(len(v), v)); err != nil {
		return nil, errSingular
	}
	return b.RawVector().Data, nil
}

// estimate makes the last releases and computes the estimate. It releases the gradient at the
// coefficients b. It then releases the curvature and the second moment of the records' gradients halfway
// between b and the expected estimate. ahead returns the expected step from b for a released gradient, or
// nil if the step is taken as 0. If rows may have weights below 1, it releases the second moment of the weighted rows.
func (r *state) estimate(b []float64, dropped []int, ahead func(g []float64) ([]float64, error)) (*inference.Fit,
	error) {
	p := r.Problem()
	of := inference.Released{Records: p.Records, At: b}
	var err error
	if of.Gradient, of.GradientSigma, err = r.gradient(b, lastGradient, r.shape.Last); err != nil {
		return nil, err
	}
	next, err := ahead(of.Gradient)
	if err != nil {
		return nil, err
	}
	half := slices.Clone(b)
	vector.Add(half, .5, next)
	r.at(half)
	all := r.run.All()
	if of.Curvature, of.CurvatureSigma, err = r.pairs(lastCurvature,
		query.WeightedCurvatureAt(all, r.w, r.bound(), r.shape.Last, r.metric)); err != nil {
		return nil, err
	}
	described := !r.shape.Whole && r.Curvature != Ordered && r.Curvature != Softmax
	middle := middleShare
	if !described {
		middle += weightShare
	}
	if of.Middle, of.MiddleSigma, err = r.pairs(middle,
		query.ScoreMomentAt(all, r.w, r.slope(), r.shape.Last, r.metric)); err != nil {
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
		if c.Feature >= r.Features && r.Curvature == Ordered { // thresholds are in order, also about a class without records
			fit.Beta[i] = max(fit.Beta[i], optimize.LeastGap)
		}
	}
	if described {
		weighted, sigma, err := r.pairs(weightShare, query.WeightedMomentOf(all, r.shape.Last, r.metric))
		if err != nil {
			return nil, err
		}
		fit.Left = r.shape.Left(weighted, sigma)
	}
	fit.Halfway = next != nil
	fit.Absorbed = inference.Absorb(mat.NewSymDense(r.metric.Dim(), r.moment), r.rows.Columns, dropped, r.momentSigma)
	if r.Curvature != Flat {
		fit.Remainders = e.Allowances(r.rows, r.Intercept, r.curvatureBetween, next)
	}
	if r.Curvature == Softmax {
		fit.OfClasses(e, r.rows, r.margins(), next, r.Features)
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
	case Logistic:
		return math.Abs(math.Tanh(r.margins()[0] / 2))
	case Ordered:
		return r.Problem().Beyond.Bend(r.w, r.margins()[0])
	}
	return 0
}

// margins returns the margins of the mean row at the present point: for each class, or one.
func (r *state) margins() (list []float64) {
	// The intercept's row of the second moment is the mean row times the intercept.
	mean := r.moment[(r.Features-1)*r.metric.Dim():]
	for at := 0; at+r.Features <= len(r.w); at += r.Features {
		var margin float64
		for j, w := range r.w[at : at+r.Features] {
			margin += w * mean[j] / r.Intercept
		}
		list = append(list, margin)
	}
	return list
}
