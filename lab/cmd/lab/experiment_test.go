package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the command as well.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"lab": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"lines": func(ts *testscript.TestScript, neg bool, args []string) {
				if got := strings.Count(ts.ReadFile(args[0]), "\n"); strconv.Itoa(got) != args[1] {
					ts.Fatalf("%s has %d lines: must be %s", args[0], got, args[1])
				}
			},
			"replace": func(ts *testscript.TestScript, neg bool, args []string) {
				text := ts.ReadFile(args[0])
				if strings.Count(text, args[1]) != 1 {
					ts.Fatalf("%q: must be in %s once", args[1], args[0])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o666))
			},
		},
	})
}

// TestControlCharactersAreEscaped: names from a specification must not reach a terminal as they are.
func TestControlCharactersAreEscaped(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "s.yaml"), "name: \"a\\u001b[2Jb\"\nfamilies: [tanh]\ndimensions: [5]\nrows: 30\n"+
		"records: [300]\nepsilons: [1]\nseeds: 1\nalgorithms: [{name: gd, settings: {steps: 2}}]\n")
	out := lab(t, dir, "experiment", "run", "s.yaml")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "[2Jb") {
		t.Errorf("%q", out)
	}
}

// TestAuditsWriteNothing: an audit leaves the files of its folder as they are and adds none, and what it prints of a
// configuration has no control characters.
func TestAuditsWriteNothing(t *testing.T) {
	dir := t.TempDir()
	const text = `data: absent.csv
schema: {columns: {"a\e[2Jb": {number: [0, 1]}}, target: {column: y, classes: ["no", "yes"]}}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one, records: 500}
train: {steps: 2, algorithm: gd, compare: off}
`
	write(t, filepath.Join(dir, "a.yaml"), text)
	if out := lab(t, dir, "audit", "a.yaml", "--runs", "0"); strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "a.yaml")); err != nil || string(kept) != text || len(names) != 1 {
		t.Errorf("%v, %q, %v", names, kept, err)
	}
}

// TestProgressOfAudits: the number of runs done comes before that of all, and two lines are two seconds apart.
func TestProgressOfAudits(t *testing.T) {
	var out strings.Builder
	p := &replayProgress{w: &out}
	p.show(7, 19)
	p.show(8, 19) // too soon
	if out.String() != "run 7 of about 19\n" {
		t.Errorf("%q", out.String())
	}
}

// TestSimulatedToTheLetter tests the text about simulated plans: medians, extremes and numbers of runs.
func TestSimulatedToTheLetter(t *testing.T) {
	list := []simulated{{"gd", .2, []float64{.3, .125, .2}, .15}, {"storm", .08, []float64{.05, .1, .08, .07, .16}, 0}}
	want := "gd             norm 0.2 (0.125 to 0.3 in 3 runs), predicted 0.15\n" +
		"storm          norm 0.08 (0.05 to 0.16 in 5 runs)\n" +
		"the median of the first is 2.50 times the smallest, on generated rows\n"
	if got := comparison("norm", list); got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
	if got := comparison("norm", list[:1]); strings.Contains(got, "median") {
		t.Error(got)
	}
}

// lab runs the command, which must succeed, and returns its standard output.
func lab(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("lab", args...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("lab %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for another process.
const patience = time.Minute

// TestInterruptedExperiment: an interrupted experiment must end soon and keep its finished runs, and the
// same command must continue from there.
func TestInterruptedExperiment(t *testing.T) {
	dir := t.TempDir()
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts between processes")
	}
	spec := func(seeds string) {
		write(t, filepath.Join(dir, "grid.yaml"), `name: grid
families: [huber-mean]
dimensions: [20]
rows: 20
records: [2000]
epsilons: [1]
seeds: `+seeds+`
algorithms: [{name: gd, settings: {steps: 300}}]
`)
	}
	spec("100000")
	c := exec.Command("lab", "experiment", "run", "grid.yaml", "--workers", "1")
	var stderr bytes.Buffer
	c.Dir, c.Stderr = dir, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	runs := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "grid-runs", "runs.jsonl"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	for start := time.Now(); runs() < 3; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("no runs")
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
	if c.ProcessState.ExitCode() != 130 || !strings.Contains(stderr.String(), "the same command goes on from there") {
		t.Fatalf("%v: must be exit code 130: %s", c.ProcessState, stderr.String())
	}
	before := runs()
	spec("5")
	out := lab(t, dir, "experiment", "run", "grid.yaml")
	// Runs are made in random order, so the runs of the five seeds may have been made before or not.
	if after := runs(); after < max(before, 5) || after > before+5 || !strings.Contains(out, "5 runs.") {
		t.Errorf("%d runs, then %d: %s", before, after, out)
	}
}
