package runfolder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// fault describes a fault in a fit that runs in a process of its own.
type fault struct {
	Dir, Out string
	// Kill is the number of the call of the context's method Err (see looks) at which the process
	// kills itself; 0 for never.
	Kill int
	// Limit, if not negative, is the largest size of any file. A write beyond it is cut short
	// there and then fails with EFBIG, as on a full disk. If Die is set, such a write ends the
	// process instead, as a crash in the middle of a write would.
	Limit int64
	Die   bool
}

const faultVariable = "STILLPOINT_TEST_FAULT"

// TestFaultedProcess is a helper process of the tests below: they start this binary again to run only
// TestFaultedProcess. It runs a fit with a fault and writes one line to its parent process for each answer.
func TestFaultedProcess(t *testing.T) {
	text := os.Getenv(faultVariable)
	if text == "" {
		t.Skip("for the processes of other tests")
	}
	var f fault
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	parent := os.NewFile(3, "parent")
	c, o, err := scene{f.Dir, f.Out}.begin(func() { parent.WriteString("answer\n") })
	if err != nil {
		t.Fatal(err)
	}
	if f.Limit >= 0 {
		if err := limit(f.Limit, f.Die); err != nil {
			t.Fatal(err)
		}
	}
	_, err = fit(&looks{Context: context.Background(), at: f.Kill, strike: func() error {
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}}, c, o)
	fmt.Fprintf(parent, "end %v\n", err)
}

// limit sets the largest size of all files of the process. A write beyond it raises SIGXFSZ,
// which Go ignores. If die is set, the kernel's default action is restored, which ends the
// process.
func limit(size int64, die bool) error {
	if die {
		var byDefault [8]uint64 // a struct sigaction of zeros
		if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGXFSZ),
			uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0); e != 0 {
			return e
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
			return err
		}
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: uint64(size)})
}

// ending describes how a process that was started with a fault ended.
type ending struct {
	answers int
	// returned says that Fit returned. text is then the text of its error.
	returned bool
	text     string
}

func (f fault) run(t *testing.T) ending {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFaultedProcess$")
	cmd.Env = append(os.Environ(), faultVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	if _, err := told.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) || ctx.Err() != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	_, end, returned := strings.Cut(told.String(), "end ")
	if returned == (err != nil) {
		t.Fatalf("%+v: %v: told %q\n%s", f, err, told.String(), output.String())
	}
	return ending{strings.Count(told.String(), "answer\n"), returned, strings.TrimSuffix(end, "\n")}
}

// TestKilledAtAnyMoment kills fits of every algorithm at six calls of their context's method Err,
// with -long at ten: among them before the reservation, between the reservation and the first
// answer, and between a query's charge and its answer. Each time the folder must have everything
// that scene.keeps requires.
func TestKilledAtAnyMoment(t *testing.T) {
	most := 6
	switch {
	case *long:
		most = 10
	case testing.Short():
		most = 2
	}
	for i, algorithm := range train.Algorithms() {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, algorithm)
			for _, at := range s.moments(t, most) {
				var before state
				var end ending
				// Noise determines how many steps some algorithms take, so a run may end before the look is
				// reached.
				for try := 0; try == 0 || end.returned && try < 40; try++ {
					before = s.state(t)
					end = fault{Dir: s.dir, Out: s.out, Kill: at, Limit: -1}.run(t)
				}
				if end.returned {
					t.Fatalf("not killed at look %d: %s", at, end.text)
				}
				if s.keeps(t, before, end.answers); t.Failed() {
					t.Fatalf("killed at look %d", at)
				}
			}
		})
	}
}

