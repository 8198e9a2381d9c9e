package account

import (
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestHeldSchedulesAnswerTheirOwnQuestion changes each argument of a schedule in turn, proves or calibrates
// schedules of all of them, and asks for all of them again. Each answer must be the one that the search
// finds where nothing is held. The schedules of neighbouring arguments are held by then.
func TestHeldSchedulesAnswerTheirOwnQuestion(t *testing.T) {
	type asked struct {
		budget Budget
		mu     float64
		steps  []SampledSteps
	}
	var list []asked
	budget := func(epsilon, delta float64, r Relation) Budget {
		b, err := NewBudget(epsilon, delta, r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b, s := budget(2, 1e-5, AddOrRemove), sampledSteps(3, .1, 2)
	list = append(list,
		asked{b, 0, []SampledSteps{s}},
		asked{b, .25, []SampledSteps{s}},
		asked{budget(2.5, 1e-5, AddOrRemove), 0, []SampledSteps{s}},
		asked{budget(2, 1e-6, AddOrRemove), 0, []SampledSteps{s}},
		asked{budget(2, 1e-5, ReplaceOne), 0, []SampledSteps{s}},
		asked{b, 0, []SampledSteps{sampledSteps(3.000000001, .1, 2)}},
		asked{b, 0, []SampledSteps{sampledSteps(3, .11, 2)}},
		asked{b, 0, []SampledSteps{sampledSteps(3, .1, 3)}},
		asked{b, 0, []SampledSteps{s, sampledSteps(4, .1, 1)}},
		asked{b, 0, []SampledSteps{sampledSteps(4, .1, 1), s}})
	type answer struct {
		steps   []SampledSteps
		epsilon float64
	}
	calibrated, proven := make([]answer, len(list)), make([]answer, len(list))
	for i, a := range list {
		p := mechanism.SampledPlan{Steps: a.steps, Mu: a.mu, Relation: a.budget.relation}
		scaled, epsilon, err := p.Calibrate(t.Context(), a.budget.epsilon, a.budget.delta)
		if err != nil {
			t.Fatal(err)
		}
		calibrated[i] = answer{scaled.Steps, epsilon}
		if epsilon, err = p.Prove(t.Context(), a.budget.epsilon, a.budget.delta); err != nil {
			t.Fatal(err)
		}
		proven[i] = answer{a.steps, epsilon}
	}
	for round := range 2 {
		for i, a := range list {
			expect := func(what string, want answer, got *Schedule, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got.Steps(), want.steps) || got.Epsilon() != want.epsilon || got.Mu() != a.mu ||
					got.fixed.budget != a.budget {
					t.Errorf("round %d: %s schedule %d is %+v, want %+v", round, what, i, got.fixed, want)
				}
			}
			s, err := CalibrateSchedule(t.Context(), a.budget, a.mu, a.steps...)
			expect("calibrated", calibrated[i], s, err)
			s, err = NewSchedule(t.Context(), a.budget, a.mu, a.steps...)
			expect("proven", proven[i], s, err)
		}
	}
}

// TestSchedulesOfManyGroupsAreNotHeld tests that what is held has a bound: a schedule of more than mostGroups groups
// is searched for each time.
func TestSchedulesOfManyGroupsAreNotHeld(t *testing.T) {
	for _, groups := range []int{mostGroups, mostGroups + 1} {
		searched := 0
		steps := make([]SampledSteps, groups)
		for i := range steps {
			steps[i] = sampledSteps(float64(groups), .1, 1)
		}
		for range 2 {
			if _, err := search(t.Context(), question{mu: 7}, steps, func() (mechanism.SampledPlan, float64, error) {
				searched++
				return mechanism.SampledPlan{Steps: steps}, 1, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if held := groups <= mostGroups; (searched == 1) != held {
			t.Errorf("%d groups: searched %d times", groups, searched)
		}
	}
}
