package train

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// knots returns the number of knots of each column of a schema, by the column's name.
func knots(s *dataset.Schema) map[string]int {
	list := map[string]int{}
	for _, c := range s.Columns() {
		list[c.Name] = c.Curve
	}
	return list
}

// TestCurvesAreResolved tests curves, features that are linear between knots. A plan, a dry run and
// a fit must have the same number of knots, which follows from records and budget, and the model's
// file must state it. Computed by hand, mu is .2177 at epsilon 1 and delta 1e-6, and the number of
// knots is .42 (3000 mu)^(1/3) = 3.6, rounded to 4. Under add-or-remove, with half the noise, it is
// 4.6, rounded to 5.
func TestCurvesAreResolved(t *testing.T) {
	for relation, want := range map[string]int{"replace-one": 4, "add-or-remove, records: 3000": 5} {
		c := config(t, 3000, "  columns:", "  curves: auto\n  columns:", "replace-one", relation)
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p.Schema.Unresolved() || knots(p.Schema)["age"] != want || p.Dim != 1+1+want+3+1 || len(p.Adapted) > 0 {
			t.Errorf("%s: planned %v, %d weights, %v: want %d knots", relation, knots(p.Schema), p.Dim, p.Adapted, want)
		}
		d, err := c.DryRun(context.Background(), Options{Software: "test 1"})
		if err != nil || knots(d.Planned.Schema)["age"] != want {
			t.Errorf("%s: dry run %v, %v", relation, err, d)
		}
		f, err := c.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		if knots(f.Model.Schema())["age"] != want || len(f.Model.Weights()) != p.Dim {
			t.Errorf("%s: the model has %v and %d weights", relation, knots(f.Model.Schema()), len(f.Model.Weights()))
		}
		text, err := f.Model.Bytes()
		if err != nil || !strings.Contains(string(text), `"curve": `) {
			t.Errorf("%s: the model's file has no knots: %v", relation, err)
		}
		if !c.Schema.Unresolved() {
			t.Error("the configuration has changed")
		}
	}
}

