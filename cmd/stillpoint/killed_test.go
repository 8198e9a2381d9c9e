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
	liveFit(t, dir, out)()
}

// liveFit starts a fit that is charged to a store of budgets, and returns after some steps. kill kills it.
func liveFit(t *testing.T, dir, out string) (kill func()) {
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
	return func() {
		if err := c.Process.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		_ = c.Wait()
	}
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

// TestCopiesSettleNothing runs a fit whose folder is copied, whose intent is copied alone and whose lock is removed.
// While it runs, no command settles its run. After it is killed, the copies, an older journal that is put back, a
// lost ledger and a lost lock leave the run charged in full, until it is settled in full.
func TestCopiesSettleNothing(t *testing.T) {
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
			t.Errorf("%v: exit code %d: must be %d and say %q: %s", args, code, want, pattern, text)
		}
		return text
	}
	store := []string{"--store", "sqlite:b.db"}
	file := func(name string) string { return filepath.Join(dir, name) }
	duplicate := func(from, to string) {
		t.Helper()
		if err := os.CopyFS(file(to), os.DirFS(file(from))); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "", append([]string{"budget", "create", "people", "--epsilon", "3", "--delta", "1e-6", "--relation",
		"replace-one"}, store...)...)
	for _, way := range []string{"lock", "ledger", "journal"} {
		out := "out-" + way
		kill := liveFit(t, dir, out)
		duplicate(out, out+"-copy")
		text, err := os.ReadFile(file(out + "/intent-1.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(file(out+"-intent"), 0o777); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, dir, map[string]string{out + "-intent/intent-1.json": string(text)})
		var intent struct{ Run string }
		if err := json.Unmarshal(text, &intent); err != nil {
			t.Fatal(err)
		}
		settle := func(from string) []string {
			return append([]string{"budget", "settle", intent.Run, "--from", from}, store...)
		}
		inFull := append([]string{"budget", "settle", intent.Run, "--in-full"}, store...)
		if way == "lock" {
			if err := os.Remove(file(out + "/.lock")); err != nil {
				t.Fatal(err)
			}
			run(1, "may be alive", "recover", out)
		}
		run(1, "may be alive", "recover", out+"-copy")
		run(1, "may be alive", settle(out+"-copy")...)
		run(1, "may be alive", settle(out+"-intent")...)
		run(1, "may be alive", inFull...)
		kill()
		run(0, "at most one of them is its own", append([]string{"budget", "show", "people", "--in", "."}, store...)...)
		run(0, "stays charged in full", settle(out+"-copy")...)
		run(0, "stays charged in full", settle(out+"-intent")...)
		code := 0
		switch way {
		case "ledger":
			code = 1
			err = os.Remove(file(out + "/ledger.jsonl"))
		case "journal":
			err = os.Rename(file(out+"-copy/journal-1.jsonl"), file(out+"/journal-1.jsonl"))
		}
		if err != nil {
			t.Fatal(err)
		}
		run(code, "stays charged in full", "recover", out)
		run(0, "all that it can have released", inFull...)
	}
	var d struct {
		Spent, Open float64
		Runs        []struct{ Reserved, Charged struct{ Charge float64 } }
	}
	text := run(0, "", append([]string{"budget", "show", "people", "--json"}, store...)...)
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Open != 0 || len(d.Runs) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, r := range d.Runs {
		if r.Charged != r.Reserved || r.Charged.Charge == 0 {
			t.Errorf("run %d: %+v: must be charged in full", i, r)
		}
	}
}
