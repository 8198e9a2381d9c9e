package optimize

import (
	"fmt"
	"math"
)

// Output is a rule that chooses the result among the iterates of a run. All
// rules are post-processing of released answers.
type Output uint8

const (
	// RuleOutput stands for the algorithm's own rule.
	RuleOutput Output = iota
	// TailAverage is the average of the iterates of the second half, weighted
	// by the charges of the answers asked at them.
	TailAverage
	// Last is the last iterate.
	Last
	// Smallest is the iterate at which the released gradient estimate was
	// smallest.
	Smallest
	// Random is an iterate drawn uniformly by a public coin (Problem.Seed) when the
	// plan is made: the rule that theorems on stationary points speak of.
	Random
	// Average is the average of all iterates, weighted as TailAverage weighs those
	// of the second half.
	Average

	// outputs is the number of rules. It stays last.
	outputs
)

var outputNames = [...]string{"", "tail-average", "last", "smallest", "random", "average"}

// Every rule has a name, or this does not compile.
var _ = [1]struct{}{}[len(outputNames)-int(outputs)]

// missing is what a switch over rules does with one that it does not know: it has no
// rule to fall back on, least of all the last iterate.
func (o Output) missing() string {
	return fmt.Sprintf("optimize: output = %v: is in no case of a switch over rules", o)
}

func (o Output) String() string { return NameOf(outputNames[:], "output", uint8(o)) }

// ParseOutput reads the name of an output rule; the empty name is RuleOutput.
func ParseOutput(s string) (Output, error) {
	i, err := ParseName(outputNames[:], "output", s)
	return Output(i), err
}

// UnmarshalText reads a name as ParseOutput does.
func (o *Output) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOutput(string(text))
	return err
}

// Or returns the rule, or that of the algorithm if it was left to it.
func (o Output) Or(rule Output) Output {
	if o == RuleOutput {
		return rule
	}
	return o
}

// Result is a released point.
type Result struct {
	W []float64
	// Steps is how many steps were taken.
	Steps int
	// Output says which rule chose W.
	Output string
	// Complete is false when the run ended before its plan did.
	Complete bool
	// Law is how the releases became W.
	Law Realised
	// Late says whether more steps would have helped; zero where steps are not told apart.
	Late Late
	// Foreseen is the gradient norm at W that is to be expected after what the run
	// released of the rows and of their gradients; 0 where that does not tell.
	Foreseen float64
	// Curvature is what the run released of that at W; nil for nothing.
	Curvature *Curved
}

// choice is an output rule settled for a number of steps.
type choice struct {
	rule  Output
	steps int
	// pick is the iterate Random takes, counted from 0.
	pick int
	// reached says that the average is of the points that steps reach, not of
	// those asked about: where steps are few the last point is the best.
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

// averages reports whether iterate t, counted from 0, is in the average.
func (c choice) averages(t int) bool { return c.rule == Average || 2*(t+1) >= c.steps }

// weights returns the weight in the result of each iterate asked about, given
// the charges, and of the one that the last step reaches. Smallest has no weights
// beforehand; it is taken for Last.
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
		for t := range w {
			w[t] /= sum
		}
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

// begin starts collecting the iterates of a run.
func (c choice) begin() *collector {
	return &collector{choice: c, smallest: math.Inf(1)}
}

// collector sees every iterate once, in order, with the charge of the answer
// asked there and the norm of the gradient estimate.
type collector struct {
	choice
	seen     int
	looked   int
	smallest float64
	kept     []float64
	sum      []float64
	weight   float64
	// weights are those of the iterates seen, in an average.
	given []float64
	// ended is the output of a run that ended early, as it should.
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
		if c.sum == nil {
			c.sum = make([]float64, len(w))
		}
		for j, v := range w {
			c.sum[j] += charge * v
		}
		c.weight += charge
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

// look sees an iterate at which there was an estimate, but no step.
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

// result applies the rule; current is the iterate reached, which serves when
// the rule's choice has not come up yet.
func (c *collector) result(current []float64) Result {
	r := Result{Steps: c.seen, Output: c.describe(), Complete: c.seen == c.steps}
	switch {
	case c.weight > 0:
		r.W = make([]float64, len(c.sum))
		for j, v := range c.sum {
			r.W[j] = v / c.weight
		}
	case c.kept != nil:
		r.W = c.kept
	default:
		r.W = append([]float64(nil), current...)
	}
	return r
}

// weightsOf returns the weights of w_0, ..., w_t in the result; nil for w_t alone.
func (c *collector) weightsOf() []float64 {
	if c.rule == Random && c.kept != nil {
		w := make([]float64, c.seen+1)
		w[c.pick] = 1
		return w
	}
	if !(c.weight > 0) {
		return nil
	}
	w := make([]float64, c.seen+1)
	for t, v := range c.given {
		if c.reached {
			t++
		}
		w[t] = v / c.weight
	}
	return w
}

// chosen is among how many iterates the result was chosen by their estimates.
func (c *collector) chosen() int {
	if c.rule != Smallest {
		return 0
	}
	return c.seen + c.looked
}
