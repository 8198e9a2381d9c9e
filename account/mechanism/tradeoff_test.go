package mechanism

import (
	"math"
	"testing"
)

// TestTradeOffOfBrackets tests a bracket computed by hand. The lower end of the trade-off function
// follows from the upper ends of the deltas: at u = 1 and 2, deltas of at most .5 and .4 leave 1 -
// .5 - .1 and 1 - .4 - .2 at alpha = .1. The upper end follows from the lower ends: between u = 1
// and u = 2 delta is at least its lower end at u = 2, which is 0 here, so at u = 1 and alpha = .1
// at most 1 - 0 - .1 is left.
func TestTradeOffOfBrackets(t *testing.T) {
	got := tradeOff([]float64{1, 2}, []Bracket{{.1, .5}, {0, .4}}, .1)
	if !(math.Abs(got.Lower-.4) <= 1e-12) || !(math.Abs(got.Upper-.9) <= 1e-12) {
		t.Errorf("%v: want [.4, .9]", got)
	}
}

func TestTradeOffOfGaussian(t *testing.T) {
	g, _ := NewGaussian(1)
	alphas := []float64{0, 1e-4, .01, .05, .2, .5, .8, .99, 1}
	got, err := compose(t, 1e-3, Composed{g, 1}).TradeOff(t.Context(), alphas)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range alphas {
		// beta = Phi(Phi^-1(1-alpha) - 1)
		lo, hi := -40.0, 40.0
		for range 100 {
			if mid := (lo + hi) / 2; refNormal(mid) < 1-a {
				lo = mid
			} else {
				hi = mid
			}
		}
		want := refNormal(hi - 1)
		if b := got[i]; b.Lower > want+1e-12 || b.Upper < want-1e-12 || b.Upper-b.Lower > 2e-3 {
			t.Errorf("alpha %v: %v, want %v", a, b, want)
		}
	}
}

func TestTradeOffOfResponse(t *testing.T) {
	const e = .7
	m, _ := newPure(e)
	alphas := []float64{.1, .3, .5, .9}
	got, err := compose(t, 1e-2, Composed{m, 1}).TradeOff(t.Context(), alphas)
	if err != nil {
		t.Fatal(err)
	}
	for k, alpha := range alphas {
		want := max(0, 1-math.Exp(e)*alpha, math.Exp(-e)*(1-alpha))
		if b := got[k]; b.Lower > want+1e-9 || b.Upper < want-1e-9 || b.Upper-b.Lower > 2e-3 {
			t.Errorf("alpha %v: %v, want %v", alpha, b, want)
		}
	}
	if _, err := compose(t, 1e-3, Composed{m, 1}).TradeOff(t.Context(), []float64{1.1}); err == nil {
		t.Error("alpha 1.1: no error")
	}
}
