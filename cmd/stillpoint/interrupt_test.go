//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for operations that take a moment on an idle machine.
const patience = 30 * time.Second

// running is a fit of millions of steps in its own process, for tests that interrupt or kill it.
type running struct {
	dir    string
	cmd    *exec.Cmd
	stdout bytes.Buffer
	read   sync.WaitGroup

	mu     sync.Mutex
	stderr strings.Builder
}

func startSlow(t *testing.T) *running {
	t.Helper()
	r := &running{dir: t.TempDir()}
	writeFiles(t, r.dir, map[string]string{
		"people.csv":  people(20000, 1),
		"people.yaml": peopleYAML,
		"slow.yaml":   peopleYAML + "train: {algorithm: gd, steps: 1000000}\n",
	})
	r.cmd = exec.Command("stillpoint", "fit", "slow.yaml", "--out", "out")
	r.start(t)
	return r
}

func (r *running) start(t *testing.T) {
	t.Helper()
	r.cmd.Dir, r.cmd.Stdout = r.dir, &r.stdout
	pipe, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() })
	r.read.Go(func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			r.mu.Lock()
			r.stderr.WriteString(s.Text() + "\n")
			r.mu.Unlock()
		}
	})
}

func (r *running) messages() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String()
}

func (r *running) out(file string) string { return filepath.Join(r.dir, "out", file) }

var progressLine = regexp.MustCompile(`(?m)^step [0-9]+ of 1000000$`)

// released reports whether the fit has released answers, which its progress shows.
func (r *running) released() bool { return progressLine.MatchString(r.messages()) }

func (r *running) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("no %s after %v: %s", what, patience, r.messages())
		}
	}
}

// end sends a signal to the process and waits for its end.
func (r *running) end(t *testing.T, s os.Signal) *os.ProcessState {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return r.finish()
}

// finish waits for the end of the fit's process.
func (r *running) finish() *os.ProcessState {
	timer := time.AfterFunc(patience, func() { r.cmd.Process.Kill() })
	defer timer.Stop()
	r.read.Wait()
	r.cmd.Wait()
	return r.cmd.ProcessState
}

// TestInterrupt: an interrupted fit must end soon. Its steps so far must be saved and certified.
func TestInterrupt(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if testing.Short() && signal != syscall.SIGINT {
			continue
		}
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			r := startSlow(t)
			r.until(t, "progress", r.released)
			start := time.Now()
			state := r.end(t, signal)
			t.Logf("ended %v after the signal", time.Since(start).Round(time.Millisecond))
			if state.ExitCode() != 130 {
				t.Fatalf("%v: must be exit code 130: %s", state, r.messages())
			}
			for _, want := range []string{"stopping; the model so far will be saved",
				"of 1000000 steps: the model of these steps is saved; the whole budget stays charged"} {
				if !strings.Contains(r.messages(), want) {
					t.Errorf("the messages do not say %q:\n%s", want, r.messages())
				}
			}
			if !strings.HasPrefix(r.stdout.String(), "incomplete   interrupted after ") {
				t.Errorf("summary:\n%s", r.stdout.String())
			}
			r.checkSaved(t)
		})
	}
}

func (r *running) checkSaved(t *testing.T) {
	t.Helper()
	entries := ledgerEntries(t, r.out(""))
	if len(entries) != 2 || entries[0].Entry != "reserved" || entries[1].Entry != "interrupted" {
		t.Fatalf("ledger %+v", entries)
	}
	report := decodeJSON(t, succeeds(t, r.dir, "verify", "out/certificate.json", "--model", "out/model.json",
		"--json").stdout)
	if report["complete"] != false || report["mu"] != entries[0].Mu || report["charged"] != entries[1].Charged ||
		!(entries[1].Charged > 0) {
		t.Errorf("report %v, ledger %+v", report, entries)
	}
	if m := decodeJSON(t, readFile(t, r.out("model.json"))); m["complete"] != false {
		t.Error("the model says it is complete")
	}
	succeeds(t, r.dir, "predict", "out/model.json", "people.csv", "--out", "scores.csv")
}

// TestKilled: a killed fit must leave its whole reservation, which counts from then on, and no model. Its
// releases must be recoverable.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := startSlow(t)
	r.until(t, "progress", r.released)
	if state := r.end(t, syscall.SIGKILL); state.Success() {
		t.Fatal(state)
	}
	plan := decodeJSON(t, succeeds(t, r.dir, "plan", "people.yaml", "--json").stdout)
	entries := ledgerEntries(t, r.out(""))
	if len(entries) != 1 || entries[0].Entry != "reserved" || entries[0].Mu != plan["mu"] {
		t.Fatalf("ledger %+v: must be one reservation of mu = %v", entries, plan["mu"])
	}
	for _, file := range []string{"model.json", "certificate.json"} {
		if _, err := os.Lstat(r.out(file)); err == nil {
			t.Errorf("%s exists", file)
		}
	}

	o := executable(t, r.dir, "fit", "people.yaml", "--out", "out")
	if o.code != 1 || !strings.Contains(o.stderr, "output out: holds an earlier fit (ledger.jsonl)") {
		t.Errorf("%+v", o)
	}
	r.checkRecovered(t)
	o = succeeds(t, r.dir, "fit", "people.yaml", "--out", "out", "--overwrite")
	if want := "with 1 earlier fit of this table: epsilon 1.455 at delta 1e-06"; !strings.Contains(o.stdout, want) {
		t.Errorf("the summary does not say %q:\n%s", want, o.stdout)
	}
	entries = ledgerEntries(t, r.out(""))
	if len(entries) != 4 || entries[2].Entry != "reserved" || entries[2].Fit != 2 || entries[3].Entry != "settled" {
		t.Errorf("ledger %+v", entries)
	}
	succeeds(t, r.dir, "verify", "out/certificate.json", "--model", "out/model.json")
}

