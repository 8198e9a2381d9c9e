package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// reached is what a test of the Python package calls, and how long it takes.
type reached struct {
	Calls  []string
	Takes  float64 // seconds
	Failed bool    // without a defect
}

// mostReached is the time, in seconds, of the tests of Python by which a defect is judged.
const mostReached = 60

// killing leaves out tests that kill processes: with a trace the processes are not replaced, and the tests do not end.
const killing = "not killed"

// reaching returns the tests of the Python package that call the function of a defect, the quickest first. For a defect
// outside of functions these are all tests. What they call is noted once, by reach.py, and kept in the scratch folder.
func (j *judge) reaching(d site) (list []string, err error) {
	path := filepath.Join(j.scratch, "reach.json")
	if _, err := os.Stat(path); err != nil {
		source := filepath.Join(j.root, "python", "src")
		all := *j
		all.limit = time.Hour // all tests, on a busy machine
		if out, _, err := all.output(filepath.Join(j.root, "python", "tests"), []string{
			"PYTHONPATH=" + source + string(os.PathListSeparator) + filepath.Join(j.root, "lab", "draw"),
			"PATH=" + filepath.Dir(j.python) + string(os.PathListSeparator) + os.Getenv("PATH"),
			"DRAW_SOURCE=" + filepath.Join(source, "stillpoint"), "DRAW_REACH=" + path},
			j.python, "-m", "pytest", "-q", "-p", "reach", "-p", "no:cacheprovider", "-c", "../pyproject.toml", "--rootdir",
			".", "-k", killing); err != nil {
			return nil, err
		} else if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("tests of the Python package end early: %.1000s", out)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tests of the Python package: %w", err)
	}
	tests := map[string]reached{}
	if err := json.Unmarshal(text, &tests); err != nil {
		return nil, err
	}
	file, err := filepath.Rel(filepath.Join("python", "src", "stillpoint"), d.file)
	if err != nil {
		return nil, err
	}
	called := map[string]bool{}
	for _, of := range tests {
		for _, c := range of.Calls {
			called[c] = true
		}
	}
	function := file + " " + d.function
	names := slices.SortedFunc(maps.Keys(tests), func(a, b string) int {
		return cmp.Or(cmp.Compare(tests[a].Takes, tests[b].Takes), cmp.Compare(a, b))
	})
	sum := 0.
	for _, name := range names {
		of := tests[name]
		if of.Failed || called[function] && !slices.Contains(of.Calls, function) || sum+of.Takes > mostReached {
			continue
		}
		sum += of.Takes
		list = append(list, name)
	}
	return list, nil
}
