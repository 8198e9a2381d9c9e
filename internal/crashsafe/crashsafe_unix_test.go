//go:build unix

package crashsafe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the process that crashes. If the environment variable wayVariable is set, the
// binary fails in the way with this name. If silentVariable is set, too, it calls Crashes first.
const (
	wayVariable    = "SILENCE_TEST_WAY"
	silentVariable = "SILENCE_TEST_SILENT"
)

func TestMain(m *testing.M) {
	way := os.Getenv(wayVariable)
	if way == "" {
		os.Exit(m.Run())
	}
	// A program may have requested that tracebacks are also written to a file.
	output, err := os.Create(outputFile)
	if err == nil {
		err = debug.SetCrashOutput(output, debug.CrashOptions{})
	}
	if err != nil {
		panic(err)
	}
	// The environment may have raised the limit on core dumps, if permitted.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	if os.Getenv(silentVariable) != "" {
		stderr, err := Crashes()
		if err != nil || stderr != os.Stderr {
			panic(fmt.Sprint("not silent: ", err))
		}
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "core files up to", core.Cur, core.Max)
	fail(way, secretNumber, secretWord)
	os.Exit(0)
}

// ready is everything that a silent process writes. outputFile is the file for tracebacks.
const (
	ready      = "core files up to 0 0\n"
	outputFile = "crash.txt"
)

// other lists further actions of the test binary, by name.
var other = map[string]func(number uint64, word string){}

//go:noinline
func fail(way string, number uint64, word string) {
	if f, ok := other[way]; ok {
		f(number, word)
	}
	crashing[way](number, word)
}

// crash runs the test binary so that it crashes in the given way, and returns its output and its exit
// state.
func crash(t *testing.T, dir, way, traceback string, silent bool) (string, *os.ProcessState) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, os.Args[0])
	c.Dir = dir
	c.Env = append(os.Environ(), wayVariable+"="+way, "GOTRACEBACK="+traceback,
		"GODEBUG=tracebackancestors=10,inittrace=0")
	if silent {
		c.Env = append(c.Env, silentVariable+"=1")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("it does not end; until then it wrote %.2000q", &out)
	}
	return out.String(), c.ProcessState
}

// shows reports whether a text contains the record.
func shows(text string) bool {
	for _, secret := range []string{fmt.Sprintf("%x", secretNumber), fmt.Sprint(secretNumber),
		fmt.Sprint(int64(secretNumber)), secretWord} {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// TestCrashesAreSilent: a crash of a silent process must leave nothing to read, whatever the
// environment requests, and its exit code must not mean success. The same crash without silence must
// show the record, or at least a traceback; otherwise the test would prove nothing.
func TestCrashesAreSilent(t *testing.T) {
	shown := 0
	for _, way := range slices.Sorted(maps.Keys(crashing)) {
		t.Run(way, func(t *testing.T) {
			if raceDetector && (way == "deadlock" || way == "goexit") {
				t.Skip("the race detector brings threads of its own, with which the runtime sees no deadlock: it would wait for ever")
			}
			for _, traceback := range []string{"single", "system", "crash"} {
				dir := t.TempDir()
				out, state := crash(t, dir, way, traceback, true)
				if out != ready {
					t.Errorf("GOTRACEBACK=%s: a silent process wrote %.2000q", traceback, out)
				}
				if state.Success() {
					t.Errorf("GOTRACEBACK=%s: a crash counts as success", traceback)
				}
				files, err := os.ReadDir(dir)
				if err != nil || len(files) != 1 || files[0].Name() != outputFile {
					t.Errorf("GOTRACEBACK=%s: it left %v (%v)", traceback, files, err)
				}
				if text, err := os.ReadFile(filepath.Join(dir, outputFile)); err != nil || len(text) > 0 {
					t.Errorf("GOTRACEBACK=%s: it wrote %.2000q to a file (%v)", traceback, text, err)
				}
			}
			out, _ := crash(t, t.TempDir(), way, "system", false)
			if shows(out) {
				shown++
			} else if !strings.Contains(out, "goroutine ") {
				t.Errorf("without silence it shows nothing that the test could see: %.2000q", out)
			}
		})
	}
	// In a few crashes a register with the record may have been overwritten.
	if shown < len(crashing)*2/3 {
		t.Errorf("without silence %d of %d show the record: must be two thirds of them", shown, len(crashing))
	}
}

// TestNullDeviceMustBeOne: a regular file or directory in place of the null device must be refused, and
// standard error must then be unchanged.
func TestNullDeviceMustBeOne(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "null"), t.TempDir()} {
		os.WriteFile(path, nil, 0o600)
		var before, after unix.Stat_t
		if err := unix.Fstat(2, &before); err != nil {
			t.Fatal(err)
		}
		if _, err := divert(path); err == nil {
			t.Errorf("%s is taken for the null device", path)
		}
		if err := unix.Fstat(2, &after); err != nil || after.Ino != before.Ino || after.Dev != before.Dev {
			t.Errorf("standard error was replaced (%v)", err)
		}
	}
}
