package account

import (
	"fmt"
	"math"
)

// Guarantee is a promise about everything that one run, or several runs together, release:
// (Epsilon, Delta)-differential privacy under Relation for records of Unit. Budgets, caps, ledgers,
// certificates, models and reports all use this type. The order in which its fields are written
// differs between their file formats.
type Guarantee struct {
	// Relation decides which tables are neighbours.
	Relation Relation `json:"relation"`
	Epsilon  float64  `json:"epsilon"`
	Delta    float64  `json:"delta"`
	// Unit names a column: all rows with the same value in it are one record. It is empty if
	// each row is one record.
	Unit string `json:"unit,omitempty"`
	// Mu is a bound on all Gaussian releases together: they are Mu-GDP. Mu is 0 if every release
	// follows a [Schedule].
	Mu float64 `json:"mu"`
}

// Guarantee returns the guarantee of a budget for records of the named unit; "" means that each
// row is a record.
func (b Budget) Guarantee(unit string) Guarantee {
	return Guarantee{Relation: b.relation, Epsilon: b.epsilon, Delta: b.delta, Unit: unit, Mu: b.mu}
}

// Check returns an error unless the guarantee's fields are valid: the relation is known, epsilon is
// finite and > 0, delta is in (0, 1), and mu is finite and >= 0.
func (g Guarantee) Check() error {
	switch {
	case !g.Relation.Valid():
		return fmt.Errorf("relation = %v: must be replace-one or add-or-remove", g.Relation)
	case !(g.Epsilon > 0) || math.IsInf(g.Epsilon, 0):
		return fmt.Errorf("epsilon = %v: must be finite and > 0", g.Epsilon)
	case !(g.Delta > 0 && g.Delta < 1):
		return fmt.Errorf("delta = %v: must be > 0 and < 1", g.Delta)
	case !(g.Mu >= 0) || math.IsInf(g.Mu, 0):
		return fmt.Errorf("mu = %v: must be finite and >= 0", g.Mu)
	}
	return nil
}

// Adds reports whether the two guarantees can be added to one guarantee. They can if they have the
// same relation and the same unit.
func (g Guarantee) Adds(other Guarantee) bool {
	return g.Relation == other.Relation && g.Unit == other.Unit
}

// Text states epsilon, delta, the relation and the unit in words.
func (g Guarantee) Text() string {
	return fmt.Sprintf("(epsilon %v, delta %v) under %v%s", g.Epsilon, g.Delta, g.Relation, g.forAll())
}

func (g Guarantee) forAll() string {
	if g.Unit == "" {
		return ""
	}
	return ", for all rows of one " + g.Unit
}
