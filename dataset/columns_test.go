package dataset

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestEachFieldOfAColumnIsWritten: a column with each field alone has this line in a schema, and the schema is the same when it
// is read again from its text and from JSON.
func TestEachFieldOfAColumnIsWritten(t *testing.T) {
	number := Column{Name: "v", Kind: Number, Low: -1.5, High: 80}
	date := Column{Name: "d", Kind: Date, Low: 18262, High: 18292}
	with := func(c Column, change func(*Column)) Column {
		change(&c)
		return c
	}
	for _, c := range []struct {
		column Column
		want   string
	}{
		{number, "v: {number: [-1.5, 80]}"},
		{with(number, func(c *Column) { c.Transform, c.Low = Log1p, 0 }), "v: {number: [0, 80], transform: log1p}"},
		{with(number, func(c *Column) { c.Indicator = true }), "v: {number: [-1.5, 80], missing: indicator}"},
		{with(number, func(c *Column) { c.Curve, c.Indicator = 5, true }), "v: {number: [-1.5, 80], missing: indicator, curve: 5}"},
		{with(number, func(c *Column) { c.Curve, c.Indicator = CurveAuto, true }), "v: {number: [-1.5, 80], missing: indicator, curve: auto}"},
		{with(number, func(c *Column) { c.Curve, c.Knots, c.Indicator = 3, []float64{-1.5, 7, 80}, true }), "v: {number: [-1.5, 80], missing: indicator, curve: [-1.5, 7, 80]}"},
		{with(number, func(c *Column) { c.Monotone = Up }), "v: {number: [-1.5, 80], monotone: up}"},
		{with(number, func(c *Column) { c.Monotone = Down }), "v: {number: [-1.5, 80], monotone: down}"},
		{date, "d: {date: [2020-01-01, 2020-01-31]}"},
		{with(date, func(c *Column) { c.Monotone, c.Curve, c.Indicator = Down, 4, true }), "d: {date: [2020-01-01, 2020-01-31], missing: indicator, curve: 4, monotone: down}"},
		{Column{Name: "c", Kind: Category, Categories: []string{"b", "a", "z"}}, "c: {category: [b, a, z]}"},
		{Column{Name: "h", Kind: Hash, Buckets: 7}, "h: {hash: 7}"},
		{Column{Name: "i", Kind: Ignore}, "i: ignore"},
	} {
		if got := c.column.Line(); got != c.want {
			t.Errorf("%s: must be %s", got, c.want)
		}
		s, err := New(Definition{Columns: []Column{{Name: "first", Kind: Number, High: 1}, c.column}, Target: Target{Column: "y", Kind: Number, High: 2}})
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		text, err := s.MarshalYAML()
		if err != nil || !strings.Contains(string(text), "\n  "+c.want+"\n") {
			t.Errorf("no %s in\n%s, %v", c.want, text, err)
		}
		again, err := load("schema:\n  " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ") + "\n")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var other Schema
		if text, err = json.Marshal(s); err == nil {
			err = json.Unmarshal(text, &other)
		}
		if err != nil || !reflect.DeepEqual(again.Columns(), s.Columns()) || !reflect.DeepEqual(other.Columns(), s.Columns()) {
			t.Errorf("%s: %+v from text and %+v from JSON (%v): must be %+v", c.want, again.Columns(), other.Columns(), err, s.Columns())
		}
	}
}

// TestEachFieldOfATargetIsWritten: a target with each field alone has this line in a schema.
func TestEachFieldOfATargetIsWritten(t *testing.T) {
	number := Target{Column: "cost", Kind: Number, Low: -2, High: 7.5}
	classes := Target{Column: "ill", Kind: Category, Classes: []string{"no", "yes"}}
	times := Target{Column: "days", Event: "died", Cuts: []float64{90, 180.5}}
	with := func(t Target, change func(*Target)) Target {
		change(&t)
		return t
	}
	for _, c := range []struct {
		target Target
		want   string
	}{
		{number, "{column: cost, number: [-2, 7.5]}"},
		{classes, `{column: ill, classes: ["no", "yes"]}`},
		{with(number, func(t *Target) { t.Weight = "w" }), "{column: cost, number: [-2, 7.5], weight: w}"},
		{with(classes, func(t *Target) { t.Share = []float64{.25} }), `{column: ill, classes: ["no", "yes"], share: [0.25]}`},
		{with(number, func(t *Target) { t.Exposure = Exposure{"years", .5, 3} }), "{column: cost, number: [-2, 7.5], exposure: {column: years, number: [0.5, 3]}}"},
		{with(number, func(t *Target) { t.Exposure, t.Offset = Exposure{"years", .5, 3}, true }), "{column: cost, number: [-2, 7.5], offset: {column: years, number: [0.5, 3]}}"},
		{times, "{time: days, event: died, cuts: [90, 180.5]"},
		{with(times, func(t *Target) { t.Entry = "came" }), "{time: days, event: died, entry: came, cuts: [90, 180.5]"},
		{with(times, func(t *Target) { t.Changing = "sex" }), "{time: days, event: died, changing: sex, cuts: [90, 180.5]"},
	} {
		if got := c.target.Line(); !strings.HasPrefix(got, "target: "+strings.TrimSuffix(c.want, "}")) || strings.HasSuffix(c.want, "}") && got != "target: "+c.want {
			t.Errorf("%s: must be %s", got, c.want)
		}
	}
}
