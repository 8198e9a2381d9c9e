package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Problem holds the public facts of a private minimisation of F(w) = mean of f(w; x_i) over records
// plus a regularizer, and the budget that it may spend. NewProblem makes one; the caller may then set a
// regularizer, a set and a start.
type Problem struct {
	// Shape is the shape of the parameters w.
	Shape Shape
	// Constants are the constants of the data term, for rows of norm at most 1. Clipping enforces the
	// Lipschitz constant and the curvature.
	Constants loss.Constants
	// RankOne says that f(w; x) depends on w only through <w, x>, or through W x for several margins. A
	// gradient is then a slope times the row, or a matrix of rank one.
	RankOne bool
	// Grouped says that a record consists of several rows. f is the mean over the rows, whose gradients
	// have rank one each.
	Grouped bool
	// Layered says that a gradient is one outer product for each layer of a network.
	Layered bool
	// Kinked is the loss if it is a generalised linear model whose slope has jumps; otherwise nil. The
	// curvature of such a loss is unbounded. The loss can be smoothed in closed form (Smoothed).
	Kinked loss.Kinked
	// Jumps says that slopes jump and no closed-form smoothing exists: in networks of relu units, and
	// for outputs whose loss is a loss.Kinked. The curvature in Constants then holds between jumps
	// only, or is infinite.
	Jumps bool
	// Smoothing is the smoothing of the loss. Constants are the constants of the smoothed loss, and a
	// Run releases answers about the smoothed loss.
	Smoothing query.Smoothing
	// Products says that the loss can compute Hessian-vector products.
	Products bool
	// Regularizer is public and is added without noise; nil for none.
	Regularizer loss.Regularizer
	// Set is the set onto which w is projected; nil for the whole space.
	Set convex.Set
	// Start is w_0, public; nil for zero.
	Start []float64
	// Seed is the seed of the public random bits that plans and runs draw. A fit draws it before it
	// begins, and the certificate of the fit states it.
	Seed uint64
	// KL is public knowledge of how fast the objective rises; the zero KL for none.
	KL KL

	// Records is the public number of records. Under add-or-remove it is the declared number.
	Records float64
	// Relation is the neighbouring relation. It must be set.
	Relation account.Relation
	// Mu is the budget in Gaussian differential privacy that a plan may spend: the whole budget's mu,
	// or less if part of the budget is reserved for other releases.
	Mu float64
	// Budget is the (epsilon, delta) for which schedules of samples are composed and which theorems
	// use. The zero Budget serves neither purpose.
	Budget account.Budget
}

// Shape is the shape of a model's parameters: Margins rows of Features numbers. The parameters of a
// loss that computes its own gradient are one row.
type Shape struct{ Margins, Features int }

// Vector returns the shape of parameters in one row.
func Vector(parameters int) Shape { return Shape{Margins: 1, Features: parameters} }

// Public tells the public facts about the records. A session implements it, and Stated returns one.
type Public interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Dim returns the number of features.
	Dim() int
}

// Stated returns a Public from two known figures, without a table.
func Stated(features int, records float64) Public { return stated{features, records} }

type stated struct {
	features int
	records  float64
}

func (s stated) All() query.Cohort { return query.NewCohort(account.Everyone, s.records) }
func (s stated) Dim() int          { return s.features }

// NewProblem returns the problem of minimising a loss over the records of a table within a budget. The
// neighbouring relation is the budget's.
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

// Validate returns an error that names the field, its value and the rule it breaks. It is for
// algorithms whose steps or queries need a bound on the curvature.
func (p Problem) Validate() error {
	if err := p.ValidateKinked(); err != nil {
		return err
	}
	if c := p.Constants.Curvature; math.IsInf(c.Hi-c.Lo, 0) {
		return fmt.Errorf("optimize: curvature = [%v, %v]: must be finite for this algorithm, and has no bound where a loss's slope jumps: smoothed and subgradient serve such losses", c.Lo, c.Hi)
	}
	return nil
}

// ValidateKinked is Validate for algorithms that also serve losses whose slopes jump. It does not
// require bounded curvature of such losses.
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

// Charge returns the total charge that a plan may divide among its queries to one record, in units of
// mu^2. The rest of mu^2, a share of 2^-30, absorbs the upward rounding of charges and of their sum.
func (p Problem) Charge() float64 { return p.Mu * p.Mu * usable }

const usable = 1 - 0x1p-30

