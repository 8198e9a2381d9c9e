package account

import (
	"strings"
	"testing"
)

// TestStabilityEvents tests the event of a release whose sensitivity rests on the stability of
// gradient steps. Its charge must be the charge of any Gaussian release. It must state the basis
// and the loss, and must be admitted under replace-one only.
func TestStabilityEvents(t *testing.T) {
	e, err := StabilityEvent("stable sgd", "logistic", 2, .5, 4)
	if err != nil {
		t.Fatal(err)
	}
	if e.Kind != Gaussian || e.Basis != Stability || e.Loss != "logistic" || e.Charge != 1./64 {
		t.Errorf("%+v", e)
	}
	for r, want := range map[Relation]string{ReplaceOne: "", AddOrRemove: "must be replace-one"} {
		b, err := NewBudget(1, 1e-6, r)
		if err != nil {
			t.Fatal(err)
		}
		l := NewLedger(b)
		err = l.Reserve(e)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", r, err)
		}
		if want != "" && len(l.Events()) != 0 {
			t.Errorf("%v: refused, but listed", r)
		}
	}
	selection, err := SelectionEvent("q", 1, .1)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := GaussianEvent("q", 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := SampledEvent("q", .5, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		event  Event
		change func(*Event)
		want   string
	}{
		"unknown basis":      {e, func(e *Event) { e.Basis = "luck" }, `basis = "luck"`},
		"no loss":            {e, func(e *Event) { e.Loss = "" }, "must name the loss"},
		"loss without basis": {plain, func(e *Event) { e.Loss = "logistic" }, "must be absent without"},
		"everyone":           {e, func(e *Event) { e.Cohort = Everyone }, "must not be that of everyone"},
		"of a selection": {selection, func(e *Event) { e.Basis, e.Loss = Stability, "logistic" },
			"must be absent for kind"},
		"of a sample": {sampled, func(e *Event) { e.Basis, e.Loss = Stability, "logistic" },
			"must be absent for kind"},
	} {
		c.change(&c.event)
		if err := c.event.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want an error about %q", name, err, c.want)
		}
	}
}
