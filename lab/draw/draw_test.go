package main

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"
)

// product reads the source of the product, from its root.
func product(t *testing.T) *source {
	t.Helper()
	t.Chdir("../..")
	s, err := load(".", patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryFactHasAnOracle fails if a number or a truth that users read has no oracle in lab/draw/shown.tsv, if the
// oracle is no test, or if the file has a fact that is not shown. A fact that is listed with "-" has no oracle yet;
// there must not be more of them than there were.
func TestEveryFactHasAnOracle(t *testing.T) {
	s := product(t)
	if audit := laboratory + "audit"; !slices.Contains(s.importer["optimize"], audit) || slices.ContainsFunc(s.packages,
		func(p *packages.Package) bool { return folder(p.PkgPath) == audit }) {
		t.Error("audits must judge defects of optimizers, and have none drawn")
	}
	r, most, err := readRegistry(registryFile)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]string{}
	known := map[string]bool{}
	for _, f := range s.facts() {
		known[f.key] = true
		o, ok := r[f.key]
		if !ok {
			t.Errorf("no oracle for %s: write a test that computes it by another way, then go run ./lab/draw -enrol -below %s",
				s.describe(f.site), f.file)
			continue
		}
		if o.test == none {
			continue
		}
		if tests[o.folder] == nil {
			tests[o.folder] = testsOf(t, o.folder)
		}
		name, _, _ := strings.Cut(o.test, "/")
		if body, ok := tests[o.folder][name]; !ok {
			t.Errorf("%s: its oracle %s is no test of %s", f.key, o.test, o.folder)
		} else if strings.Contains(body, "rapid.Check(") {
			t.Errorf("%s: its oracle %s has random cases, and notices by chance: give it cases of its own", f.key, o.test)
		}
	}
	for key := range r {
		if !known[key] {
			t.Errorf("%s is in the registry and not shown: go run ./lab/draw -list", key)
		}
	}
	if bare := r.bare(); bare > most {
		t.Errorf("%d facts have no oracle: must be at most %d", bare, most)
	}
	if len(known) < 500 {
		t.Errorf("%d facts: the test shows nothing", len(known))
	}
}

// testsOf returns the source of the tests in a folder, by their names.
func testsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	tests := map[string]string{}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?ms)^func ((?:Test|Example)\w*)\(.*?^}$`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = string(m[0])
		}
	}
	return tests
}

// TestRegistryFollowsFacts tests that a fact that moved to another file keeps its oracle, that a new one is counted as
// one without, and that one that is gone has no line.
func TestRegistryFollowsFacts(t *testing.T) {
	r := registry{"a.go F %d n": {"a", "TestF"}, "b.go G %d n": {"b", "TestG"}, "c.go H %d n": {"c", "TestH"}}
	r.fit([]fact{{key: "a.go F %d n"}, {key: "moved.go G %d n"}, {site: site{folder: "d"}, key: "d.go I %d n"}})
	path := filepath.Join(t.TempDir(), "shown.tsv")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	again, most, err := readRegistry(path)
	want := registry{"a.go F %d n": {"a", "TestF"}, "moved.go G %d n": {"b", "TestG"}, "d.go I %d n": {"d", none}}
	if err != nil || most != 1 || !maps.Equal(again, want) {
		t.Errorf("%v: %v, at most %d: must be %v", err, again, most, want)
	}
}

// module makes a module with a shown number of each kind in a new folder, and returns its source.
func module(t *testing.T) *source {
	t.Helper()
	return moduleOf(t, map[string]string{
		"model/m.go": `package model

import (
	"fmt"
	"strings"
)

