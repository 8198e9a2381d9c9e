//go:build mutants

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// outcome is the result of running the tests on a mutant.
type outcome string

const (
	caught   outcome = "caught"    // a test fails twice with the mutant and passes without it
	survived outcome = "survived"  // every test passes
	timedOut outcome = "timed out" // no test fails, and a test does not end within the time limit
	flaky    outcome = "flaky"     // a test failed once and then passed
)

// verdict is the outcome for a mutant, and the test that decided it.
type verdict struct {
	key, sources string // digests of the mutant and of the sources of its tests
	outcome      outcome
	pkg, test    string
	none         bool // no test matched the mutant's pattern
}

// runner tests mutants: it builds the changed packages and runs their tests. It is safe for
// concurrent use.
type runner struct {
	scratch string
	limit   time.Duration

	mu sync.Mutex
	// hints are the verdicts of the last run by name of mutant: the test that caught each mutant is
	// run first.
	hints map[string]verdict
	sound map[string]func() error
	built map[string]func() (string, error)
}

func newRunner(scratch string, limit time.Duration) *runner {
	hints, _ := readCaught(caughtPath)
	return &runner{
		scratch: scratch, limit: limit, hints: hints,
		sound: map[string]func() error{}, built: map[string]func() (string, error){},
	}
}

// compiles returns an error if the package of a mutant does not compile.
func (r *runner) compiles(m mutant) error {
	overlay, err := r.overlay(m)
	if err != nil {
		return err
	}
	if out, err := command("build", "-overlay", overlay, "./"+filepath.Dir(m.file)); err != nil {
		return fmt.Errorf("does not compile: %w: %s", err, out)
	}
	return nil
}

// run runs the tests of a mutant's packages on it and returns the verdict. It begins with the package in
// which the mutant was caught the last time, and stops when a test catches the mutant. It returns an error
// if no test was run.
func (r *runner) run(m mutant) (verdict, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return verdict{}, err
	}
	packages, err := expand(m.packages)
	if err != nil {
		return verdict{}, err
	}
	hint := r.hints[m.name]
	final := verdict{outcome: survived}
	ran := false
	for _, pkg := range ordered(packages, hint.pkg) {
		v, err := r.test(m, overlay, pkg, hint)
		if err != nil || v.outcome == caught {
			return v, err
		}
		if v.outcome != survived {
			final = v
		}
		ran = ran || !v.none
	}
	if !ran {
		return verdict{}, fmt.Errorf("no test of %q matches %q", m.packages, m.tests)
	}
	return final, nil
}

// test runs a mutant's tests in one package. overlay is the file that makes the go command use the
// changed source. The test named in hint, which caught the mutant the last time, is run first.
func (r *runner) test(m mutant, overlay, pkg string, hint verdict) (verdict, error) {
	binary := filepath.Join(r.scratch, m.name+strings.ReplaceAll(pkg, "/", "_")+".test")
	defer os.Remove(binary)
	if out, err := command("test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary,
		"./"+pkg); err != nil {
		return verdict{}, fmt.Errorf("does not compile: %w: %s", err, out)
	}
	if _, err := os.Stat(binary); err != nil {
		return verdict{}, fmt.Errorf("package %s has no tests", pkg)
	}
	final := verdict{outcome: survived}
	if hint.pkg == pkg && hint.outcome == caught && named(hint.test).matches(m.tests) {
		v, err := r.confirmed(execute(binary, pkg, exactly(hint.test), "", r.limit), binary, pkg)
		if err != nil || v.outcome == caught {
			return v, err
		}
		final = v
	}
	var skip []string
	for {
		x := execute(binary, pkg, m.tests, strings.Join(skip, "|"), r.limit)
		v, err := r.confirmed(x, binary, pkg)
		if err != nil || v.outcome == caught {
			return v, err
		}
		if v.outcome == survived {
			final.none = v.none && final.outcome == survived
			return final, nil
		}
		final = v
		if v.test == "" || len(skip) == maxSkip {
			return final, nil
		}
		// After a failure the remaining tests are not run. If the failing test did not end or is flaky, it is
		// therefore left out in the next attempt.
		skip = append(skip, exactly(v.test))
	}
}

// maxSkip is the largest number of flaky or unending tests that [runner.test] leaves out.
const maxSkip = 3

