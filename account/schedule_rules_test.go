package account

import "testing"

// TestScheduleComesFirst: a ledger with events cannot follow a schedule, which was composed without
// them.
func TestScheduleComesFirst(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	s, err := NewSchedule(t.Context(), b, 0, SampledSteps{20, .1, 2})
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

// TestScheduleIsFollowedExactly: a step with another sampling probability than the schedule's is
// refused, also with a smaller one.
func TestScheduleIsFollowedExactly(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	s, err := NewSchedule(t.Context(), b, 0, SampledSteps{5, .25, 2})
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

// TestScheduleCountsEveryRun: equal steps in several places count together, like one entry with the
// sum of their counts.
func TestScheduleCountsEveryRun(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	epsilon := func(steps ...SampledSteps) float64 {
		s, err := NewSchedule(t.Context(), b, 0, steps...)
		if err != nil {
			t.Fatal(err)
		}
		return s.Epsilon()
	}
	one := epsilon(SampledSteps{5, .1, 30}, SampledSteps{9, .2, 7})
	if split := epsilon(SampledSteps{5, .1, 10}, SampledSteps{9, .2, 7}, SampledSteps{5, .1, 20}); split != one {
		t.Errorf("epsilon %v in runs of 10 and 20, %v in one of 30", split, one)
	}
	if less := epsilon(SampledSteps{5, .1, 20}, SampledSteps{9, .2, 7}); !(less < one*.99) {
		t.Errorf("epsilon %v of 20 steps, %v of 30", less, one)
	}
}

// TestScheduleClaimsTheUpperEnd: a schedule's epsilon is above the true value, by at most its
// width. A bracket 100 times as narrow shows the side.
func TestScheduleClaimsTheUpperEnd(t *testing.T) {
	b := mustBudget(t, 8, 1e-6)
	for _, mu := range []float64{0, .3} {
		steps := []SampledSteps{{2, .05, 100}, {4, .1, 20}}
		s, err := NewSchedule(t.Context(), b, mu, steps...)
		if err != nil {
			t.Fatal(err)
		}
		events, err := composed(mu, steps, 1, b.Relation())
		if err != nil {
			t.Fatal(err)
		}
		fine, err := compose(t, scheduleWidth/100, events...).Epsilon(t.Context(), b.Delta())
		if err != nil {
			t.Fatal(err)
		}
		if !(s.Epsilon() >= fine.Lower && s.Epsilon() <= fine.Upper*(1+2*scheduleWidth)) {
			t.Errorf("mu %v: epsilon %v, the truth is within %v", mu, s.Epsilon(), fine)
		}
	}
}
