package dataset

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func TestYAMLForms(t *testing.T) {
	want := mustLoad(t, people)
	for name, doc := range map[string]string{
		"block": `
# people
schema: # comments anywhere
  columns:
    age:
      number:
        - 0    # years
        - 1e1
    gain: {transform: log1p, number: [0.0, 3]}
    "work":
      category:
      - private
      - 'state'
    weight: "ignore"
    split: {public: [train, test]}
  missing: ["", '?', "-1"]
  where: "split=train"
  target:
    classes: ["0", '1']
    column: y
`,
		"JSON": `{"schema": {"columns": {"age": {"number": [0, 10]}, "gain": {"number": [0, 3], "transform": "log1p"},
			"work": {"category": ["private", "state"]}, "weight": "ignore", "split": {"public": ["train", "test"]}},
			"target": {"column": "y", "classes": ["0", "1"]}, "where": "split=train", "missing": ["", "?", "-1"]}}`,
	} {
		got, err := load(detab(doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Schema{}, Hats{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// detab replaces tabs, which YAML does not allow, in YAML texts of Go source.
func detab(doc string) string { return strings.ReplaceAll(doc, "\t", "  ") }

func TestYAMLScalarsAreTakenAsWritten(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    c: {category: [007, 1.0, true, yes, 0x1F, 2020-01-01, 1_000, NA]}
  target: {column: 2020, classes: [no, 1.50]}
`)
	want := []string{"007", "1.0", "true", "yes", "0x1F", "2020-01-01", "1_000", "NA"}
	if diff := cmp.Diff(want, s.Columns()[0].Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if got := s.Target(); got.Column != "2020" || !slices.Equal(got.Classes, []string{"no", "1.50"}) {
		t.Errorf("target %+v", got)
	}
}

// TestYAMLReference tests that a category's reference level comes first, and that the schema is then the one
// that lists it first: its features, its terms and its written form.
func TestYAMLReference(t *testing.T) {
	const rest = "\n  target: {column: y, classes: [a, b]}\n"
	s := mustLoad(t, "schema:\n  columns:\n    c: {category: 1..4, reference: 3}"+rest)
	want := mustLoad(t, "schema:\n  columns:\n    c: {category: [3, 1, 2, 4]}"+rest)
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(Schema{}, Hats{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, term := range s.Terms(false)[:3] {
		if term.Reference != "c=3" {
			t.Errorf("%+v: want the reference c=3", term)
		}
	}
}

func TestYAMLComments(t *testing.T) {
	var config struct{ Schema *Schema }
	doc := "schema:\n  # above\n  columns:\n    # above\n    x: {number: [0, 1]} # beside\n  target: # here\n    column: y # there\n    number: [0, 1]\n"
	comments := yaml.CommentMap{}
	if err := yaml.UnmarshalWithOptions([]byte(doc), &config, yaml.CommentToMap(comments)); err != nil {
		t.Error(err)
	}
}

func TestYAMLErrors(t *testing.T) {
	const target = "\n  target: {column: y, classes: [a, b]}"
	for _, test := range []struct{ section, want string }{
		{"  columns:\n    x: {number: [0, 1]}\n  extra: 1",
			"[4:3] dataset: schema: unknown key; the keys here are columns, target, interactions, curves, where, missing"},
		{"  columns:\n    x: {number: [0, 1], unit: kg}",
			"[3:25] dataset: columns: unknown key; the keys here are number, date, layout, transform, missing, curve, monotone, category, reference, hash, public"},
		{"  columns: {x: {number: [0, 1]}}\n  target: {column: y, class: [a, b]}",
			"[3:23] dataset: target: unknown key; the keys here are column, classes, number"},
		{"  columns:\n    x: {number: [0, 1]}\n    x: ignore", "[4:5] mapping key \"x\" already defined at [3:5]"},
		{"  columns:\n    x: ignored",
			`[3:8] dataset: columns: must be {number: [low, high]}, {date: [first, last]}, {category: [values]}, {hash: buckets}, {public: [values]} or ignore`},
		{"  columns:\n    x:", "[3:8] dataset: columns: must be a text or a number, not nothing"},
		{"  columns:\n    x: [0, 1]", "[3:8] dataset: columns: must be a text or a number, not a list"},
		{"  columns:\n    x: {}",
			"[3:5] dataset: columns.x: needs exactly one of number, date, category, hash, public and ignore"},
		{"  columns:\n    x: {number: [0, 1], category: [a]}", "[3:5] dataset: columns.x: needs exactly one"},
		{"  columns:\n    x: {number: 7}", `[3:17] dataset: columns: must be a list, such as [a, b], not a number`},
		{"  columns:\n    x: {number: [0, ten]}", `[3:21] dataset: columns: must be a finite number`},
		{"  columns:\n    x: {number: [0, \"10\"]}", `[3:21] dataset: columns: must be a finite number`},
		{"  columns:\n    x: {number: [0, .inf]}", `[3:21] dataset: columns: must be a finite number`},
		{"  columns:\n    x: {number: [0, inf]}", `[3:9] dataset: columns.x.number = [0, +Inf]: both bounds must be finite`},
		{"  columns:\n    x: {number: [0, 1, 2]}" + target, `[3:9] dataset: columns.x.number = 3 values: must list two`},
		{"  columns:\n    x: {number: [1, 0]}" + target, `[3:9] dataset: columns.x.number = [1, 0]: the lower bound`},
		{"  columns:\n    x: {number: [0, 1], transform: log}" + target,
			`[3:25] dataset: columns.x.transform = "log": must be log1p or absent`},
		{"  columns:\n    x: {number: [-1, 1], transform: log1p}" + target,
			`[3:9] dataset: columns.x.number = [-1, 1]: transform log1p needs`},
		{"  columns:\n    x: {category: []}" + target, `[3:9] dataset: columns.x.category = []: must list`},
		{"  columns:\n    x:\n      category:\n      - a\n      - b\n      - a" + target,
			`[7:9] dataset: columns.x.category[2] = "a": is listed twice`},
		{"  columns:\n    x: {category: [a, b], reference: c}" + target,
			`[3:27] dataset: columns.x.reference = "c": must be one of the category's values`},
		{"  columns:\n    x: {number: [0, 1], reference: c}" + target,
			`[3:25] dataset: columns.x.reference = "c": only a category has a reference`},
		{"  columns:\n    x: {category: [a, {b: c}]}" + target,
			`[3:23] dataset: columns: must be a text or a number, not a mapping`},
		{"  columns:\n    x: {category: [a, ~]}" + target,
			`[3:23] dataset: columns: must be a text or a number, not nothing`},
		{"  columns:\n    x: {category: [a, other]}" + target, `[3:23] dataset: columns.x.category[1] = "other": is already`},
		{"  columns: {x: {number: [0, 1]}}\n  target: {column: x, classes: [a, b]}",
			`[3:12] dataset: target.column = "x": is also listed`},
		{"  columns: {x: {number: [0, 1]}}\n  target: {column: y}", `[3:3] dataset: target: needs either classes`},
		{"  columns: {x: {number: [0, 1]}}\n  target: {column: y, classes: [a]}",
			`[3:23] dataset: target.classes = 1 values: must list at least two`},
		{"  columns: {x: {number: [0, 1]}}\n  target: y", `[3:11] dataset: target: must be a mapping, not a text`},
		{"  columns: {x: {number: [0, 1]}}", `dataset: target.column: must name the column`},
		{"  columns: {x: {number: [0, 1]}}" + target + "\n  where: z=1",
			`[4:3] dataset: where = "z=1": the column is not listed`},
		{"  columns: {x: {number: [0, 1]}}" + target + "\n  missing: NA",
			`[4:12] dataset: schema: must be a list, such as [a, b], not a text`},
		{"  columns: {x: {number: [0, 1]}}" + target + "\n  missing: [NA, NA]",
			`[4:17] dataset: missing[1] = "NA": is listed twice`},
		{"  columns: {x: {number: &b [0, 1]}, z: {number: *b}}" + target,
			`[2:25] dataset: columns: must be a list, such as [a, b], not an anchor or alias`},
		{"  columns: [x]" + target, `[2:12] dataset: columns: must be a mapping, not a list`},
		{"  7", `[2:3] dataset: schema: must be a mapping, not a number`},
	} {
		_, err := load("schema:\n" + test.section + "\n")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\nerror %v\nwant  %s", test.section, err, test.want)
			continue
		}
		if quoted := regexp.MustCompile(`(?m)^ *>? +[0-9]+ \| *[^ \n]`); quoted.MatchString(err.Error()) &&
			!strings.Contains(test.want, "already defined") {
			t.Errorf("%s\nerror %v\nquotes the text", test.section, err)
		}
		var positioned yaml.Error
		if !errors.As(err, &positioned) || positioned.GetToken() == nil {
			t.Errorf("%s\nerror %T without a position", test.section, err)
		}
	}
}

func TestYAMLErrorKeepsSchema(t *testing.T) {
	s := mustLoad(t, people)
	if err := yaml.Unmarshal([]byte("columns: {x: 1}"), s); err == nil || s.Dim() != 6 {
		t.Errorf("error %v, Dim %d", err, s.Dim())
	}
}

func FuzzYAML(f *testing.F) {
	f.Add(people)
	f.Add("schema: {columns: {x: {number: [0, 1]}}, target: {column: y, number: [0, 1]}}")
	f.Add("schema:\n  columns:\n    a: {number: [???, ???]}\n  target: {column: ???, classes: [???, ???]}\n")
	f.Fuzz(func(t *testing.T, doc string) {
		s, err := load(doc)
		if err != nil || s == nil {
			return
		}
		again, err := yaml.Marshal(struct{ Schema *Schema }{s})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := load(string(again)); err != nil {
			t.Errorf("%v\n%s", err, again)
		}
	})
}
