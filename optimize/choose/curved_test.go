package choose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// TestSecondOrderGoal: if r <= .6 gap^2, noise alone escapes saddles. The first plan must then be one
// on all records with enough steps, and Why must say so. If no plan is predicted to escape, Why must
// say that. For a convex loss it must say that every stationary point is a second-order point.
func TestSecondOrderGoal(t *testing.T) {
	convex, bent, s, _ := goals(t)
	bent.Products, convex.Products = true, true
	r := with(bent, s).Floor()
	for _, c := range []struct {
		gap  float64
		want string
		left float64 // the least eigenvalue that is foretold
	}{
		{0, "every stationary point of a convex objective is one of second order; ", 0},
		{.3, "its noise alone leaves saddles", .15},
		{r, fmt.Sprintf("no plan is predicted to leave eigenvalues of %.3g behind", -r), r},
	} {
		p, a := with(bent, s), choose.Auto{Goal: choose.SecondOrder, Gap: c.gap}
		if c.gap == 0 {
			p = with(convex, s)
		}
		list, err := a.Candidates(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if why := a.Why(list); !strings.Contains(why, c.want) || c.gap > 0 && !strings.Contains(why, fmt.Sprintf(" and least eigenvalue %.3g", -c.left)) {
			t.Errorf("gap %v: %q: want %q and %v", c.gap, why, c.want, -c.left)
		}
		first := list[0].Summary
		if c.gap == .3 && (list[0].Plan.Properties().OnePass || float64(first.Steps) < 16/(first.StepSize*c.gap)) {
			t.Errorf("gap %v: %s in %d steps of %v is first", c.gap, first.Algorithm, first.Steps, first.StepSize)
		}
	}
	for _, a := range []choose.Auto{{Gap: .1}, {Goal: choose.SecondOrder, Gap: -1}} {
		if _, err := a.Candidates(ctx, with(bent, s)); err == nil || !strings.Contains(err.Error(), "optimize: gap = ") {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// TestJumpsAreNoConvexObjective: the reason for a plan of a loss that is not convex and whose slope jumps does not speak of
// a convex objective, whatever the goal.
func TestJumpsAreNoConvexObjective(t *testing.T) {
	_, p, s, _ := goals(t)
	ramp, err := loss.Parse("ramp")
	if err != nil {
		t.Fatal(err)
	}
	p.Constants, p.Kinked = ramp.Constants(), ramp.(loss.Kinked)
	for _, goal := range []choose.Criterion{choose.Gradient, choose.SecondOrder} {
		a := choose.Auto{Goal: goal}
		list, err := a.Candidates(ctx, with(p, s))
		if err != nil {
			t.Fatal(err)
		}
		const want = "the loss has slopes that jump, and of the algorithms for such it was measured to be the better at this number of records"
		if why := a.Why(list); why != want {
			t.Errorf("goal %v: %q: must be %q", goal, why, want)
		}
	}
}

// TestSecondOrderGoalInOnePass: with a limit of one pass a method on all records makes one step, which
// hardly moves from a start that is a saddle. Such methods must come last. A method of one pass must come
// first: second-order if the effective size N is large, and one-pass-sgd otherwise.
func TestSecondOrderGoalInOnePass(t *testing.T) {
	_, bent, s, _ := goals(t)
	bent.Products = true
	for _, c := range []struct {
		records float64
		want    string
	}{{3e4, "second-order"}, {1e3, "one-pass-sgd"}} {
		s.Records = c.records
		p := with(bent, s)
		a := choose.Auto{Goal: choose.SecondOrder, Passes: 1, Gap: .02}
		list, err := a.Candidates(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if first := list[0].Summary.Algorithm; first != c.want || !strings.Contains(a.Why(list), "so few passes") {
			t.Errorf("N = %v: %s is first, for %q: want %s", p.Effective(), first, a.Why(list), c.want)
		}
		if last := list[len(list)-1]; last.Plan.Properties().OnePass {
			t.Errorf("N = %v: %s is last: want a method on all records", p.Effective(), last.Summary.Algorithm)
		}
	}
}