// TestIgnoredSignalsStayIgnored tests fits that are started with signals ignored. A signal that is
// ignored when the process starts, as under nohup or in a shell's background job, must stay
// ignored. Other signals must end the fit.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	const background = "INT QUIT"
	// The tests themselves may run in the background with ignored signals, which their child processes
	// inherit.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			heard := make(chan os.Signal, 1)
			signal.Notify(heard, s)
			defer signal.Ignore(s)
		}
	}
	for _, test := range []struct {
		ignored string
		sent    syscall.Signal
		want    string
	}{
		{"HUP", syscall.SIGHUP, "terminated"},
		{background, syscall.SIGINT, "terminated"},
		{background, syscall.SIGQUIT, "terminated"},
		{"HUP", syscall.SIGINT, "interrupt"},
		{background, syscall.SIGHUP, "hangup"},
		{"HUP", syscall.SIGQUIT, "ended by a signal: quit"},
	} {
		r := &running{dir: t.TempDir(), cmd: exec.Command("sh", "-c", "trap '' "+test.ignored+"; exec obedient")}
		r.start(t)
		r.until(t, "start", func() bool { return strings.Contains(r.messages(), "running") })
		if err := r.cmd.Process.Signal(test.sent); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // so that the first signal arrives first
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		r.finish()
		if !strings.Contains(r.messages(), test.want) {
			t.Errorf("%s ignored, %v sent, then SIGTERM: %q: must be ended by %q", test.ignored, test.sent, r.messages(),
				test.want)
		}
	}
}

// TestOneInterruptEndsAnything: one interrupt must end a command that ignores its context, after the grace
// period. A command that saves its results must only be ended by a second interrupt.
func TestOneInterruptEndsAnything(t *testing.T) {
	for _, saves := range []bool{false, true} {
		t.Run(map[bool]string{false: "saves nothing", true: "saves"}[saves], func(t *testing.T) {
			t.Parallel()
			r := &running{dir: t.TempDir(), cmd: exec.Command("stubborn")}
			if saves {
				r.cmd.Args = append(r.cmd.Args, "saves")
			}
			r.start(t)
			r.until(t, "start", func() bool { return strings.Contains(r.messages(), "running") })
			if !saves {
				if state := r.end(t, syscall.SIGINT); state.ExitCode() != exitInterrupted ||
					!strings.Contains(r.messages(), "stillpoint: interrupted") {
					t.Errorf("%v: %s", state, r.messages())
				}
				return
			}
			if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			time.Sleep(grace + grace/2)
			if state := r.end(t, syscall.SIGINT); state.Exited() || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
				t.Errorf("%v: must end by the second signal: %s", state, r.messages())
			}
		})
	}
}

// checkRecovered recovers a killed fit. It fails the test unless the files are like the files of an
// interrupted fit, with at least the steps that the fit had printed.
func (r *running) checkRecovered(t *testing.T) {
	t.Helper()
	o := succeeds(t, r.dir, "recover", "out")
	if !strings.HasPrefix(o.stdout, "incomplete   fit 1 of out: the model is that of step ") ||
		!strings.Contains(o.stdout, "keeps the whole budget of this fit") {
		t.Errorf("recover says\n%s", o.stdout)
	}
	r.checkSaved(t)
	told := 0
	for _, line := range progressLine.FindAllString(r.messages(), -1) {
		step, _, _ := strings.Cut(strings.TrimPrefix(line, "step "), " ")
		n, err := strconv.Atoi(step)
		if err != nil {
			t.Fatal(err)
		}
		told = max(told, n)
	}
	report := decodeJSON(t, succeeds(t, r.dir, "verify", "out/certificate.json", "--json").stdout)
	// In a long run, the journal gets the events in batches of up to a 64th of all.
	if events := report["events"].(float64); told == 0 || events < float64(told)*63/64-1 {
		t.Errorf("%v events recovered of %d steps told", events, told)
	}
	if entries, err := os.ReadDir(r.out("")); err != nil || len(entries) != 4 {
		t.Errorf("%v are left, %v: must be model, certificate, ledger and lock", entries, err)
	}
	if o := executable(t, r.dir, "recover", "out"); o.code != 1 || !strings.Contains(o.stderr, "nothing to recover") {
		t.Errorf("recovered again: %+v", o)
	}
}
