//go:build mutants

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// interpreter is a shell script that stands in for Python and pytest: the one line of the file
// src/a.py determines the outcome of the tests.
const interpreter = `#!/bin/sh
if [ "$1" = -c ]; then
  if grep -q 'no Python' "$3"; then echo "SyntaxError"; exit 1; fi
  exit 0
fi
test -e ../../go.mod && test -e ../../other/file && test -e ../test.sh || { echo "no whole tree"; exit 2; }
case "$*" in
  *"-k test_none"*) echo "no tests ran"; exit 5;;
  *"-k test_other or test_more"*) exit 0;;
esac
case "$(cat "$PYTHONPATH/a.py")" in
  "x = 1") ;;
  "x = 2"*) printf 'test_a.py::test_x[a b] FAILED\nFAILED test_a.py::test_x[a b] - assert\n'; exit 1;;
  "x = 3") case "$*" in *-k*) echo "ERROR test_a.py::test_y - in a fixture"; exit 1;; esac;;
  "x = 4") printf 'test_a.py::test_x PASSED\ntest_a.py::test_z \n'; exec sleep 60;;
  "x = 5") echo "ERROR test_a.py"; exit 2;;
esac
`

func pythonModule(t *testing.T) *runner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the interpreter is a script of a shell")
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":                      "module m\n\ngo 1.24\n",
		"other/file":                  "",
		"bin/python":                  interpreter,
		"python/test.sh":              "#!/usr/bin/env bash\necho skipped\n",
		"python/src/a.py":             "x = 1\n",
		"python/tests/test_a.py":      "",
		"python/src/__pycache__/a.py": "",
		"cmd/stillpoint/main.go":      "package main\n\nfunc main() {}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs("bin/python")
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t.TempDir(), 3*time.Second)
	r.interpreter = func() (string, error) { return path, nil }
	return r
}

func pythonDefect(tests, new string) mutant {
	return mutant{
		name: "d", file: "python/src/a.py", packages: []string{"./python"}, tests: tests, breaks: "x",
		edits: []edit{{"x = 1", new}},
	}
}

func TestPythonVerdicts(t *testing.T) {
	r := pythonModule(t)
	for _, c := range []struct {
		m    mutant
		want outcome
		test string
	}{
		{pythonDefect("", "x = 2"), caught, "test_a.py::test_x[a b]"},
		{pythonDefect("test_other|test_more", "x = 2"), survived, ""},
		{pythonDefect("", "x = 0"), survived, ""},
		{pythonDefect("", "x = 3"), flaky, "test_a.py::test_y"},
		{pythonDefect("", "x = 4"), timedOut, "test_a.py::test_z"},
	} {
		if v, err := r.run(c.m); err != nil || v.outcome != c.want || v.test != c.test {
			t.Errorf("%v: %+v, %v: want %s %s", c.m.edits, v, err, c.want, c.test)
		}
	}
	for want, m := range map[string]mutant{
		"no test is named": pythonDefect("", "x = 5"),
		"no test of":       pythonDefect("test_none", "x = 2"),
		"does not parse":   pythonDefect("", "no Python"),
		"text occurs 0 times": {name: "d", file: "python/src/a.py", packages: []string{"./python"},
			edits: []edit{{"y", "z"}}},
	} {
		if v, err := r.run(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, v, err)
		}
	}
	// A test that also fails without the defect catches nothing.
	if err := os.WriteFile("python/src/a.py", []byte("x = 2\ny = 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r.sound = map[string]func() error{}
	always := mutant{name: "d", file: "python/src/a.py", packages: []string{"./python"}, edits: []edit{{"\ny = 1", ""}}}
	if v, err := r.run(always); err == nil || !strings.Contains(err.Error(), "fails without the mutant") {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestWithoutPython tests a seeded defect in the Python package on a machine without Python. The
// defect is listed as needing Python, does not count as caught, and does not make the run fail.
func TestWithoutPython(t *testing.T) {
	r := pythonModule(t)
	fresh := newRunner(t.TempDir(), time.Second)
	m := pythonDefect("", "x = 2")
	v, err := fresh.run(m)
	if err != nil || v.outcome != needsPython {
		t.Fatalf("%+v, %v", v, err)
	}
	s, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	kept := results{}
	b := batch{runner: fresh, workers: 1, sources: s,
		keep: func(name string, v verdict) error { kept[name] = v; return nil }}
	if bad := b.run([]mutant{m}); bad != 0 || kept["d"].outcome != needsPython || kept["d"].caught(m, s) ||
		kept["d"].claimed(m) {
		t.Errorf("%d bad, kept %+v", bad, kept)
	}
	if err := writePage("page.md", []mutant{m}, kept, s); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("page.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| in the table | 1 |", "| caught by a test | 0 |", "| not caught | 0 |",
		"could not be had | 1 |", "\n\n- d, in python/src/a.py: x\n"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	// A defect that no test catches makes the run fail, as for Go.
	b.runner = r
	if bad := b.run([]mutant{pythonDefect("", "x = 0")}); bad != 1 {
		t.Errorf("%d bad", bad)
	}
}

// TestPythonSources tests that the digest of the sources changes if a file of the Python package or
// of the command changes, and that caches and build results have no effect.
func TestPythonSources(t *testing.T) {
	pythonModule(t)
	key := func() string {
		s, err := readSources()
		if err != nil {
			t.Fatal(err)
		}
		return s.key(pythonDefect("", "x = 2"))
	}
	before := key()
	for name, changes := range map[string]bool{
		"python/src/__pycache__/b.py": false, "python/dist/w.whl": false, "other/file": false,
		"python/tests/test_a.py": true, "python/src/b.py": true, "python/test.sh": true, "cmd/stillpoint/more.go": true,
	} {
		old, _ := os.ReadFile(name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("package main\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if (key() != before) != changes {
			t.Errorf("%s: changes = %v", name, !changes)
		}
		if old == nil {
			os.Remove(name)
		} else if err := os.WriteFile(name, old, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPythonMutantsAreValid(t *testing.T) {
	for tests, ok := range map[string]bool{"": true, "test_a|test_b": true, "^test_a$": false, "test_a or b": false} {
		if err := pythonDefect(tests, "x = 2").validate(); (err == nil) != ok {
			t.Errorf("%q: %v", tests, err)
		}
	}
	m := pythonDefect("", "x = 2")
	if m.packages = []string{"./cmd/stillpoint"}; m.validate() == nil {
		t.Error("a package of Go is no test of Python")
	}
}
