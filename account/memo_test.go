package account

import (
	"context"
	"errors"
	"reflect"
	"sync"
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
	list = append(list, asked{b, 0, []SampledSteps{s}}, asked{b, .25, []SampledSteps{s}},
		asked{budget(2.5, 1e-5, AddOrRemove), 0, []SampledSteps{s}}, asked{budget(2, 1e-6, AddOrRemove), 0, []SampledSteps{s}},
		asked{budget(2, 1e-5, ReplaceOne), 0, []SampledSteps{s}}, asked{b, 0, []SampledSteps{sampledSteps(3.000000001, .1, 2)}},
		asked{b, 0, []SampledSteps{sampledSteps(3, .11, 2)}}, asked{b, 0, []SampledSteps{sampledSteps(3, .1, 3)}},
		asked{b, 0, []SampledSteps{s, sampledSteps(4, .1, 1)}}, asked{b, 0, []SampledSteps{sampledSteps(4, .1, 1), s}})
	for round := range 2 {
		for i, a := range list {
			p := mechanism.SampledPlan{Steps: a.steps, Mu: a.mu, Relation: a.budget.relation}
			want, epsilon, err := p.Calibrate(t.Context(), a.budget.epsilon, a.budget.delta)
			if err != nil {
				t.Fatal(err)
			}
			got, err := CalibrateSchedule(t.Context(), a.budget, a.mu, a.steps...)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Steps(), want.Steps) || got.Epsilon() != epsilon || got.Mu() != a.mu ||
				got.fixed.budget != a.budget {
				t.Errorf("round %d: calibrated schedule %d is %+v, want %+v with epsilon %v", round, i, got.fixed, want, epsilon)
			}
			if epsilon, err = p.Prove(t.Context(), a.budget.epsilon, a.budget.delta); err != nil {
				t.Fatal(err)
			}
			if got, err = NewSchedule(t.Context(), a.budget, a.mu, a.steps...); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Steps(), a.steps) || got.Epsilon() != epsilon || got.Mu() != a.mu ||
				got.fixed.budget != a.budget {
				t.Errorf("round %d: proven schedule %d is %+v, want %+v with epsilon %v", round, i, got.fixed, a.steps, epsilon)
			}
		}
	}
}

// TestSchedulesAreHeldOnce tests that a schedule is searched for once, that errors and steps of more groups than
// mostGroups are not held, that the oldest schedules are forgotten, and that an ended context gets its error even
// if the answer is held.
func TestSchedulesAreHeldOnce(t *testing.T) {
	held := schedules{of: map[question]*fixed{}}
	var counting sync.Mutex
	searched, refusal := 0, errors.New("refused")
	ask := func(ctx context.Context, mu float64, groups int, err error) (*Schedule, error) {
		return held.find(ctx, question{mu: mu}, make([]SampledSteps, groups), func() (mechanism.SampledPlan, float64, error) {
			counting.Lock()
			searched++
			counting.Unlock()
			return mechanism.SampledPlan{Steps: []SampledSteps{sampledSteps(3, .1, 2)}, Mu: mu}, 1, err
		})
	}
	expect := func(what string, want int) {
		t.Helper()
		if searched != want {
			t.Errorf("%s: searched %d times, want %d", what, searched, want)
		}
		searched = 0
	}
	if _, err := ask(t.Context(), 1, 1, refusal); !errors.Is(err, refusal) {
		t.Errorf("error %v, want %v", err, refusal)
	}
	for range 3 {
		if _, err := ask(t.Context(), 1, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect("an error, then the same three times", 2)
	for range 2 {
		if _, err := ask(t.Context(), 1, mostGroups+1, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect("too many groups, twice", 2)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := ask(ended, 1, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: error %v", err)
	}
	for mu := range mostHeld {
		if _, err := ask(t.Context(), float64(mu+2), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect("new ones", mostHeld)
	for _, mu := range []float64{mostHeld + 1, 2, 1} {
		if _, err := ask(t.Context(), mu, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect("the newest, the oldest but one and the oldest", 1)
	if len(held.of) != mostHeld || len(held.order) != mostHeld {
		t.Errorf("%d and %d are held, want %d", len(held.of), len(held.order), mostHeld)
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2 * mostHeld {
				if s, err := ask(t.Context(), float64(worker*i), 1, nil); err != nil || s.Mu() != float64(worker*i) {
					t.Errorf("schedule of %d: %v, %v", worker*i, s, err)
				}
			}
		})
	}
	all.Wait()
}
