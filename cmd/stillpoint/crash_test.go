//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// plainLines matches every line that a fit may print.
var plainLines = regexp.MustCompile(`^(reading \S+|[a-z ]+  +.+|step \d+ of \d+: .+|stillpoint: ended by a signal: .+)$`)

// TestSignalsShowNothing: a fit that is ended by a signal, while it reads or trains, must print one line
// that names the signal and nothing of its rows, whatever the environment sets.
func TestSignalsShowNothing(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE,
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS}
	for i, s := range signals {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			for j, after := range []string{"reading ", "takes "} {
				dir := t.TempDir()
				traceback := []string{"crash", "system", "all"}[(i+j)%3]
				o := signalled(t, dir, "stillpoint", traceback, after, time.Duration(i)*5*time.Millisecond, s)
				if o.code != 128+int(s) {
					t.Errorf("%s: exit code %d: must be %d: %s", after, o.code, 128+int(s), o.stderr)
				}
				if !strings.HasSuffix(o.stderr, fmt.Sprintf("stillpoint: ended by a signal: %v\n", s)) {
					t.Errorf("%s: the messages do not end with the signal's name: %.2000s", after, o.stderr)
				}
				for line := range strings.Lines(o.stdout + o.stderr) {
					if !plainLines.MatchString(strings.TrimSuffix(line, "\n")) || shows(line) {
						t.Errorf("%s: wrote %.1000q", after, line)
					}
				}
				for _, path := range files(t, dir) {
					name := filepath.Base(path)
					if name != "people.csv" && (shows(readFile(t, path)) || strings.HasPrefix(name, "core")) {
						t.Errorf("%s: %s was left, and shows cells or memory", after, path)
					}
				}
			}
		})
	}
	// Without Silence, the output must contain the secret: the test can see it.
	o := signalled(t, t.TempDir(), "loud", "all", "takes ", 0, syscall.SIGQUIT)
	if !strings.Contains(o.stderr, "goroutine ") || plainLines.MatchString("goroutine 1 [running]:") {
		t.Errorf("without silence there is no traceback that the test could see: %s", o.stderr)
	}
}

// files lists all files below a folder.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// signalled starts a long fit on a table full of one number and one word, and sends it a signal some time
// after it has printed a message.
func signalled(t *testing.T, dir, program, traceback, message string, after time.Duration, s syscall.Signal) outcome {
	t.Helper()
	writeFiles(t, dir, map[string]string{
		"people.csv": "age,sex,pressure,note,sick\n" +
			strings.Repeat(secretNumber+","+secretWord+","+secretNumber+","+secretWord+",yes\n", 40_000),
		"people.yaml": peopleYAML + "train: {algorithm: gd, steps: 20000}\n",
	})
	var stdout bytes.Buffer
	stderr := &started{at: []byte(message), seen: make(chan struct{})}
	c := exec.Command(program, "fit", "people.yaml")
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, stderr
	c.Env = append(os.Environ(), "GOTRACEBACK="+traceback)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stderr.seen:
	case <-time.After(patience):
		t.Errorf("%s does not come to %q", program, message)
	}
	time.Sleep(after)
	if err := c.Process.Signal(s); err != nil {
		t.Error(err)
	}
	timer := time.AfterFunc(patience, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.text.String()}
}

// started stores the output of a process and signals on a channel when a given text first occurs in
// it.
type started struct {
	at   []byte
	seen chan struct{}
	done bool
	text bytes.Buffer
}

func (s *started) Write(p []byte) (int, error) {
	s.text.Write(p)
	if !s.done && bytes.Contains(s.text.Bytes(), s.at) {
		s.done = true
		close(s.seen)
	}
	return len(p), nil
}

// TestPanicsShowNothing: a panic must end the command with a message that does not contain the panic's own
// text.
func TestPanicsShowNothing(t *testing.T) {
	c := exec.Command("faulty")
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitFault || shows(string(out)) || bytes.Contains(out, []byte("goroutine")) {
		t.Errorf("%v: %s", err, out)
	}
	if want := "stillpoint: a fault in the program ended it"; !strings.HasPrefix(string(out), want) {
		t.Errorf("wrote %q: must start with %q", out, want)
	}
}

// TestCommandIsSilent tests the command as it is built: what the Go runtime prints must be
// discarded, its tracebacks included.
func TestCommandIsSilent(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"people.csv": people(20_000, 1), "people.yaml": peopleYAML})
	for program, silent := range map[string]bool{"stillpoint": true, "loud": false} {
		c := exec.Command(program, "fit", "people.yaml")
		c.Dir = dir
		c.Env = append(os.Environ(), "GOTRACEBACK=crash", "GODEBUG=gctrace=1,schedtrace=5,scheddetail=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", program, err, out)
		}
		// Before main runs there are no rows.
		_, after, _ := bytes.Cut(out, []byte("reading "))
		if heard := bytes.Contains(after, []byte("SCHED")) || bytes.Contains(after, []byte("gc ")); heard == silent {
			t.Errorf("%s: silent is %v: must be %v: %.2000s", program, !heard, silent, out)
		}
	}
}
