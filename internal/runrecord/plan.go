package runrecord

import (
	"fmt"
	"math"
)

// Plan describes a run's plan to people and in certificates. Norms are after scaling, where rows
// have norm at most 1. Its texts are for readers: no program makes a decision from them.
type Plan struct {
	Algorithm string `json:"algorithm"`
	// Citation names the papers of the algorithm and of its guarantee.
	Citation string  `json:"citation"`
	Steps    int     `json:"steps"`
	StepSize float64 `json:"step_size"`
	Clip     float64 `json:"clip"`
	// Charges describes in words how the budget is divided among releases.
	Charges string `json:"charges"`
	Output  string `json:"output"`
	// AtRandom says why the run is expected to leave its starting point only at random: the error of all its
	// answers together is above the gradient that is usual at the start. It is empty for all other plans.
	AtRandom string `json:"at_random,omitempty"`
	// Effective is the signal-to-noise size N, records times mu over sqrt(coefficients). Floor is the norm of the noise
	// of one gradient that is released with the whole budget, 2 L0/N for a loss with Lipschitz constant L0.
	Effective float64 `json:"effective_size"`
	Floor     float64 `json:"floor"`
	// Passes is the number of times that the plan computes a record's gradient, or a scalar that
	// costs as much, on average over records. The difference of two gradients counts as two. A
	// method that reads each record once counts 1, whatever it computes from the record.
	Passes float64 `json:"passes"`
	// PairPasses is an upper bound on the number of additional passes over the table that compute a
	// number for each pair of features.
	PairPasses float64 `json:"pair_passes,omitempty"`
	// Predicted is the expected norm of the gradient at the output, for the mean loss over the table. Population is the
	// expected norm for the population that the table was drawn from. Excess is the expected excess risk
	// (optimize.Forecast). A predicted number is 0 if measurements showed that such predictions are too far off
	// (choose.Shown). Population is 0 in all records of present plans.
	Predicted  float64 `json:"predicted_gradient_norm"`
	Population float64 `json:"predicted_population_gradient_norm"`
	Excess     float64 `json:"predicted_excess_risk"`
	// Promise is set for plans with the settings of a theorem.
	Promise Promise `json:"theorem,omitzero"`
}

// Promise is the bound of a theorem for a plan with the theorem's settings. Constants and logarithms that the theorem
// does not state are 1 in it.
type Promise struct {
	// Theorem names the theorem and its paper. Of is the quantity that the theorem bounds.
	Theorem string `json:"name"`
	Of      string `json:"of"`
	// Bound is the theorem's bound, at most math.MaxFloat64. Start is a bound that the starting point satisfies.
	Bound float64 `json:"bound"`
	Start float64 `json:"start"`
	// From is the number of records from which Bound is below Start, to three digits, at the plan's mu. It is 0 if
	// no number up to 1e18 suffices.
	From float64 `json:"records_from"`
}

// String says from which number of records the theorem promises more than the starting point satisfies.
func (p Promise) String() string {
	from := "the start satisfies it for every number of records"
	switch {
	case p.From > 0 && p.Bound < p.Start:
		from = fmt.Sprintf("the theorem promises something from about %.3g records on", p.From)
	case p.From > 0:
		from = fmt.Sprintf("the start satisfies it: the theorem promises nothing below about %.3g records", p.From)
	}
	bound := fmt.Sprintf("%.3g", p.Bound)
	if p.Bound == math.MaxFloat64 {
		bound = "any number"
	}
	return fmt.Sprintf("%s bounds the %s by %s, up to constants, and the start by %.3g: %s", p.Theorem, p.Of,
		bound, p.Start, from)
}
