//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedExperiment: an interrupted experiment must end soon and keep its finished runs, and the
// same command must continue from there.
func TestInterruptedExperiment(t *testing.T) {
	dir := t.TempDir()
	spec := func(seeds string) map[string]string {
		return map[string]string{"grid.yaml": `name: grid
families: [huber-mean]
dimensions: [20]
rows: 20
records: [2000]
epsilons: [1]
seeds: ` + seeds + `
algorithms: [{name: gd, settings: {steps: 300}}]
`}
	}
	writeFiles(t, dir, spec("100000"))
	c := exec.Command("stillpoint", "experiment", "run", "grid.yaml", "--workers", "1")
	var stderr bytes.Buffer
	c.Dir, c.Stderr = dir, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	runs := func() int {
		lines, _ := filepath.Glob(filepath.Join(dir, "grid-runs", "runs.jsonl"))
		if len(lines) == 0 {
			return 0
		}
		return strings.Count(readFile(t, lines[0]), "\n")
	}
	for start := time.Now(); runs() < 3; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("no runs")
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
	if c.ProcessState.ExitCode() != 130 || !strings.Contains(stderr.String(), "the same command goes on from there") {
		t.Fatalf("%v: must be exit code 130: %s", c.ProcessState, stderr.String())
	}
	before := runs()
	writeFiles(t, dir, spec("5"))
	o := succeeds(t, dir, "experiment", "run", "grid.yaml")
	// Runs are made in random order, so the runs of the five seeds may have been made before or not.
	if after := runs(); after < max(before, 5) || after > before+5 || !strings.Contains(o.stdout, "5 runs.") {
		t.Errorf("%d runs, then %d: %s", before, after, o.stdout)
	}
}
