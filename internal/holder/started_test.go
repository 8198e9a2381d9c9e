package holder

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestStarted tests that a process's start is the field of its number, whatever the name of its program is, and that the
// process of a number that is not given does not run.
func TestStarted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are told apart on Linux alone")
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	from, err := os.Open(sleep)
	if err != nil {
		t.Skip(err)
	}
	defer from.Close()
	program := filepath.Join(t.TempDir(), "a) Z (b")
	to, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if closing := to.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	child := exec.Command(program, "60")
	child.Args[0] = "sleep" // some systems have one program for many commands
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	for _, id := range []int{os.Getpid(), child.Process.Pid} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		// proc(5): the start is field 22; the name, field 2, may have spaces, and ends at the last parenthesis.
		_, rest, _ := strings.Cut(string(text), ") ")
		for strings.Contains(rest, ") ") {
			_, rest, _ = strings.Cut(rest, ") ")
		}
		if start, runs := started(id); start != strings.Fields(rest)[22-3] || !runs {
			t.Errorf("process %d started at %q, runs %v: %s", id, start, runs, text)
		}
	}
	if start, runs := started(1 << 30); start != "" || runs {
		t.Errorf("no process: started at %q, runs %v", start, runs)
	}
}

// TestSameMachine tests by all combinations of known and equal fields when two processes are of the same machine, and
// when their numbers are of the same space.
func TestSameMachine(t *testing.T) {
	values := []string{"", "a", "b"}
	equal := func(x, y string) bool { return x == y && x != "" }
	for _, h1 := range values {
		for _, h2 := range values {
			for _, b1 := range values {
				for _, b2 := range values {
					for _, s := range [][2]string{{"", ""}, {"a", "a"}, {"a", "b"}, {"", "a"}} {
						p, q := Process{Host: h1, Boot: b1, Space: s[0]}, Process{Host: h2, Boot: b2, Space: s[1]}
						if got, want := p.Same(q), equal(h1, h2) || equal(b1, b2); got != want {
							t.Errorf("%v and %v on the same machine: %v", p, q, got)
						}
						if got, want := p.near(q), equal(b1, b2) && equal(s[0], s[1]); got != want {
							t.Errorf("%v and %v in the same space: %v", p, q, got)
						}
					}
				}
			}
		}
	}
}

type fake struct{ Machine }

// TestFrom tests that a context has the machine that it was given, and any other context the real one.
func TestFrom(t *testing.T) {
	if m := From(On(context.Background(), fake{})); m != (fake{}) {
		t.Errorf("%T: must be the machine that was given", m)
	}
	if m := From(context.Background()); m != (machine{}) {
		t.Errorf("%T: must be the real machine", m)
	}
	own := machine{}.Self()
	if host, err := os.Hostname(); err == nil && own.Host != host || own.ID != os.Getpid() {
		t.Errorf("%+v: must have this host and process", own)
	}
	if p := (Place{Host: "a", Folder: File{1, 2}}); p.Is(p) {
		t.Error("a place without a lock is known")
	}
}
