package optimize

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Problem has the public facts of a private minimisation, and its privacy budget. The objective is
// F(w), the mean of the loss f(w; x_i) over the records x_i plus a regularizer. NewProblem makes a
// Problem; the caller may then set a regularizer, a feasible set and a starting point.
type Problem struct {
	// Shape is the shape of the parameters w.
	Shape Shape
	// Constants are the constants of the loss f without the regularizer, for rows of norm at most 1.
	// Clipping enforces the Lipschitz constant and the curvature.
	Constants loss.Constants
	// RankOne means that f(w; x) depends on w only through <w, x>, or, for several margins, through W
	// x. A gradient is then the row x times a number, or the outer product of a vector and the row.
	RankOne bool
	// Real means that the loss has one margin and that its target is a real number and not a count.
	Real bool
	// Counts means that the loss is of counts.
	Counts bool
	// Grouped means that a record consists of several rows, and that the gradient of each row has rank one.
	// The loss of the record is then the mean over its rows, or the sum over its rows divided by the
	// largest number of rows in a record (see [loss.Units]).
	Grouped bool
	// Layered means that the loss is computed by a neural network. A gradient is then one outer product for
	// each layer.
	Layered bool
	// Scored means that the loss is a function of one score of the row and of parameters beside it, such as the thresholds
	// between ordered classes. Beside is the number of these parameters, which come last.
	Scored bool
	Beside int
	// Beyond is what the released base rate tells of their curvature; nil without a base rate.
	Beyond *Beyond
	// Kinked is the loss if it is a generalised linear model whose derivative jumps (such as a hinge); otherwise nil.
	// The curvature of such a loss is unbounded, but the loss can be smoothed in closed form (see Smoothed).
	Kinked loss.Kinked
	// Jumps means that the derivative of the loss jumps and no closed-form smoothing exists. This
	// holds for networks of relu units, and for networks or groups of rows whose output loss is a
	// loss.Kinked. The curvature in Constants then holds between jumps only, or is infinite.
	Jumps bool
	// Filled is the largest number of features that are not zero in a row, if the layout of the table makes this number
	// public. 0 means that all features of a row may be nonzero. The features of a category count as one.
	Filled int
	// Groups are ranges of features, each given by its first feature and its number of features. In every row exactly one
	// feature of a range is not zero, as of a category. nil if no such ranges are known.
	Groups [][2]int
	// Curved means that columns have curves, and that the fit has no second stage with features of effects. The
	// rule for the second moment depends on it.
	Curved bool
	// Explained means that the noise of each weight will be stated. A run may then spend a part of its budget on it.
	Explained bool
	// Weighted means that rows have weights or exposures of their own.
	Weighted bool
	// Smoothing is the smoothing of the loss. If it is on, Constants are the constants of the
	// smoothed loss, and every answer that a Run releases is about the smoothed loss.
	Smoothing query.Smoothing
	// Products means that the loss can compute Hessian-vector products.
	Products bool
	// Regularizer is public and is added without noise; nil for none.
	Regularizer loss.Regularizer
	// Set is the feasible set, onto which w is projected; nil for the whole space.
	Set convex.Set
	// Start is the public starting point w_0; nil for zero.
	Start []float64
	// relative means that the loss is of relative residuals, with a logarithmic link.
	relative bool
	// bound is the bound on the curvature, where AtBase has reduced it.
	bound float64
	// startNoise is the standard deviation of the noise in the weight of the intercept at Start.
	startNoise float64
	// Base is the released base rate; nil if none was released (yet). BaseRate.Begin sets it together with the start
	// and the initial gap.
	Base *Base
	// Seed is the seed of the public random bits that plans and runs draw. A fit draws the seed before
	// it begins, and the certificate of the fit states it.
	Seed uint64
	// KL is public knowledge of how fast the objective rises away from its minimum; the zero KL means
	// that nothing is known.
	KL KL

	// Records is the public number of records. Under add-or-remove it is the declared number.
	Records float64
	// Relation is the neighbouring relation. It must be set.
	Relation account.Relation
	// Mu is the budget in Gaussian differential privacy that a plan may use: the mu of the whole
	// budget, or less if part of the budget is reserved for other releases.
	Mu float64
	// Budget is the whole (epsilon, delta) budget. Schedules of Poisson samples are calibrated to it, and
	// the settings of theorems are computed from it. The zero Budget allows neither.
	Budget account.Budget
}

// Shape is the shape of a model's parameters: a matrix of Margins rows with Features numbers each.
// The parameters of a loss that computes its own gradient are one row.
type Shape struct{ Margins, Features int }

