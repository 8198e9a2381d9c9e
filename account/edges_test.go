package account

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestLimitsOfBudgets tests every limit of a budget and of a guarantee on both sides.
func TestLimitsOfBudgets(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		relation       Relation
		want           string // of the error; "" for none
	}{
		{1, 1e-6, ReplaceOne, ""}, {1, 1 - 1e-9, AddOrRemove, ""}, {1, 1, ReplaceOne, "delta = 1: must be > 0 and < 1"},
		{1, 0, ReplaceOne, "delta = 0: must be > 0 and < 1"}, {0, 1e-6, ReplaceOne, "epsilon = 0: must be finite and > 0"},
		{math.Inf(1), 1e-6, ReplaceOne, "epsilon = +Inf: must be finite and > 0"}, {1, 1e-6, 0, "must be replace-one or add-or-remove"},
	} {
		_, err := NewBudget(c.epsilon, c.delta, c.relation)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if err := (Guarantee{Relation: c.relation, Epsilon: c.epsilon, Delta: c.delta, Mu: .5}).Check(); (err == nil) != (c.want == "") ||
			err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: a guarantee: %v", c, err)
		}
	}
	for mu, want := range map[float64]bool{0: true, 1e-300: true, -1e-300: false, math.Inf(1): false, math.NaN(): false} {
		if err := (Guarantee{Relation: ReplaceOne, Epsilon: 1, Delta: 1e-6, Mu: mu}).Check(); (err == nil) != want || err != nil && err.Error() !=
			fmt.Sprintf("mu = %v: must be finite and >= 0", mu) {
			t.Errorf("mu = %v: %v", mu, err)
		}
	}
}

// TestChargesAreSaid: an error after the first release says that the budget stays charged, where, and how the model is saved.
func TestChargesAreSaid(t *testing.T) {
	broken := errors.New("broken")
	for want, e := range map[string]*ChargedError{
		"broken; the whole budget stays charged: earlier releases cannot be taken back": {Err: broken},
		"broken; the whole budget stays charged in /l/ledger; stillpoint recover /f/fit saves the model in the journal there": {Err: broken,
			Ledger: "/l/ledger", Folder: "/f/fit"},
	} {
		if e.Error() != want || !errors.Is(e, broken) {
			t.Errorf("%q: must be %q", e.Error(), want)
		}
	}
}

// TestSchedulesAreFollowedOnce: a ledger follows one schedule, before its first event.
func TestSchedulesAreFollowedOnce(t *testing.T) {
	b, err := NewBudget(20, 1e-5, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchedule(t.Context(), b, 0, SampledSteps{NoiseMultiplier: 4, Sampling: .25, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLedger(b)
	if err := l.Follow(s); err != nil {
		t.Fatal(err)
	}
	if err := l.Follow(s); err == nil || err.Error() != "account: follow: must come before the first event, and once" {
		t.Errorf("a second schedule: %v", err)
	}
	fixed, err := CalibrateSchedule(t.Context(), b, 0, SampledSteps{NoiseMultiplier: 4, Sampling: .25, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if one, _ := s.Step(0); one != 4 {
		t.Errorf("a schedule that was given has the multiplier %v", one)
	}
	if one, _ := fixed.Step(0); !(one < 2) { // the budget of 20 needs far less noise
		t.Errorf("a calibrated schedule of the same steps has the multiplier %v", one)
	}
	if again, err := NewSchedule(t.Context(), b, 0, SampledSteps{NoiseMultiplier: 4, Sampling: .25, Count: 1}); err != nil || again.Epsilon() != s.Epsilon() {
		t.Errorf("%v, %v", again, err)
	}
}

// TestEventsAreNumbered: a total is of events numbered from 0, and what is left of a budget is never below 0.
func TestEventsAreNumbered(t *testing.T) {
	event := func(index int) Event {
		e, err := GaussianEvent("gradient", Everyone, 1, 10)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = index, ReplaceOne
		return e
	}
	for _, c := range []struct {
		indices []int
		want    bool
	}{{[]int{0, 1, 2}, true}, {[]int{0, 2}, false}, {[]int{1}, false}, {[]int{0, 0}, false}, {[]int{0, 1, 1}, false}} {
		var list []Event
		for _, i := range c.indices {
			list = append(list, event(i))
		}
		if total, err := Total(list); (err == nil) != c.want || err == nil && !(math.Abs(total-.03) <= 1e-12) {
			t.Errorf("events %v: %v, %v", c.indices, total, err)
		}
	}
	f := filter{everyone: .3, most: .2, cohorts: map[uint64]float64{1: .2, 2: .1}}
	for cohort, want := range map[uint64]float64{Everyone: 0, 1: 0, 2: .05, 3: .15} {
		if got := f.left(cohort, .45); !(math.Abs(got-want) <= 1e-12) || got < 0 {
			t.Errorf("cohort %d has %v left: must be %v", cohort, got, want)
		}
	}
}
