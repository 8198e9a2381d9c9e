package choose_test

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// TestSecondOrderGoal: if r <= .6 gap^2, noise alone escapes saddles. A plan on all records with
// enough steps is then chosen, and the reason says so. If no plan is predicted to escape, the
// reason says that; on a convex loss it says that every stationary point is good enough.
func TestSecondOrderGoal(t *testing.T) {
	convex, bent, s, _ := goals(t)
	bent.Products, convex.Products = true, true
	r := with(bent, s).Floor()
	for _, c := range []struct {
		gap  float64
		want string
	}{
		{0, "every stationary point of a convex objective is one of second order; "},
		{.3, "its noise alone leaves saddles"},
		{r, "no plan is predicted to leave eigenvalues of"},
	} {
		p, a := with(bent, s), choose.Auto{Goal: choose.SecondOrder, Gap: c.gap}
		if c.gap == 0 {
			p = with(convex, s)
		}
		list, err := a.Candidates(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if why := a.Why(list); !strings.Contains(why, c.want) {
			t.Errorf("gap %v: %q: want %q", c.gap, why, c.want)
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