// MostFilled returns the largest number of features that are not zero in a row.
func (p Problem) MostFilled() int {
	if p.Filled > 0 {
		return min(p.Filled, p.Shape.Features)
	}
	return p.Shape.Features
}

// Vector returns the shape of a model whose parameters are a single row of the given length.
func Vector(parameters int) Shape { return Shape{Margins: 1, Features: parameters} }

// Public has the public facts about the records. A curator's session implements Public. The function Stated
// returns a Public without a table.
type Public interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Dim returns the number of features.
	Dim() int
}

// Stated returns a Public with the given number of features and records, for plans that are made
// without a table.
func Stated(features int, records float64) Public { return stated{features, records} }

type stated struct {
	features int
	records  float64
}

func (s stated) All() query.Cohort { return query.NewCohort(account.Everyone, s.records) }
func (s stated) Dim() int          { return s.features }

// NewProblem returns the problem of minimising the loss l over the records of t within the budget b.
// The neighbouring relation is the budget's.
func NewProblem(l loss.Loss, b account.Budget, t Public) (Problem, error) {
	_, rankOne := l.(loss.RankOne)
	shape := Vector(loss.Parameters(l, t.Dim()))
	if m, ok := l.(loss.Margins); ok {
		shape, rankOne = Shape{Margins: m.K(), Features: t.Dim()}, true
	}
	kinked, _ := l.(loss.Kinked)
	glm, _ := l.(loss.RankOne)
	p := Problem{
		relative: leastMean(l) > 0,
		Weighted: loss.RowWeighted(l) || loss.LeastExposure(l) > 0,
		Real:     glm != nil && glm.Target() == loss.Real && !loss.Counts(l),
		Kinked:   kinked, Counts: loss.Counts(l),
		Shape: shape, Constants: l.Constants(), RankOne: rankOne, Products: loss.Products(l),
		Records: t.All().Size(), Relation: b.Relation(), Mu: b.Mu(), Budget: b,
	}
	row := loss.RowLoss(l)
	if _, several := l.(loss.Units); several {
		_, p.Jumps = row.(loss.Kinked)
		p.Grouped = loss.Count(row) > 0
	}
	if network, ok := row.(loss.Composed); ok {
		hidden, activation := network.Layers()
		p.Layered, p.Scored = len(hidden) > 0, len(hidden) == 0
		if _, several := l.(loss.Units); p.Scored && !several {
			p.Beside = shape.Features - t.Dim()
		}
		if p.Layered {
			p.Start = network.Start(loss.RowFeatures(l, t.Dim()))
		}
		_, output := network.Output().(loss.Kinked)
		p.Jumps = activation == "relu" || output
	}
	return p, p.ValidateKinked()
}

// Validate returns an error that names the first invalid field, its value and the violated rule. Algorithms
// whose steps or queries need a bound on the curvature call Validate. Other algorithms call ValidateKinked.
func (p Problem) Validate() error {
	if err := p.ValidateKinked(); err != nil {
		return err
	}
	if c := p.Constants.Curvature; math.IsInf(c.Hi-c.Lo, 0) {
		return fmt.Errorf("optimize: curvature = [%v, %v]: must be finite for this algorithm, and has no bound where a "+
			"loss's slope jumps: smoothed and subgradient serve such losses", c.Lo, c.Hi)
	}
	return nil
}

// ValidateKinked returns an error as Validate does, but accepts an unbounded curvature if the derivative of
// the loss jumps. It is for algorithms that also minimise such losses.
func (p Problem) ValidateKinked() error {
	c := p.Constants
	switch {
	case p.Shape.Features < 1 || p.Shape.Margins < 1:
		return fmt.Errorf("optimize: dimension = %d: must be >= 1", p.Dim())
	case p.Start != nil && len(p.Start) != p.Dim():
		return fmt.Errorf("optimize: start has %d coordinates: must have %d", len(p.Start), p.Dim())
	case !Positive(c.Lipschitz):
		return fmt.Errorf("optimize: Lipschitz constant = %v: must be finite and > 0", c.Lipschitz)
	case !(c.Curvature.Lo <= c.Curvature.Hi) ||
		math.IsInf(c.Curvature.Hi-c.Curvature.Lo, 0) && p.Kinked == nil && !p.Jumps:
		return fmt.Errorf("optimize: curvature = [%v, %v]: must be a finite interval", c.Curvature.Lo, c.Curvature.Hi)
	case c.Curvature.Lo == 0 && c.Curvature.Hi == 0:
		return fmt.Errorf("optimize: curvature = [0, 0]: must hold more than 0, or no step size follows")
	case !Positive(c.InitialGap):
		return fmt.Errorf("optimize: initial gap F0 = %v: must be finite and > 0", c.InitialGap)
	case !Positive(p.Records):
		return fmt.Errorf("optimize: records = %v: must be finite and > 0", p.Records)
	case !Positive(p.Mu):
		return fmt.Errorf("optimize: mu = %v: must be finite and > 0", p.Mu)
	case !p.Relation.Valid():
		return fmt.Errorf("optimize: relation = %v: must be replace-one or add-or-remove", p.Relation)
	case p.Budget != (account.Budget{}) && p.Budget.Relation() != p.Relation:
		return fmt.Errorf("optimize: relation = %v: must be the budget's, %v", p.Relation, p.Budget.Relation())
	}
	return p.KL.Validate()
}

