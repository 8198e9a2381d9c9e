//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTableThatChanges tests that a fit refuses a table to which somebody writes while the fit reads it, and reserves
// nothing. A busy machine may let a command read the whole table between two writes. Such a run shows nothing, and
// another takes its place.
func TestTableThatChanges(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"people.csv": people(50_000, 1), "people.yaml": peopleYAML})
	table, err := os.OpenFile(filepath.Join(dir, "people.csv"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for _, command := range []string{"fit people.yaml --out out", "plan people.yaml"} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
				select {
				case done <- struct{}{}:
					return
				default:
					table.WriteString("50,f,130,x,yes\n")
				}
			}
		}()
		o := executable(t, dir, strings.Fields(command)...)
		for again := 0; o.code == 0 && again < 20; again++ {
			if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			o = executable(t, dir, strings.Fields(command)...)
		}
		<-done
		if o.code != 1 || !strings.HasSuffix(o.stderr,
			"stillpoint: table: people.csv: changed while it was read: leave it as it is and start again\n") {
			t.Errorf("%s: %+v", command, o)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
		t.Error("a folder was made")
	}
}

// TestInputsThatAreNoFiles tests inputs that never end, that nobody writes to, or that are not
// files: each command must say so and end.
func TestInputsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"people.csv": people(50, 1), "people.yaml": fewYAML,
		"zeros.yaml": strings.Replace(peopleYAML, "people.csv", "/dev/zero", 1),
		"pipe.yaml":  strings.Replace(peopleYAML, "people.csv", "pipe", 1),
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	succeeds(t, dir, "fit", "people.yaml", "--out", "out")
	for _, folder := range []string{"zeros", "pipes"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		target := map[string]string{"zeros": "/dev/zero", "pipes": "../pipe"}[folder]
		if err := os.Symlink(target, filepath.Join(dir, folder, "certificate.json")); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"fit @", "plan @", "fit zeros.yaml", "plan zeros.yaml", "fit pipe.yaml", "plan pipe.yaml",
		"schema @", "verify @", "verify out/certificate.json --model @", "predict @ people.csv", "predict out/model.json @",
		"evaluate @ people.csv", "evaluate out/model.json @", "account --events @ --delta 1e-5",
		"report zeros", "report pipes",
	} {
		for _, input := range []string{"/dev/zero", "pipe", "zeros"} {
			if input != "pipe" && !strings.Contains(args, "@") {
				continue
			}
			c := exec.Command("stillpoint", strings.Fields(strings.ReplaceAll(args, "@", input))...)
			c.Dir = dir
			limit := time.AfterFunc(patience, func() { c.Process.Kill() })
			out, _ := c.CombinedOutput()
			limit.Stop()
			if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(string(out),
				"must be a regular file") && !strings.Contains(string(out), "is a directory, not a file") {
				t.Errorf("stillpoint %s (@ = %s): exit code %d: %.500s", args, input, code, out)
			}
		}
	}
}
