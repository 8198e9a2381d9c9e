package repotest

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestEventsAreEverywhere: each kind of the accountant's events must have an example in the documentation
// of DecodeEventFile, which must decode and compose to finite bounds. The command's help must explain the
// kind, and a test must compare how the kind is read with expected values.
func TestEventsAreEverywhere(t *testing.T) {
	t.Chdir(root)
	var names []string
	for _, path := range []string{"account/mechanism/mechanism.go"} {
		names = append(names, found(t, path, `EventKind += "([a-z-]+)"`, 1)...)
	}
	if len(names) < 13 {
		t.Fatalf("%d kinds of events: the search for them is broken: %v", len(names), names)
	}
	doc, _, _ := strings.Cut(read(t, "account/mechanism/eventfile.go"), "\nfunc DecodeEventFile")
	_, list, _ := strings.Cut(doc, "one line a kind:")
	list = strings.ReplaceAll(list, "\n//\t ", " ") // an event that continues on a second line
	examples := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\{"kind": "([a-z-]+)".*\})$`).FindAllStringSubmatch(list, -1) {
		examples[m[2]] = m[1]
	}
	tests := testsBelow(t, "account/mechanism")
	help := read(t, "cmd/stillpoint/help/stillpoint-account.txt")
	for _, name := range names {
		if name == "bounded-range" { // a name that files use for a selection
			continue
		}
		example := examples[name]
		if example == "" {
			t.Errorf("account/mechanism/eventfile.go: %s: DecodeEventFile's documentation has no example of a line", name)
			continue
		}
		for _, relation := range []string{"add-or-remove", "replace-one"} {
			if relation == "replace-one" && name == "gaussian-mixture" ||
				relation == "add-or-remove" && name == "fixed-size-gaussian" {
				continue // the kind exists only under the other relation
			}
			if relation == "replace-one" && name == "repeat-and-select" { // the example of this kind uses sampling
				continue
			}
			file, err := mechanism.DecodeEventFile([]byte(`{"relation": "` + relation + `", "events": [` + example + `]}`))
			if err != nil {
				t.Errorf("the example of %s: %v", name, err)
				continue
			}
			if name == "repeat-and-select" || name == "discrete-gaussian" {
				if b, err := mechanism.ComposeRenyi(t.Context(), file.Events); err != nil || b == nil {
					t.Errorf("the example of %s: no Renyi bound: %v", name, err)
				}
				continue
			}
			if _, err := mechanism.Compose(t.Context(), file.Events, .1); err != nil {
				t.Errorf("the example of %s under %s: %v", name, relation, err)
			}
		}
		if !strings.Contains(tests, `"kind": "`+name+`"`) && !strings.Contains(tests, "kind: "+name) {
			t.Errorf("account: no test reads an event of kind %s", name)
		}
		if !strings.Contains(help, name) {
			t.Errorf("cmd/stillpoint/help/stillpoint-account.txt says nothing of events of kind %s", name)
		}
	}
}

// TestSectionsAreEverywhere: each section of the report on a fit must be on its page, and a test must read
// numbers from it by its title.
func TestSectionsAreEverywhere(t *testing.T) {
	t.Chdir(root)
	files, err := filepath.Glob("internal/report/*.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, count := testsBelow(t, "internal/report"), 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text := read(t, path)
		for _, m := range regexp.MustCompile(`(?m)^func \(f \*Fit\) (\w+)\(.*\) (?:Section|\(Section, bool\)|\(s Section, ok bool\)) \{`).FindAllStringSubmatchIndex(text, -1) {
			count++
			name := text[m[2]:m[3]]
			if !regexp.MustCompile(`\bf\.` + name + `\b`).MatchString(read(t, "internal/report/fit.go")) {
				t.Errorf("internal/report/fit.go: nothing of f.%s", name)
			}
			title := regexp.MustCompile(`Section\{Title: (?:(?:fmt\.Sprintf\()?"([^"%]+)|(\w+))`).FindStringSubmatch(text[m[1]:])
			if title == nil {
				t.Errorf("%s: section %s: has no title", path, name)
			} else if !strings.Contains(tests, title[1]+title[2]) {
				t.Errorf("%s: section %q: no test of package report reads it", path, title[1]+title[2])
			}
		}
	}
	if count < 8 {
		t.Errorf("%d sections: the search for them is broken", count)
	}
}

// TestDialectsAreEverywhere: the command must offer each SQL dialect, and a test must run queries of each
// dialect.
func TestDialectsAreEverywhere(t *testing.T) {
	t.Chdir(root)
	for _, name := range found(t, "export/dialect.go", `(?m)^\t"(\w+)": \{`, 4) {
		contains(t, "cmd/stillpoint/export.go", name)
		contains(t, "export/export_test.go", `"`+name+`": `)
	}
}

// TestCommandsAreTried tests that each command of stillpoint is run by a test script or by its own
// test.
func TestCommandsAreTried(t *testing.T) {
	t.Chdir(root)
	scripts, err := filepath.Glob("cmd/stillpoint/testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Fatalf("%v, %v", scripts, err)
	}
	var all strings.Builder
	for _, path := range scripts {
		all.WriteString(read(t, path))
	}
	tests := testsBelow(t, "cmd/stillpoint")
	for _, name := range found(t, "cmd/stillpoint/main.go", "(?m)^\t(\\w+) +\\w+Command +`cmd:", 15) {
		name = strings.ToLower(name)
		if !strings.Contains(all.String(), "stillpoint "+name) && !strings.Contains(tests, `"`+name+`"`) {
			t.Errorf("stillpoint %s: neither a script nor a test runs it", name)
		}
	}
}