// Dim returns the number of coordinates of w.
func (p Problem) Dim() int { return p.Shape.Margins * p.Shape.Features }

// Neighbours returns the largest change of a sum of clipped contributions between neighbouring tables, in
// units of the clip norm: 2 under replace-one, 1 under add-or-remove.
func (p Problem) Neighbours() float64 {
	if p.Relation == account.AddOrRemove {
		return 1
	}
	return 2
}

// Cohort returns the number of records of a cohort for which a plan has the stated number: under replace-one it is whole.
func (p Problem) Cohort(records float64) float64 {
	if p.Relation == account.ReplaceOne {
		return math.Floor(records)
	}
	return records
}

// Held returns the number of records that a plan holds out, a share of all. Under replace-one it is whole and at least 1.
func (p Problem) Held(share float64) float64 {
	if p.Relation == account.ReplaceOne {
		return max(math.Round(share*p.Records), 1)
	}
	return share * p.Records
}

// LossBall returns the clip ball of changes of a record's loss that are between least, at most 0, and most. Under
// add-or-remove it is about 0.
func (p Problem) LossBall(least, most float64) (centre, radius float64) {
	if p.Relation == account.AddOrRemove {
		return 0, max(-least, most)
	}
	return (least + most) / 2, (most - least) / 2
}

// Charge returns the total charge that a plan may divide among its queries on one record. It is mu^2 (1 -
// 2^-30). The difference to mu^2 allows for the upward rounding of the charges and of their sum.
func (p Problem) Charge() float64 { return p.Mu * p.Mu * usable }

const usable = 1 - 0x1p-30

// Curvature returns an interval [l, L1] that contains every eigenvalue of the Hessian of a record's loss. The interval
// always contains zero, since a row has directions along which its loss is constant.
func (p Problem) Curvature() (lo, hi float64) {
	return min(0, p.Constants.Curvature.Lo), max(0, p.Constants.Curvature.Hi)
}

// Convex reports whether both the loss and the regularizer are convex.
func (p Problem) Convex() bool {
	return p.Constants.Curvature.Lo >= 0 && (p.Regularizer == nil || p.Regularizer.Convexity() >= 0)
}

// DataSmoothness returns the smoothness max(|l|, L1) of the loss without the regularizer, where [l,
// L1] is the interval that Curvature returns.
func (p Problem) DataSmoothness() float64 {
	lo, hi := p.Curvature()
	return max(-lo, hi)
}

// Smoothness returns the smoothness L1 of the objective: the smoothness of the loss plus the smoothness of
// the regularizer.
func (p Problem) Smoothness() float64 {
	return p.DataSmoothness() + p.Penalty().Smoothness()
}

// Penalty returns the regularizer. If there is none, it returns the one that is 0 everywhere.
func (p Problem) Penalty() loss.Regularizer {
	if p.Regularizer == nil {
		return loss.None()
	}
	return p.Regularizer
}

// InitialGradient returns G0 = sqrt(2 L1 F0), an upper bound on the gradient norm at the start,
// ||grad F(w_0)||, from the smoothness L1 and the bound F0 on the initial gap.
func (p Problem) InitialGradient() float64 {
	return math.Sqrt(2 * p.Smoothness() * p.Constants.InitialGap)
}

// StepSize returns the step size h/L1 for the smoothness L1 of the objective, but at most 1/s for a regularizer of
// smoothness s. The curvature of the data may be smaller than its bound, so h above 1 can be stable. The curvature of
// the regularizer may be s in every direction, so steps longer than 1/s may be unstable.
func (p Problem) StepSize(h float64) float64 { return p.Stable(h / p.Smoothness()) }

