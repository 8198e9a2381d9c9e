package account

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Budget is the largest mu, in Gaussian differential privacy, that a run may spend. It also holds
// the (epsilon, delta) from which mu was derived, and the neighbouring relation under which the
// guarantee holds. A Budget is immutable. The zero Budget permits nothing.
type Budget struct {
	epsilon, delta, mu float64
	relation           Relation
}

// NewBudget returns the budget with the largest mu for which mu-GDP implies (epsilon, delta)-DP
// under the relation. This mu is [mechanism.GaussianMu], rounded down. epsilon must be finite and >
// 0, and delta must be in (0, 1). It is an error if this mu is 0, which would permit no release.
func NewBudget(epsilon, delta float64, r Relation) (Budget, error) {
	if err := (Guarantee{Relation: r, Epsilon: epsilon, Delta: delta}).Check(); err != nil {
		return Budget{}, fmt.Errorf("account: %w", err)
	}
	mu, err := mechanism.GaussianMu(epsilon, delta)
	if err != nil {
		return Budget{}, err
	}
	if !(mu > 0) {
		return Budget{}, fmt.Errorf("account: epsilon = %v, delta = %v: permits no release at all (mu = 0)", epsilon, delta)
	}
	return Budget{epsilon: epsilon, delta: delta, mu: mu, relation: r}, nil
}

// Epsilon returns the epsilon from which the budget was made.
func (b Budget) Epsilon() float64 { return b.epsilon }

// Delta returns the delta from which the budget was made.
func (b Budget) Delta() float64 { return b.delta }

// Mu returns the largest mu, in Gaussian differential privacy, that a run may spend.
func (b Budget) Mu() float64 { return b.mu }

// Charge returns mu^2 rounded down, the limit on the sum of all charges to one record.
func (b Budget) Charge() float64 { return round.MulDown(b.mu, b.mu) }

// Relation returns the neighbouring relation under which the budget's guarantee holds.
func (b Budget) Relation() Relation { return b.relation }

// String states epsilon, delta, the relation and mu.
func (b Budget) String() string {
	return fmt.Sprintf("(epsilon %v, delta %v) under %v, mu %.6g", b.epsilon, b.delta, b.relation, b.mu)
}

// ChargedError is an error of a fit that occurred after the budget was reserved. The budget stays reserved.
type ChargedError struct {
	// Ledger and Folder are the ledger file and the folder of the reservation; empty if the fit is
	// stored nowhere.
	Ledger, Folder string
	// Err is the error that ended the fit.
	Err error
}

// Error returns the text of the error that ended the fit, and adds that the whole budget stays charged. If
// the fit is stored, the text names the ledger and the folder from which the fit can be recovered.
func (e *ChargedError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("%v; the whole budget stays charged: earlier releases cannot be taken back", e.Err)
	}
	return fmt.Sprintf("%v; the whole budget stays charged in %s; stillpoint recover %s saves the model "+
		"in the journal there", e.Err, e.Ledger, e.Folder)
}

// Unwrap returns the error that ended the fit.
func (e *ChargedError) Unwrap() error { return e.Err }

// Guarantee is a promise about everything that one run, or several runs together, release: (Epsilon,
// Delta)-differential privacy under Relation for records of Unit. Budgets, caps, ledgers, certificates, models and
// reports all use this type. The order in which its fields are written differs between their file formats.
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