// TestBudgetStoresAreEverywhere tests that each store of budgets passes the suite of stores and is
// opened by its address, and that the command's help shows how its address is written.
func TestBudgetStoresAreEverywhere(t *testing.T) {
	t.Chdir(root)
	files, err := filepath.Glob("internal/budgetstore/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || !strings.Contains(read(t, path), "create bool) (budget.Store, error) {") {
			continue
		}
		name := filepath.Base(filepath.Dir(path))
		count++
		contains(t, "budget/stores/drivers.go", name+".Open(")
		contains(t, "budget/store.go", name+":")
		contains(t, "cmd/stillpoint/budget.go", name+":")
		if !strings.Contains(testsBelow(t, "internal/budgetstore/"+name), "budgettest.Run(") {
			t.Errorf("internal/budgetstore/%s: no test runs the suite of stores over it", name)
		}
	}
	if count < 2 {
		t.Errorf("%d stores: the search for them is broken", count)
	}
}

// TestTermsAreShown: every published member of a coefficient must be shown by the command and by the
// summary of the Python package.
func TestTermsAreShown(t *testing.T) {
	t.Chdir(root)
	_, of, _ := strings.Cut(read(t, "internal/report/terms.go"), "\ntype Coefficient struct {")
	of, _, _ = strings.Cut(of, "\n}")
	fields := regexp.MustCompile("(?m)^\t(\\w+) +\\S+ +`json:\"(\\w+)").FindAllStringSubmatch(of, -1)
	if len(fields) < 7 {
		t.Fatalf("%d fields of a coefficient: the search for them is broken", len(fields))
	}
	_, noise, _ := strings.Cut(read(t, "internal/report/terms.go"), "\nfunc (c Coefficient) Noise() string {")
	noise, _, _ = strings.Cut(noise, "\n}")
	for _, m := range fields {
		if m[2] == "column" { // the name of this term contains the column's name
			continue
		}
		if m[2] != "reason" && !strings.Contains(noise, "c."+m[1]) { // the text below the table has the reasons
			contains(t, "cmd/stillpoint/report.go", "."+m[1])
		}
		contains(t, "python/src/stillpoint/_summary.py", `"`+m[2]+`"`)
	}
}

// testsBelow returns the text of all tests below a folder.
func testsBelow(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d tests, %v", folder, len(files), err)
	}
	var all strings.Builder
	for _, path := range files {
		all.WriteString(read(t, path))
	}
	return all.String()
}

