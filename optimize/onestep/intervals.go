package onestep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	// Softmax is for several classes without an order. Its coefficients are those of each class against the first, and the
	// third derivative is that of the probabilities at the mean margins ([inference.Fit.OfClasses]).
	Softmax
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
//	                         and H and S released at b_1 + d/2        .17 and .05
//	mean u P x (P x)' + noise, by which the weights are described     .01
//
// Here b are coefficients, phi' is the derivative of the loss in the margin, and Gt_+ is Gt without its negative
// eigenvalues. d = -s H_0^-1 g is the step that is expected from b_1. The released step -H_0^-1 g has the noise of g
// and of g_0. The factor s = .36/(.36 + .14) is the coefficient in a regression of the true step on the released step.
// H is released at the middle of the expected step, since a Newton step with the curvature at its middle is exact to
// the third order. If noise hides the direction of least curvature of H_0, d is 0.
//
// H is the mean second derivative matrix (curvature) and S the second moment of the records' gradients. The edge is the
// largest eigenvalue of the noise in Gt. The weights u = min(1, B^2/||P x||^2) limit the contribution of a row. They
// depend on rows alone, so they do not bias the estimate as a clip of slopes would. B^2 = min(beta d_eff, 1/lambda),
// where d_eff is the number of directions along which Gt exceeds lambda. beta is 4 if the noise of the final gradient
// is expected to be small compared with the sampling error (ratio of variances below .3), and 2.5 otherwise. A larger
// beta causes more noise. A smaller beta makes more weights far below 1, and such weights change the estimated quantity
// if the model is wrong. Package inference computes the variance and the region.
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
	// its slope, at the best constant. Both are 0 if no base rate is public. Shares are those of several classes, or nil. Events is the share of the records with an
	// event, for times to an event, which forecasts alone use; it is 0 for other targets.
	Known struct {
		Curvature, Square, Events float64
		Shares                    []float64
	}
	// Features is the number of features of a row. If a record is a unit of several rows, Features is the
	// number for one of these rows.
	Features int
	// Rows are the values that the schema allows the features, without those of Beside ([inference.Bounds]). Unweighted gives
	// every row the weight 1 in the last releases, for more noise.
	Rows       []inference.Corners
	Unweighted bool
}

// Shares of the budget that the releases get, and constants of the method.
const (
	momentShare                   = .10
	fitShare                      = .08
	firstGradient, firstCurvature = .14, .09
	lastGradient, lastCurvature   = .36, .17
	middleShare, weightShare      = .05, .01 // both to the middle if no row can have a weight below 1
	fewSteps, manySteps           = 8, 24    // steps of the fit; with more of them the noise of each would be larger
	betaTrusted, beta             = 4., 2.5
	trusted                       = .3     // largest ratio of privacy to sampling variance for betaTrusted
	usualSquare                   = .15    // assumed mean squared slope over L0^2, for the choice of beta
	usualCurvature                = .48    // assumed mean second derivative over its bound, for dropping columns
	nearBase                      = .8     // assumed mean second derivative over that at the base rate
	usualCurvatureOfCounts        = .25    // the same for counts, whose bound is mostRates times the mean rate
	usualRate                     = 1. / 3 // mean rate of counts, over the clip, that Foresee assumes
	usualFar                      = 9      // assumed squared distance of a column's farthest value, over its variance
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
		cuts := inference.Corners{nil}
		for j := range p.Beside {
			cuts = append(cuts, append(slices.Clone(cuts[j]), inference.Entry{Feature: c.Features + j, Value: -1}))
		}
		if c.Rows != nil {
			g.Rows = append([]inference.Corners{cuts}, c.Rows...)
		}
	}
	moment := query.SecondMoment
	if p.Grouped {
		moment = query.WeightedMoment
	}
	middle, last := middleShare, fmt.Sprintf(", %.2g to the second moment of the weighted rows", weightShare)
	if c.Curvature == Ordered || c.Curvature == Softmax {
		middle, last = middleShare+weightShare, ""
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
				"the second%s", momentShare, fitShare, firstGradient, firstCurvature, lastGradient, lastCurvature, middle, last),
			Passes: float64(c.steps()) + 2, PairPasses: 5,
			Output: "the estimate: a Newton step with released gradient and curvature",
		},
		Properties: optimize.Properties{Convex: true},
		Workload: optimize.Workload{}.Count(moment, 1, 1).Count(query.WeightedMoment, 1, 1).Count(query.WeightedGradient, float64(c.steps()+2), 1).
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
	case Softmax:
		// The inverse curvature of classes with the shares p times e_k - e_1 is e_k/p_k - e_1/p_1 less its mean: the noise, alike
		// along all differences of margins, is multiplied by its length. The mean over the classes k is forecast.
		shares := c.shares(p)
		k, one := float64(len(shares)), 1/shares[0]
		var variance, length float64
		for _, s := range shares[1:] {
			variance += (1/s + one) / (k - 1)
			length += (1/(s*s) + one*one - (1/s-one)*(1/s-one)/k) / (k - 1)
		}
		square, curvature = variance/length/n, 1/math.Sqrt(length)
	case Flat:
		curvature = p.DataSmoothness() // the second derivative of the square is the same everywhere
	case Exponential:
		if curvature = c.Known.Curvature; curvature == 0 {
			curvature = usualRate * l0
		}
	}
	if events := c.Known.Events; events > 0 {
		square, curvature = events/n, events // the hazards of a record add up to its expected number of events
	}
	return math.Sqrt(square+noise*noise) / curvature, math.Sqrt(square) / curvature
}

