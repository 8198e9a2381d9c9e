package optimize

import (
	"cmp"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Output is a rule that chooses the result from the iterates of a run. All rules are post-processing of
// released answers.
type Output uint8

const (
	// RuleOutput means the algorithm's own rule.
	RuleOutput Output = iota
	// TailAverage is the average of the iterates of the second half of the run. The weight of an
	// iterate is the charge of the answer released at it.
	TailAverage
	// Last is the last iterate.
	Last
	// Smallest is the iterate at which the norm of the released gradient estimate was smallest.
	Smallest
	// Random is an iterate drawn uniformly with public random bits (Problem.Seed) when the plan is
	// made. Theorems on stationary points usually hold for this iterate.
	Random
	// Average is the average of all iterates, with weights as in TailAverage.
	Average

	// outputs is the number of rules. It must stay last.
	outputs
)

var outputNames = [...]string{"", "tail-average", "last", "smallest", "random", "average"}

// This line does not compile unless every rule has a name.
var _ = [1]struct{}{}[len(outputNames)-int(outputs)]

// missing returns the panic message of a switch over output rules that has no case for o. Such
// switches list every rule and panic for any other value.
func (o Output) missing() string {
	return fmt.Sprintf("optimize: output = %v: is in no case of a switch over rules", o)
}

func (o Output) String() string { return NameOf(outputNames[:], "output", uint8(o)) }

// Or returns the output rule o that a user set, or the algorithm's own rule if o is RuleOutput.
func (o Output) Or(rule Output) Output { return cmp.Or(o, rule) }

// Result is the released point at the end of a run, with public facts about the run.
type Result struct {
	W []float64
	// Steps is the number of steps made.
	Steps int
	// Output describes in words by which rule W was chosen.
	Output string
	// Complete is false if the run ended before the end of its plan.
	Complete bool
	// Trace states how the releases became W.
	Trace Trace
	// Late compares the gradient estimates of the last quarter of the steps with their noise. It shows
	// whether more steps would have helped. It is zero for runs with rounds, runs that ended early and runs
	// whose loop moves the iterate itself.
	Late Late
	// Foreseen is the gradient norm expected at W, computed from the rows' statistics and the gradients
	// that the run released. It is 0 if these releases do not determine it.
	Foreseen float64
	// Excess is the forecast excess risk that noise left at W, from the same facts; 0 if it is not computed.
	Excess float64
	// Curvature is the curvature at W that the run released; nil if the run released none.
	Curvature *Curved
	// SelectedNorm is the released gradient norm at W, if the run chose W among several points by their gradient
	// norms (see [NormSelection]). It is nil for other runs.
	SelectedNorm *SelectedNorm
	// Inference has the confidence intervals of the coefficients; nil for plans without intervals.
	Inference *inference.Fit
	// Rows describes how the rows vary, computed from releases. It is nil if the run released no second
	// moment of the rows, or its diagonal only.
	Rows *Rows
}

// choice is an output rule for a run whose number of steps is known.
type choice struct {
	rule  Output
	steps int
	// pick is the iterate that Random returns, counted from 0.
	pick int
	// reached says which points are averaged: if true, the points after each step, which include the last
	// iterate; if false, the points before each step, at which gradients were released. In runs of few steps
	// the last iterate is the best.
	reached bool
}

func newChoice(rule Output, steps int, onePass bool, coins *Coins) (choice, error) {
	if rule == RuleOutput || int(rule) >= len(outputNames) {
		return choice{}, fmt.Errorf("optimize: output = %v: must be one of %v", rule, outputNames[1:])
	}
	c := choice{rule: rule, steps: steps, reached: onePass && (rule == TailAverage || rule == Average)}
	if rule == Random {
		c.pick = coins.IntN(steps)
	}
	return c, nil
}

func (c choice) describe() string {
	if c.rule == Random {
		return fmt.Sprintf("random: iterate %d of %d, drawn before the first answer", c.pick+1, c.steps)
	}
	return c.rule.String()
}

// averages reports whether iterate t, counted from 0, is part of the average. All iterates are part of
// Average, and those with 2(t+1) >= steps are part of TailAverage.
func (c choice) averages(t int) bool { return c.rule == Average || 2*(t+1) >= c.steps }

// weights returns the weight in the result of each point at which an answer is released and, last, of the
// point to which the last step leads. charges has the weight of each point before normalisation, usually
// the charge of its answer. The rule Smallest determines its weights only in the run, so for it weights
// returns the weights of the rule Last.
func (c choice) weights(charges []float64) []float64 {
	w := make([]float64, c.steps+1)
	switch c.rule {
	case TailAverage, Average:
		var sum float64
		for t, m := range charges {
			if c.averages(t) {
				w[t] = m
				sum += m
			}
		}
		vector.Divide(w, sum)
	case Random:
		w[c.pick] = 1
	case Last, Smallest:
		w[c.steps] = 1
	default:
		panic(c.rule.missing())
	}
	if c.reached {
		copy(w[1:], w[:len(w)-1])
		w[0] = 0
	}
	return w
}

// begin returns a new collector for the iterates of a run.
func (c choice) begin() *collector { return &collector{choice: c, smallest: math.Inf(1)} }

// collector computes the result of a run by the output rule. It receives each iterate once, in order, with the
// iterate's weight in an average (usually the charge of its answer) and the norm of the gradient estimate.
type collector struct {
	choice
	seen     int
	looked   int
	smallest float64
	kept     []float64
	mean     vector.Mean
	// given has the weight, before normalisation, of each iterate received so far in the average.
	given []float64
	// ended describes the result of a run that the algorithm ended before its last step. It is empty
	// for other runs.
	ended string
}

func (c *collector) visit(w []float64, charge, gradient float64) {
	t := c.seen
	c.seen++
	switch c.rule {
	case TailAverage, Average:
		if !c.averages(t) {
			c.given = append(c.given, 0)
			return
		}
		c.given = append(c.given, charge)
		c.mean.Add(charge, w)
	case Smallest:
		c.compare(w, gradient)
	case Random:
		if t == c.pick {
			c.kept = append(c.kept[:0], w...)
		}
	case Last:
	default:
		panic(c.rule.missing())
	}
}

// look receives an iterate at which the gradient was estimated but from which no step was made. The
// rule Smallest may choose it.
func (c *collector) look(w []float64, gradient float64) {
	if c.rule == Smallest {
		c.looked++
		c.compare(w, gradient)
	}
}

func (c *collector) compare(w []float64, gradient float64) {
	if gradient < c.smallest {
		c.smallest = gradient
		c.kept = append(c.kept[:0], w...)
	}
}

// result applies the output rule. If the run ended before the first iterate that the rule could
// choose, it returns the last iterate, current.
func (c *collector) result(current []float64) Result {
	r := Result{Steps: c.seen, Output: c.describe(), Complete: c.seen == c.steps}
	if r.W = c.kept; r.W == nil {
		r.W = c.mean.Or(current)
	}
	return r
}

// weightsOf returns the weight of each iterate so far, w_0, ..., w_t, in the result. The weights sum to 1. It
// returns nil for the rules Last and Smallest (for Smallest see chosen). It also returns nil for another rule
// that has not yet received an iterate that it uses; the result is then the last iterate.
func (c *collector) weightsOf() []float64 {
	if c.rule == Random && c.kept != nil {
		w := make([]float64, c.seen+1)
		w[c.pick] = 1
		return w
	}
	if !(c.mean.Weight > 0) {
		return nil
	}
	w := make([]float64, c.seen+1)
	for t, v := range c.given {
		if c.reached {
			t++
		}
		w[t] = v / c.mean.Weight
	}
	return w
}

// chosen returns the number of iterates among which the rule Smallest chose the result by the norms of
// estimates; 0 for other rules.
func (c *collector) chosen() int {
	if c.rule != Smallest {
		return 0
	}
	return c.seen + c.looked
}