// TestCurvesAreLeftOut tests a table that is small for its budget: columns with curve: auto must
// stay linear, interactions with numbers must be left out, and the plan and the model must warn of
// both.
func TestCurvesAreLeftOut(t *testing.T) {
	c := config(t, 700, "  columns:", "  curves: auto\n  interactions: [[age, sex]]\n  columns:")
	p, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Fit(context.Background(), Options{Software: "test 1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]Warning{p.Warnings(), f.Warnings, f.Model.Warnings()} {
		found := map[string]string{}
		for _, w := range list {
			found[w.Code] = w.Text
		}
		if !strings.HasPrefix(found[WarnCurves], "age stays linear: with 700 records") ||
			!strings.HasPrefix(found[WarnPairs], "the interaction of age and sex is left out: with 700 records") {
			t.Errorf("warnings %v", list)
		}
	}
	if s := f.Model.Schema(); knots(s)["age"] != 0 || len(s.Interactions()) != 0 {
		t.Errorf("schema %v, %v", knots(s), s.Interactions())
	}
	// A number of knots that the user states must stay.
	c = config(t, 700, "[0, 100]}", "[0, 100], curve: 5}")
	if f, err = c.Fit(context.Background(), Options{Software: "test 1"}); err != nil ||
		knots(f.Model.Schema())["age"] != 5 || len(f.Model.Warnings()) != 0 && f.Model.Warnings()[0].Code == WarnCurves {
		t.Errorf("%v", err)
	}
}

// TestInteractionsHaveNoIntervals tests that a configuration that requests confidence intervals is
// refused, with the column's name, if the schema has an interaction with a number. A curve is not refused.
func TestInteractionsHaveNoIntervals(t *testing.T) {
	plan := func(change string) error {
		c := config(t, 300, "  columns:", change, "model: {loss: logistic}",
			"model: {loss: logistic}\ninference: {level: 0.9}", "relation: replace-one",
			"relation: replace-one, records: 100000")
		_, err := c.Plan(context.Background())
		return err
	}
	wantError(t, plan("  interactions: [[age, sex]]\n  columns:"),
		`inference: column "age": has an interaction with a number`)
	if err := plan("  curves: auto\n  columns:"); err != nil {
		t.Errorf("a curve: %v", err)
	}
}

// TestCurvesOfAStream tests that curve: auto requires a stated number of records if the table is a
// stream: a stream can be read only once, so records cannot be counted first.
func TestCurvesOfAStream(t *testing.T) {
	c := config(t, 300, "  columns:", "  curves: auto\n  columns:", "data: people.csv", "data: \"-\"\ntable: people")
	for _, err := range []error{
		func() error { _, err := c.Plan(context.Background()); return err }(),
		func() error { _, err := c.Fit(context.Background(), Options{Software: "test 1"}); return err }(),
	} {
		wantError(t, err, "privacy.records: must be given: the knots of curves and jl(auto) follow from it")
	}
	empty(t)
}

// TestFor tests the configuration that For returns for a number of records. It must have the schema
// of a fit of a table of that size, and keep it if the number of records changes later. For must
// not open the table.
func TestFor(t *testing.T) {
	c := config(t, 300, "  columns:", "  curves: auto\n  interactions: [[age, sex]]\n  columns:")
	large, err := c.For(1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	large.Privacy.Records = 400
	if err := os.Remove(filepath.Clean(c.DataPath())); err != nil {
		t.Fatal(err)
	}
	p, err := large.Plan(context.Background())
	if err != nil || knots(p.Schema)["age"] != 52 || len(p.Schema.Interactions()) != 1 {
		t.Errorf("%v, %v", p.Schema, err)
	}
}

// TestRecordsAreCountedOnce tests that a plan counts the records once if the number of knots
// depends on them. A fit must then refuse a table that has another number of records when it is
// read.
func TestRecordsAreCountedOnce(t *testing.T) {
	c, err := config(t, 3000, "  columns:", "  curves: auto\n  columns:").resolved(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	path := c.DataPath()
	rows, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(rows), "\n")
	_, rest, _ = strings.Cut(rest, "\n") // without its first row
	if err := os.WriteFile(path, []byte(head+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fit(context.Background(), Options{Software: "test 1"}); err == nil ||
		!strings.Contains(err.Error(), "had 3000 records when they were counted and has 2999 now") {
		t.Errorf("fit: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Plan(context.Background()); err != nil || p.Records != 3000 {
		t.Errorf("planned for %v records, %v", p.Records, err)
	}
}

// TestCurvedIsSaid: a problem must say whether its rows have curves, by which the rule for the second moment goes.
// It must not say so of a fit with features of effects, for which the rule of rows without curves was measured.
func TestCurvedIsSaid(t *testing.T) {
	curve := []string{"number: [0, 100]", "number: [0, 100], curve: 5"}
	for _, test := range []struct {
		changes []string
		want    bool
	}{
		{nil, false}, {curve, true}, {append(curve, "loss: logistic", "loss: logistic, features: effects"), false},
	} {
		c := config(t, 300, test.changes...)
		b, err := c.budget()
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := c.Problem(b, 300)
		if err != nil || p.Curved != test.want {
			t.Errorf("%v: %v, %v", test.changes, p.Curved, err)
		}
	}
}

// TestKnotsForIntervals compares the number of knots of curves with that of a fit with intervals: .135 sqrt(size)/columns,
// between 3 and 11, by classes less one. A size by hand is (knots/.42)^3.
func TestKnotsForIntervals(t *testing.T) {
	columns := []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1, Curve: dataset.CurveAuto},
		{Name: "b", Kind: dataset.Number, Low: 0, High: 1, Curve: dataset.CurveAuto}, {Name: "c", Kind: dataset.Category,
			Categories: []string{"p", "q"}}}
	two := dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	five := dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"1", "2", "3", "4", "5"}}
	for _, c := range []struct {
		target     dataset.Target
		pairs      []dataset.Interaction
		size       float64
		plain, few int
	}{
		{two, nil, 250, 3, 3}, {two, nil, 4_500, 7, 3}, {two, nil, 25_800, 25, 7}, {two, nil, 45_000, 30, 10}, {two, nil, 1e6, 64, 11},
		{five, nil, 45_000, 30, 5}, {two, []dataset.Interaction{{"a", "c"}}, 4_500, 7, 5}, {two, nil, 100, 0, 0},
	} {
		s, err := dataset.New(dataset.Definition{Columns: columns, Target: c.target, Interactions: c.pairs})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{c.plain, c.few} {
			config := &Config{Schema: s}
			if want == c.few {
				config.Inference = new(Inference)
			}
			got, choices, err := config.knots(c.size)
			if err != nil || knots(got)["a"] != want || len(got.Interactions()) != len(c.pairs) || len(choices.Without) > 0 {
				t.Errorf("size %v: %v, %v, %v: must be %d", c.size, knots(got), choices, err, want)
			}
		}
	}
}