// Stable returns the step size eta, but at most the inverse of the regularizer's smoothness.
func (p Problem) Stable(eta float64) float64 { return min(eta, 1/max(p.Penalty().Smoothness(), 0)) }

// LowRank reports whether a record's gradient is an outer product or the sum of a few outer products. The mean loss
// then has large curvature in few directions only, and steps of several times 1/L1 are stable in practice.
func (p Problem) LowRank() bool { return p.RankOne || p.Layered || p.Grouped }

// StepScale returns the default step size in units of 1/L1, the number h in eta = h/L1: 16 for networks, 4
// for rank-one losses and for records of several rows, and 1 for other losses.
func (p Problem) StepScale() float64 {
	switch {
	case p.Layered:
		return 16
	case p.RankOne, p.Grouped:
		return 4
	}
	return 1
}

// GradientSteps returns the default number of steps of methods that release gradients: multiplier * G0 N/(2
// L0 h), at most RuleSteps. G0 bounds the first gradient norm, 2 L0/N is the noise level (see Floor), and h
// is the step size in units of 1/L1. For neural networks the number is multiplied by layeredSteps.
func (p Problem) GradientSteps(multiplier, h float64) int {
	return p.StepsUpTo(RuleSteps, multiplier, h)
}

// StepsUpTo is GradientSteps with the maximum most in place of RuleSteps.
func (p Problem) StepsUpTo(most int, multiplier, h float64) int {
	if p.Layered {
		multiplier *= layeredSteps
	}
	return stepCount(most, multiplier*p.InitialGradient()*p.Effective()/(2*p.Constants.Lipschitz*h))
}

// layeredSteps is the factor by which neural networks need more steps than other models. The outputs of a layer's units
// vary little between records compared with their size, so that the loss falls slowly for longer. The factor was
// measured with steps of 16/L1 on the Adult table and on the exclusive or of two numbers.
const layeredSteps = 5

// StartPoint returns a copy of w_0, projected onto the feasible set.
func (p Problem) StartPoint() []float64 {
	w := make([]float64, p.Dim())
	copy(w, p.Start)
	p.Project(w)
	return w
}

// Project moves w to the nearest point of the feasible set, in place.
func (p Problem) Project(w []float64) {
	if p.Set != nil {
		p.Set.Project(w)
	}
}

// AddRegularizer adds the regularizer's gradient at w to g.
func (p Problem) AddRegularizer(g, w []float64) {
	p.Penalty().AddGradient(g, w)
}

// NormAt asks for the norm of the mean gradient at w over a cohort, to which the regularizer's gradient is added.
func (p Problem) NormAt(c query.Cohort, w []float64, clip float64) query.Term {
	shift := make([]float64, len(w))
	p.AddRegularizer(shift, w)
	return query.NormAt(c, w, clip, shift)
}

// Effective returns the effective size N = n mu/sqrt(d) for n records and d parameters. Under add-or-remove
// N is 2 n mu/sqrt(d). N is a signal-to-noise ratio: all rates of convergence are powers of N.
func (p Problem) Effective() float64 {
	return p.Records * p.Mu / math.Sqrt(float64(p.Dim())) * 2 / p.Neighbours()
}

// Signal returns the effective size M at the base rate: N times the ratio of the mean curvature there to its bound, N
// being the effective size (see Effective). Of a rare class few records tell the model anything, and their number
// counts, not the number of all records: for two classes of shares p and 1-p, M is 4 p (1-p) N. For counts M is 4 N
// times the mean count, as a share of the largest count, but at most N. Without a base rate M is N.
func (p Problem) Signal() float64 { return p.Effective() * p.curvature() }

// curvature returns the ratio of the mean curvature at the base rate to its bound, at most 1.
func (p Problem) curvature() float64 {
	switch {
	case p.Base == nil || !(p.Base.Curvature > 0):
		return 1
	case p.Counts:
		return min(1, 4*p.Base.Curvature)
	}
	return min(1, p.Base.Curvature/max(p.DataSmoothness(), p.bound))
}

// Cap returns the largest relative residual that a loss of relative residuals counts; 0 for any other loss.
func (p Problem) Cap() float64 {
	if !p.relative {
		return 0
	}
	return p.Constants.Lipschitz
}

// usualRelative is the curvature of a loss of relative residuals for rows whose numbers are ten times the mean.
const usualRelative = 10

