package secondorder

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestSmallestAccuracy tests that the accuracy of the theorem needs just the records that there are, from far above the
// Lipschitz constant to far below it, and that there is none for too few.
func TestSmallestAccuracy(t *testing.T) {
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	above, below := 0, 0
	p, err := optimize.NewProblem(loss.Tanh(), b, optimize.Stated(4, 1000))
	if err != nil {
		t.Fatal(err)
	}
	for e := -6; e <= 24; e += 2 {
		records := math.Pow(10, float64(e))
		alpha := smallest(p, records)
		if most := at(p, 1e6*p.Constants.Lipschitz).need(); math.IsInf(alpha, 1) != (most > records) {
			t.Errorf("%v records: accuracy %v, and the largest needs %v", records, alpha, most)
		}
		if math.IsInf(alpha, 1) {
			continue
		}
		if alpha > p.Constants.Lipschitz {
			above++
		} else {
			below++
		}
		if need := at(p, alpha).need(); need > records || at(p, alpha*(1-1e-9)).need() <= records {
			t.Errorf("%v records: accuracy %v needs %v, a smaller one %v", records, alpha, need, at(p, alpha*(1-1e-9)).need())
		}
	}
	if above == 0 || below == 0 {
		t.Errorf("%d accuracies above the Lipschitz constant, %d below: the test shows too little", above, below)
	}
}
