package account

import (
	"strings"
	"testing"
)

// TestEventsHaveTheLedgersRelation tests that an event of every kind states the relation of the
// budget to which it was charged. An event of another relation must be refused.
func TestEventsHaveTheLedgersRelation(t *testing.T) {
	for _, r := range []Relation{ReplaceOne, AddOrRemove} {
		b, err := NewBudget(1, 1e-6, r)
		if err != nil {
			t.Fatal(err)
		}
		schedule, err := NewSchedule(t.Context(), b, b.Mu()/2, SampledSteps{NoiseMultiplier: 200, Sampling: .25, Count: 4})
		if err != nil {
			t.Fatal(err)
		}
		l := NewLedger(b)
		if err := l.Follow(schedule); err != nil {
			t.Fatal(err)
		}
		small := b.Mu() / 8
		list := []func() (Event, error){
			func() (Event, error) { return GaussianEvent("gradient", Everyone, small, 1) },
			func() (Event, error) { return GaussianEvent("gradient", 3, small, 1) },
			func() (Event, error) { return SelectionEvent("selection", Everyone, small) },
			func() (Event, error) { return SampledEvent("gradient", .25, 1, 200) },
		}
		if r == ReplaceOne {
			list = append(list, func() (Event, error) { return StabilityEvent("stable sgd", "logistic", 3, small, 1) })
		}
		for i, make := range list {
			e, err := make()
			if err != nil {
				t.Fatal(err)
			}
			for _, given := range []Relation{0, r} {
				if e.Relation = given; i == 3 && given == r {
					break // the schedule's sample is used
				}
				if err := l.Reserve(e); err != nil {
					t.Fatalf("%v, event %d: %v", r, i, err)
				}
				if all := l.Events(); all[len(all)-1].Relation != r {
					t.Errorf("%v, event %d: states %v", r, i, all[len(all)-1].Relation)
				}
			}
			before := len(l.Events())
			for _, other := range []Relation{ReplaceOne + AddOrRemove - r, 9} {
				e.Relation = other
				if err := l.Reserve(e); err == nil || !strings.Contains(err.Error(), "relation") {
					t.Errorf("%v, event %d of %v: %v", r, i, other, err)
				}
			}
			if len(l.Events()) != before {
				t.Errorf("%v, event %d: a refused event is in the ledger", r, i)
			}
		}
	}
}
