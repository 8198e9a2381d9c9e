package account

import (
	"context"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// made holds the schedules that were last proven or calibrated in this process. Planning, a comparison of
// plans, the fit and the certificate's check ask for the same schedule, and each would search for seconds.
// What is held are results of functions of public arguments alone, so that the answer is the same bits
// with or without it.
var made = schedules{of: map[question]*fixed{}}

// question is what a schedule was asked for: the arguments of [NewSchedule], or of [CalibrateSchedule] if
// calibrate is set.
type question struct {
	calibrate bool
	budget    Budget
	mu        float64
	steps     string
}

// schedules holds the contents of at most mostHeld schedules of at most mostGroups groups of steps by the
// question that they answer. It forgets the oldest first.
type schedules struct {
	mu    sync.Mutex
	of    map[question]*fixed
	order []question
}

const mostHeld, mostGroups = 256, 64

// find returns the schedule that answers a question: the one held, or else the one that plan finds. plan
// returns the plan, and the epsilon that it was proven to have at the budget's delta. An error is not held.
func (s *schedules) find(ctx context.Context, q question, steps []SampledSteps,
	plan func() (mechanism.SampledPlan, float64, error)) (*Schedule, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.steps = fmt.Sprint(steps) // the shortest decimals of a float64 tell it from all others
	s.mu.Lock()
	held := s.of[q]
	s.mu.Unlock()
	if held != nil {
		return &Schedule{fixed: held}, nil
	}
	p, epsilon, err := plan()
	if err != nil {
		return nil, err
	}
	found, err := scheduleOf(q.budget, p, epsilon)
	if err == nil && len(steps) <= mostGroups {
		s.hold(q, found.fixed)
	}
	return found, err
}

func (s *schedules) hold(q question, content *fixed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[q] == nil {
		s.order = append(s.order, q)
	}
	s.of[q] = content
	if len(s.order) > mostHeld {
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
}
