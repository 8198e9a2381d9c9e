package dataset

import (
	"strings"
	"testing"
)

// TestRefines: schemas that differ in the knots of curves alone refine each other, in both directions, and no
// others do.
func TestRefines(t *testing.T) {
	const text = `
columns:
  ward: {category: [a, b]}
  age: {number: [17, 90], curve: 9}
  gain: {number: [0, 99], transform: log1p, curve: 16}
  size: {number: [0, 1]}
  person: ignore
interactions: [[age, ward], [size, ward]]
target: {column: ill, classes: [no, yes]}
`
	schema := func(text string) *Schema { return mustLoad(t, "schema:"+strings.ReplaceAll(text, "\n", "\n  ")) }
	of := schema(text)
	refines := func(edits ...string) error { return schema(strings.NewReplacer(edits...).Replace(text)).Refines(of) }
	for _, edits := range [][]string{
		{}, {"curve: 9", "curve: 3"}, {"curve: 9", "curve: [17, 20, 90]"}, {"curve: 16", "curve: [0, 1, 2, 99]"},
		{"curve: 9", "curve: [17, 17.5, 90]", "curve: 16", "curve: 64"},
	} {
		if err := refines(edits...); err != nil {
			t.Errorf("%q: %v", edits, err)
		}
		if err := of.Refines(schema(strings.NewReplacer(edits...).Replace(text))); err != nil {
			t.Errorf("back from %q: %v", edits, err)
		}
	}
	for _, edits := range [][]string{
		{"[a, b]", "[b, a]"}, {"[17, 90]", "[17, 91]"}, {", curve: 16", ""}, {", transform: log1p", ""},
		{"curve: 9", "curve: auto"}, {"size: {number: [0, 1]}", "size: {number: [0, 1], curve: 4}"},
		{"[age, ward], ", ""}, {"person: ignore\n", "person: {number: [0, 1]}\n"}, {"[no, yes]", "[yes, no]"},
		{"target:", "norm: 2\ntarget:"}, {"person: ignore\n", "person: {public: [x]}\n"}, {"  person: ignore\n", ""},
		{"target:", "missing: [\"?\"]\ntarget:"}, {"column: ill", "column: well"},
	} {
		if err := refines(edits...); err == nil {
			t.Errorf("%q: refines", edits)
		}
	}
	// A schema may lack a curve whose column keeps its indicator, which stored rows have. The divisor of rows falls.
	for _, edits := range [][]string{{", curve: 9", ""}, {", curve: 16", ", missing: indicator"}} {
		if err := refines(edits...); err != nil {
			t.Errorf("%q: %v", edits, err)
		}
		less := schema(strings.NewReplacer(edits...).Replace(text))
		if of.Refines(less) == nil || !(less.Scale() < of.Scale()) {
			t.Errorf("%q: back, or no smaller divisor", edits)
		}
		normed := schema(strings.NewReplacer(append(edits, "target:", "norm: 2\ntarget:")...).Replace(text))
		if normed.Refines(schema(strings.Replace(text, "target:", "norm: 2\ntarget:", 1))) == nil {
			t.Errorf("%q: rows that norm shortens are shortened by their curves, too", edits)
		}
	}
	// Schemas that differ in one thing alone from one with a unit and a filter.
	const more = text + "unit: {column: visitor, rows: 2}\nwhere: person=x\n"
	with := func(edits ...string) *Schema {
		return schema(strings.NewReplacer(append(edits, "person: ignore", "person: {public: [x, y]}")...).Replace(more))
	}
	if err := with("curve: 9", "curve: 3").Refines(with()); err != nil {
		t.Error(err)
	}
	for _, edits := range [][]string{
		{"unit: {column: visitor, rows: 2}\n", ""}, {"rows: 2", "rows: 3"}, {"column: visitor", "column: patient"},
		{"where: person=x\n", ""}, {"person=x", "person=y"},
	} {
		if with(edits...).Refines(with()) == nil || with().Refines(with(edits...)) == nil {
			t.Errorf("%q: refines", edits)
		}
	}
	// Times to an event may differ in their baseline hazards alone, with those of the one schema or of both.
	timed := func(hazards []float64, edits ...string) *Schema {
		def := schema(strings.NewReplacer(edits...).Replace(`
columns:
  age: {number: [17, 90]}
target: {time: days, event: died=1, entry: from, cuts: [10, 40, 100]}
`)).definition()
		def.Target.Hazards = hazards
		s, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	some := []float64{.5, .25, .25}
	for _, hazards := range [][]float64{{.25, .25, .5}, nil} {
		if timed(hazards).Refines(timed(some)) != nil || timed(some).Refines(timed(hazards)) != nil {
			t.Errorf("hazards %v do not refine", hazards)
		}
	}
	for _, edits := range [][]string{
		{"[10, 40, 100]", "[10, 50, 100]"}, {"40, 100]", "40, 110]"}, {"died=1", "died=2"}, {"died=1", "left=1"},
		{"entry: from, ", ""}, {"entry: from", "entry: since"}, {"days", "weeks"}, {"[17, 90]", "[17, 91]"},
	} {
		if timed(some, edits...).Refines(timed(some)) == nil || timed(some).Refines(timed(some, edits...)) == nil {
			t.Errorf("%q: refines", edits)
		}
	}
	if timed(nil, "[10, 40, 100]", "[10, 100]").Refines(timed(nil)) == nil {
		t.Error("fewer cuts refine")
	}
	var zero Schema
	if zero.Refines(of) == nil || of.Refines(&zero) == nil || of.Refines(nil) == nil {
		t.Error("the zero schema refines, or is refined")
	}
}
