package kl_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// steep answers that gradients have length 1000, whatever the point, and remembers
// nothing but how many norms it was asked for. It ends the run after the first
// gradient that is not charged what those of the adaptive part are.
type steep struct {
	optimize.Oracle
	norms int
	least float64
}

var errLanded = errors.New("landed")

func (s *steep) Ask(_ context.Context, q query.Question) (query.Release, error) {
	if q.Facts().Normed {
		s.norms++
		return query.Release{Mean: []float64{1000}, Charge: q.Charge()}, nil
	}
	if s.least == 0 {
		s.least = q.Charge()
	}
	if q.Charge() < s.least/2 {
		return query.Release{}, errLanded
	}
	mean := make([]float64, q.Dim())
	mean[0] = 1000
	return query.Release{Mean: mean, Charge: q.Charge()}, nil
}

// TestAdaptiveStepsAreCounted: where charges would pay for more steps than a run may
// have, it lands after as many as its plan says. Fails if only charges end the adaptive
// part: certificates list every event, and sums of charges are rounded up.
func TestAdaptiveStepsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("a million questions")
	}
	p := optimizetest.Problems()[1]
	o := optimizetest.New(p.Config(budget(t), 100000/len(p.Rows), 5))
	// 10^-7 and an eighth, of the tenth that is not kept for the landing, is 888 889.
	plan, err := kl.Adaptive{NormCharge: 1e-7, LandingSteps: optimize.MostSteps / 2, StepScale: 1e-9}.Plan(ctx, o.Problem(p.Public))
	if err != nil {
		t.Fatal(err)
	}
	s := &steep{Oracle: o}
	if _, err := plan.Run(ctx, s, nil); !errors.Is(err, errLanded) {
		t.Fatal(err)
	}
	if s.norms != optimize.MostSteps/2 {
		t.Errorf("%d steps before the landing: want %d", s.norms, optimize.MostSteps/2)
	}
}
