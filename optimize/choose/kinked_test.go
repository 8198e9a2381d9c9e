package choose_test

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// TestLossesThatJump: for generalised linear models with many records smoothed must come first, with
// the exactly smoothed loss. For networks it must come first for any number of records, with gradients
// at perturbed weights. For networks with smooth losses the choice must be as for other smooth losses.
func TestLossesThatJump(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss     string
		records  float64
		is, says string
	}{
		{"hinge", 1e6, "smoothed", "smoothed loss"},
		{"hinge", 300, "smoothed", "smoothed loss"},
		{"hinge", 60, "subgradient", "subgradient descent"},
		{"ramp", 300, "subgradient", "subgradient descent"},
		{"network(4,tanh,hinge)", 300, "smoothed", "by gradients at 1 points around each"},
		{"network(4,relu,absolute)", 1e6, "smoothed", "by gradients at 1 points around each"},
		{"network(4,tanh,logistic)", 1e6, "", "radient"},
	} {
		l, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(l, b, optimize.Stated(20, c.records))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := choose.Auto{}.Plan(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", c.loss, err)
		}
		s := plan.Summary()
		if c.is != "" && s.Algorithm != c.is || c.is == "" && (s.Algorithm == "smoothed" || s.Algorithm == "subgradient") ||
			!strings.Contains(s.Citation, c.says) {
			t.Errorf("%s, %v records: %s, %q: want %s", c.loss, c.records, s.Algorithm, s.Citation, c.is)
		}
		if !(s.Predicted > 0 && s.Predicted < 100) {
			t.Errorf("%s: predicted %v", c.loss, s.Predicted)
		}
		list, err := choose.Auto{}.Candidates(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if last := list[len(list)-1].Summary; c.is != "" && (len(list) != 3 || last.Algorithm != "subgradient" || last.Passes > 1 || list[0].Summary.Passes <= 1) {
			t.Errorf("%s: the last of %d candidates is %+v: must be subgradient in one pass", c.loss, len(list), last)
		}
		if why := (choose.Auto{}).Why(list); c.is != "" != (why == "the loss has slopes that jump, and of the algorithms for such it "+
			"was measured to be the better at this number of records") {
			t.Errorf("%s, %v records: %s", c.loss, c.records, why)
		}
	}
}
