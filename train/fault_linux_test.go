package train

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
)

// fault is what a fit in a process of its own is to suffer.
type fault struct {
	Dir, Out string
	// Kill is the look (see looks) at which the process kills itself; 0 for
	// none.
	Kill int
	// Limit, if not negative, is the size beyond which no file can be written:
	// there a write is cut short, and what remains of it fails with EFBIG, as on
	// a full disk. If Die is set that ends the process instead: a crash in the
	// middle of a write.
	Limit int64
	Die   bool
}

const faultVariable = "STILLPOINT_TEST_FAULT"

// TestFaultedProcess is no test but what the tests below run in another
// process. It tells its parent of each answer.
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
	_, err = c.Fit(&looks{Context: context.Background(), at: f.Kill, strike: func() error {
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}}, o)
	fmt.Fprintf(parent, "end %v\n", err)
}

// limit bounds the size of all files. SIGXFSZ comes with a write beyond it; Go
// ignores it, and left to the kernel it ends the process.
func limit(size int64, die bool) error {
	if die {
		var byDefault [8]uint64 // a struct sigaction of zeros
		if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGXFSZ), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0); e != 0 {
			return e
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
			return err
		}
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: uint64(size)})
}

// ending is how a faulted process ended.
type ending struct {
	answers int
	// returned says that Fit did; text is then its error's.
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

// TestKilledAtAnyMoment: a fit of every algorithm is killed at every look: before
// it reserves, between the reservation and the first answer, and between a
// question's charge and its answer.
func TestKilledAtAnyMoment(t *testing.T) {
	most := 10
	if testing.Short() {
		most = 2
	}
	for _, algorithm := range Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, algorithm)
			for _, at := range s.moments(t, most) {
				before := s.state(t)
				end := fault{Dir: s.dir, Out: s.out, Kill: at, Limit: -1}.run(t)
				if end.returned {
					t.Fatalf("not killed at look %d: %s", at, end.text)
				}
				if s.keeps(t, before, end.answers, true); t.Failed() {
					t.Fatalf("killed at look %d", at)
				}
			}
		})
	}
}

// TestDiskFullAtAnyWrite: no file can grow beyond a limit, so that each write of a
// fit in turn stops at its first byte, in its middle and before its last: by an
// error, or by a crash. The fit writes over an earlier one. Where the ledger is
// the longest file, the last entry is what fails.
func TestDiskFullAtAnyWrite(t *testing.T) {
	for _, algorithm := range Algorithms() {
		for name, die := range map[string]bool{" error": false, " crash": true} {
			t.Run(algorithm+name, func(t *testing.T) {
				t.Parallel()
				failed := map[string]bool{}
				for _, long := range []bool{false, true} {
					s := newScene(t, algorithm)
					for i, limit := range s.limits(t, long) {
						if testing.Short() && i%3 != 1 {
							continue
						}
						failed[s.full(t, int64(limit), die)] = true
						if t.Failed() {
							t.Fatalf("limit %d, long ledger %v", limit, long)
						}
					}
				}
				for _, what := range []string{"reservation", "model", "certificate", "settlement"} {
					if !failed[what] {
						t.Errorf("%s never failed: the test shows nothing", what)
					}
				}
			})
		}
	}
}

// limits fits once and returns the sizes at which to stop the next fit's writes,
// three for each: those of the reservation, the model and the certificate or,
// with long, those of the reservation and the settlement behind a ledger that is
// longer than the other files.
func (s scene) limits(t *testing.T, long bool) []int {
	t.Helper()
	s.fit(t)
	now := s.state(t)
	reserved, settled, _ := bytes.Cut(now.ledger, newline)
	line := len(reserved) + 1
	start, ends := line, []int{2 * line, len(now.model), len(now.certificate)}
	ledger := string(reserved) + "\n"
	if long {
		other := strings.Replace(wholeLine, "people.csv", "others.csv", 1) + "\n"
		ledger = strings.Repeat(other, 1+len(now.certificate)/len(other))
		start = len(ledger)
		ends = []int{start + line, start + line + len(settled)}
	}
	write(t, s.file(LedgerFile), ledger)
	var at []int
	for _, end := range ends {
		// A file's size may differ by some digits from one fit to the next.
		at = append(at, start, (start+end)/2, end-1)
		start = end + 100
		if long {
			start = end
		}
	}
	return at
}

// full runs a fit over the earlier one with a limit on the size of files and
// returns which of its writes failed. The scene is then as it was.
func (s scene) full(t *testing.T, limit int64, die bool) string {
	t.Helper()
	before := s.state(t)
	end := fault{Dir: s.dir, Out: s.out, Limit: limit, Die: die}.run(t)
	after := s.state(t)
	what := "nothing"
	switch added := len(reservations(t, after.ledger)) - len(reservations(t, before.ledger)); {
	case added == 0:
		what = "reservation"
	case bytes.Equal(before.model, after.model):
		what = "model"
	case bytes.Equal(before.certificate, after.certificate):
		what = "certificate"
	case !bytes.HasSuffix(after.ledger, newline) || !bytes.Contains(after.ledger[len(before.ledger):], []byte("settled")):
		what = "settlement"
	}
	if end.returned == (die && what != "nothing") {
		t.Errorf("%s failed, fit returned %v: %s", what, end.returned, end.text)
	}
	if end.returned && (end.text == "<nil>") != (what == "nothing") {
		t.Errorf("%s failed, error %s", what, end.text)
	}
	if what == "reservation" && end.answers > 0 {
		t.Errorf("%d answers without a reservation", end.answers)
	}
	s.keeps(t, before, end.answers, die)
	for name, text := range map[string][]byte{LedgerFile: before.ledger, ModelFile: before.model, CertificateFile: before.certificate} {
		write(t, s.file(name), string(text))
	}
	return what
}
