package account

import (
	"math"
	"testing"
)

// TestImpossibleCohorts tests that events of every kind are valid for the cohort [MaxCohort] and
// invalid for larger cohorts.
func TestImpossibleCohorts(t *testing.T) {
	l := NewLedger(mustBudget(t, 8, 1e-3))
	for id, possible := range map[uint64]bool{1: true, MaxCohort: true, MaxCohort + 1: false, 1 << 32: false,
		1 << 63: false, math.MaxUint64: false} {
		_, err := GaussianEvent("gradient", id, 1, 1e3)
		if (err == nil) != possible {
			t.Errorf("cohort %d: gaussian: %v", id, err)
		}
		if _, err := StabilityEvent("stable sgd", "logistic", id, 1, 1e3); (err == nil) != possible {
			t.Errorf("cohort %d: by stability: %v", id, err)
		}
		if _, err := SelectionEvent("selection", id, .01); (err == nil) != possible {
			t.Errorf("cohort %d: selection: %v", id, err)
		}
		gaussian := Event{Kind: Gaussian, Cohort: id, Sensitivity: 1, Sigma: 1e3, Charge: 1}
		if err := l.Reserve(gaussian); (err == nil) != possible {
			t.Errorf("cohort %d: reserved: %v", id, err)
		}
		if _, err := Total([]Event{gaussian}); (err == nil) != possible {
			t.Errorf("cohort %d: verified: %v", id, err)
		}
	}
}

// TestViewFollowsItsLedger tests that a view returns the same values as its ledger, even after
// later events, and that the zero View returns the values of an empty ledger.
func TestViewFollowsItsLedger(t *testing.T) {
	b := mustBudget(t, 8, 1e-3)
	l := NewLedger(b)
	v := l.View()
	for i := range 3 {
		if v.Len() != i || len(v.Events()) != i || v.Charged() != l.Charged() || v.Left(1) != l.left(1) ||
			v.Left(Everyone) != l.left(Everyone) || v.Budget() != b || v.Schedule() != nil {
			t.Errorf("after %d events the view says %d, %v charged", i, v.Len(), v.Charged())
		}
		if err := l.Reserve(mustEvent(t, uint64(i), 1, 1e3)); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]int{-1: 3, 0: 3, 1: 2, 2: 1, 3: 0, 7: 0, math.MaxInt: 0} {
		since := v.Since(n)
		if len(since) != want {
			t.Errorf("%d events since number %d, want %d", len(since), n, want)
		}
		for i, e := range since {
			if e != l.Events()[3-want+i] {
				t.Errorf("since number %d: event %d is %+v", n, i, e)
			}
		}
		clear(since)
		if l.Events()[2] == (Event{}) {
			t.Fatal("what a view shows is the ledger's own")
		}
	}
	var zero View
	if zero.Since(0) != nil {
		t.Error("the zero View has events")
	}
	if zero.Len() != 0 || zero.Events() != nil || zero.Charged() != 0 || zero.Left(Everyone) != 0 ||
		zero.Schedule() != nil {
		t.Error("the zero View shows something")
	}
}

// TestSchedulesAreKeptAsTheyWere tests that an assignment to the Schedule that was passed to
// Follow, or to a Schedule that a ledger returned, does not change the ledger's schedule.
func TestSchedulesAreKeptAsTheyWere(t *testing.T) {
	b := mustBudget(t, 8, 1e-3)
	held, err := NewSchedule(t.Context(), b, 0, SampledSteps{NoiseMultiplier: 4, Sampling: .1, Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewSchedule(t.Context(), b, 0, SampledSteps{NoiseMultiplier: 5, Sampling: .2, Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLedger(b)
	if err := l.Follow(held); err != nil {
		t.Fatal(err)
	}
	want := held.Steps()
	*held, *l.Schedule(), *l.View().Schedule() = *other, *other, Schedule{}
	clear(l.Schedule().Steps())
	for _, s := range []*Schedule{l.Schedule(), l.View().Schedule()} {
		if got := s.Steps(); len(got) != 1 || got[0] != want[0] || s.Len() != 2 {
			t.Errorf("the ledger shows %+v, want %+v", got, want)
		}
	}
	for sampling, admitted := range map[float64]bool{.1: true, .2: false} {
		e, err := SampledEvent("gradient", sampling, 1, 6)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Reserve(e); (err == nil) != admitted {
			t.Errorf("sampling %v: %v", sampling, err)
		}
	}
	var zero Schedule
	if l := NewLedger(b); l.Follow(&zero) == nil || l.Follow(nil) == nil || zero.Len() != 0 || zero.Steps() != nil {
		t.Error("the zero Schedule has steps")
	}
}
