package account

import (
	"errors"
	"testing"
)

// TestBudgetMayBeMetExactly tests that the filter admits an event that brings a record's total
// exactly to the budget, to the last bit. The filter must then refuse every further event for that
// record, however small. This must hold for events on all records and on a cohort.
func TestBudgetMayBeMetExactly(t *testing.T) {
	b, err := NewBudget(1, 1e-6, ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	event := func(cohort uint64, charge float64) Event {
		e, err := GaussianEvent("gradient", cohort, 0x1p-100, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Charge = charge // a charge may exceed the charge of its law
		return e
	}
	// Halves of the budget, and their sum, are exact in float64. Other totals are rounded up.
	for _, charges := range [][]float64{{1}, {.5, .5}} {
		for _, cohorts := range [][]uint64{{Everyone}, {3}, {Everyone, 3}, {3, Everyone}} {
			cohorts = cohorts[:min(len(cohorts), len(charges))]
			l := NewLedger(b)
			for i, c := range charges {
				if err := l.Reserve(event(cohorts[i%len(cohorts)], c*b.Charge())); err != nil {
					t.Fatalf("charges %v on cohorts %v: part %d: %v", charges, cohorts, i, err)
				}
			}
			if l.Charged() != b.Charge() {
				t.Errorf("charges %v: %v charged, want %v", charges, l.Charged(), b.Charge())
			}
			for _, c := range []uint64{Everyone, cohorts[0]} {
				over := (*BudgetError)(nil)
				if err := l.Reserve(event(c, 0x1p-190)); !errors.As(err, &over) || l.left(c) != 0 {
					t.Errorf("charges %v on cohorts %v: 2^-190 more for cohort %d: %v; %v left", charges, cohorts, c, err, l.left(c))
				}
			}
		}
	}
}
