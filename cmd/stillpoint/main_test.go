package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

// The test binary is also the command: testscript puts a copy of it named
// stillpoint on the path.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stillpoint": main})
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

// Exit code 3 has no script: a plan never asks for more than its budget.
func TestExitCodes(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{errors.New("any"), 1},
		{os.ErrNotExist, 1},
		{&account.BudgetError{Want: 2, Have: 1}, 3},
		{certificate.ErrMalformed, 4},
		{certificate.ErrAltered, 4},
		{certificate.ErrUnsound, 4},
		{certificate.ErrModel, 4},
		{context.Canceled, 130},
		{errors.Join(context.Canceled, errors.New("and more")), 130},
	}
	for _, test := range tests {
		for _, err := range []error{test.err, fmt.Errorf("gd: step 3: %w", test.err)} {
			if got := exitCode(err); got != test.want {
				t.Errorf("%v: exit code %d: must be %d", err, got, test.want)
			}
		}
	}
	for _, code := range []string{"0 done", "1 input or system", "2 wrong usage", "3 over budget", "4 certificate or model refused", "130 interrupted"} {
		if !strings.Contains(strings.ReplaceAll(description, "\n", " "), code) {
			t.Errorf("the help does not say %q", code)
		}
	}
}

// roundUp never states less than its argument, nor much more.
func TestRoundUp(t *testing.T) {
	for x := 1e-9; x < 1e9; x *= 1.0007 {
		if y := roundUp(x); y < x || y > x*1.0016 {
			t.Fatalf("roundUp(%v) = %v", x, y)
		}
	}
}