// TestDiskFullAtAnyWrite limits the size of files, so that a write of a fit stops at its first
// byte, in its middle or before its last byte, with an error or with a crash. The folder has an
// earlier fit. If there is no space for the files, the fit ends before it reserves anything. In
// a second series the ledger is the longest file, so that writes to the ledger fail.
func TestDiskFullAtAnyWrite(t *testing.T) {
	algorithms := train.Algorithms()
	if !*long { // answers, a schedule, prefix sums and phases: the records that journals have
		algorithms = []string{"gd", "dp-sgd", "one-pass-storm", "recursive"}
	}
	if testing.Short() {
		algorithms = algorithms[:1]
	}
	for _, algorithm := range algorithms {
		for name, die := range map[string]bool{" error": false, " crash": true} {
			if !*long && algorithm != "gd" && die != (algorithm == "one-pass-storm") {
				continue // by default the others only crash, or only get the error
			}
			t.Run(algorithm+name, func(t *testing.T) {
				t.Parallel()
				failed := map[string]bool{}
				for _, long := range []bool{false, true} {
					s := newScene(t, algorithm)
					for _, limit := range s.limits(t, long) {
						failed[s.full(t, int64(limit), die)] = true
						if t.Failed() {
							t.Fatalf("limit %d, long ledger %v", limit, long)
						}
					}
				}
				for _, what := range []string{"reservation", "settlement", "nothing"} {
					if !failed[what] {
						t.Errorf("%s never failed: the test shows nothing", what)
					}
				}
			})
		}
	}
}

// limits runs a fit and returns limits on the size of files for the next fits. If long is false, the limits
// stop the writes of the model, the certificate or the journal. If long is true, limits first makes the
// ledger longer than the other files. The first two limits then stop the write of the reservation, the third
// the write of the settlement, and the last stops no write.
func (s scene) limits(t *testing.T, long bool) []int {
	t.Helper()
	s.fit(t)
	now := s.state(t)
	reserved, settled, _ := bytes.Cut(now.ledger, newline)
	if !long {
		return []int{1, len(now.model) / 2, len(now.certificate)}
	}
	// The space reserved for the files holds more events than three steps have, so the ledger
	// must be longer than that.
	var others []byte
	line := string(reserved)
	n := 1 + (train.PerEvent*200+1<<15)/len(line)
	for i := range n {
		other := strings.NewReplacer("people.csv", "others.csv", `"fit":1`, fmt.Sprintf(`"fit":%d`, i+1)).Replace(line)
		others = append(others, other+"\n"...)
	}
	write(t, s.file(LedgerFile), string(others))
	start := len(others)
	// A file's size may differ by some digits from one fit to the next.
	reserving, settling := len(line)+4, len(settled)+4
	return []int{start, start + reserving/2, start + reserving + settling/2, start + 4*(reserving+settling)}
}

// full runs a fit in the folder of an earlier fit, with a limit on the size of files, and tests the result
// with scene.keeps. It returns which entry of the ledger could not be written: "reservation", "settlement" or
// "nothing". It then restores the folder's files.
func (s scene) full(t *testing.T, limit int64, die bool) string {
	t.Helper()
	before := s.state(t)
	end := fault{Dir: s.dir, Out: s.out, Limit: limit, Die: die}.run(t)
	after := s.state(t)
	what := "nothing"
	switch added := len(reservations(t, after.ledger)) - len(reservations(t, before.ledger)); {
	case added == 0:
		what = "reservation"
		if end.answers > 0 {
			t.Errorf("%d answers without a reservation", end.answers)
		}
	case !bytes.HasSuffix(after.ledger, newline) || !bytes.Contains(after.ledger[len(before.ledger):], []byte("settled")):
		what = "settlement"
		if bytes.Equal(before.model, after.model) {
			t.Error("the model was not saved")
		}
	}
	if end.returned == (die && what != "nothing") {
		t.Errorf("%s failed, fit returned %v: %s", what, end.returned, end.text)
	}
	if end.returned && (end.text == "<nil>") != (what == "nothing") {
		t.Errorf("%s failed, error %s", what, end.text)
	}
	s.keeps(t, before, end.answers)
	for name, text := range map[string][]byte{LedgerFile: before.ledger, ModelFile: before.model,
		CertificateFile: before.certificate} {
		write(t, s.file(name), string(text))
	}
	return what
}
