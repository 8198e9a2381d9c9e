package account

import (
	"fmt"
	"math"
)

// Guarantee says what is promised of all that a run, or several together, release:
// (Epsilon, Delta)-differential privacy under Relation for records of Unit. Budgets, caps,
// ledgers, certificates, models and reports state it by this type; each file writes its
// members in its own order.
type Guarantee struct {
	// Relation says what neighbouring tables are.
	Relation Relation `json:"relation"`
	Epsilon  float64  `json:"epsilon"`
	Delta    float64  `json:"delta"`
	// Unit is the column of which all rows with one value are one record; empty where each
	// row is one.
	Unit string `json:"unit,omitempty"`
	// Mu is that of the Gaussian releases by which it is kept; 0 where all are of a schedule.
	Mu float64 `json:"mu"`
}

// Guarantee states what a budget promises for records of a unit; empty for rows.
func (b Budget) Guarantee(unit string) Guarantee {
	return Guarantee{Relation: b.relation, Epsilon: b.epsilon, Delta: b.delta, Unit: unit, Mu: b.mu}
}

// Check demands what every guarantee is: a relation, an epsilon that is finite and > 0, a
// delta in (0, 1) and a mu that is finite and >= 0.
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

// Adds reports whether this guarantee and another add up to one: those under other
// relations, and for records of other units, do not.
func (g Guarantee) Adds(other Guarantee) bool {
	return g.Relation == other.Relation && g.Unit == other.Unit
}

// Text states the guarantee in the field's terms.
func (g Guarantee) Text() string {
	return fmt.Sprintf("(epsilon %v, delta %v) under %v%s", g.Epsilon, g.Delta, g.Relation, g.forAll())
}

func (g Guarantee) forAll() string {
	if g.Unit == "" {
		return ""
	}
	return ", for all rows of one " + g.Unit
}
