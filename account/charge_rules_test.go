package account

import (
	"fmt"
	"math"
	"testing"
)

// TestChargesAreFiniteAndCover tests that Check, a ledger and Total refuse an event of any kind
// whose charge is infinite or below the charge that its noise requires.
func TestChargesAreFiniteAndCover(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	s, err := NewSchedule(t.Context(), b, .01, sampledSteps(20, .1, 2))
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := SampledEvent("gradient", .1, 1, 20.5)
	if err != nil {
		t.Fatal(err)
	}
	stable, err := StabilityEvent("stable sgd", "logistic", 3, .001, 1)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := SelectionEvent("selection by value", Everyone, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]Event{"gaussian": mustEvent(t, Everyone, .001, 1), "sampled": sampled,
		"stable": stable, "selection": selected} {
		for _, charge := range []float64{e.Charge, math.NaN(), math.Inf(1), math.Inf(-1), -1, math.Nextafter(e.Charge, -1)} {
			l := NewLedger(b)
			if err := l.Follow(s); err != nil {
				t.Fatal(err)
			}
			wrong := e
			wrong.Charge = charge
			_, recount := Total([]Event{wrong})
			for by, err := range map[string]error{"check": wrong.Check(), "ledger": l.Reserve(wrong), "recount": recount} {
				if (err == nil) != (charge == e.Charge) {
					t.Errorf("%s: %s of a charge of %v, where %v is due: %v", name, by, fmt.Sprint(charge), e.Charge, err)
				}
			}
		}
	}
}
