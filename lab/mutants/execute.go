//go:build mutants

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// execution is the result of running a package's test binary.
type execution struct {
	passed   bool
	timedOut bool   // ran into the time limit
	none     bool   // no test matched the pattern
	test     string // the first test that failed, or that ran at the time limit; empty if none is named
	out      string
}

// execute runs a package's compiled tests in the package's folder, as go test does. tests and skip are
// patterns of the tests to run and of the tests to leave out. If tests is empty, all tests are run. If skip
// is empty, no test is left out.
func execute(binary, pkg, tests, skip string, limit time.Duration) execution {
	// The binary ends itself at the time limit. The context ends the binary 30 seconds later if it is still
	// running.
	ctx, stop := context.WithTimeout(context.Background(), limit+30*time.Second)
	defer stop()
	// With -test.v the output names the tests that have begun, also if the process ends without naming a
	// failed test.
	a := []string{binary, "-test.v", "-test.failfast", "-test.paniconexit0", "-test.timeout", limit.String(), "-test.run",
		tests}
	if skip != "" {
		a = append(a, "-test.skip", skip)
	}
	c := polite(ctx, a)
	c.Dir = pkg
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	x := execution{passed: err == nil, out: string(out)}
	x.none = strings.Contains(x.out, "testing: warning: no tests to run")
	if !x.passed {
		x.test, x.timedOut = catcher(x.out)
		x.timedOut = x.timedOut || ctx.Err() != nil
	}
	return x
}

var (
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	outOfTime  = regexp.MustCompile(`(?s)panic: test timed out.*?running tests:\s+(\w+)`)
	inTest     = regexp.MustCompile(`(?m)\.((?:Test|Example|Fuzz)\w+)[(.]`)
	crashed    = regexp.MustCompile(`(?m)^(?:panic|fatal error): `)
	begun      = regexp.MustCompile(`(?m)^=== (?:RUN|CONT|NAME) +((?:Test|Example|Fuzz)\w+)`)
)

// catcher returns the first failing test in the output of a test binary, and whether this test failed by
// exceeding the time limit. It returns "" if the output names no test.
func catcher(out string) (test string, timedOut bool) {
	if m := failedTest.FindStringSubmatch(out); m != nil {
		return m[1], false
	}
	if m := outOfTime.FindStringSubmatch(out); m != nil {
		return m[1], true
	}
	if strings.Contains(out, "panic: test timed out") {
		return "", true
	}
	// For a panic outside the test's goroutine, or a crash, return the test in a printed stack.
	if m := inTest.FindStringSubmatch(out); m != nil {
		return m[1], false
	}
	// If no printed stack contains a test, return the test that began last.
	if m := begun.FindAllStringSubmatch(out, -1); len(m) > 0 && crashed.MatchString(out) {
		return m[len(m)-1][1], false
	}
	return "", false
}

// command runs the go command and returns its output.
func command(arguments ...string) (string, error) {
	var out bytes.Buffer
	c := polite(context.Background(), append([]string{"go"}, arguments...))
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// polite returns a command that runs with low priority, if the system has the program nice. The
// PATH of the command begins with the folder of the go command that this program finds on its
// own PATH.
func polite(ctx context.Context, arguments []string) *exec.Cmd {
	if path, err := exec.LookPath("nice"); err == nil && runtime.GOOS != "windows" {
		arguments = append([]string{path}, arguments...)
	}
	c := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	if path, err := exec.LookPath("go"); err == nil {
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return c
}
