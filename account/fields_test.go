package account

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestEveryFieldOfAnEvent gives one field of a sound event of each kind another value at a time: an event has exactly what its
// kind needs, each number within its limits.
func TestEveryFieldOfAnEvent(t *testing.T) {
	selected, err := SelectionEvent("selection", Everyone, .5)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := SampledEvent("gradient", .25, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	stable, err := StabilityEvent("sgd", "logistic", 3, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	gaussian := mustEvent(t, Everyone, 1, 8)
	gaussian.Question = "gradient"
	tiny, negative := 5e-324, math.Copysign(0, -1)
	none := []any{math.NaN(), math.Inf(1), math.Inf(-1), -1., -tiny}
	with := func(list ...any) []any { return append(list, none...) }
	type values struct{ good, bad []any }
	any1 := values{good: []any{0., negative}, bad: with(tiny, .5, 1.)} // must be absent
	number := values{good: []any{.5, 1.}, bad: with(0., negative)}
	cohorts := values{good: []any{uint64(0), uint64(1), uint64(1<<31 - 1)}, bad: []any{uint64(1 << 31), uint64(1 << 63)}}
	for kind, c := range map[string]struct {
		sound  Event
		fields map[string]values
	}{
		"gaussian": {gaussian, map[string]values{"Cohort": cohorts, "Sensitivity": {[]any{tiny, .5, 1.}, with(0., negative, 1.1)}, "Sigma": {[]any{8., 9., 1e300}, with(0., negative, 7.9, tiny)},
			"Charge": {[]any{1. / 64, 1., 1e300}, with(0., math.Nextafter(1./64, 0))}, "Sampling": any1, "Epsilon": any1,
			"Basis": {[]any{Clipped}, []any{Stability, Basis("x")}}, "Loss": {[]any{""}, []any{"logistic"}}}},
		"stable": {stable, map[string]values{"Cohort": {[]any{uint64(1), uint64(1<<31 - 1)}, []any{uint64(0), uint64(1 << 31)}}, "Sensitivity": {[]any{tiny, .5, 1.}, with(0., 1.1)},
			"Sigma": {[]any{8., 9.}, with(0., 7.9)}, "Charge": {[]any{1. / 64, 1.}, with(0., math.Nextafter(1./64, 0))}, "Sampling": any1, "Epsilon": any1,
			"Basis": {[]any{Stability}, []any{Clipped, Basis("x")}}, "Loss": {[]any{"logistic", "x"}, []any{""}}}},
		"sampled": {sampled, map[string]values{"Cohort": {[]any{uint64(0)}, []any{uint64(1), uint64(1 << 31)}}, "Sensitivity": number, "Sigma": {[]any{.5, 8., 1e300}, with(0., tiny)},
			"Charge": {[]any{0., negative, tiny, 1.}, none}, "Sampling": {[]any{tiny, .25, 1.}, with(0., negative, math.Nextafter(1, 2))}, "Epsilon": any1,
			"Basis": {[]any{Clipped}, []any{Stability, Basis("x")}}, "Loss": {[]any{""}, []any{"logistic"}}}},
		"selection": {selected, map[string]values{"Cohort": cohorts, "Sensitivity": any1, "Sigma": any1, "Sampling": any1,
			"Charge":  {[]any{selected.Charge, 1.}, with(0., math.Nextafter(selected.Charge, 0))},
			"Epsilon": {[]any{0x1p-40, .25, .5}, with(0., negative, math.Nextafter(0x1p-40, 0), math.Nextafter(16, 17), .75)},
			"Basis":   {[]any{Clipped}, []any{Stability, Basis("x")}}, "Loss": {[]any{""}, []any{"logistic"}}}},
	} {
		if err := c.sound.Check(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		y := reflect.TypeFor[Event]()
		for i := range y.NumField() {
			name := y.Field(i).Name
			list, known := c.fields[name]
			switch {
			case name == "Index" || name == "Question" || name == "Relation" || name == "Simulated":
				continue // the ledger's, or any
			case name == "Kind":
				list, known = values{good: []any{c.sound.Kind}, bad: []any{EventKind(""), EventKind("Gaussian"), EventKind("laplace")}}, true
				for _, other := range []EventKind{Gaussian, SampledGaussian, Selection} {
					if other != c.sound.Kind {
						list.bad = append(list.bad, other)
					}
				}
			}
			if !known {
				t.Fatalf("%s: %s has no values here", kind, name)
			}
			for j, value := range append(list.good, list.bad...) {
				e := c.sound
				reflect.ValueOf(&e).Elem().Field(i).Set(reflect.ValueOf(value))
				if err := e.Check(); (err == nil) != (j < len(list.good)) {
					t.Errorf("%s: %s = %v: %v", kind, name, value, err)
				}
			}
		}
	}
}

// TestEveryFieldOfRecords gives one field of sound records another value at a time.
func TestEveryFieldOfRecords(t *testing.T) {
	sound := Records{Count: 10, Unit: Unit{"person", 2, Mean}, Filter: Filter{"split", "train"}}
	for field, c := range map[string]struct {
		change func(*Records)
		rule   string
	}{
		"nothing": {func(*Records) {}, ""}, "Count 1": {func(r *Records) { r.Count = 1 }, ""}, "Count 2^53": {func(r *Records) { r.Count = 1 << 53 }, ""},
		"Count 0": {func(r *Records) { r.Count = 0 }, "records = 0"}, "Count -1": {func(r *Records) { r.Count = -1 }, "records = -1"},
		"Count above": {func(r *Records) { r.Count = 1<<53 + 1 }, "records = 9007199254740993"}, "no Unit": {func(r *Records) { r.Unit = Unit{} }, ""},
		"Column": {func(r *Records) { r.Unit.Column = "" }, "unit.column"}, "Rows 1": {func(r *Records) { r.Unit.Rows = 1 }, ""}, "Rows 0": {func(r *Records) { r.Unit.Rows = 0 }, "unit.rows = 0"},
		"Rows -1": {func(r *Records) { r.Unit.Rows = -1 }, "unit.rows = -1"}, "Sum": {func(r *Records) { r.Unit.Count = Sum }, ""}, "no Counting": {func(r *Records) { r.Unit.Count = "" }, "unit.count"},
		"Counting": {func(r *Records) { r.Unit.Count = "max" }, "unit.count"}, "a Counting alone": {func(r *Records) { r.Unit = Unit{Count: Mean} }, "unit.column"},
		"Rows alone": {func(r *Records) { r.Unit = Unit{Rows: 1} }, "unit.column"}, "no Filter": {func(r *Records) { r.Filter = Filter{} }, ""},
	} {
		r := sound
		c.change(&r)
		err := r.check()
		if (err == nil) != (c.rule == "") || err != nil && !strings.HasPrefix(err.Error(), "account: "+c.rule) {
			t.Errorf("%s: %v: must be about %q", field, err, c.rule)
		}
		if _, opened := OpenLedger(mustBudget(t, 1, 1e-6), r); (opened == nil) != (err == nil) {
			t.Errorf("%s: the ledger: %v", field, opened)
		}
	}
	if _, err := OpenLedger(Budget{}, sound); err == nil {
		t.Error("a ledger without a budget is opened")
	}
}

// TestGuaranteesAdd tests that two guarantees add up if their relations and units are equal, whatever their other fields are.
func TestGuaranteesAdd(t *testing.T) {
	first := Guarantee{Relation: ReplaceOne, Epsilon: 1, Delta: 1e-6, Unit: "person", Mu: .25}
	for field, c := range map[string]struct {
		change func(*Guarantee)
		adds   bool
	}{"nothing": {func(*Guarantee) {}, true}, "Epsilon": {func(g *Guarantee) { g.Epsilon = 2 }, true}, "Delta": {func(g *Guarantee) { g.Delta = .5 }, true},
		"Mu": {func(g *Guarantee) { g.Mu = 0 }, true}, "Relation": {func(g *Guarantee) { g.Relation = AddOrRemove }, false}, "Unit": {func(g *Guarantee) { g.Unit = "" }, false},
		"another Unit": {func(g *Guarantee) { g.Unit = "visit" }, false}} {
		g := first
		c.change(&g)
		if g.Adds(first) != c.adds || first.Adds(g) != c.adds {
			t.Errorf("another %s: adds %v", field, !c.adds)
		}
	}
}

// TestEndedContextsMakeNoSchedule tests that a context that has ended makes no schedule, also one that this process has proven
// before.
func TestEndedContextsMakeNoSchedule(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	steps := sampledSteps(20, .1, 2)
	ended, stop := context.WithCancel(t.Context())
	stop()
	for name, make := range map[string]func(context.Context) (*Schedule, error){
		"proven":     func(ctx context.Context) (*Schedule, error) { return NewSchedule(ctx, b, .01, steps) },
		"calibrated": func(ctx context.Context) (*Schedule, error) { return CalibrateSchedule(ctx, b, .01, steps) },
	} {
		for _, before := range []bool{false, true} {
			if s, err := make(ended); s != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, made before %v: %v, %v", name, before, s, err)
			}
			if s, err := make(t.Context()); err != nil || s.Len() != 2 {
				t.Errorf("%s: %v, %v", name, s, err)
			}
		}
	}
}
