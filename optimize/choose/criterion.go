package choose

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// Criterion is the quantity by whose forecasts plans are ordered.
type Criterion uint8

const (
	// Gradient is the gradient norm of the mean loss over the records.
	Gradient Criterion = iota
	// Population is the gradient norm of the expected loss over the distribution of the records.
	Population
	// ExcessRisk is the mean loss over the records minus its minimum. It is allowed for convex losses
	// only.
	ExcessRisk
	// SecondOrder is the gradient norm, with plans that are predicted to escape saddles before all others
	// (see Auto.Gap). For convex objectives it is the same as Gradient.
	SecondOrder
)

var criterionNames = [...]string{"gradient", "population", "excess-risk", "second-order"}

func (c Criterion) String() string { return optimize.NameOf(criterionNames[:], "criterion", uint8(c)) }

// Describe returns the criterion in words, for messages.
func (c Criterion) Describe() string {
	switch c {
	case Population:
		return "population gradient norm"
	case ExcessRisk:
		return "excess risk"
	case SecondOrder:
		return "gradient norm at a second-order point"
	}
	return "gradient norm"
}

// of returns the forecast of the criterion's quantity in a plan's summary.
func (c Criterion) of(s optimize.Summary) float64 {
	switch c {
	case Population:
		return s.Population
	case ExcessRisk:
		return s.Excess
	}
	return s.Predicted
}

func (a Auto) validate(p optimize.Problem) error {
	lo, _ := p.Curvature()
	switch {
	case int(a.Goal) >= len(criterionNames):
		return fmt.Errorf("optimize: goal = %v: must be one of %v", a.Goal, criterionNames)
	case a.Gap != 0 && (a.Goal != SecondOrder || !optimize.Positive(a.Gap)):
		return fmt.Errorf("optimize: gap = %v: must be finite and > 0, and is for goal second-order", a.Gap)
	case a.Goal == ExcessRisk && lo < 0:
		return fmt.Errorf("optimize: goal = %v: is for convex losses: this one's curvature reaches down to %.3g", a.Goal, lo)
	case a.Passes != 0 && !(a.Passes >= 1 && optimize.Positive(a.Passes)):
		return fmt.Errorf("optimize: passes = %v: must be at least 1, or left out for no limit", a.Passes)
	}
	return nil
}

// allows reports whether a plan makes at most a.Passes passes over the records, up to rounding. If a.Passes
// is 0, there is no limit.
func (a Auto) allows(s optimize.Summary) bool { return a.Passes == 0 || s.Passes <= a.Passes*(1+1e-9) }

// steps returns the number of steps that an algorithm's rule chose, but at most the limit on passes over
// the records, and at least 1. It counts one pass for each step.
func (a Auto) steps(rule int) int {
	if a.Passes == 0 {
		return rule
	}
	return max(1, min(rule, int(a.Passes)))
}

// Stated reports whether the forecast of a plan is reliable enough to show to users. It is reliable
// if the measured gradient norms were .6 to 1.6 times the forecasts at the median
// (lab/results/outcome.md, lab/results/planner.md). It is not reliable
//
//   - for networks, since the forecasts assume the curvature of linear models, and for losses whose
//     derivative jumps, since the forecasts assume bounded curvature,
//   - for losses whose Lipschitz constant is a clip, such as Poisson's: the forecasts use the
//     curvature at the clip, which is far above the curvature of most records, and ignore the clip's
//     bias,
//   - for preconditioned with a real target or a nonconvex loss: measured norms were 1.8 and 2.2 times
//     the forecast at the median,
//   - for preconditioned with a diagonal metric, whose forecast was not measured,
//   - for single passes (one-pass-sgd, one-pass-storm): the measured excess risk was a quarter of the
//     forecast, and the measured norm a third to three fifths,
//   - for kl-spider, whose rounds follow the condition of the loss and not the assumed spectrum: on softmax the
//     measured norm was .3 times the forecast (lab/results/planner.md),
//   - for the methods for second-order points (perturbed-gd, second-order), since the forecasts ignore the
//     perturbations and the early stops of these methods.
func Stated(p optimize.Problem, s optimize.Summary) bool {
	switch s.Algorithm {
	case "kl-spider", "perturbed-gd", "second-order", "subgradient", "o2nc", "smoothed", "one-pass-sgd", "one-pass-storm":
		return false
	case "preconditioned":
		return curvedAsForeseen(p) && p.Convex()
	}
	return foreseen(p)
}

// curvedAsForeseen reports whether the forecast of preconditioned assumes a curvature near that of tables.
func curvedAsForeseen(p optimize.Problem) bool {
	return foreseen(p) && !p.Real && !firstorder.Diagonal(p)
}

// Foreseen reports whether the gradient norm that a run computes after its releases (Result.Foreseen)
// is reliable enough to show to users. Unlike Stated it allows preconditioned with a real target, since
// the released second moment supplies the curvature that the forecast before the run has to assume.
func Foreseen(p optimize.Problem) bool { return foreseen(p) }

func foreseen(p optimize.Problem) bool {
	return !p.Layered && p.Kinked == nil && !p.Constants.Clipped && !math.IsInf(p.DataSmoothness(), 1)
}

// Shown returns the summary of a plan for users, with forecasts that are not reliable set to zero. If Stated returns
// false, all forecasts are set to zero. The forecast of the population gradient is always set to zero: at the median
// the measured norm of plans of several passes was a third to a half of it (lab/results/planner.md).
func Shown(p optimize.Problem, s optimize.Summary) optimize.Summary {
	s.Population = 0
	if !Stated(p, s) {
		s.Predicted, s.Excess = 0, 0
	}
	return s
}

// byRecord reports whether the algorithm preconditioned comes first whatever the forecasts. It returns true
// if preconditioned is among the candidates and its forecast assumes a curvature that tables do not have.
// On tables with losses for which byRecord returns true, preconditioned lowered the loss at least as much
// as the other algorithms (lab/results/outcome.md).
func byRecord(p optimize.Problem, list []Candidate) bool {
	return find(list, "preconditioned") >= 0 && !curvedAsForeseen(p)
}
