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
	"github.com/stillpoint-dp/stillpoint/train"
)

// The tests below have a machine stop after every operation that a fit, or its
// recovery, does on the disk, and look at all that may then be left: with the
// process gone and its writes kept, with everything lost that was not synced, with
// names kept and content lost, and with any part of both.

const diskOut = "out"

// fitOn fits on a disk in memory. marks are the numbers of operations that had
// been done when each step was released.
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

// fate is a durabletest.Fate with a name.
type fate struct {
	name string
	durabletest.Fate
}

// fates are what may become of what was not synced; some of it by coins of a
// seed.
func fates(seed uint64, some int) []fate {
	all := []fate{{"kept", durabletest.Kept{}}, {"lost", durabletest.Lost{}}, {"names", durabletest.Names{}}, {"zeros", durabletest.Names{Zeros: true}}}
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

// survives demands of a disk after a crash what holds after any: see
// scene.keeps. earlier is how many fits had ended before, released whether this
// one had released anything, proven how many releases its journal must prove.
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
	if _, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Overwrite: true}); err == nil || !strings.Contains(err.Error(), "nothing to recover") {
		t.Errorf("recovered twice: %v", err)
		return
	}
}

// bothFiles reports whether a certificate is there, and the model it speaks of.
func bothFiles(t *testing.T, s state) bool {
	t.Helper()
	if s.certificate == nil {
		return false
	}
	c, err := certificate.Parse(s.certificate)
	return err == nil && (c.ModelSHA256() == "") == (s.model == nil)
}

// crashes stops the machine after every operation from the first on, and every
// recovery after some of its own.
func crashes(t *testing.T, d *durabletest.Disk, earlier int, marks []int, some int) {
	t.Helper()
	ops := d.Ops()
	seen := map[string]bool{}
	for n := range len(ops) + 1 {
		released, _ := slices.BinarySearch(marks, n+1) // how many steps by then
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

// TestCrashAfterEveryOperation: over nothing, and over an earlier fit.
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

// TestCrashAfterAnInterrupt: what was reached is as safe as a result.
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

// TestOrderOnDisk: what every crash is survived by, in so many words.
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
		// Room, then the journal's head, then the reservation, then the first step.
		i := at("reserve "+partial(ModelFile), 0)
		i = at("reserve "+partial(CertificateFile), i)
		i = at("sync "+journal, at("write "+journal, i))
		i = at("sync-folder out", i)
		i = at("sync out/ledger.jsonl", at("write out/ledger.jsonl", i))
		i = at("sync-folder out", i)
		if i > marks[0] {
			t.Errorf("a step was released at operation %d, before the reservation was synced at %d", marks[0], i)
		}
		// Both files, the journal's word for it, the certificate, the model, the end.
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

// TestFullDiskAtEveryOperation: every operation on the disk in turn fails, once
// or from then on, as when the disk is full. Whatever is left is a pair or none,
// the reservation stays, and once there is room again all is recovered.
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
