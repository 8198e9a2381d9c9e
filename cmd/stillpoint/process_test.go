package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outcome is the output and the exit code of a finished process.
type outcome struct {
	code           int
	stdout, stderr string
}

// executable runs the command in its own process.
func executable(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("stillpoint", args...)
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	err := c.Run()
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return outcome{code, stdout.String(), stderr.String()}
}

// succeeds runs the command and requires exit code 0.
func succeeds(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	o := executable(t, dir, args...)
	if o.code != 0 {
		t.Fatalf("stillpoint %s: exit code %d: %s", strings.Join(args, " "), o.code, o.stderr)
	}
	return o
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// entry is a line of a ledger, declared independently of the program.
type entry struct {
	Entry              string
	Fit                int
	Epsilon, Delta, Mu float64
	Charged            float64
}

func ledgerEntries(t *testing.T, folder string) []entry {
	t.Helper()
	var entries []entry
	for line := range strings.Lines(readFile(t, folder, "ledger.jsonl")) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}
