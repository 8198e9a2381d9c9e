package account

import (
	"math"
	"testing"
)

func phi(x float64) float64      { return math.Erfc(-x/math.Sqrt2) / 2 }
func quantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// TestSelectionMuIsTheLeast compares G_mu with the trade-off function of every loss range [t -
// epsilon, t] on a grid. G_mu lies below all of them. For a slightly smaller mu it is above the
// middle one.
func TestSelectionMuIsTheLeast(t *testing.T) {
	t.Parallel()
	for _, epsilon := range []float64{1e-6, .01, .3, 1, 2.5, 6, 16} {
		mu, err := SelectionMu(epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * quantile(1/(1+math.Exp(-epsilon/2))); math.Abs(mu/want-1) > 1e-9 {
			t.Errorf("epsilon %v: mu = %v, want %v", epsilon, mu, want)
		}
		below := func(mu, s float64) bool { // of the range [s - epsilon, s]
			ok := true
			for i := -400; i <= 400; i++ {
				a := 1 / (1 + math.Exp(float64(i)/20))
				f := max(1-math.Exp(epsilon-s)*a, math.Exp(-s)*(1-a))
				ok = ok && phi(quantile(1-a)-mu) <= f*(1+1e-9)+1e-15
			}
			// The test at the kink.
			a := -math.Expm1(-s) / (math.Exp(epsilon-s) - math.Exp(-s))
			return ok && phi(quantile(1-a)-mu) <= math.Exp(-s)*(1-a)*(1+1e-9*epsilon)+1e-14
		}
		for i := 1; i < 200; i++ {
			if s := epsilon * float64(i) / 200; !below(mu*(1+1e-9), s) {
				t.Errorf("epsilon %v: G_mu is not below the curve of losses up to %v", epsilon, s)
			}
		}
		if epsilon > 1e-3 && below(mu*(1-1e-4), epsilon/2) {
			t.Errorf("epsilon %v: a smaller mu would do", epsilon)
		}
	}
}

// TestHazardInequality checks numerically the inequality of the proof: r(z) - r(-z) is at least z.
func TestHazardInequality(t *testing.T) {
	r := func(z float64) float64 {
		return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (math.Erfc(z/math.Sqrt2) / 2)
	}
	for z := .01; z < 12; z += .01 {
		if !(r(z)-r(-z) >= z) {
			t.Errorf("z = %v: %v", z, r(z)-r(-z))
		}
	}
}

// TestSelectionEvent checks the charge of a selection and its event.
func TestSelectionEvent(t *testing.T) {
	last := 0.0
	n := trials(3000)
	for i := range n {
		epsilon := math.Ldexp(1, -40) * math.Exp(float64(i)/float64(n)*math.Log(math.Ldexp(16, 40)))
		e, err := SelectionEvent("value", 3, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if !(e.Charge >= last) || e.Charge < math.Pi/8*epsilon*epsilon*(1-epsilon*epsilon) || e.Charge > math.Pi/8*epsilon*epsilon*(1+1e-14) {
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
	// Both kinds share a filter.
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
