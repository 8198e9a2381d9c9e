//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandIn runs the command in a folder and returns its output and its exit code.
func commandIn(t *testing.T, dir string, args ...string) (output string, code int) {
	t.Helper()
	c := exec.Command("stillpoint", args...)
	c.Dir = dir
	text, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

// killedFit starts a fit that is charged to a store of budgets, and kills it after some steps.
func killedFit(t *testing.T, dir, out string) {
	t.Helper()
	c := exec.Command("stillpoint", "fit", "people.yaml", "--out", out)
	c.Dir = dir
	stderr := &started{at: []byte("takes "), seen: make(chan struct{})}
	c.Stderr = stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stderr.seen:
	case <-time.After(patience):
		t.Error("the fit does not begin")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(dir, out, "journal-1.jsonl")); err == nil &&
			strings.Count(string(text), `"event":`) > 2 {
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = c.Wait()
}

// TestKilledFitIsSettled kills fits that are charged to a store. The command budget show must find
// their folders, and settle and recover must reduce the store's charge to what was released.
// recover must say so and end with exit code 0, even if the store could not be reached before.
func TestKilledFitIsSettled(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"people.csv": people(20_000, 1),
		"people.yaml": peopleYAML +
			"budget: {store: \"sqlite:b.db\", dataset: people}\ntrain: {algorithm: gd, steps: 20000}\n",
	})
	run := func(want int, pattern string, args ...string) string {
		t.Helper()
		text, code := commandIn(t, dir, args...)
		if code != want || !strings.Contains(text, pattern) {
			t.Fatalf("%v: exit code %d: must be %d and say %q: %s", args, code, want, pattern, text)
		}
		return text
	}
	run(0, "", "budget", "create", "people", "--store", "sqlite:b.db", "--epsilon", "3", "--delta", "1e-6", "--relation",
		"replace-one")
	killedFit(t, dir, "one")
	run(0, "its folder was not found", "budget", "show", "people", "--store", "sqlite:b.db")
	shown := run(0, "--from one", "budget", "show", "people", "--store", "sqlite:b.db", "--in", "one")
	_, shown, _ = strings.Cut(shown, "\nopen ")
	_, shown, _ = strings.Cut(shown, "run ")
	id, _, _ := strings.Cut(shown, ":")
	run(1, "knows no run", "budget", "settle", "none", "--store", "sqlite:b.db", "--from", "one")
	run(0, "all that it can have released", "budget", "settle", id, "--store", "sqlite:b.db", "--from", "one")
	var d struct {
		Spent float64         `json:"spent"`
		Open  float64         `json:"open"`
		Runs  json.RawMessage `json:"open_runs"`
	}
	read := func() {
		t.Helper()
		d.Runs = nil
		if err := json.Unmarshal([]byte(run(0, "", "budget", "show", "people", "--store", "sqlite:b.db", "--json")),
			&d); err != nil {
			t.Fatal(err)
		}
	}
	if read(); d.Open != 0 || d.Spent <= 0 || d.Runs != nil {
		t.Errorf("settled, and the store has %+v", d)
	}
	run(0, "stillpoint verify", "recover", "one")
	run(1, "nothing to recover", "recover", "one")

	killedFit(t, dir, "two")
	if read(); d.Open <= 0 || d.Runs == nil {
		t.Errorf("killed, and the store has %+v", d)
	}
	away, back := filepath.Join(dir, "away.db"), filepath.Join(dir, "b.db")
	if err := os.Rename(back, away); err != nil {
		t.Fatal(err)
	}
	run(1, "certificate  two", "recover", "two")
	if err := os.Rename(away, back); err != nil {
		t.Fatal(err)
	}
	run(0, "store        people: run ", "recover", "two")
	if read(); d.Open != 0 || d.Runs != nil {
		t.Errorf("recovered, and the store has %+v", d)
	}
	run(1, "nothing to recover", "recover", "two")
}
