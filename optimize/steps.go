package optimize

import (
	"cmp"
	"fmt"
	"math"
)

// RuleSteps is the largest number of steps that the default rules choose. More steps were measured to
// gain little.
const RuleSteps = 1000

// MostSteps is the largest number of steps that a user may set. A certificate lists the charge of
// every step, and up to this number of steps the upward rounding of the charges and of their sum
// stays below 2^-30 of mu^2.
const MostSteps = 1_000_000

// StepCount returns the number of steps for the real number x that a default rule computed: x rounded
// up, at least 1 and at most RuleSteps.
func StepCount(x float64) int { return stepCount(RuleSteps, x) }

func stepCount(most int, x float64) int {
	if !(x > 1) {
		return 1
	}
	return int(min(math.Ceil(x), float64(most)))
}

// CheckSteps returns an error, with the algorithm's name, unless steps is between 0 and MostSteps, both
// included. 0 means the number of the default rule.
func CheckSteps(algorithm string, steps int) error {
	if steps < 0 || steps > MostSteps {
		return fmt.Errorf("optimize: %s: steps = %d: must be between 1 and %d, or left out for the rule's number", algorithm,
			steps, MostSteps)
	}
	return nil
}

// Setting is a number that the user of an algorithm may leave out. A setting of 0 is left out.
type Setting struct {
	Name  string
	Value *float64
	// Rule is the value of a setting that is left out.
	Rule float64
	// Below, if not 0, is the bound that the value must stay below.
	Below float64
	// Or ends the error of a setting without Below, such as ", or left out for 1".
	Or string
}

// Fill sets each setting that is left out to its rule. It returns an error for the first setting that is not above
// 0, or not below its bound, or not finite if it has no bound.
func Fill(algorithm string, settings ...Setting) error {
	for _, s := range settings {
		*s.Value = cmp.Or(*s.Value, s.Rule)
		switch x := *s.Value; {
		case s.Below == 0 && !Positive(x):
			return fmt.Errorf("optimize: %s: %s = %v: must be finite and > 0%s", algorithm, s.Name, x, s.Or)
		case s.Below != 0 && !(x > 0 && x < s.Below):
			return fmt.Errorf("optimize: %s: %s = %v: must be > 0 and < %v, or left out for the rule's", algorithm, s.Name, x,
				s.Below)
		}
	}
	return nil
}
