package runfolder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// The tests below stop the machine after every operation on the disk of a fit, or of its recovery. The disk
// is then in one of several states, and the tests try each. All writes may be kept, as when only the process
// ends. All writes that were not yet on stable storage may be lost. Names of files may be kept and content
// lost. Any part of names and content may be kept.

const diskOut = "out"

// fitOn runs a fit on a disk in memory. marks holds, for each step, the number of disk
// operations done when the step was released.
func (s scene) fitOn(t *testing.T, ctx context.Context, d *durabletest.Disk) (f *Fitted, marks []int, err error) {
	t.Helper()
	c, o, err := s.begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Out, o.disk = diskOut, d
	o.Step = func(train.Step) { marks = append(marks, len(d.Ops())) }
	f, err = fit(ctx, c, o)
	return f, marks, err
}

// fate is a named rule for what a crash does to writes that were not yet on stable storage
// (durabletest.Fate).
type fate struct {
	name string
	durabletest.Fate
}

// fates returns the rules (see fate) for what a crash may do to unsynced writes, and some random
// ones, which the seed determines.
func fates(seed uint64, some int) []fate {
	all := []fate{{"kept", durabletest.Kept{}}, {"lost", durabletest.Lost{}}, {"names", durabletest.Names{}},
		{"zeros", durabletest.Names{Zeros: true}}}
	for i := range some {
		all = append(all, fate{fmt.Sprint("some ", i), durabletest.Some{Coin: rand.New(rand.NewPCG(seed, uint64(i)))}})
	}
	return all
}

func diskState(d *durabletest.Disk) state {
	file := func(name string) []byte {
		if text, ok := d.Text(diskOut + "/" + name); ok {
			return []byte(text)
		}
		return nil
	}
	return state{file(LedgerFile), file(ModelFile), file(CertificateFile)}
}

// survives fails the test if the folder on a disk after a crash does not meet the requirements of
// scene.keeps. earlier is the number of fits that ended before. released says whether the crashed fit had
// released anything, and proven is the number of releases that its journal must prove.
func survives(t *testing.T, d *durabletest.Disk, earlier int, released bool, proven int) {
	t.Helper()
	s := diskState(d)
	entries, err := ledgerfile.Parse(s.ledger)
	if err != nil {
		t.Errorf("ledger: %v", err)
		return
	}
	reserved := 0
	for _, e := range entries {
		if e.Entry == ledgerfile.Reserved {
			reserved++
		}
	}
	if reserved < earlier || released && reserved == earlier {
		t.Errorf("%d reservations, released %v: ledger\n%s", reserved, released, s.ledger)
		return
	}
	wholeFiles(t, s)
	ended := len(entries) > 0 && entries[len(entries)-1].Entry != ledgerfile.Reserved
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Overwrite: true})
	if err != nil {
		if reserved > 0 && !ended || !strings.Contains(err.Error(), "nothing to recover") && reserved > 0 {
			t.Errorf("recover: %v", err)
			return
		}
		if reserved > 0 && reserved > earlier && !bothFiles(t, s) {
			t.Errorf("a fit has ended without its files: %v", err)
			return
		}
		return
	}
	after := diskState(d)
	wholeFiles(t, after)
	if !bothFiles(t, after) || r.Releases < proven || proven > 0 && after.model == nil {
		t.Errorf("recovered %+v: must prove %d releases", r, proven)
		return
	}
	entries, err = ledgerfile.Parse(after.ledger)
	if err != nil || entries[len(entries)-1].Entry == ledgerfile.Reserved {
		t.Errorf("recovered, and not settled: %v", err)
		return
	}
	if _, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Overwrite: true}); err == nil ||
		!strings.Contains(err.Error(), "nothing to recover") {
		t.Errorf("recovered twice: %v", err)
		return
	}
}

// bothFiles reports whether the state has a certificate and, if the certificate names a model,
// a model.
func bothFiles(t *testing.T, s state) bool {
	t.Helper()
	if s.certificate == nil {
		return false
	}
	c, err := certificate.Parse(s.certificate)
	return err == nil && (c.ModelSHA256() == "") == (s.model == nil)
}

// crashes stops the machine after every operation on the disk. It recovers each state that is
// left, and stops some of these recoveries after a random operation.
func crashes(t *testing.T, d *durabletest.Disk, earlier int, marks []int, some int) {
	t.Helper()
	ops := d.Ops()
	seen := map[string]bool{}
	for n := range len(ops) + 1 {
		released, _ := slices.BinarySearch(marks, n+1) // number of steps released by then
		coin := rand.New(rand.NewPCG(uint64(n), 77))
		for _, f := range fates(uint64(n), some) {
			proven := 0
			if f.name == "kept" {
				proven = released
			}
			left := d.Crash(n, f)
			if key := fmt.Sprint(released > 0, proven, left.Tree()); seen[key] {
				continue
			} else {
				seen[key] = true
			}
			survives(t, left, earlier, released > 0, proven)
			k := len(left.Ops())
			for _, again := range fates(uint64(n)<<8, 1) {
				if half := coin.IntN(k + 1); coin.IntN(3) == 0 {
					if survives(t, left.Crash(half, again), earlier, released > 0, proven); t.Failed() {
						t.Fatalf("recovery stopped after %d of %d operations, %s", half, k, again.name)
					}
				}
			}
			if t.Failed() {
				t.Fatalf("crash after %d of %d operations (%v), %s", n, len(ops), ops[max(n-1, 0)], f.name)
			}
		}
	}
}