// Curvature returns an interval [l, L1] that contains every eigenvalue of a record's Hessian. It always
// contains zero, since a row has directions along which its loss is constant.
func (p Problem) Curvature() (lo, hi float64) {
	return min(0, p.Constants.Curvature.Lo), max(0, p.Constants.Curvature.Hi)
}

// Convex reports whether both the data term and the regularizer are convex.
func (p Problem) Convex() bool {
	return p.Constants.Curvature.Lo >= 0 && (p.Regularizer == nil || p.Regularizer.Convexity() >= 0)
}

// DataSmoothness returns the smoothness of the data term, max(|l|, L1).
func (p Problem) DataSmoothness() float64 {
	lo, hi := p.Curvature()
	return max(-lo, hi)
}

// Smoothness returns the smoothness of the whole objective.
func (p Problem) Smoothness() float64 {
	s := p.DataSmoothness()
	if p.Regularizer != nil {
		s += p.Regularizer.Smoothness()
	}
	return s
}

// InitialGradient returns G0 = sqrt(2 L1 F0), an upper bound on ||grad F(w_0)||.
func (p Problem) InitialGradient() float64 {
	return math.Sqrt(2 * p.Smoothness() * p.Constants.InitialGap)
}

// StepSize returns h/L1 for the given h, but at most 1/s for a regularizer of smoothness s. The data
// may have less curvature than L1; the regularizer has its full curvature in every direction, so that a
// longer step would be unstable.
func (p Problem) StepSize(h float64) float64 {
	eta := h / p.Smoothness()
	if p.Regularizer != nil {
		if s := p.Regularizer.Smoothness(); s > 0 {
			eta = min(eta, 1/s)
		}
	}
	return eta
}

// LowRank reports whether a gradient is one outer product or the sum of a few. The gradients of
// different records are then long in few common directions, and steps of several times 1/L1 are stable
// in practice.
func (p Problem) LowRank() bool { return p.RankOne || p.Layered || p.Grouped }

// StepScale returns the rule's h in eta = h/L1.
func (p Problem) StepScale() float64 {
	switch {
	case p.Layered:
		return 16
	case p.RankOne, p.Grouped:
		return 4
	}
	return 1
}

// GradientSteps returns the rule's number of steps for methods that release gradients: multiplier * G0
// N/(2 L0 h), at most RuleSteps.
func (p Problem) GradientSteps(multiplier, h float64) int {
	return p.StepsUpTo(RuleSteps, multiplier, h)
}

// StepsUpTo is GradientSteps with another maximum.
func (p Problem) StepsUpTo(most int, multiplier, h float64) int {
	if p.Layered {
		multiplier *= layeredSteps
	}
	return stepCount(most, multiplier*p.InitialGradient()*p.Effective()/(2*p.Constants.Lipschitz*h))
}

// layeredSteps is the factor by which networks need more steps. The outputs of a layer's units vary
// between records by less than their size, so slopes stay small for longer. The factor was measured
// with h = 16 on Adult and on the exclusive or of two numbers.
const layeredSteps = 5

// StartPoint returns a copy of w_0, projected onto the set.
func (p Problem) StartPoint() []float64 {
	w := make([]float64, p.Dim())
	copy(w, p.Start)
	p.Project(w)
	return w
}

// Project moves w to the nearest point of the set, in place.
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

// Effective returns N = n mu/sqrt(d) (2/neighbours), the effective number of records, or
// signal-to-noise size. All rates are powers of N.
func (p Problem) Effective() float64 {
	return p.Records * p.Mu / math.Sqrt(float64(p.Dim())) * 2 / p.Neighbours()
}

// Floor returns r = 2 L0/N, the norm of the noise of one gradient released with the whole budget. Up to
// constants r is the lower bound of Arora et al. 2023, Theorem 2, on the gradient norm that any private
// algorithm can reach in the worst case. On easier problems a smaller norm is possible.
func (p Problem) Floor() float64 { return 2 * p.Constants.Lipschitz / p.Effective() }

// LowerBound returns L0 min(1, sqrt(d log(1/delta))/(n epsilon)) for the problem's budget. Up to a
// constant, no (epsilon, delta)-DP algorithm reaches a smaller gradient norm on every problem with
// these constants (Arora et al. 2023, Theorem 2, for epsilon of order 1 at most). On a given problem a
// smaller norm may be possible.
func (p Problem) LowerBound() float64 {
	b := p.Budget
	return p.Constants.Lipschitz * min(1, math.Sqrt(float64(p.Dim())*math.Log(1/b.Delta()))/(p.Records*b.Epsilon()))
}

// Positive reports whether x is finite and > 0.
func Positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
