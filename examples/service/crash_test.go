package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/crashsafe"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// secretTarget is the target of every record. A traceback would show its bits among the arguments of the
// running functions.
const secretTarget = 0x1.2345678p-1

var secretBits = fmt.Sprintf("%#x", math.Float64bits(secretTarget))

// endless is a loss that recurses without end on any record once its switch is set.
type endless struct {
	loss.RankOne
	armed *atomic.Bool
}

func (e endless) Slopes(dst, z, y []float64) {
	if e.armed.Load() {
		dst[0] = math.Float64frombits(deeper(math.Float64bits(y[0])))
	}
	e.RankOne.Slopes(dst, z, y)
}

// deeper recurses until the stack overflows.
//
//go:noinline
func deeper(y uint64) uint64 {
	if y == 0x1p52 {
		return y
	}
	return deeper(y) + 1
}

// program is the name of the environment variable that makes the test binary a service whose loss
// never returns. Its value is the kind of service: "silent" calls Silence first, "loud" does not.
const program = "ENDLESS"

// serve trains as a service does, on records with the secret target. If silent is true, it calls Silence
// first.
func serve(silent bool) error {
	if silent {
		if _, err := crashsafe.Crashes(); err != nil {
			return err
		}
	}
	debug.SetMaxStack(1 << 20) // a smaller limit, so that the stack overflows sooner
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100}},
		Target:  dataset.Target{Column: "risk", Kind: dataset.Number, Low: -1, High: 1},
	})
	if err != nil {
		return err
	}
	l, err := loss.Parse("huber(1)")
	if err != nil {
		return err
	}
	never := endless{l.(loss.RankOne), new(atomic.Bool)}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		return err
	}
	records := curator.RowsOf(make([]struct{}, 1000),
		curator.Number("age", func(struct{}) float64 { return 50 }),
		curator.Number("risk", func(struct{}) float64 { return secretTarget }),
	)
	ctx := context.Background()
	session, err := curator.Open(ctx, curator.Config{Rows: records, Schema: s, Loss: never, Budget: budget})
	if err != nil {
		return err
	}
	problem, err := optimize.NewProblem(never, budget, session)
	if err != nil {
		return err
	}
	plan, err := choose.Auto{WithoutSamples: true}.Plan(ctx, problem)
	if err != nil {
		return err
	}
	never.armed.Store(true)
	_, err = plan.Run(ctx, session, nil)
	return err
}

// TestEndlessLossShowsNothing tests a service that crashes. A program cannot recover from a stack
// overflow, so a loss that recurses without end ends the service in the middle of a fit, while it
// has a record in memory. Nothing of that record may be written.
func TestEndlessLossShowsNothing(t *testing.T) {
	for _, traceback := range []string{"none", "all", "crash"} {
		o, code := endlessly(t, "silent", traceback)
		if code == 0 || o != "" {
			t.Errorf("GOTRACEBACK=%s: exit code %d, wrote %.2000q", traceback, code, o)
		}
	}
	// Without Silence, the output must contain the secret: the test can see it.
	if o, code := endlessly(t, "loud", "all"); code == 0 || !strings.Contains(o, "stack overflow") ||
		!strings.Contains(o, secretBits) {
		t.Errorf("without silence: exit code %d, %.2000q", code, o)
	}
}

// endlessly runs the service whose loss never returns, with the given values of the environment
// variables program and GOTRACEBACK. It returns the service's output and exit code.
func endlessly(t *testing.T, as, traceback string) (out string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), program+"="+as, "GOTRACEBACK="+traceback)
	text, _ := c.CombinedOutput()
	return string(text), c.ProcessState.ExitCode()
}
