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

// steep is an oracle whose gradients have norm 1000 at every point. It counts the queries for norms. It
// returns errLanded at the first gradient whose charge cannot be a charge of the adaptive part.
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

// TestAdaptiveStepsAreCounted: even if the charge of the adaptive part would pay for more steps, the
// landing (the final gradient descent) must begin after the plan's number of steps. The test fails if the
// adaptive part ends only when its charges are used up. The number of steps is limited because certificates
// list every event and because each addition of a charge rounds up.
func TestAdaptiveStepsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("a million questions")
	}
	p := optimizetest.Problems()[1]
	o := optimizetest.New(p.Config(budget(t), 100000/len(p.Rows), 5))
	// A tenth of the budget, divided by 10^-7 (1 + 1/8) for each step, pays for 888 889 steps.
	plan, err := kl.Adaptive{NormCharge: 1e-7, LandingSteps: optimize.MostSteps / 2, StepScale: 1e-9}.Plan(ctx,
		o.Problem(p.Public))
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
