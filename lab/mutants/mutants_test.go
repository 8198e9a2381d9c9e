//go:build mutants

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCatcher(t *testing.T) {
	for _, c := range []struct {
		out, test string
		timedOut  bool
	}{
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", "TestA", false},
		{"ok\n--- FAIL: ExampleX (0.00s)\n", "ExampleX", false},
		{"panic: test timed out after 1s\n\trunning tests:\n\t\tTestSlow (1s)\n\ngoroutine 1", "TestSlow", true},
		{"panic: test timed out after 1s\n\ngoroutine 1 [running]\nx.TestOther(0x1)", "", true},
		{"panic: boom\n\ngoroutine 7 [running]:\nm/p.f()\nm/p.TestB.func1()\n", "TestB", false},
		{"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/c\npanic: boom\n\ngoroutine 7 [running]:\nm/p.f()\n", "TestB", false},
		{"=== RUN   TestA\n--- PASS: TestA (0.00s)\nFAIL\n", "", false},
		{"FAIL\n", "", false},
	} {
		if test, timedOut := catcher(c.out); test != c.test || timedOut != c.timedOut {
			t.Errorf("%q: %q, %v", c.out, test, timedOut)
		}
	}
}

// module creates a small Go module in a new current folder. It has a test and a seeded defect for
// every outcome that a defect may have: caught, not caught, flaky, and so on.
func module(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":          "module m\n\ngo 1.24\n",
		"base/base.go":    "package base\n\nconst One = 1\n",
		"p/p.go":          "package p\n\nimport \"m/base\"\n\nfunc F() int { return base.One }\n\nfunc G() int { return 2 }\n\nfunc H() int { return 3 }\n",
		"p/testdata/x":    "1",
		"p/p_test.go":     "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Error()\n\t}\n}\n",
		"p/slow_test.go":  "package p\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestG(t *testing.T) {\n\tfor G() != 2 {\n\t\ttime.Sleep(1)\n\t}\n}\n",
		"p/flaky_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestH(t *testing.T) {\n\tif _, err := os.Stat(\"../seen\"); err != nil && H() != 3 {\n\t\tos.WriteFile(\"../seen\", nil, 0o666)\n\t\tt.Error()\n\t}\n}\n",
		"q/q.go":          "package q\n\nfunc Q() int { return 1 }\n",
		"q/q_test.go":     "package q\n\nimport \"testing\"\n\nfunc TestQ(t *testing.T) { t.Error(\"always\") }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func defect(name, file, tests, old, new string) mutant {
	return mutant{name: name, file: file, packages: []string{"./" + filepath.Dir(file)}, tests: tests, breaks: "x",
		edits: []edit{{old, new}}}
}