// TestKeysAreEverywhere: each key of a configuration must be in docs/reference/configuration.md, in a
// configuration that a test or a script tries, and in the code by which the root package makes a
// configuration from a Spec. The keys of a schema have tests of their own, and the root package passes on
// Memory, Inference and Start whole.
func TestKeysAreEverywhere(t *testing.T) {
	t.Chdir(root)
	var tried strings.Builder
	tried.WriteString(testsBelow(t, "internal/train") + testsBelow(t, "internal/runfolder"))
	scripts, err := filepath.Glob("cmd/stillpoint/testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		tried.WriteString(read(t, path))
	}
	var front strings.Builder
	for _, path := range []string{"stillpoint.go", "budget.go"} {
		front.WriteString(read(t, path))
	}
	page := read(t, "docs/reference/configuration.md")
	count := 0
	var walk func(of reflect.Type, parent string)
	walk = func(of reflect.Type, parent string) {
		for i := range of.NumField() {
			field := of.Field(i)
			key := field.Tag.Get("yaml")
			if !field.IsExported() || key == "" || key == "-" {
				continue
			}
			count++
			written := regexp.MustCompile(`(?m)(?:^|[#{,"\x60n ])` + key + `: ?`)
			if !written.MatchString(page) {
				t.Errorf("docs/reference/configuration.md: nothing of the key %s%s", parent, key)
			}
			if !written.MatchString(tried.String()) {
				t.Errorf("%s%s: no test of train or runfolder and no script tries this key", parent, key)
			}
			if parent != "memory." && parent != "inference." && parent != "model.start." &&
				!regexp.MustCompile(`(?:\b`+field.Name+`:|\.`+field.Name+` =) `).MatchString(front.String()) {
				t.Errorf("%s%s: the root package makes no configuration with it", parent, key)
			}
			below := field.Type
			if below.Kind() == reflect.Pointer {
				below = below.Elem()
			}
			if below.Kind() == reflect.Struct && below.PkgPath() == of.PkgPath() {
				walk(below, parent+key+".")
			}
		}
	}
	walk(reflect.TypeFor[train.Config](), "")
	if count < 25 {
		t.Errorf("%d keys: the search for them is broken", count)
	}
}

