package optimize

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// RuleSteps is the largest number of steps that the default rules choose. More steps were measured to
// gain little.
const RuleSteps = 1000

// MostSteps is the largest number of steps that a user may set. A certificate lists the charge of every step, and up to
// this number of steps the upward rounding of the charges and of their sum stays below 2^-30 of mu^2.
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

// Charges divides a charge among steps, in equal parts or in proportion to the number of each, and says so in words.
func Charges(total float64, steps int, alike bool) (charges []float64, words string) {
	T := float64(steps)
	if alike {
		return slices.Repeat([]float64{total / T}, steps), "every step alike"
	}
	charges = vector.Make(steps, func(t int) float64 { return total * 2 * float64(t+1) / (T * (T + 1)) })
	return charges, "step t in proportion to t"
}

// CheckSteps is CheckCount of a number of steps.
func CheckSteps(algorithm string, steps int) error { return CheckCount(algorithm, "steps", steps) }

// CheckCount returns an error, with the names of the algorithm and of the setting, unless count is between 0 and
// MostSteps, both included. 0 means the number of the default rule.
func CheckCount(algorithm, name string, count int) error {
	if count < 0 || count > MostSteps {
		return fmt.Errorf("optimize: %s: %s = %d: must be between 1 and %d, or left out for the rule's number", algorithm,
			name, count, MostSteps)
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

// NameOf returns names[i], the name of value i of an enumeration. For a value without a name it
// returns the field's name with the number, as in "output(7)".
func NameOf(names []string, field string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", field, i)
}

// Named returns the number of the value that has a name in an enumeration, a setting of the given field. value returns
// the value of a number, whose method String is that of NameOf. It is an error if no value has the name.
func Named(field, name string, value func(i uint8) fmt.Stringer) (uint8, error) {
	var names []string
	for i := uint8(0); ; i++ {
		switch text := value(i).String(); {
		case text == name:
			return i, nil
		case strings.Contains(text, "("): // the number after the last with a name
			return 0, fmt.Errorf("optimize: %s = %q: must be one of %v", field, name, names)
		case text != "":
			names = append(names, text)
		}
	}
}

// KL is public knowledge of how fast the objective F rises away from its minimum: the
// Kurdyka-Lojasiewicz (KL) condition in the form of Menart et al. 2024,
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa   at every point that a run visits.
//
// Kappa 2 is the Polyak-Lojasiewicz condition. Strong convexity with modulus m implies it with Gamma =
// 1/sqrt(2m). Kappa 1 means a sharp minimum. The zero KL means that nothing is known. A wrong condition
// costs accuracy, not privacy.
type KL struct {
	// Kappa, at least 1, is the exponent in F(w) - min F <= (gamma ||grad F(w)||)^kappa for the objective F. If neither
	// kappa nor gamma is set, both have the problem's values. If the problem states none, both follow from the
	// objective's strong convexity, or, if strong convexity is not known, from the curvature that predictions assume.
	Kappa float64 `yaml:"kappa"`
	// Gamma is the factor gamma in F(w) - min F <= (gamma ||grad F(w)||)^kappa. Kappa must be set, too.
	Gamma float64 `yaml:"gamma"`
}

// Known reports whether k states a condition: whether it is not the zero KL.
func (k KL) Known() bool { return k != KL{} }

// Validate returns an error unless both fields are zero, or kappa is in [1, 10] and gamma is finite and
// above 0.
func (k KL) Validate() error {
	switch {
	case !k.Known():
		return nil
	case !(k.Kappa >= 1 && k.Kappa <= mostKappa):
		return fmt.Errorf("optimize: kl: kappa = %v: must be between 1 and %v, and given with gamma", k.Kappa, mostKappa)
	case !Positive(k.Gamma):
		return fmt.Errorf("optimize: kl: gamma = %v: must be finite and > 0, and given with kappa", k.Gamma)
	}
	return nil
}

// mostKappa is the largest exponent kappa that is accepted. With kappa 10, halving the gradient norm
// would divide the excess loss by about a thousand, which holds for no useful loss.
const mostKappa = 10

// Excess returns the largest excess loss F(w) - min F that the condition allows at a point w with the
// given gradient norm.
func (k KL) Excess(gradient float64) float64 { return math.Pow(k.Gamma*gradient, k.Kappa) }

// Gradient returns the smallest gradient norm that the condition allows at a point w with the given
// excess loss F(w) - min F.
func (k KL) Gradient(excess float64) float64 { return math.Pow(excess, 1/k.Kappa) / k.Gamma }
