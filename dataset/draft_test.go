package dataset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDraftSaysWhatToFill(t *testing.T) {
	doc := Draft([]string{"age", "work"})
	for _, step := range []struct{ old, new, want string }{
		{"", "",
			"columns.age.number[0] = ???: is still a placeholder; write the publicly known lower and upper bound of age"},
		{"age: {number: [???, ???]}", "age: {number: [0, ???]}", "columns.age.number[1] = ???: is still"},
		{"age: {number: [0, ???]}", "age: {number: [0, 9]}", "columns.work.number[0] = ???: is still"},
		{"work: {number: [???, ???]}", "work: {category: [???]}",
			"columns.work.category[0] = ???: is still a placeholder; write the publicly known values of work"},
		{"work: {category: [???]}", "work: ???",
			"columns.work = ???: is still a placeholder; write {number: [low, high]}, {date: [first, last]}, {category: [values]}, {hash: buckets}, {public: [values]} or ignore"},
		{"work: ???", "work: ignore", "target.column = ???: is still a placeholder; write the name of the column"},
		{"column: ???", "column: y",
			"target.classes[0] = ???: is still a placeholder; write the negative and the positive class"},
		{"classes: [???, ???]", "number: [0, ???]",
			"target.number[1] = ???: is still a placeholder; write the publicly known"},
		{"number: [0, ???]", "number: [0, 1]", ""},
	} {
		doc = strings.Replace(doc, step.old, step.new, 1)
		_, err := load(doc)
		if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("after %q: error %v\nwant %s", step.new, err, step.want)
		}
	}
}

// TestDraftFits tests that a completed draft binds the header it was made from, for any names.
func TestDraftFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.SliceOfNDistinct(anyText(), 1, 6, rapid.ID[string]).Draw(t, "header")
		if slices.Contains(header, "target!") || slices.Contains(header, intercept) {
			t.Skip("reserved by the test")
		}
		doc := Draft(append(slices.Clone(header), "", " "))
		doc = strings.ReplaceAll(doc, "{number: [???, ???]}", "{number: [0, 1]}")
		doc = strings.Replace(doc, "{column: ???, classes: [???, ???]}", "{column: target!, classes: [a, b]}", 1)
		doc = strings.Replace(doc, "    \"\": ignore\n", "", 1) // a schema cannot have two columns without a name
		s, err := load(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if _, err := s.Bind(append(slices.Clone(header), "", "target!")); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
	})
}
