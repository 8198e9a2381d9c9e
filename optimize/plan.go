package optimize

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Plan is an algorithm with everything settled that can be settled without
// data.
type Plan interface {
	// Outline says what will run. It is public.
	Outline() Outline
	// Run carries the plan out. observe, if not nil, is called after each step
	// with released numbers. On an error the result holds what had been reached
	// by then, which is as releasable as a finished run's.
	Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error)
}

// SampledPlan is a plan whose releases are fixed beforehand as a schedule: its
// oracle must have been opened with it.
type SampledPlan interface {
	Plan
	Schedule() *account.Schedule
}

// Outline describes a plan to people and to certificates. Norms are in the
// encoded space, where rows have norm at most 1.
type Outline struct {
	Algorithm string `json:"algorithm"`
	// Citation says where the algorithm and its guarantee come from.
	Citation string  `json:"citation"`
	Steps    int     `json:"steps"`
	StepSize float64 `json:"step_size"`
	Clip     float64 `json:"clip"`
	// Charges says in words how the budget is divided.
	Charges string `json:"charges"`
	Output  string `json:"output"`
	// Effective is N, Floor is r (see Size).
	Effective float64 `json:"effective_size"`
	Floor     float64 `json:"floor"`
	// Passes is how often the plan looks at a record, on average over records.
	Passes float64 `json:"passes"`
	// Predicted is the gradient norm to expect at the output; Population and
	// Excess say the same of the population's gradient norm and of the excess
	// risk (see Forecast).
	Predicted  float64 `json:"predicted_gradient_norm"`
	Population float64 `json:"predicted_population_gradient_norm"`
	Excess     float64 `json:"predicted_excess_risk"`
}

// expect fills in a forecast.
func (o *Outline) expect(f Forecast) {
	o.Predicted, o.Population, o.Excess = f.Gradient, f.Population, f.Excess
}

// Step is what may be shown of a step: public or released numbers.
type Step struct {
	Number, Of int
	// GradientNorm is the norm of the noisy gradient estimate used.
	GradientNorm float64
	// Charged is the total charged by the run so far.
	Charged float64
	// W is the iterate reached, a released point. It must be neither kept nor
	// changed.
	W []float64
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
}

// usable is the part of a budget that plans divide: the rest, 2^-30 of it,
// absorbs the upward rounding of charges and of their sum.
const usable = 1 - 0x1p-30

// maxSteps caps the default rules: beyond it measured gains are small.
const maxSteps = 1000

// mostSteps is the most a user may ask for: the upward rounding of so many
// charges and of their sum stays within 2^-30, and a certificate lists them all.
const mostSteps = 1_000_000

// stepCount turns a rule's real number into a count of steps between 1 and the
// cap.
func stepCount(x float64) int {
	if !(x > 1) {
		return 1
	}
	return int(min(math.Ceil(x), maxSteps))
}

func norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s = math.Hypot(s, x)
	}
	return s
}

// descend sets w to w - eta g.
func descend(w, g []float64, eta float64) {
	for j := range w {
		w[j] -= eta * g[j]
	}
}

// root is the square root of a positive charge.
func root(charge float64) float64 { return math.Sqrt(max(charge, math.SmallestNonzeroFloat64)) }

func stepError(algorithm string, t int, err error) error {
	return fmt.Errorf("%s: step %d: %w", algorithm, t, err)
}
