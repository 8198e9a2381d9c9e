package account_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestCountsOfAScheduleDoNotWrapAround tests that counts whose sum overflows an int are refused, in
// any order. If such a sum wrapped around to a small number, few releases would be accounted for,
// and many would be made.
func TestCountsOfAScheduleDoNotWrapAround(t *testing.T) {
	const most = 1 << 30
	loud := func(n int) account.SampledSteps {
		return account.SampledSteps{NoiseMultiplier: .1, Sampling: 1, Count: n}
	}
	quiet := account.SampledSteps{NoiseMultiplier: 1e6, Sampling: .5, Count: 1000}
	many := make([]account.SampledSteps, 4)
	for i := range many {
		many[i] = loud(most) // 2^32: zero for an int of 32 bits
	}
	b, err := account.NewBudget(1, 1e-6, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	for name, steps := range map[string][]account.SampledSteps{
		"one kind to zero":   {loud(math.MaxInt), loud(math.MaxInt), loud(2), quiet},
		"behind the others":  {quiet, loud(math.MaxInt), loud(math.MaxInt), loud(2)},
		"between the others": {loud(math.MaxInt), quiet, loud(math.MaxInt), loud(2)},
		"half way": {loud(math.MaxInt/2 + 1), loud(math.MaxInt/2 + 1), loud(math.MaxInt/2 + 1),
			loud(math.MaxInt/2 + 1), quiet},
		"one that is too many": {{NoiseMultiplier: 1e6, Sampling: 1e-6, Count: most + 1}},
		"too many in sum": {{NoiseMultiplier: 1e6, Sampling: 1e-6, Count: most},
			{NoiseMultiplier: 1e7, Sampling: 1e-6, Count: 1}},
		"32 bits": append(many, quiet),
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := account.NewSchedule(context.Background(), b, 0, steps...); err == nil ||
				!strings.Contains(err.Error(), "2^30") {
				if err != nil {
					t.Fatal(err)
				}
				z, q := s.Step(0)
				t.Errorf("%d releases, the first of multiplier %v and sampling %v, are called (%v, 1e-6)-private", s.Len(), z, q,
					s.Epsilon())
			}
			if s, err := account.CalibrateSchedule(context.Background(), b, 0, steps...); err == nil {
				t.Errorf("%d releases are calibrated to epsilon %v", s.Len(), s.Epsilon())
			}
		})
	}
	s, err := account.NewSchedule(context.Background(), b, 0, quiet, quiet)
	if err != nil || s.Len() != 2*quiet.Count {
		t.Errorf("an ordinary schedule: %v", err)
	}
}
