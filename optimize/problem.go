package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Problem is what is public about a private minimisation: F(w) = mean of
// f(w; x_i) over records plus a regularizer, and what may be charged for it.
// NewProblem makes one; a regularizer, a set and a start are added to it.
type Problem struct {
	// Shape is that of the parameters w.
	Shape Shape
	// Constants are those of the data term, for rows of norm at most 1. The
	// Lipschitz constant and the curvature are enforced by clipping.
	Constants loss.Constants
	// RankOne says that f(w; x) depends on w through <w, x> alone, or through W x:
	// gradients are slopes times the row, as matrices of rank one.
	RankOne bool
	// Grouped says that records are of several rows, whose gradients are of rank one
	// each: f is their mean.
	Grouped bool
	// Layered says that gradients are an outer product for each layer of a network.
	Layered bool
	// Kinked is the loss if its slopes jump, of a generalised linear model; nil of any
	// other. Its curvature has no bound, and it can be smoothed exactly (Smoothed).
	Kinked loss.Kinked
	// Jumps says that slopes jump where there is no such closed form: of networks of
	// relu units, or of outputs whose loss is a loss.Kinked. What Constants say of
	// curvature is then of what lies between the jumps, or infinite.
	Jumps bool
	// Smoothing is how the loss is smoothed that Constants are of and that a Run asks
	// about.
	Smoothing query.Smoothing
	// Products says that the loss can tell products of its Hessian and a vector.
	Products bool
	// Regularizer is public and added exactly; nil for none.
	Regularizer loss.Regularizer
	// Set is what w is projected on; nil for the whole space.
	Set convex.Set
	// Start is w_0, public; nil for zero.
	Start []float64
	// Seed is that of the public coins that plans and runs draw. A fit draws it before
	// it begins, and its certificate has it.
	Seed uint64
	// KL is public knowledge of how fast the objective rises, if there is any.
	KL KL

	// Records is the public number of records: the declared one under
	// add-or-remove.
	Records float64
	// Relation says which tables are neighbours. It is always stated.
	Relation account.Relation
	// Mu is what a plan divides, in Gaussian differential privacy: the budget's,
	// or less where a part of it is kept for other questions.
	Mu float64
	// Budget is the (epsilon, delta) that schedules of samples are composed for
	// and that theorems speak of. The zero Budget serves neither.
	Budget account.Budget
}

// Shape is that of the parameters of a model: Margins rows of Features. Those of a
// loss that writes its own gradient are one row.
type Shape struct{ Margins, Features int }

// Vector is the shape of parameters in one row.
func Vector(parameters int) Shape { return Shape{Margins: 1, Features: parameters} }

// Public says what is public about the records: a session, or Stated.
type Public interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Dim returns the number of features.
	Dim() int
}

// Stated is what is public where only the figures are known.
func Stated(features int, records float64) Public { return stated{features, records} }

type stated struct {
	features int
	records  float64
}

func (s stated) All() query.Cohort { return query.NewCohort(account.Everyone, s.records) }
func (s stated) Dim() int          { return s.features }

// NewProblem returns the problem of minimising a loss over the records of a
// table within a budget, whose relation it is under.
func NewProblem(l loss.Loss, b account.Budget, t Public) (Problem, error) {
	_, rankOne := l.(loss.RankOne)
	shape := Vector(loss.Parameters(l, t.Dim()))
	if m, ok := l.(loss.Margins); ok {
		shape, rankOne = Shape{Margins: m.K(), Features: t.Dim()}, true
	}
	kinked, _ := l.(loss.Kinked)
	p := Problem{
		Kinked: kinked,
		Shape:  shape, Constants: l.Constants(), RankOne: rankOne, Products: loss.Products(l),
		Records: t.All().Size(), Relation: b.Relation(), Mu: b.Mu(), Budget: b,
	}
	row := loss.RowLoss(l)
	if _, several := l.(loss.Units); several {
		_, p.Jumps = row.(loss.Kinked)
		p.Grouped = loss.Count(row) > 0
	}
	if network, ok := row.(loss.Composed); ok {
		p.Start, p.Layered = network.Start(loss.RowFeatures(l, t.Dim())), true
		_, activation := network.Layers()
		_, output := network.Output().(loss.Kinked)
		p.Jumps = activation == "relu" || output
	}
	return p, p.ValidateKinked()
}

// Validate returns an error naming the field, its value and the rule. It is for
// algorithms whose steps or questions rest on a bound of the curvature.
func (p Problem) Validate() error {
	if err := p.ValidateKinked(); err != nil {
		return err
	}
	if c := p.Constants.Curvature; math.IsInf(c.Hi-c.Lo, 0) {
		return fmt.Errorf("optimize: curvature = [%v, %v]: must be finite for this algorithm, and has no bound where a loss's slope jumps: smoothed and subgradient serve such losses", c.Lo, c.Hi)
	}
	return nil
}