// Size returns the size on which the share of the coefficients with an interval depends: n mu/k^1.5 for k columns, times
// the mean second derivative of the loss over its bound if that is less than of common classes.
func (c Intervals) Size(p optimize.Problem, n, mu float64) float64 {
	usual := c.usual(p)
	if events := c.Known.Events; events > 0 {
		usual = events / max(p.Constants.Lipschitz, mostRates*events)
	}
	k := float64(len(c.Columns))
	if c.Unweighted {
		usual *= min(1, betaTrusted*k/c.farthest())
	}
	return n * mu * min(1, usual/usualCurvature) / math.Sqrt(c.blocks(p)) / math.Pow(k, 1.5)
}

// steps returns the number of steps of the fit. Losses with a logarithmic link have a second derivative far below its
// bound, by which a step is divided, so that few steps do not arrive.
func (c Intervals) steps() int {
	if c.Curvature == Exponential || c.Curvature == Relative {
		return manySteps
	}
	return fewSteps
}

// farthest returns the square of the longest row in the metric if each column has its farthest values at usualFar times its
// variance: a number with a standard deviation of a sixth of its range, or a level of a tenth of the rows.
func (c Intervals) farthest() float64 { return 1 + usualFar*float64(len(c.Rows)-1) }

// reach returns the value that is expected for B, the limit above which the method reduces the weight
// of a row, if no column is dropped.
func (c Intervals) reach(p optimize.Problem, n, mu float64) float64 {
	k := len(c.Columns)
	moment := query.SecondMoment.Facts().Moves(p.Relation) / (n * mu * math.Sqrt(momentShare))
	of := func(beta float64) float64 {
		square := beta * float64(k)
		if c.Unweighted {
			square = max(square, c.farthest())
		}
		return math.Sqrt(min(square, 1/inference.Edge(moment, k)))
	}
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
	case !(p.RankOne && (p.Shape.Margins == 1 || c.Curvature == Softmax) || p.Grouped && p.Dim() == c.Features || p.Beyond != nil):
		return errors.New("optimize: intervals: loss: must be that of a generalised linear model with one margin")
	case p.Set != nil:
		return errors.New("optimize: intervals: a set of parameters: must be none: an estimate on its boundary has no " +
			"interval")
	case p.Regularizer != nil:
		return errors.New("optimize: intervals: a regularizer: must be none: it moves the coefficients towards 0")
	case p.Smoothing.On():
		return errors.New("optimize: intervals: a smoothing: must be none")
	case c.Features*p.Shape.Margins != p.Dim()-p.Beside:
		return fmt.Errorf("optimize: intervals: %d features: must be as many as the model's weights, %d", c.Features,
			p.Dim()/p.Shape.Margins)
	case p.Dim() > query.MaxPairs:
		return fmt.Errorf("optimize: intervals: %d weights of features: must be at most %d, of whose pairs there is a sum "+
			"each", p.Dim(), query.MaxPairs)
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
	case Softmax:
		return min(usualCurvature, nearBase*leastSpread(c.shares(p))/p.DataSmoothness())
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

// shares returns the shares of several classes: those of the base rate, of the released one if there is one, or equal ones.
func (c Intervals) shares(p optimize.Problem) []float64 {
	out := make([]float64, p.Shape.Margins)
	for j := range out {
		switch {
		case p.Base != nil:
			out[j] = math.Exp(p.Base.Margins[j])
		case c.Known.Shares != nil:
			out[j] = c.Known.Shares[j]
		default:
			out[j] = 1
		}
	}
	vector.Divide(out, vector.Total(out))
	return out
}

// leastSpread returns the smallest eigenvalue but 0 of diag(p) - p p' for the shares p, which is that of the differences of
// classes.
func leastSpread(p []float64) float64 {
	k := len(p)
	m := mat.NewSymDense(k, nil)
	for i := range k {
		for j := range i {
			m.SetSym(i, j, -p[i]*p[j])
		}
		m.SetSym(i, i, p[i]*(1-p[i]))
	}
	var e mat.EigenSym
	if !e.Factorize(m, false) {
		return 0
	}
	return e.Values(nil)[1]
}
