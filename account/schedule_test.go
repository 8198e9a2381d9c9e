package account

import (
	"errors"
	"math"
	"testing"
)

func sampledSteps(noiseMultiplier, sampling float64, count int) SampledSteps {
	return SampledSteps{NoiseMultiplier: noiseMultiplier, Sampling: sampling, Count: count}
}

func TestScheduleCountsAndCovers(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	steps := []SampledSteps{sampledSteps(20, .1, 2), sampledSteps(30, .2, 1)}
	s, err := NewSchedule(t.Context(), b, .05, steps...)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLedger(b)
	if err := l.Follow(s); err != nil {
		t.Fatal(err)
	}
	sampled := func(q, c, sigma float64) error {
		e, err := SampledEvent("gradient", q, c, sigma)
		if err != nil {
			t.Fatal(err)
		}
		return l.Reserve(e)
	}
	for _, c := range []struct {
		name        string
		q, c, sigma float64
		ok          bool
	}{
		{"less noise", .1, 1, 19.999, false},
		{"longer contribution", .1, 1.0001, 20, false},
		{"other sampling", .2, 1, 30, false},
		{"first", .1, 1, 20, true},
		{"second, more noise", .1, 1, 25, true},
		{"third as if it were the second", .1, 1, 20, false},
		{"third", .2, 2, 60, true},
		{"beyond", .2, 2, 60, false},
	} {
		if err := sampled(c.q, c.c, c.sigma); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Gaussian events may together use the mu that the schedule reserves for them, and no more.
	if err := l.Reserve(mustEvent(t, Everyone, .04, 1)); err != nil {
		t.Error(err)
	}
	over := (*BudgetError)(nil)
	if err := l.Reserve(mustEvent(t, Everyone, .04, 1)); !errors.As(err, &over) {
		t.Errorf("a gaussian event beyond the share: %v", err)
	}
	if n := len(l.Events()); n != 4 {
		t.Errorf("%d events, want 4", n)
	}
	if l.Follow(s) == nil || NewLedger(mustBudget(t, 2, 1e-6)).Follow(s) == nil || NewLedger(b).Follow(nil) == nil {
		t.Error("followed twice, for another budget, or nothing")
	}
	plain := NewLedger(b)
	e, err := SampledEvent("gradient", .1, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Reserve(e) == nil {
		t.Error("a sampled event was admitted without a schedule")
	}
}

// TestScheduleIsWithinItsBudget tests that the epsilon of a calibrated schedule is at most the
// budget's epsilon and not far below it, with and without additional Gaussian releases. A schedule
// with a little less noise is refused.
func TestScheduleIsWithinItsBudget(t *testing.T) {
	t.Parallel()
	for _, relation := range []Relation{ReplaceOne, AddOrRemove} {
		b, err := NewBudget(1, 1e-6, relation)
		if err != nil {
			t.Fatal(err)
		}
		for i, mu := range []float64{0, b.Mu() / 2} {
			if testing.Short() && (i == 0) != (relation == ReplaceOne) {
				continue
			}
			s, err := CalibrateSchedule(t.Context(), b, mu, sampledSteps(1, .1, 50), sampledSteps(2, .3, 20))
			if err != nil {
				t.Fatal(err)
			}
			if !(s.Epsilon() <= 1 && s.Epsilon() > .98) {
				t.Errorf("%v mu %v: epsilon %v, want just below 1", relation, mu, s.Epsilon())
			}
			steps := s.Steps()
			if r := steps[1].NoiseMultiplier / steps[0].NoiseMultiplier; !(math.Abs(r-2) <= 1e-12) {
				t.Errorf("multipliers in the proportion %v, want 2", r)
			}
			for i := range steps {
				steps[i].NoiseMultiplier *= .98
			}
			if _, err := NewSchedule(t.Context(), b, mu, steps...); err == nil {
				t.Errorf("%v mu %v: two percent less noise was accepted", relation, mu)
			}
		}
	}
	b := mustBudget(t, 1, 1e-6)
	if _, err := CalibrateSchedule(t.Context(), b, b.Mu()*1.01, sampledSteps(1, .1, 5)); err == nil {
		t.Error("a schedule beside more than the whole budget")
	}
	// With sampling = 1 the mechanism is Gaussian, with twice the contribution under replace-one.
	s, err := CalibrateSchedule(t.Context(), b, 0, sampledSteps(1, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	if z, _ := s.Step(0); !(math.Abs(z*b.Mu()/2/math.Sqrt(4)-1) <= 2e-3) {
		t.Errorf("multiplier %v for full batches, want 2 sqrt(4)/mu = %v", z, 2*2/b.Mu())
	}
	for _, bad := range []SampledSteps{{}, sampledSteps(1, 0, 1), sampledSteps(1, 2, 1), sampledSteps(math.NaN(), .1, 1),
		sampledSteps(1, .1, 0)} {
		if _, err := NewSchedule(t.Context(), b, 0, bad); err == nil {
			t.Errorf("%+v accepted", bad)
		}
		if _, err := CalibrateSchedule(t.Context(), b, 0, bad); err == nil {
			t.Errorf("%+v calibrated", bad)
		}
	}
}