// ValidateKinked is Validate for algorithms that serve losses whose slopes jump, too.
func (p Problem) ValidateKinked() error {
	c := p.Constants
	switch {
	case p.Shape.Features < 1 || p.Shape.Margins < 1:
		return fmt.Errorf("optimize: dimension = %d: must be >= 1", p.Dim())
	case p.Start != nil && len(p.Start) != p.Dim():
		return fmt.Errorf("optimize: start has %d coordinates: must have %d", len(p.Start), p.Dim())
	case !Positive(c.Lipschitz):
		return fmt.Errorf("optimize: Lipschitz constant = %v: must be finite and > 0", c.Lipschitz)
	case !(c.Curvature.Lo <= c.Curvature.Hi) || math.IsInf(c.Curvature.Hi-c.Curvature.Lo, 0) && p.Kinked == nil && !p.Jumps:
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

// Neighbours returns the sensitivity of a clipped sum in units of the clip norm:
// 2 under replace-one, 1 under add-or-remove.
func (p Problem) Neighbours() float64 {
	if p.Relation == account.AddOrRemove {
		return 1
	}
	return 2
}

// Charge returns what a plan divides among the questions to one record, in units
// of mu^2. The rest, 2^-30 of the whole, absorbs the upward rounding of charges
// and of their sum.
func (p Problem) Charge() float64 { return p.Mu * p.Mu * usable }

const usable = 1 - 0x1p-30

// Curvature returns [l, L1]: every eigenvalue of a record's Hessian lies in it,
// and so does zero (a row has directions it does not see).
func (p Problem) Curvature() (lo, hi float64) {
	return min(0, p.Constants.Curvature.Lo), max(0, p.Constants.Curvature.Hi)
}

// Convex reports whether the data term and the regularizer are.
func (p Problem) Convex() bool {
	return p.Constants.Curvature.Lo >= 0 && (p.Regularizer == nil || p.Regularizer.Convexity() >= 0)
}

// DataSmoothness returns the smoothness of the data term, max(|l|, L1).
func (p Problem) DataSmoothness() float64 {
	lo, hi := p.Curvature()
	return max(-lo, hi)
}

// Smoothness returns that of the whole objective.
func (p Problem) Smoothness() float64 {
	s := p.DataSmoothness()
	if p.Regularizer != nil {
		s += p.Regularizer.Smoothness()
	}
	return s
}

// InitialGradient returns G0 = sqrt(2 L1 F0), which bounds ||grad F(w_0)||.
func (p Problem) InitialGradient() float64 {
	return math.Sqrt(2 * p.Smoothness() * p.Constants.InitialGap)
}

// StepSize returns h/L1 for the given h, kept stable for the regularizer, which
// unlike the data is known to have its full curvature in every direction.
func (p Problem) StepSize(h float64) float64 {
	eta := h / p.Smoothness()
	if p.Regularizer != nil {
		if s := p.Regularizer.Smoothness(); s > 0 {
			eta = min(eta, 1/s)
		}
	}
	return eta
}

// LowRank says that gradients are of one outer product or a few. Records then span few
// directions at full length, and steps of several times 1/L1 are stable in practice.
func (p Problem) LowRank() bool { return p.RankOne || p.Layered || p.Grouped }

// StepScale is the rule for h in eta = h/L1.
func (p Problem) StepScale() float64 {
	switch {
	case p.Layered:
		return 16
	case p.RankOne, p.Grouped:
		return 4
	}
	return 1
}

// GradientSteps is the rule for the number of steps of methods that ask for
// gradients: a multiple of G0 N/(2 L0 h), at most RuleSteps.
func (p Problem) GradientSteps(multiplier, h float64) int {
	return p.StepsUpTo(RuleSteps, multiplier, h)
}

// StepsUpTo is GradientSteps with another bound.
func (p Problem) StepsUpTo(most int, multiplier, h float64) int {
	if p.Layered {
		multiplier *= layeredSteps
	}
	return stepCount(most, multiplier*p.InitialGradient()*p.Effective()/(2*p.Constants.Lipschitz*h))
}

// layeredSteps is how many times more steps networks take: the outputs of a layer's units
// vary less from record to record than they are long, so slopes stay small for longer.
// Measured with h = 16 on Adult, and on the exclusive or of two numbers.
const layeredSteps = 5

// StartPoint returns a copy of w_0.
func (p Problem) StartPoint() []float64 {
	w := make([]float64, p.Dim())
	copy(w, p.Start)
	p.Project(w)
	return w
}

// Project moves w to the nearest point of the set.
func (p Problem) Project(w []float64) {
	if p.Set != nil {
		p.Set.Project(w)
	}
}

// AddRegularizer adds the regularizer's gradient at w to g.
func (p Problem) AddRegularizer(g, w []float64) {
	if p.Regularizer != nil {
		p.Regularizer.AddGradient(g, w)
	}
}

// Effective returns N = n mu/sqrt(d) (2/neighbours), the effective number of
// records: all rates are powers of it.
func (p Problem) Effective() float64 {
	return p.Records * p.Mu / math.Sqrt(float64(p.Dim())) * 2 / p.Neighbours()
}

// Floor returns r = 2 L0/N: the norm of the noise of one gradient released with
// the whole budget. Up to constants it is the lower bound of Arora et al. 2023,
// Theorem 2, on the gradient norm any private algorithm can reach in the worst
// case; on a kind problem less is possible.
func (p Problem) Floor() float64 { return 2 * p.Constants.Lipschitz / p.Effective() }

// LowerBound returns L0 min(1, sqrt(d log(1/delta))/(n epsilon)) for the
// problem's budget: up to a constant, no (epsilon, delta)-DP algorithm has a
// smaller gradient norm on every problem with these constants (Arora et al. 2023,
// Theorem 2, for epsilon of order 1 at most). A given problem may be kinder.
func (p Problem) LowerBound() float64 {
	b := p.Budget
	return p.Constants.Lipschitz * min(1, math.Sqrt(float64(p.Dim())*math.Log(1/b.Delta()))/(p.Records*b.Epsilon()))
}

// Positive reports whether x is finite and > 0.
func Positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
