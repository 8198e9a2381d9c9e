package optimize

import (
	"fmt"
	"math"
)

// RuleSteps caps the default rules: beyond it measured gains are small.
const RuleSteps = 1000

// MostSteps is the most a user may ask for: the upward rounding of so many
// charges and of their sum stays within 2^-30, and a certificate lists them all.
const MostSteps = 1_000_000

// StepCount turns a rule's real number into a count of steps between 1 and
// RuleSteps.
func StepCount(x float64) int { return stepCount(RuleSteps, x) }

func stepCount(most int, x float64) int {
	if !(x > 1) {
		return 1
	}
	return int(min(math.Ceil(x), float64(most)))
}

// CheckSteps refuses a number of steps that is neither 0, the rule's, nor a
// possible one.
func CheckSteps(algorithm string, steps int) error {
	if steps < 0 || steps > MostSteps {
		return fmt.Errorf("optimize: %s: steps = %d: must be between 0 (the rule's number) and %d", algorithm, steps, MostSteps)
	}
	return nil
}
