package account

import "testing"

// TestScheduleComesFirst tests that a ledger with events cannot follow a schedule, since the
// schedule's privacy was computed without these events.
func TestScheduleComesFirst(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	s, err := NewSchedule(t.Context(), b, 0, sampledSteps(20, .1, 2))
	if err != nil {
		t.Fatal(err)
	}
	l := NewLedger(b)
	if err := l.Reserve(mustEvent(t, 7, .01, 1)); err != nil {
		t.Fatal(err)
	}
	if l.Follow(s) == nil {
		t.Error("followed after an event")
	}
	if l.Schedule() != nil {
		t.Error("refused, and followed")
	}
}

// TestScheduleIsFollowedExactly tests that a step is refused if its sampling probability differs
// from the schedule's, even if it is smaller.
func TestScheduleIsFollowedExactly(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	s, err := NewSchedule(t.Context(), b, 0, sampledSteps(5, .25, 2))
	if err != nil {
		t.Fatal(err)
	}
	for sampling, want := range map[float64]bool{.25: true, .125: false, .5: false, .25 + 0x1p-54: false} {
		step := Event{Kind: SampledGaussian, Sensitivity: 1, Sigma: 5, Sampling: sampling}
		if err := s.content().covers(0, step); (err == nil) != want {
			t.Errorf("sampling %v of a schedule's .25: %v", sampling, err)
		}
	}
}

// TestScheduleCountsEveryRun tests that equal steps in several places of a schedule are accounted
// for together, like one entry with the sum of their counts.
func TestScheduleCountsEveryRun(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	epsilon := func(steps ...SampledSteps) float64 {
		s, err := NewSchedule(t.Context(), b, 0, steps...)
		if err != nil {
			t.Fatal(err)
		}
		return s.Epsilon()
	}
	one := epsilon(sampledSteps(5, .1, 30), sampledSteps(9, .2, 7))
	if split := epsilon(sampledSteps(5, .1, 10), sampledSteps(9, .2, 7), sampledSteps(5, .1, 20)); split != one {
		t.Errorf("epsilon %v in runs of 10 and 20, %v in one of 30", split, one)
	}
	if less := epsilon(sampledSteps(5, .1, 20), sampledSteps(9, .2, 7)); !(less < one*.99) {
		t.Errorf("epsilon %v of 20 steps, %v of 30", less, one)
	}
}

// TestFollowWantsItsOwnBudget tests that Follow refuses a schedule whose budget differs from the
// ledger's budget in epsilon alone, in delta alone or in the relation alone.
func TestFollowWantsItsOwnBudget(t *testing.T) {
	const epsilon, delta = 1., 1e-6
	b, err := NewBudget(epsilon, delta, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		epsilon, delta float64
		relation       Relation
		ok             bool
	}{
		{epsilon, delta, AddOrRemove, true},
		{epsilon * 1.01, delta, AddOrRemove, false},
		{epsilon * .99, delta, AddOrRemove, false},
		{epsilon, delta * 1.01, AddOrRemove, false},
		{epsilon, delta * .99, AddOrRemove, false},
		{epsilon, delta, ReplaceOne, false},
	} {
		other, err := NewBudget(c.epsilon, c.delta, c.relation)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSchedule(t.Context(), other, 0, sampledSteps(30, .1, 2))
		if err != nil {
			t.Fatal(err)
		}
		if err := NewLedger(b).Follow(s); (err == nil) != c.ok {
			t.Errorf("schedule for %v under a budget of %v: %v", other, b, err)
		}
	}
}
