package optimize

import (
	"fmt"
	"math"
)

// RuleSteps is the largest number of steps that default rules choose. Measured gains beyond it are
// small.
const RuleSteps = 1000

// MostSteps is the largest number of steps that a user may ask for. Up to it the upward rounding of the
// charges and of their sum stays within 2^-30, and a certificate lists every charge.
const MostSteps = 1_000_000

// StepCount rounds the real number of a rule up to a number of steps between 1 and RuleSteps.
func StepCount(x float64) int { return stepCount(RuleSteps, x) }

func stepCount(most int, x float64) int {
	if !(x > 1) {
		return 1
	}
	return int(min(math.Ceil(x), float64(most)))
}

// CheckSteps returns an error unless steps is between 0, which means the rule's number, and MostSteps.
func CheckSteps(algorithm string, steps int) error {
	if steps < 0 || steps > MostSteps {
		return fmt.Errorf("optimize: %s: steps = %d: must be between 0 (the rule's number) and %d", algorithm, steps, MostSteps)
	}
	return nil
}