// AtBase returns the problem with the curvature that a model has near the base rate: at most twice the mean curvature
// there. Algorithms whose steps follow from it are not stable on every table, and need a guard. Of a loss of relative
// residuals it is usualRelative: the curvature is about 1 near a usual mean, and its bound is in proportion to the cap.
func (p Problem) AtBase() Problem {
	if p.relative {
		p.bound = max(p.bound, p.DataSmoothness())
		p.Constants.Curvature.Hi = min(p.Constants.Curvature.Hi, usualRelative)
	}
	if p.Base != nil && p.Base.Curvature > 0 {
		c := &p.Constants.Curvature
		p.bound = max(p.bound, p.DataSmoothness())
		c.Hi = min(c.Hi, 2*p.Base.Curvature)
	}
	return p
}

// Floor returns the noise level r = 2 L0/N, where N is the effective size (see Effective). r is the root
// mean square norm of the noise in one released gradient that costs the whole budget. Up to constants, r is
// also the lower bound of Arora et al. 2023, Theorem 2, on the gradient norm that any private algorithm can
// reach in the worst case. On easier problems a smaller norm is possible.
func (p Problem) Floor() float64 { return 2 * p.Constants.Lipschitz / p.Effective() }

// LowerBound returns L0 min(1, sqrt(d log(1/delta))/(n epsilon)) for the problem's budget. Up to a constant, no
// (epsilon, delta)-DP algorithm reaches a smaller gradient norm on every problem with these constants (Arora et al.
// 2023, Theorem 2, for epsilon of order 1 at most). On a given problem a smaller norm may be possible.
func (p Problem) LowerBound() float64 {
	b := p.Budget
	return p.Constants.Lipschitz * min(1, math.Sqrt(float64(p.Dim())*math.Log(1/b.Delta()))/(p.Records*b.Epsilon()))
}

// Positive reports whether x is finite and > 0.
func Positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// Smoothed returns the problem whose loss is smoothed by s: its constants belong to the smoothed loss, and every answer
// that a Run releases is about the smoothed loss. Smoothing by random directions is possible for any loss. The other
// smoothings are in closed form and are possible for a [loss.Kinked] only. For other losses they are an error.
func (p Problem) Smoothed(s query.Smoothing) (Problem, error) {
	if s.Sampled() {
		return p.sampled(s)
	}
	if p.Kinked == nil {
		return p, errors.New("optimize: smoothing: loss: must be one whose slope jumps, of a generalised linear " +
			"model: others are smooth as they are, or have no smoothing in closed form")
	}
	var by loss.Smoothing
	var err error
	switch s.By {
	case query.Ball:
		by, err = loss.OverBall(p.Shape.Features, s.Radius)
	case query.LasryLions:
		by, err = loss.LasryLions(s.Radius)
	default:
		err = fmt.Errorf("optimize: smoothing = %d: must be one of ball and lasry-lions", s.By)
	}
	if err != nil {
		return p, err
	}
	if p.Constants, err = p.Kinked.SmoothedConstants(by); err != nil {
		return p, err
	}
	p.Smoothing = s
	return p, p.Validate()
}

// sampled is Smoothed for smoothing by random directions. Let L0 be the Lipschitz constant of the loss, d the number of
// parameters and r the smoothing radius. The gradient of the smoothed loss has the Lipschitz constant
// query.Steepness(d) L0/r. The smoothed loss exceeds the loss by at most L0 r everywhere, and it is convex if the loss
// is. If the loss itself has a curvature bound that holds everywhere, this bound still holds. A record contributes an
// estimate of the gradient of its smoothed loss. Between two points this estimate may change by more than the gradient
// of the smoothed loss does. Clipping then limits the change of the estimate.
func (p Problem) sampled(s query.Smoothing) (Problem, error) {
	if !Positive(s.Radius) {
		return p, fmt.Errorf("optimize: smoothing radius = %v: must be finite and > 0", s.Radius)
	}
	c := &p.Constants
	steep := query.Steepness(p.Dim()) * c.Lipschitz / s.Radius
	own := c.Curvature
	if p.Jumps || c.Local != "" {
		own = loss.CurvatureInterval{Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	c.Curvature = loss.CurvatureInterval{Lo: max(own.Lo, -steep), Hi: min(own.Hi, steep)}
	c.HessianLipschitz = math.Inf(1)
	c.InitialGap += c.Lipschitz * s.Radius
	c.Local, c.Loose = "", "the smoothed loss: its curvature is bounded by its Lipschitz constant"
	p.Smoothing = s
	return p, p.Validate()
}