// TestCrashAfterEveryOperation stops the machine after every disk operation of a fit to an empty
// folder, and then of a fit to a folder with an earlier fit.
func TestCrashAfterEveryOperation(t *testing.T) {
	some, algorithms := 2, []string{"gd", "one-pass-storm"}
	if testing.Short() {
		some, algorithms = 1, algorithms[:1]
	}
	for _, algorithm := range algorithms {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, algorithm)
			d := durabletest.New()
			for earlier := range 2 {
				d.Settle()
				_, marks, err := s.fitOn(t, context.Background(), d)
				if err != nil || len(marks) == 0 {
					t.Fatal(err)
				}
				crashes(t, d, earlier, marks, some)
			}
		})
	}
}

// TestCrashAfterAnInterrupt tests that the files of an interrupted fit survive a crash after every
// disk operation, as the files of a complete fit do.
func TestCrashAfterAnInterrupt(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	ctx, cancel := context.WithCancel(context.Background())
	c, o, err := s.begin(cancel)
	if err != nil {
		t.Fatal(err)
	}
	o.Out, o.disk = diskOut, d
	if f, err := fit(ctx, c, o); f == nil || err == nil {
		t.Fatal(f, err)
	}
	crashes(t, d, 0, nil, 1)
}

// TestOrderOnDisk requires the order of disk operations that lets a fit survive every crash.
func TestOrderOnDisk(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	for range 2 {
		d.Settle()
		f, marks, err := s.fitOn(t, context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		ops := d.Ops()
		at := func(op string, from int) int {
			t.Helper()
			for i := from; i < len(ops); i++ {
				if ops[i].String() == op {
					return i
				}
			}
			t.Fatalf("no %q from operation %d of %v", op, from, ops)
			return 0
		}
		n := 1 + len(f.Earlier)
		journal := fmt.Sprintf("out/journal-%d.jsonl", n)
		partial := func(name string) string { return fmt.Sprintf("out/.%s-%d", name, n) }
		// The order must be: reserved space, the journal's head, the reservation, the first step.
		i := at("reserve "+partial(ModelFile), 0)
		i = at("reserve "+partial(CertificateFile), i)
		i = at("sync "+journal, at("write "+journal, i))
		i = at("sync-folder out", i)
		i = at("sync out/ledger.jsonl", at("write out/ledger.jsonl", i))
		i = at("sync-folder out", i)
		if i > marks[0] {
			t.Errorf("a step was released at operation %d, before the reservation was synced at %d", marks[0], i)
		}
		// The order must be: both files, the journal's line that they are ready, the certificate, the
		// model, the ledger's line.
		i = marks[len(marks)-1]
		i = max(at("sync "+partial(ModelFile), i), at("sync "+partial(CertificateFile), i))
		i = at("sync-folder out", i)
		i = at("sync "+journal, at("write "+journal, i))
		if n > 1 {
			i = at("sync-folder out", at("remove out/model.json", i))
		}
		i = at("sync-folder out", at("rename "+partial(CertificateFile)+" out/certificate.json", i))
		i = at("sync-folder out", at("rename "+partial(ModelFile)+" out/model.json", i))
		i = at("sync out/ledger.jsonl", at("write out/ledger.jsonl", i))
		at("remove "+journal, i)
	}
}

var errFull = errors.New("no room")

// TestFullDiskAtEveryOperation makes each disk operation of a fit fail in turn, either alone or
// with all later ones, as when the disk is full. The folder must then have model and certificate or
// neither, and the reservation must stay. Once there is space again, everything is recovered.
func TestFullDiskAtEveryOperation(t *testing.T) {
	s := newScene(t, "gd")
	clean := durabletest.New()
	if _, _, err := s.fitOn(t, context.Background(), clean); err != nil {
		t.Fatal(err)
	}
	total := len(clean.Ops())
	stopped := 0
	for at := range total {
		for _, once := range []bool{true, false} {
			d := durabletest.New()
			n := 0
			d.Fail = func(durabletest.Op) error {
				if n++; n == at+1 || n > at && !once {
					return errFull
				}
				return nil
			}
			f, marks, err := s.fitOn(t, context.Background(), d)
			d.Fail = nil
			what := clean.Ops()[at]
			entries, damaged := ledgerfile.Parse(diskState(d).ledger)
			if damaged != nil {
				t.Fatalf("%v: %v", what, damaged)
			}
			charged := len(entries) > 0
			if err == nil && !once {
				t.Errorf("%v failed, and nothing was said", what)
			}
			if err != nil && !strings.Contains(err.Error(), "no room") {
				t.Errorf("%v: error %v: must be the disk's", what, err)
			}
			if err != nil && len(marks) > 0 && !strings.Contains(err.Error(), "the whole budget stays charged") {
				t.Errorf("%v: error %v: must say that the budget is gone", what, err)
			}
			if len(marks) > 0 && !charged {
				t.Errorf("%v: released without a reservation", what)
			}
			if f != nil && err != nil {
				stopped++
			}
			if f != nil && (f.ModelPath == "") != (diskState(d).model == nil) {
				t.Errorf("%v: model %q", what, f.ModelPath)
			}
			survives(t, d.Crash(len(d.Ops()), durabletest.Kept{}), 0, len(marks) > 0, 0)
			if t.Failed() {
				t.Fatalf("operation %d of %d, %v, once %v", at, total, what, once)
			}
		}
	}
	if stopped == 0 {
		t.Error("no fit was stopped by its journal: the test shows nothing")
	}
}
