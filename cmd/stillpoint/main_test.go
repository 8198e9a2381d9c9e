package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/crashsafe"
)

// TestMain makes the test binary the command as well: testscript puts a copy of it named executable on the
// path, and beside it programs that differ from it in one thing each. All of them collect garbage less
// often than by default, since they allocate much and run briefly.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("STILLPOINT_ANYWAY") == "" {
		os.Setenv("STILLPOINT_ANYWAY", "1") // the tests' tables are small
	}
	testscript.Main(m, map[string]func(){"stillpoint": main, "loud": loud, "faulty": faulty, "stubborn": stubborn,
		"obedient": obedient})
}

// loud runs the command without calling Silence first: its crashes print tracebacks.
func loud() {
	os.Exit(run(context.Background(), os.Args[1:], &console{out: os.Stdout, err: os.Stderr, saving: func() {}}))
}

// faulty runs a command that panics with a record's content.
func faulty() {
	stderr, err := crashsafe.Crashes()
	if err != nil {
		panic(err)
	}
	os.Exit(govern(stderr, func(context.Context, func()) int { panic(errors.New(secretWord)) }))
}

// obedient runs a command that ends when its context ends, and prints the context's error.
func obedient() {
	os.Exit(govern(os.Stderr, func(ctx context.Context, _ func()) int {
		fmt.Fprintln(os.Stderr, "running")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, context.Cause(ctx))
		return exitInterrupted
	}))
}

// stubborn runs a command that ignores its context. If the command line has an argument, it says
// that it is saving its results.
func stubborn() {
	os.Exit(govern(os.Stderr, func(_ context.Context, saving func()) int {
		if len(os.Args) > 1 {
			saving()
		}
		fmt.Fprintln(os.Stderr, "running")
		time.Sleep(time.Hour)
		return 0
	}))
}

func TestScripts(t *testing.T) {
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Cmds:                scriptCommands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("STILLPOINT_ANYWAY", "1")
			e.Setenv("EXAMPLES", examples)
			if err := writePeople(e.WorkDir, 300); err != nil {
				return err
			}
			return remember(e.WorkDir, e.Values)
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
	})
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{errors.New("any"), 1},
		{os.ErrNotExist, 1},
		{&account.BudgetError{Want: 2, Have: 1}, 3},
		{certificate.ErrMalformed, 4},
		{budget.ErrChain, 4},
		{budget.ErrStore, 5},
		{certificate.ErrAltered, 4},
		{certificate.ErrUnsound, 4},
		{certificate.ErrModel, 4},
		// An error that is both a BudgetError and of another kind.
		{fmt.Errorf("%w: %w", certificate.ErrUnsound, &account.BudgetError{Want: 2, Have: 1}), 4},
		{fmt.Errorf("%w: %w", context.Canceled, certificate.ErrAltered), 4},
		{context.Canceled, 130},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, 5},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, 5},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, 1}, // a wrong file name
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, 1},
		{errors.Join(context.Canceled, errors.New("and more")), 130},
	}
	for _, test := range tests {
		for _, err := range []error{test.err, fmt.Errorf("gd: step 3: %w", test.err)} {
			if got := exitCode(err); got != test.want {
				t.Errorf("%v: exit code %d: must be %d", err, got, test.want)
			}
		}
	}
	for _, code := range []string{"0 done", "1 fault in the input", "2 wrong usage", "3 over budget",
		"4 certificate or model refused", "5 fault of the system", "130 interrupted", "134 fault in the program"} {
		if !strings.Contains(strings.ReplaceAll(detail("stillpoint"), "\n", " "), code) {
			t.Errorf("the help does not say %q", code)
		}
	}
}