// confirmed returns the verdict on a run x of a package's tests on a mutant. The mutant is caught if the
// failed test fails again with the mutant, run alone, and passes without the mutant.
func (r *runner) confirmed(x execution, binary, pkg string) (verdict, error) {
	v := verdict{pkg: pkg, test: x.test}
	switch {
	case x.passed:
		return verdict{outcome: survived, none: x.none}, nil
	case x.timedOut:
		v.outcome = timedOut
		return v, nil
	case x.test == "":
		return verdict{}, fmt.Errorf("no test is named by: %.2000s", x.out)
	}
	switch again := execute(binary, pkg, exactly(x.test), "", r.limit); {
	case again.passed:
		v.outcome = flaky
		return v, nil
	case again.timedOut:
		v.outcome = timedOut
		return v, nil
	}
	if err := r.baseline(pkg, exactly(x.test)); err != nil {
		return verdict{}, err
	}
	v.outcome = caught
	return v, nil
}

// baseline returns an error if the selected tests fail without the mutant.
func (r *runner) baseline(pkg, tests string) error {
	return r.soundly(pkg+" "+tests, func() error { return r.passes(pkg, tests) })
}

// soundly calls try and returns its error. For each key it calls try only once and remembers the error, so
// that a check that many mutants need is made once.
func (r *runner) soundly(key string, try func() error) error {
	r.mu.Lock()
	if r.sound[key] == nil {
		r.sound[key] = sync.OnceValue(try)
	}
	once := r.sound[key]
	r.mu.Unlock()
	return once()
}

func (r *runner) passes(pkg, tests string) error {
	binary, err := r.unchanged(pkg)
	if err != nil {
		return err
	}
	if x := execute(binary, pkg, tests, "", r.limit); !x.passed || x.none {
		return fmt.Errorf("fails without the mutant: %.2000s", x.out)
	}
	return nil
}

// unchanged builds the test binary of a package from the source without defects, and returns its
// path. It builds each package only once.
func (r *runner) unchanged(pkg string) (string, error) {
	r.mu.Lock()
	if r.built[pkg] == nil {
		r.built[pkg] = sync.OnceValues(func() (string, error) {
			binary := filepath.Join(r.scratch, strings.ReplaceAll(pkg, "/", "_")+".test")
			out, err := command("test", "-c", "-vet=off", "-ldflags=-w", "-o", binary, "./"+pkg)
			if err != nil {
				err = fmt.Errorf("the tests of %s do not compile: %w: %s", pkg, err, out)
			}
			return binary, err
		})
	}
	once := r.built[pkg]
	r.mu.Unlock()
	return once()
}

// overlay writes two files to the scratch folder: the mutant's file with the defect, and an overlay file,
// with which the go command reads the first file in place of the original. It returns the path of the
// overlay file.
func (r *runner) overlay(m mutant) (path string, err error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replaced := filepath.Join(r.scratch, m.name+".go")
	if err := os.WriteFile(replaced, []byte(changed), 0o666); err != nil {
		return "", err
	}
	listing, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(r.scratch, m.name+".json")
	return path, os.WriteFile(path, listing, 0o666)
}

// named is the name of a test as a verdict holds it.
type named string

// matches reports whether a pattern of the go command's -run selects the test.
func (n named) matches(pattern string) bool {
	if n == "" {
		return false
	}
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(string(n))
}

// exactly returns the pattern, for the go command's -run, that selects one test and no other.
func exactly(test string) string { return "^" + regexp.QuoteMeta(test) + "$" }

// ordered returns the packages with the package first moved to the front.
func ordered(packages []string, first string) (list []string) {
	for _, pkg := range packages {
		if pkg == first {
			list = append([]string{pkg}, list...)
		} else {
			list = append(list, pkg)
		}
	}
	return list
}

// expand replaces package patterns, such as ./..., by the folders of the packages that they match.
func expand(patterns []string) ([]string, error) {
	var list []string
	for _, pattern := range patterns {
		if !strings.Contains(pattern, "...") {
			list = append(list, strings.TrimPrefix(pattern, "./"))
			continue
		}
		out, err := command("list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}", pattern)
		if err != nil {
			return nil, errors.New(out)
		}
		root, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		for dir := range strings.Lines(out) {
			if dir = strings.TrimSpace(dir); dir == "" {
				continue
			}
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				return nil, err
			}
			list = append(list, filepath.ToSlash(rel))
		}
	}
	return list, nil
}