type Row struct {
	Low  float64 ` + "`json:\"low\"`" + `
	High float64 ` + "`json:\"high\"`" + `
	kept int
}

func number(x float64) string { return fmt.Sprint(x) }

func Show(b *strings.Builder, n int, share float64, yes bool, r Row) error {
	fmt.Fprintf(b, "%d of %.2g%%, %v, %s\n", n, 100*share, yes, number(r.Low))
	r.High = share - r.Low
	r.kept = n
	if n < 1 {
		return fmt.Errorf("n = %d", n)
	}
	return nil
}
`,
		"model/m_test.go": `package model

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	var b strings.Builder
	if Show(&b, 3, .25, true, Row{Low: .5}); b.String() != "3 of 25%, true, 0.5\n" {
		t.Error(b.String())
	}
}
`,
	})
}

// moduleOf makes a module of these files in a new folder, and returns its source.
func moduleOf(t *testing.T, files map[string]string) *source {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module " + modulePath + "\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(registryFile)), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("GOWORK", "off")
	s, err := load(".", "./...")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFactsAreFoundAndTried tests which expressions of a small module are facts, that their oracle is found where a test
// compares them, and that a fact that no test compares is told.
func TestFactsAreFoundAndTried(t *testing.T) {
	s := module(t)
	facts := s.facts()
	var keys []string
	for _, f := range facts {
		keys = append(keys, strings.TrimPrefix(f.key, "model/m.go "))
	}
	if want := []string{"Show %.2g 100*share", "Show %d n", "Show %v yes", "Show .High share - r.Low",
		"Show number() r.Low"}; !slices.Equal(keys, want) {
		t.Fatalf("%q: must be %q", keys, want)
	}
	w, err := s.instrument(t.TempDir(), facts, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r := registry{}
	bare, err := s.enrol(w, facts, r, func(string) bool { return true }, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(bare) != 1 || !strings.HasSuffix(bare[0].key, "share - r.Low") || len(r) != 4 {
		t.Errorf("without an oracle: %v; with one: %v", bare, r)
	}
	for key, o := range r {
		if o != (oracle{"model", "TestShow"}) {
			t.Errorf("%s: %v", key, o)
		}
	}
	v, err := w.verify(facts, r, time.Now().Add(time.Minute), 1)
	if err != nil || v.run != 4 || len(v.late) > 0 || len(v.missed) > 0 {
		t.Errorf("%+v, %v: must be 4 run, none late or missed", v, err)
	}
	// A fact whose oracle looks elsewhere is missed.
	r[facts[3].key] = oracle{"model", "TestShow"}
	if v, err = w.verify(facts, r, time.Now().Add(time.Minute), 1); err != nil || v.run != 5 || len(v.missed) != 1 ||
		v.missed[0].key != facts[3].key {
		t.Errorf("%+v, %v: must miss one", v, err)
	}
}

// TestDefectsAreJudged tests that defects of a small module get the verdicts that they deserve.
func TestDefectsAreJudged(t *testing.T) {
	s := module(t)
	j := &judge{source: s, scratch: t.TempDir(), limit: time.Minute, patient: time.Minute, sound: map[string]bool{}}
	all, err := s.pools()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]outcome{"100*share => (share)": caught, "share - r.Low => r.High = (r.Low) - (share)": survived,
		"n < 1 => n <= 1": survived}
	var list []drawn
	var expects []outcome
	for _, pool := range all {
		for _, sites := range pool {
			for _, d := range sites {
				text := s.describe(d)
				for part, expected := range want {
					before, after, _ := strings.Cut(part, " => ")
					if strings.Contains(text, before) && strings.Contains(text, after) {
						got, test, err := j.judge(d)
						if err != nil || got != expected || got == caught && test != "model TestShow" {
							t.Errorf("%s: %v, %s, %v: must be %v", text, got, test, err, expected)
						}
						list, expects = append(list, drawn{site: d}), append(expects, expected)
						delete(want, part)
					}
				}
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no defects %v", want)
	}
	// The same defects, and one that does not compile, in one build.
	broken := list[0].site
	broken.edits = []edit{{broken.edits[0].start, broken.edits[0].start, "nothing +"}}
	together, fits, err := j.pool(append(list, drawn{site: broken}), time.Now().Add(time.Minute))
	if err != nil || fits[len(list)] {
		t.Fatalf("%v, fits %v", err, fits)
	}
	for i, d := range list {
		got, test, err := together.own(i)
		if !fits[i] || err != nil || got != expects[i] || got == caught && test != "model TestShow" {
			t.Errorf("together, %s: %v, %s, %v: must be %v", s.describe(d.site), got, test, err, expects[i])
		}
	}
}

// TestNoFaultsAreNotDrawn tests that what nobody can tell from the program is no defect: a value beside an error, the
// capacity of a list, and a file or a context that is freed later. What looks like these and is seen is one.
func TestNoFaultsAreNotDrawn(t *testing.T) {
	s := moduleOf(t, map[string]string{"model/m.go": `package model

import (
	"context"
	"errors"
	"os"
)

func Find(path string, parent context.Context) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, stop := context.WithCancel(parent)
	defer stop()
	list := make([]int, 3, 17)
	defer release(list)
	if len(list) > 5 {
		return true, errors.New("long")
	}
	return true, release(list[:2])
}

func release([]int) error { return nil }
`})
	all, err := s.pools()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kind := range []string{"truth", "constant", "statement dropped"} {
		for _, d := range all["state"][kind] {
			_, text, _ := strings.Cut(s.describe(d), "*")
			if text == "" {
				_, text, _ = strings.Cut(s.describe(d), ": ")
			}
			got = append(got, text)
		}
	}
	if want := []string{"return true, release(list[:2]) => return false, release(list[:2])",
		"list := make([]int, 3, 17) => list := make([]int, 4, 17)", "if len(list) > 5 { => if len(list) > 6 {",
		"defer release(list) => "}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
}

// TestEveryDefectParses tests that each defect of the product is Go. Whether it compiles, its judge finds out.
func TestEveryDefectParses(t *testing.T) {
	s := product(t)
	all, err := s.pools()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range classes {
		if len(all[k.name]) < 5 {
			t.Errorf("%s has %d kinds of defects", k.name, len(all[k.name]))
		}
		for kind, sites := range all[k.name] {
			for i := 0; i < len(sites); i += 1 + len(sites)/20 {
				d := sites[i]
				text := apply(s.text[d.file], d.edits)
				if string(text) == string(s.text[d.file]) {
					t.Errorf("%s changes nothing", s.describe(d))
				}
				if filepath.Ext(d.file) != ".go" {
					continue
				}
				if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
					t.Errorf("%s, %s: %v", kind, s.describe(d), err)
				}
			}
		}
	}
}

// TestDrawsAreEven tests that a draw has as many defects of each class, half of them in recent lines, and that a
// seed repeats it.
func TestDrawsAreEven(t *testing.T) {
	all := map[string]pool{}
	for _, k := range classes {
		all[k.name] = pool{}
		for i := range 1000 {
			kind := []string{"a", "b"}[i%2]
			all[k.name][kind] = append(all[k.name][kind], site{file: k.name, line: i, edits: []edit{{i, i + 1, ""}}})
		}
	}
	lately := func(d site) bool { return d.line < 50 }
	list := draw(all, lately, 120, 5)
	count, recent := map[string]int{}, 0
	for _, d := range list {
		if count[d.class]++; d.recent {
			recent++
		}
	}
	for _, k := range classes {
		if n := count[k.name]; n < 15 || n > 25 { // a site that is drawn twice is left out
			t.Errorf("%s: %d of 120", k.name, count[k.name])
		}
	}
	if recent < 50 || recent > 75 {
		t.Errorf("%d of 120 are recent", recent)
	}
	if again := draw(all, lately, 120, 5); !slices.EqualFunc(list, again, func(a, b drawn) bool { return a.line == b.line }) {
		t.Error("the same seed draws others")
	}
}

// TestPageIsFresh tests that docs/mutants.md says what its sources say.
func TestPageIsFresh(t *testing.T) {
	t.Chdir("../..")
	want, err := written()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(pageFile)
	if err != nil || string(got) != string(want) {
		t.Errorf("%s is not what go run ./lab/draw -page writes (%v)", pageFile, err)
	}
}
