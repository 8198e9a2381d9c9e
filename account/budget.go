package account

import (
	"fmt"
	"math"
)

// Budget is what a run may charge at most: a value of mu in Gaussian
// differential privacy, with the (epsilon, delta) it was derived from and the
// relation it speaks of. It is immutable; the zero Budget permits nothing.
type Budget struct {
	epsilon, delta, mu float64
	relation           Relation
}

// NewBudget returns the largest Gaussian budget that is (epsilon, delta)-DP
// under the relation: mu from GaussianMu, rounded down. epsilon must be
// finite and > 0, delta in (0, 1).
func NewBudget(epsilon, delta float64, r Relation) (Budget, error) {
	if !r.Valid() {
		return Budget{}, fmt.Errorf("account: relation = %v: must be replace-one or add-or-remove", r)
	}
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return Budget{}, fmt.Errorf("account: epsilon = %v: must be finite and > 0", epsilon)
	}
	if !(delta > 0 && delta < 1) {
		return Budget{}, fmt.Errorf("account: delta = %v: must be > 0 and < 1", delta)
	}
	mu, err := GaussianMu(epsilon, delta)
	if err != nil {
		return Budget{}, err
	}
	if !(mu > 0) {
		return Budget{}, fmt.Errorf("account: epsilon = %v, delta = %v: permits no release at all (mu = 0)", epsilon, delta)
	}
	return Budget{epsilon: epsilon, delta: delta, mu: mu, relation: r}, nil
}

// Epsilon returns the epsilon the budget was made from.
func (b Budget) Epsilon() float64 { return b.epsilon }

// Delta returns the delta the budget was made from.
func (b Budget) Delta() float64 { return b.delta }

// Mu returns the budget in Gaussian differential privacy.
func (b Budget) Mu() float64 { return b.mu }

// Charge returns mu^2 rounded down: what all charges to one record may sum to.
func (b Budget) Charge() float64 { return mulDown(b.mu, b.mu) }

// Relation returns the relation the budget speaks of.
func (b Budget) Relation() Relation { return b.relation }

// String states the budget in the field's terms.
func (b Budget) String() string {
	return fmt.Sprintf("(epsilon %v, delta %v) under %v, mu %.6g", b.epsilon, b.delta, b.relation, b.mu)
}
