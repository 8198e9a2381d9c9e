package account

import (
	"math"
	"testing"
)

// TestSelectionEvent tests that a selection's event holds its epsilon and the charge that SelectionMu
// gives, and that an epsilon out of range is refused.
func TestSelectionEvent(t *testing.T) {
	last := 0.0
	const n = 750
	for i := range n {
		epsilon := math.Ldexp(1, -40) * math.Exp(float64(i)/float64(n)*math.Log(math.Ldexp(16, 40)))
		e, err := SelectionEvent("value", 3, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if !(e.Charge >= last) || e.Charge < math.Pi/8*epsilon*epsilon*(1-epsilon*epsilon) ||
			e.Charge > math.Pi/8*epsilon*epsilon*(1+1e-14) {
			t.Fatalf("epsilon %v: charge %v, after %v", epsilon, e.Charge, last)
		}
		last = e.Charge
		if e.Check() != nil {
			t.Fatal(e.Check())
		}
		e.Charge *= 1 - 1e-12
		if e.Check() == nil {
			t.Fatalf("epsilon %v: a lower charge passes", epsilon)
		}
	}
	for _, epsilon := range []float64{0, -1, 0x1p-41, 16.1, math.Inf(1), math.NaN()} {
		if _, err := SelectionEvent("value", 3, epsilon); err == nil {
			t.Errorf("epsilon %v accepted", epsilon)
		}
	}
	good, err := SelectionEvent("value", 3, .1)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Event){
		"kind":        func(e *Event) { e.Kind = Gaussian },
		"sigma":       func(e *Event) { e.Sigma = 1 },
		"sensitivity": func(e *Event) { e.Sensitivity = 1 },
		"sampling":    func(e *Event) { e.Sampling = .5 },
		"epsilon":     func(e *Event) { e.Epsilon = .2 },
	} {
		e := good
		change(&e)
		if e.Check() == nil {
			t.Errorf("%s changed: passes", name)
		}
	}
	gauss := mustEvent(t, 3, .1, 1)
	gauss.Epsilon = .1
	if gauss.Check() == nil {
		t.Error("a Gaussian event with an epsilon passes")
	}
	// Selections and Gaussian events are limited by one filter.
	l := NewLedger(mustBudget(t, 1, 1e-6))
	if err := l.Reserve(good); err != nil {
		t.Fatal(err)
	}
	if got := l.Charged(); got != good.Charge {
		t.Errorf("charged %v, want %v", got, good.Charge)
	}
	if total, err := Total(l.Events()); err != nil || total != good.Charge {
		t.Errorf("recomputed %v, %v", total, err)
	}
}
