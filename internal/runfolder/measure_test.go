package runfolder

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestMeasureHasItsShare tests the setting measure, the share of the budget for measuring the
// result: the plan must spend the rest of the budget, and the two releases of the measurement the
// share.
func TestMeasureHasItsShare(t *testing.T) {
	for _, share := range []float64{.1, .5} {
		c := config(t, 300)
		c.Train.Algorithm, c.Train.Measure, c.Train.Compare = "gd", share, train.Off
		var planned float64
		f, err := fit(context.Background(), c, options{Software: "test", Step: func(s train.Step) { planned = s.Charged }})
		if err != nil {
			t.Fatal(err)
		}
		if f.Measured == nil || f.Releases != f.Result.Steps+4 { // two are of the base rate
			t.Fatalf("share %v: measured %+v in %d releases of %d steps", share, f.Measured, f.Releases, f.Result.Steps)
		}
		budget := f.Budget.Charge()
		if got := planned / budget; !(math.Abs(got-(1-share-optimize.BaseShare)) <= 1e-6) {
			t.Errorf("share %v: the plan was charged %v of the budget", share, got)
		}
		if got := f.Charged / budget; !(got <= 1) || got < 1-1e-6 {
			t.Errorf("share %v: %v of the budget charged in all", share, got)
		}
		verified(t, f)
	}
}

// TestMeasuredIsCompared tests that a fit that measures its result also states the loss of the model that
// gives every record the score 0, to compare it with: the loss itself if it is the same for every record, and
// otherwise public bounds on it.
func TestMeasuredIsCompared(t *testing.T) {
	for _, test := range []struct {
		changes []string
		want    train.Constant
	}{
		{nil, train.Constant{Least: math.Ln2, Most: math.Ln2}},
		{[]string{`classes: ["0", "1"]`, "number: [0, 1]", "logistic", "absolute"}, train.Constant{Most: 1}},
	} {
		c := config(t, 300, test.changes...)
		c.Train.Measure = .3
		f, err := fit(context.Background(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if f.Constant == nil || !(math.Abs(f.Constant.Least-test.want.Least) <= 1e-12) ||
			!(math.Abs(f.Constant.Most-test.want.Most) <= 1e-12) {
			t.Errorf("%+v: want %+v", f.Constant, test.want)
		}
	}
	f, err := fit(context.Background(), config(t, 300), options{Software: "test"})
	if err != nil || f.Constant != nil {
		t.Errorf("nothing measured: %+v, %v", f.Constant, err)
	}
}
