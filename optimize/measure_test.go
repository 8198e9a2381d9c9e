package optimize_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestMeasure: without noise the released numbers must be the objective and its gradient's norm. With
// noise there must be two queries at half of the charge each.
func TestMeasure(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		w := make([]float64, p.Public.Dim())
		w[0], w[1] = .2, -.1
		c := p.Config(budget(t), 100, 3)
		c.Noiseless = true
		o := optimizetest.New(c)
		charge := o.Size().Mu * o.Size().Mu / 20
		m, err := optimize.Measure{Charge: charge}.Ask(context.Background(), o, o.Problem(p.Public), w)
		if err != nil {
			t.Fatal(err)
		}
		mean := p.Objective(w)
		if l, ok := p.Loss.(loss.General); ok { // below zero, which the clip does not allow
			mean = 0
			for i, x := range p.Rows {
				mean += min(max(l.Value(w, x, p.Targets[i]), 0), 2*p.Public.Constants.InitialGap) / float64(len(p.Rows))
			}
		}
		if !close(m.Loss, mean, 1e-12) || !close(m.GradientNorm, length(p.Gradient(w)), 1e-12) {
			t.Errorf("%s: %+v: want %v, %v", p.Name, m, mean, length(p.Gradient(w)))
		}
		n, root := o.All().Size(), math.Sqrt(charge/2)
		f0, l0 := p.Public.Constants.InitialGap, p.Public.Constants.Lipschitz
		if !close(m.LossSigma, 2*f0/root/n, 1e-6) || !close(m.GradientSigma, 2*l0/root/n, 1e-6) || m.LossClip != 2*f0 {
			t.Errorf("%s: %+v: want deviations %v, %v", p.Name, m, 2*f0/root/n, 2*l0/root/n)
		}
		if got := o.Charged(); !(got <= charge && got > charge*(1-1e-8)) || len(o.Asked) != 2 {
			t.Errorf("%s: charged %v in %d questions: want %v", p.Name, got, len(o.Asked), charge)
		}
		// If the true norm is 0, noise may make the released number negative. The norm in the result must
		// not be negative.
		for seed := range uint64(20) {
			o := optimizetest.New(p.Config(budget(t), 1, seed))
			if m, err := (optimize.Measure{Charge: charge}).Ask(context.Background(), o, o.Problem(p.Public),
				p.Minimiser); err != nil || m.GradientNorm < 0 {
				t.Errorf("%s: %+v, %v", p.Name, m, err)
			}
		}
		var over *account.BudgetError
		if _, err := (optimize.Measure{Charge: 40 * charge}).Ask(context.Background(), o, o.Problem(p.Public),
			w); !errors.As(err, &over) {
			t.Errorf("%s: over budget: %v", p.Name, err)
		}
	}
}
