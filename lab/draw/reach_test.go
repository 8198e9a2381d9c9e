package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReaching tests by which tests of the Python package a defect is judged: those that call its function, the quickest
// first; all, where no test calls it; none that fails without a defect; and no more than fit into the time.
func TestReaching(t *testing.T) {
	j := &judge{source: &source{root: t.TempDir()}, scratch: t.TempDir()}
	text, err := json.Marshal(map[string]reached{
		"t.py::slow":   {Calls: []string{"a.py fit", "b.py show"}, Takes: 50},
		"t.py::quick":  {Calls: []string{"a.py fit"}, Takes: 2},
		"t.py::equal":  {Calls: []string{"a.py fit"}, Takes: 2},
		"t.py::broken": {Calls: []string{"a.py fit"}, Takes: 1, Failed: true},
		"t.py::other":  {Calls: []string{"b.py fit"}, Takes: 1.5},
		"t.py::last":   {Calls: []string{"a.py fit"}, Takes: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.scratch, "reach.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, function string
		want           []string
	}{
		{"a.py", "fit", []string{"t.py::equal", "t.py::quick", "t.py::last"}}, // the slow one does not fit in
		{"b.py", "fit", []string{"t.py::other"}},
		{"b.py", "show", []string{"t.py::slow"}},
		{"a.py", "-", []string{"t.py::other", "t.py::equal", "t.py::quick", "t.py::last"}},
		{"c.py", "fit", []string{"t.py::other", "t.py::equal", "t.py::quick", "t.py::last"}},
	} {
		got, err := j.reaching(site{file: "python/src/stillpoint/" + c.file, function: c.function})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %q, %v: must be %q", c.function, c.file, got, err, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(j.scratch, "reach.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := j.reaching(site{file: "python/src/stillpoint/a.py"}); err == nil {
		t.Error("a damaged file is read")
	}
}

// TestReachNotesCalls runs the plugin on a small package with three tests: one calls a function, one calls it in another
// thread and then another function, one fails.
func TestReachNotesCalls(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import pytest").Run()
	}
	if err != nil {
		t.Skip("python3 has no pytest: ", err)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"src/small/__init__.py": "def one():\n    return 1\n\ndef two():\n    return 1 + one()\n\ndef three():\n    return 3\n",
		"tests/test_small.py": "import threading, time\nimport small\n\ndef test_one():\n    assert small.one() == 1\n\n" +
			"def test_two():\n    time.sleep(.2)\n    t = threading.Thread(target=small.two)\n    t.start()\n    t.join()\n\n" +
			"def test_broken():\n    assert small.three() == 4\n\ndef test_none():\n    pass\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	plugin, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "reach.json")
	c := exec.Command(python, "-m", "pytest", "-q", "-p", "reach", "-p", "no:cacheprovider", "--rootdir", ".")
	c.Dir = filepath.Join(root, "tests")
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(root, "src")+string(os.PathListSeparator)+plugin,
		"DRAW_SOURCE="+filepath.Join(root, "src", "small"), "DRAW_REACH="+path)
	out, _ := c.CombinedOutput() // one test fails
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tests := map[string]reached{}
	if err := json.Unmarshal(text, &tests); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"test_one": "__init__.py one", "test_two": "__init__.py one,__init__.py two",
		"test_broken": "__init__.py three", "test_none": ""}
	for name, calls := range want {
		of, ok := tests["test_small.py::"+name]
		if !ok || strings.Join(of.Calls, ",") != calls || of.Failed != (name == "test_broken") ||
			name == "test_two" && of.Takes < .2 || of.Takes > 60 {
			t.Errorf("%s: %+v, %v: must call %q", name, of, ok, calls)
		}
	}
	if len(tests) != len(want) {
		t.Errorf("%d tests: must be %d", len(tests), len(want))
	}
}

// TestDefectsOfBindings tests which defects the lines of Python and R have, and that comments, texts for readers and
// errors have none.
func TestDefectsOfBindings(t *testing.T) {
	var got []string
	text := "def fit(x):\n    \"\"\"Fits 1 + 1.\"\"\"\n    # 2 + 2\n    y = x + 1\n    raise ValueError(3 + 3)\n    check(y)\n" +
		"    return y is not None\n"
	for _, d := range linesOf("python/src/stillpoint/a.py", text) {
		got = append(got, d.function+" "+d.kind+" "+strings.TrimSpace(strings.Split(string(apply([]byte(text), d.edits)), "\n")[d.line-1]))
	}
	if want := []string{"fit operator y = x - 1", "fit statement dropped pass", "fit condition inverted return y is None"}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
	got = nil
	text = "fit <- function(x) {\n  # 1 + 1\n  if (!is.null(x)) x <- x[[1]] * 2\n  stop(\"2 + 2\")\n  show(x)\n}\n"
	for _, d := range linesOf("r/R/a.R", text) {
		got = append(got, d.function+" "+d.kind+" "+strings.TrimSpace(strings.Split(string(apply([]byte(text), d.edits)), "\n")[d.line-1]))
	}
	if want := []string{"fit operator if (!is.null(x)) x <- x[[1]] / 2", "fit condition inverted if (is.null(x)) x <- x[[1]] * 2",
		"fit condition inverted if (!!is.null(x)) x <- x[[1]] * 2", "fit constant if (!is.null(x)) x <- x[[2]] * 2"}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
}

// TestATestThatIsSlowIsNoCatch tests that a test that is out of time is run alone, and counts only if it does not end.
func TestATestThatIsSlowIsNoCatch(t *testing.T) {
	s := moduleOf(t, map[string]string{"model/m.go": "package model\n\nimport \"time\"\n\nfunc Wait() int {\n\ttime.Sleep(1500 * " +
		"time.Millisecond)\n\tn := 1\n\tfor i := 0; i < 3; i++ {\n\t\tn += i\n\t}\n\treturn n\n}\n",
		"model/m_test.go": "package model\n\nimport \"testing\"\n\nfunc TestWait(t *testing.T) {\n\tif Wait() < 0 {\n\t\tt.Error(\"x\")\n\t}\n}\n"})
	all, err := s.pools()
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{source: s, scratch: t.TempDir(), limit: time.Second, patient: time.Minute, own: true, sound: map[string]bool{}}
	for _, d := range all["state"]["operator"] {
		if text := s.describe(d); strings.Contains(text, "=> for i := 0; i <= 3") {
			if got, test, err := j.judge(d); err != nil || got != survived {
				t.Errorf("%s: %v, %s, %v: must survive", text, got, test, err)
			}
		}
	}
}
