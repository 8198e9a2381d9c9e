//go:build mutants

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// verdict says which test caught a mutant; test is empty if none did.
type verdict struct{ key, pkg, test string }

// runner runs mutants.
type runner struct {
	scratch string
	limit   time.Duration
	// sound remembers which tests pass on the source as it is.
	sound map[string]error
}

// run builds a mutant and, unless check is set, tests it.
func (r runner) run(m mutant, check bool) (verdict, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return verdict{}, err
	}
	if out, err := run("build", "-overlay", overlay, "./"+filepath.Dir(m.file)); err != nil {
		return verdict{}, fmt.Errorf("does not compile: %s", out)
	}
	if check {
		return verdict{}, nil
	}
	if err := r.baseline(m); err != nil {
		return verdict{}, err
	}
	out, err := run(append([]string{"test", "-overlay", overlay}, r.arguments(m)...)...)
	switch {
	case err == nil:
		return verdict{key: m.key()}, nil
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return verdict{}, fmt.Errorf("tests do not compile: %s", out)
	}
	pkg, test := catcher(out)
	if test == "" {
		return verdict{}, fmt.Errorf("no test is named by: %.2000s", out)
	}
	return verdict{m.key(), pkg, test}, nil
}

// overlay writes the changed file and what tells the go command of it.
func (r runner) overlay(m mutant) (path string, err error) {
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

// baseline demands that the mutant's tests pass without it. The go command
// keeps the results of tests that pass.
func (r runner) baseline(m mutant) error {
	arguments := r.arguments(m)
	key := fmt.Sprint(arguments)
	err, known := r.sound[key]
	if !known {
		out, failed := run(append([]string{"test"}, arguments...)...)
		switch {
		case failed != nil:
			err = fmt.Errorf("fails without the mutant: %s", out)
		case strings.Contains(out, "[no tests to run]") && !strings.Contains(m.packages[0], "..."):
			err = fmt.Errorf("no test matches %q", m.tests)
		}
		r.sound[key] = err
	}
	return err
}

func (r runner) arguments(m mutant) []string {
	a := []string{"-vet=off", "-failfast", "-timeout", r.limit.String()}
	if m.tests != "" {
		a = append(a, "-run", m.tests)
	}
	return append(a, m.packages...)
}

// run runs the go command; its error comes without output.
func run(arguments ...string) (string, error) {
	c := exec.Command("go", arguments...)
	out, err := c.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return "", err
	}
	return string(out), err
}

var (
	failedTest    = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	timedOut      = regexp.MustCompile(`(?s)panic: test timed out.*?running tests:\s+(\S+)`)
	inTest        = regexp.MustCompile(`(?m)\.((?:Test|Example|Fuzz)\w+)[(.]`)
	failedPackage = regexp.MustCompile(`(?m)^FAIL\t(\S+)`)
)

// catcher finds the first failing test in the output of go test.
func catcher(out string) (pkg, test string) {
	if m := failedPackage.FindStringSubmatch(out); m != nil {
		pkg = strings.TrimPrefix(m[1], "github.com/stillpoint-dp/stillpoint/")
	}
	if m := failedTest.FindStringSubmatch(out); m != nil {
		return pkg, m[1]
	}
	if m := timedOut.FindStringSubmatch(out); m != nil {
		return pkg, m[1] + " (time limit)"
	}
	// A panic outside the test's goroutine, or a crash.
	if m := inTest.FindStringSubmatch(out); pkg != "" && m != nil {
		return pkg, m[1] + " (crash)"
	}
	return "", ""
}