// TestKeysOfTrainAreEverywhere: each field of train.Train but Settings must be a key, its name in lower case, of the
// section train. Set must set the field by the key, docs/reference/configuration.md must show the key in its section
// train, and the JSON Schema for editors must have the key.
func TestKeysOfTrainAreEverywhere(t *testing.T) {
	t.Chdir(root)
	_, section, _ := strings.Cut(read(t, "docs/reference/configuration.md"), "\n# train:")
	lines := regexp.MustCompile(`^[^\n]*\n(?:#  [^\n]*\n)+`).FindString(section)
	type object struct {
		Properties map[string]json.RawMessage
	}
	var schema, of object
	if err := json.Unmarshal([]byte(read(t, "cmd/stillpoint/stillpoint-1.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schema.Properties["train"], &of); err != nil || len(of.Properties) < 20 {
		t.Fatalf("%d keys of train in the JSON Schema: %v", len(of.Properties), err)
	}
	own := reflect.TypeFor[train.Train]()
	for i := range own.NumField() {
		field := own.Field(i)
		if field.Type == reflect.TypeFor[train.Settings]() {
			continue
		}
		key := strings.ToLower(field.Name)
		var value any = .25
		if field.Type.Kind() == reflect.String {
			value = "gd"
		}
		var c train.Train
		if err := c.Set(train.Settings{key: value}); err != nil || !reflect.ValueOf(c).Field(i).Equal(reflect.ValueOf(value)) {
			t.Errorf("internal/train/settings.go: train.%s = %v: Set makes it %+v, %v", key, value, c, err)
		}
		if !strings.Contains(lines, "\n#   "+key+": ") {
			t.Errorf("docs/reference/configuration.md: its section train has nothing of the key %s", key)
		}
		if of.Properties[key] == nil {
			t.Errorf("cmd/stillpoint/stillpoint-1.schema.json: train has no key %s: go generate ./cmd/stillpoint", key)
		}
	}
	if own.NumField() < 6 {
		t.Errorf("train.Train has %d fields: the search for them is broken", own.NumField())
	}
}

// withoutColumn holds, for files in the row "a kind of column" of the table of places, the kinds of column
// that the file treats as it treats others, and therefore does not name.
var withoutColumn = map[string]string{
	"dataset/schema.go":           "ignore, public",
	"dataset/shape.go":            "ignore, public, date",
	"dataset/encode.go":           "ignore, public, category, hash",
	"dataset/reading.go":          "ignore, hash",
	"dataset/curve.go":            "ignore, public, category, hash",
	"dataset/interaction.go":      "ignore, public",
	"dataset/term.go":             "ignore, public, hash",
	"dataset/explain.go":          "ignore, public",
	"curator/pace.go":             "ignore, public, date",
	"internal/train/inference.go": "ignore, category, date",
	"internal/train/quality.go":   "ignore, public, hash",
	"internal/report/fit.go":      "ignore",
	"internal/report/explain.go":  "ignore, public, number, category",
	"export/form.go":              "category, ignore, public",
	"export/sql.go":               "ignore, public, category",
	"export/export_test.go":       "public",
	"internal/inspect/draft.go":   "public",
	"internal/inspect/check.go":   "number, hash, date",

	"dataset/csv.go":                   "category, public, hash, date",
	"dataset/filter.go":                "number, category, ignore, hash, date",
	"dataset/hash.go":                  "number, ignore, public, hash, date",
	"dataset/rank.go":                  "category, ignore, public, hash",
	"internal/train/family.go":         "category, ignore, public, hash",
	"internal/train/plan.go":           "number, category, hash, date",
	"internal/describe/release.go":     "hash",
	"internal/describe/estimate.go":    "ignore, public, hash",
	"internal/describe/text.go":        "category, ignore, public, hash",
	"internal/inspect/suspects.go":     "category, ignore, hash",
	"internal/report/curves.go":        "number, category, ignore, public, hash",
	"internal/report/curves_draw.go":   "category, ignore, hash",
	"internal/synthetic/explain.go":    "number",
	"internal/synthetic/population.go": "ignore, public, date",
	"internal/synthetic/weigh.go":      "number, category, hash, date",
	"internal/means/means.go":          "ignore, public, hash, date",
	"internal/table/typed.go":          "category, ignore, public, hash",
	"model/contrast.go":                "category, ignore, public, hash",
	"cmd/stillpoint/contrast.go":       "ignore, hash, date",
}

// ofTarget lists the files that compare a target's kind, and no column's, with a kind.
var ofTarget = []string{"dataset/target.go", "internal/train/outlook.go", "internal/train/losses.go",
	"internal/train/describe.go", "internal/report/coefficients.go", "internal/report/covariance.go",
	"model/inference.go", "model/model.go", "model/predict.go"}

// TestKindsOfColumnAreEverywhere tests that each file in the row "a kind of column" of CONTRIBUTING.md's
// table of places names every kind of column, apart from the kinds in withoutColumn. A new kind fails in each
// file that does not name it, until the file has a case for the kind or withoutColumn says that it needs
// none. Each file of the product that compares a kind with a kind of column must be in the row or in ofTarget.
func TestKindsOfColumnAreEverywhere(t *testing.T) {
	t.Chdir(root)
	_, row, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n| a kind of column | ")
	row, _, _ = strings.Cut(row, " |")
	paths := regexp.MustCompile("`([a-z_/]+\\.(?:go|md))`").FindAllStringSubmatch(row, -1)
	if len(paths) < 25 {
		t.Fatalf("%d places of a kind of column: the search for them is broken: %s", len(paths), row)
	}
	comment := regexp.MustCompile(`(?m)(^|\s)//.*$`)
	branch := regexp.MustCompile(`(?:Kind [!=]= |case )(?:dataset\.)?(?:Number|Category|Ignore|Public|Hash|Date)\b`)
	listed, branches := map[string]bool{}, 0
	for _, m := range paths {
		listed[m[1]] = true
	}
	for _, folder := range []string{"cmd", "curator", "dataset", "export", "internal", "model"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code := comment.ReplaceAllString(read(t, path), "")
			path = filepath.ToSlash(path)
			if (folder == "dataset" || strings.Contains(code, "stillpoint/dataset\"")) && branch.MatchString(code) {
				branches++
				if !listed[path] && !slices.Contains(ofTarget, path) {
					t.Errorf("%s: depends on the kind of a column, and CONTRIBUTING.md does not list it", path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if branches < 30 {
		t.Fatalf("%d files depend on the kind of a column: the search for them is broken", branches)
	}
	for _, m := range paths {
		code, without := comment.ReplaceAllString(read(t, m[1]), ""), withoutColumn[m[1]]
		for k := dataset.Number; !strings.HasPrefix(k.String(), "Kind("); k++ {
			named := regexp.MustCompile(`(?i)\b` + k.String() + `s?\b`)
			if !strings.Contains(without, k.String()) && !named.MatchString(code) {
				t.Errorf("%s: does not name the kind of column %v", m[1], k)
			}
		}
	}
}