func TestVerdicts(t *testing.T) {
	module(t)
	r := newRunner(t.TempDir(), 2*time.Second)
	f := defect("f", "p/p.go", "", "base.One", "base.One + 1")
	for _, c := range []struct {
		m         mutant
		want      outcome
		pkg, test string
	}{
		{f, caught, "p", "TestF"},
		{defect("elsewhere", "p/p.go", "TestG|TestH", "base.One", "base.One + 1"), survived, "", ""},
		{defect("g", "p/p.go", "", "return 2", "return 4"), timedOut, "p", "TestG"},
		{defect("h", "p/p.go", "", "return 3", "return 4"), flaky, "p", "TestH"},
		{mutant{name: "all", file: "p/p.go", packages: []string{"./p/..."}, edits: f.edits}, caught, "p", "TestF"},
		{mutant{name: "below", file: "base/base.go", packages: []string{"./p"}, edits: []edit{{"= 1", "= 2"}}}, caught, "p",
			"TestF"},
	} {
		v, err := r.run(c.m)
		if err != nil || v.outcome != c.want || v.pkg != c.pkg || v.test != c.test {
			t.Errorf("%s: %+v, %v: want %s %s %s", c.m.name, v, err, c.want, c.pkg, c.test)
		}
	}
	// A test that does not end or is flaky must not hide another test that catches the defect.
	os.Remove("seen")
	for name, edits := range map[string][]edit{
		"slow too":  {{"base.One", "base.One + 1"}, {"return 2", "return 4"}},
		"flaky too": {{"base.One", "base.One + 1"}, {"return 3", "return 4"}},
	} {
		m := mutant{name: name, file: "p/p.go", packages: []string{"./p"}, edits: edits}
		if v, err := r.run(m); err != nil || v.outcome != caught || v.test != "TestF" {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	for name, c := range map[string]struct {
		m    mutant
		want string
	}{
		"does not compile":      {defect("c", "p/p.go", "", "base.One", "\"\""), "does not compile"},
		"fails without it":      {defect("q", "q/q.go", "", "return 1", "return 2"), "fails without the mutant"},
		"no such test":          {defect("n", "p/p.go", "TestNone", "base.One", "base.One + 1"), "no test of"},
		"old text is not there": {defect("o", "p/p.go", "", "return 9", "7"), "occurs 0 times"},
		"a package without a test": {mutant{name: "b", file: "base/base.go", packages: []string{"./base"},
			edits: []edit{{"= 1", "= 2"}}}, "has no tests"},
	} {
		if v, err := r.run(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestSourcesKey tests the key that decides whether a verdict on a defect is still valid. The key must
// change if a source of a package's tests changes, and must not change otherwise.
func TestSourcesKey(t *testing.T) {
	module(t)
	key := func(packages ...string) string {
		s, err := readSources()
		if err != nil {
			t.Fatal(err)
		}
		return s.key(mutant{packages: packages})
	}
	of := []string{"./p"}
	for _, c := range []struct {
		file    string
		changes bool
	}{
		{"p/p_test.go", true}, {"p/p.go", true}, {"base/base.go", true},
		{"p/testdata/x", true}, {"go.mod", true}, {"q/q.go", false}, {"q/q_test.go", false},
	} {
		before, all := key(of...), key("./...")
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.file, append(text, "\n// x\n"...), 0o666); err != nil {
			t.Fatal(err)
		}
		if changed := key(of...) != before; changed != c.changes {
			t.Errorf("%s: changes the key: %v", c.file, changed)
		}
		if key("./...") == all {
			t.Errorf("%s: the key of all packages is the same", c.file)
		}
	}
}

// TestResume tests that a run with -resume leaves out a seeded defect only if a test caught it
// before and neither the defect nor its tests have changed.
func TestResume(t *testing.T) {
	m := defect("f", "p/p.go", "", "a", "b")
	s := sources{"p": "1"}
	good := verdict{key: m.key(), sources: s.key(m), outcome: caught, pkg: "p", test: "TestF"}
	if !good.caught(m, s) {
		t.Error("caught is not")
	}
	for _, o := range []outcome{survived, timedOut, flaky, ""} {
		v := good
		if v.outcome = o; v.caught(m, s) {
			t.Errorf("%s: left out", o)
		}
	}
	if good.caught(m, sources{"p": "2"}) || good.caught(defect("f", "p/p.go", "", "a", "c"), s) {
		t.Error("a change is left out")
	}
}

// TestSampleIsOfAll tests that a sample is drawn from every seeded defect, whatever its last verdict was,
// and that -resume and -new leave out the defects that their descriptions name.
func TestSampleIsOfAll(t *testing.T) {
	s, found := sources{"p": "1"}, results{}
	var table []mutant
	for _, o := range []outcome{caught, survived, timedOut, flaky} {
		m := defect(string(o), "p/p.go", "", "a", "b")
		table = append(table, m)
		found[m.name] = verdict{key: m.key(), sources: s.key(m), outcome: o}
	}
	table = append(table, defect("new", "p/p.go", "", "a", "b"), defect("changed", "p/p.go", "", "a", "b"),
		defect("tests changed", "p/p.go", "", "a", "b"))
	found["changed"] = verdict{key: "old", sources: s.key(table[5]), outcome: caught}
	found["tests changed"] = verdict{key: table[6].key(), sources: "old", outcome: caught}
	drawn := map[string]bool{}
	for seed := range uint64(200) {
		drawn[shuffled(selection{}.of(table, found, s), 1, seed)[0].name] = true
	}
	// A defect is never drawn with probability (6/7)^200 < 1e-13.
	if len(drawn) != len(table) {
		t.Errorf("drawn are only %v", drawn)
	}
	for name, c := range map[string]struct {
		selection
		without []string
	}{
		"resume": {selection{resume: true}, []string{"caught"}},
		"new":    {selection{fresh: true}, []string{"caught", "tests changed"}},
		"run": {selection{names: regexp.MustCompile("^[cs]")},
			[]string{"timed out", "flaky", "new", "tests changed"}},
	} {
		var without []string
		list := c.of(table, found, s)
		for _, m := range table {
			if !slices.ContainsFunc(list, func(o mutant) bool { return o.name == m.name }) {
				without = append(without, m.name)
			}
		}
		if !slices.Equal(without, c.without) {
			t.Errorf("%s leaves out %v: must leave out %v", name, without, c.without)
		}
	}
}

func TestShuffled(t *testing.T) {
	var list []mutant
	for i := range 100 {
		list = append(list, mutant{name: string(rune('A' + i))})
	}
	names := func(list []mutant) (s string) {
		for _, m := range list {
			s += m.name
		}
		return s
	}
	a, b := names(shuffled(list, 10, 1)), names(shuffled(list, 10, 1))
	if a != b || a == names(shuffled(list, 10, 2)) || len([]rune(a)) != 10 {
		t.Errorf("%q, %q", a, b)
	}
	all := []rune(names(shuffled(list, 0, 3)))
	slices.Sort(all)
	if string(all) != names(list) || names(list) == names(shuffled(list, 500, 3)) {
		t.Errorf("%q", string(all))
	}
}

// TestStatusHidesNothing tests that the status counts every outcome of a seeded defect, says which verdicts are of an
// earlier state of the source, and lists each defect that no test is recorded to catch.
func TestStatusHidesNothing(t *testing.T) {
	s := sources{"p": "1"}
	var table []mutant
	found := results{}
	for _, o := range []outcome{caught, survived, timedOut, flaky} {
		m := defect(string(o), "p/p.go", "", "a", "b")
		table = append(table, m)
		found[m.name] = verdict{key: m.key(), sources: s.key(m), outcome: o, pkg: "p", test: "TestF"}
	}
	table = append(table, defect("new", "p/p.go", "", "a", "b"), defect("changed", "p/p.go", "", "a", "b"))
	found["changed"] = verdict{key: "old", outcome: caught}
	path := filepath.Join(t.TempDir(), "caught.tsv")
	if err := found.write(path, table); err != nil {
		t.Fatal(err)
	}
	again, err := readCaught(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "6 defects\n1 caught\n1 flaky\n2 not run since it was last changed\n1 survived\n1 timed out\n" +
		"survived, in p/p.go: x (survived)\ntimed out, in p/p.go: x (timed out)\nflaky, in p/p.go: x (flaky)\n" +
		"new, in p/p.go: x (not run since it was last changed)\nchanged, in p/p.go: x (not run since it was last changed)\n"
	if got := status(table, again, s); got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
	if got := status(table[:1], again, sources{"p": "2"}); got != "1 defects\n1 caught, on an earlier state of the source\n" {
		t.Error(got)
	}
}
