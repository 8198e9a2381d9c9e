package inspect

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// load reads a schema: section, as a configuration is read.
func load(doc string) (*dataset.Schema, error) {
	var config struct{ Schema *dataset.Schema }
	err := yaml.UnmarshalWithOptions([]byte(doc), &config, yaml.Strict())
	return config.Schema, err
}

// anyName draws names of columns, many of which YAML must quote.
func anyName() *rapid.Generator[string] {
	awkward := []string{"Private", "a b", "a: b", "#x", "- x", "yes", "null", "~", "???x", "?", "1", "007", "1e5", ".5",
		"0x1F", "it's", `"quoted"`, `back\slash`, "{a}", "[a]", "&a", "*a", "!a", "%a", "@a", "`a`", "a,b", "a\nb", "a\tb", "é",
		"日本", "a#b", ":", "-", "=", "<<", "2020-01-01", "\u2028x\u2028y", "|", ">", "NaN", ".nan", "\u0000", "\ufeffx", "😀"}
	return rapid.OneOf(rapid.SampledFrom(awkward), rapid.String()).Filter(func(s string) bool {
		return s != "" && utf8.ValidString(s) && s == strings.TrimSpace(s) && s != "other" && s != placeholder
	})
}

func TestDraftSaysWhatToFill(t *testing.T) {
	doc := Schema([]string{"age", "work"}, nil, nil)
	for _, comment := range []string{" # guessed from the name", " # or " + openCategory + ", " + openDate} {
		if doc = strings.Replace(doc, comment, "", 1); !strings.HasSuffix(doc, draftEnd) {
			t.Fatal(doc)
		}
	}
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
		header := rapid.SliceOfNDistinct(anyName(), 1, 6, rapid.ID[string]).Draw(t, "header")
		if slices.Contains(header, "target!") || slices.Contains(header, "(intercept)") {
			t.Skip("reserved by the test")
		}
		doc := Schema(append(slices.Clone(header), "", " "), nil, nil)
		doc = strings.ReplaceAll(doc, openNumber, "{number: [0, 1]}")
		doc = strings.ReplaceAll(doc, openDate, "{date: [2020-01-01, 2021-01-01]}")
		doc = strings.ReplaceAll(doc, openCategory, "{category: [a]}")
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

func FuzzDraft(f *testing.F) {
	f.Add("age,sex,note")
	f.Add("a\r1,b\n2,\x1b[2J,\u202e,")
	f.Fuzz(func(t *testing.T, line string) {
		header := strings.Split(strings.ToValidUTF8(line, "?"), ",")
		doc := Schema(header, nil, nil)
		for _, r := range doc {
			if r != '\n' && !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' {
				t.Fatalf("%q: holds %q", doc, r)
			}
		}
		// Every line of a draft is one of its own lines or the line of one column, so that no line
		// begins with other text of the header.
		if got, want := strings.Count(doc, "\n"), strings.Count(Schema(nil, nil, nil), "\n")+len(header); got != want {
			t.Fatalf("%d lines: want %d\n%s", got, want, doc)
		}
	})
}

// TestGuesses: a kind must follow from the words of a name, and the word that says most must count.
func TestGuesses(t *testing.T) {
	for name, want := range map[string]string{
		"age": openNumber, "hoursPerWeek": openNumber, "visit_date": openDate, "DOB": openDate, "admitted": openDate,
		"sex": openCategory, "maritalStatus": openCategory, "smoking status": openCategory, "patient_id": "ignore",
		"first name": "ignore", "E-mail": "ignore", "x7": openNumber + " # or ", "agent": openNumber + " # or ",
	} {
		if got := guessed(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s: must begin with %s", name, got, want)
		}
	}
}

// TestDescribed: a row of a codebook must give the entry of its column, and leave open the facts that it does not state.
func TestDescribed(t *testing.T) {
	for _, test := range []struct{ name, kind, low, high, values, form, want string }{
		{"x", "number", "0", "9", "", "", "{number: [0, 9]}"},
		{"x", "number", "9", "0", "", "", openNumber},
		{"x", "", "1", "", "", "", "{number: [1, ???]}"},
		{"x", "date", "2019-01-01", "2024-12-31", "", "", "{date: [2019-01-01, 2024-12-31]}"},
		{"x", "date", "01.01.2019", "", "", "", openDate},
		{"x", "radio", "", "", "1, yes | 2, no, or not known", "", `{category: ["1", "2"]}`},
		{"x", "text", "", "", "a;b", "", "{category: [a, b]}"},
		{"x", "text", "0", "9", "", "integer", "{number: [0, 9]}"},
		{"x", "text", "", "", "", "", "ignore"},
		{"sex", "text", "", "", "", "", ""},
		{"x", "factor", "", "", "", "", openCategory},
		{"x", "yesno", "", "", "", "", `{category: ["0", "1"]}`},
		{"x", "quokka", "", "", "", "", ""},
	} {
		cells := map[string]string{"kind": test.kind, "low": test.low, "high": test.high, "values": test.values, "form": test.form}
		if got, ok := described(test.name, func(what string) string { return cells[what] }); got != test.want || ok != (got != "") {
			t.Errorf("%+v: %q, %v", test, got, ok)
		}
	}
}
