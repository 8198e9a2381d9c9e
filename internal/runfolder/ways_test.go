package runfolder

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// killedAfter makes a world in which the named actions have happened, each of which must be possible.
func killedAfter(t *testing.T, list ...string) *world {
	t.Helper()
	head, empty := modelHead(t)
	all := actions()
	w, _ := replay(t, head, empty, all, nil)
	for _, name := range list {
		found := false
		for _, a := range all {
			if a.name == name {
				found = a.do(w)
			}
		}
		if !found {
			t.Fatalf("%s was not possible", name)
		}
	}
	return w
}

func (w *world) settle(host, dir string) (Settlement, error) {
	return settleIn(context.Background(), w.process(host), dir, w.last(), w.store.open)
}

// lastRun returns the state of the last run in the store.
func (w *world) lastRun() budget.RunState {
	d := w.store.dataset(w.t)
	return d.Runs[len(d.Runs)-1]
}

// TestWaysToRefund tests, one by one, the ways in which a folder may seem to prove less than its fit released.
// The run must stay charged in full, for the reason that is stated. Where lines of the journal were lost, it may
// also be charged the store's mark, if the mark covers what was released.
func TestWaysToRefund(t *testing.T) {
	alone := func(w *world) {
		text, _ := w.disk.Text("out/intent-1.json")
		w.disk.Put("copy/intent-1.json", text)
	}
	for name, c := range map[string]struct {
		before []string
		then   func(*world)
		dir    string
		kept   string
	}{
		"a copy":                 {[]string{"fit", "copy", "kill"}, nil, copied, "is of another folder"},
		"a stale backup":         {[]string{"fit", "copy", "release", "release", "kill"}, nil, copied, "is of another folder"},
		"an intent alone":        {[]string{"fit", "kill"}, alone, copied, "is of another folder"},
		"no ledger":              {[]string{"fit", "kill", "lose ledger"}, nil, out, "lacks fit 1, whose journal is there"},
		"an earlier ledger":      {[]string{"fit", "end", "copy", "fit", "put back ledger", "kill"}, nil, out, "lacks fit 2, whose"},
		"another lock":           {[]string{"fit", "kill", "lose lock"}, nil, out, "is of another folder"},
		"no intent":              {[]string{"fit", "kill", "lose intent"}, nil, out, "is not there, and the journal alone"},
		"no journal":             {[]string{"fit", "kill", "lose journal"}, nil, out, "has left no journal"},
		"a journal put back":     {[]string{"fit", "copy", "kill", "put back journal"}, nil, out, "journal-1.jsonl: is of another"},
		"an intent put back":     {[]string{"fit", "copy", "kill"}, nil, copied, "is of another"},
		"an older journal":       {[]string{"fit", "copy", "release", "release", "kill", "put back journal in place"}, nil, out, "knows that it had"},
		"a journal without tail": {[]string{"fit", "release", "release", "kill", "zero a tail", "zero a tail"}, nil, out, "knows that it had"},
	} {
		w := killedAfter(t, c.before...)
		if c.then != nil {
			c.then(w)
		}
		lease := w.lastRun().Lease
		s, err := w.settle(hostA, c.dir)
		// On a slow machine the store has not yet heard of the lost releases. Its mark then covers them.
		if c.kept == "knows that it had" && (lease == nil || lease.Events < 2) && err == nil && s.Kept == "" &&
			s.Charged >= w.released[w.last()] {
			continue
		}
		if r := w.lastRun(); err != nil || !strings.Contains(s.Kept, c.kept) || r.Settled {
			t.Errorf("%s: %+v, %v: must be kept since it %q", name, s, err, c.kept)
		}
		if r, err := recoverIn(t.Context(), w.process(hostA), c.dir, RecoverOptions{Overwrite: true, Stores: w.store.open}); r == nil ||
			len(r.Settlements) != 1 || r.Settlements[0].Kept == "" {
			t.Errorf("%s: recovered %+v, %v", name, r, err)
		}
		if _, err := w.ends(); err != nil || c.dir == out && w.lastRun().Charged != w.lastRun().Reserved {
			t.Errorf("%s: its end: %v, %+v", name, err, w.lastRun())
		}
	}
	// Undisturbed, the run is charged what the store had allowed, and no less than it released.
	w := killedAfter(t, "fit", "release", "kill")
	allowed := w.lastRun().Lease.Charge
	s, err := w.settle(hostA, out)
	r := w.lastRun()
	if err != nil || s.Kept != "" || !r.Settled || r.Charged.Charge != allowed || s.Charged != allowed ||
		!(allowed >= w.released[w.last()]) || !(allowed < r.Reserved.Charge) {
		t.Errorf("undisturbed: %+v, %v: %+v", s, err, r)
	}
	// The journal lost its last line to zeros, which the store had not heard of: the mark covers it.
	w = killedAfter(t, "fit", "release", "release", "kill", "zero a tail")
	if s, err := w.settle(hostA, out); err != nil || s.Kept == "" && s.Charged < w.released[w.last()] {
		t.Errorf("a last line lost: %+v, %v: %v was released", s, err, w.released[w.last()])
	}
}

// TestAnotherStoreKeepsTheIntent: a settlement with a store that does not have the run tells it nothing, and leaves all files as
// they are, since the run may be in another store: there it is settled afterwards at what it may have released.
func TestAnotherStoreKeepsTheIntent(t *testing.T) {
	for name, before := range map[string][]string{"no release": {"fit", "kill"}, "a release": {"fit", "release", "kill"}} {
		w := killedAfter(t, before...)
		other := w.store.at(1, w.disk) // with the dataset alone
		files, head := w.disk.Tree(), other.dataset(t).Head
		s, err := settleIn(t.Context(), w.process(hostA), out, w.last(), other.open)
		if err != nil || !s.Absent || s.Charged != 0 || other.dataset(t).Head != head || other.dataset(t).Open != 0 {
			t.Fatalf("%s: %+v, %v: %+v", name, s, err, other.dataset(t))
		}
		if got := w.disk.Tree(); got != files {
			t.Errorf("%s: after a settlement with another store the folder has\n%s\nand had\n%s", name, got, files)
		}
		s, err = w.settle(hostA, out)
		if r := w.lastRun(); err != nil || s.Absent || s.Kept != "" || !r.Settled || s.Charged != r.Charged.Charge ||
			!(s.Charged >= w.released[w.last()]) || !(s.Charged < r.Reserved.Charge) {
			t.Errorf("%s: then its own store: %+v, %v: %+v", name, s, err, r)
		}
	}
}

// TestLiveFitIsNotSettled tests that neither a recovery nor a settlement nor another fit, of the folder, of a copy
// or of an intent alone, touches the run of a fit that may be alive. Another machine waits for two minutes.
func TestLiveFitIsNotSettled(t *testing.T) {
	for name, before := range map[string][]string{"its folder": nil, "a copy": {"copy"}, "no lock": {"lose lock"}} {
		for _, host := range []string{hostA, hostB} {
			w := killedAfter(t, append([]string{"fit"}, before...)...)
			dir := out
			if name == "a copy" {
				dir = copied
			}
			_, settling := w.settle(host, dir)
			_, recovering := recoverIn(t.Context(), w.process(host), dir, RecoverOptions{Overwrite: true, Stores: w.store.open})
			_, fitting := w.begin(dir, host)
			for what, err := range map[string]error{"settled": settling, "recovered": recovering, "fitted in": fitting} {
				if name == "its folder" && err != nil && strings.Contains(err.Error(), "another fit is writing there") {
					continue // the lock
				}
				if !errors.Is(err, budget.ErrHeld) {
					t.Errorf("%s is %s on %s: %v", name, what, host, err)
				}
				if want := dir + ": run " + w.last() + ": "; what == "recovered" && !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s on %s: %v: must begin with %q", name, host, err, want)
				}
			}
			if w.lastRun().Settled {
				t.Errorf("%s on %s: settled", name, host)
			}
			w.stop(w.live)
		}
	}
}

// TestSettledFitStops tests a fit whose run another machine settles, since it was not heard of for three minutes.
// It must release nothing more, and the store must charge what it released.
func TestSettledFitStops(t *testing.T) {
	w := killedAfter(t, "fit", "copy", "three minutes pass", "in full")
	if !w.lastRun().Settled {
		t.Fatal("was not settled")
	}
	for range 4 {
		w.release(w.live)
	}
	if !w.live.stopped {
		t.Error("a settled fit goes on")
	}
	if err := w.covered(); err != nil {
		t.Error(err)
	}
	w.end(w.live, true)
	if r := w.lastRun(); r.Corrected != 0 || r.Charged != r.Reserved {
		t.Errorf("after its end: %+v", r)
	}
}

// TestProofOfMoreRaises tests runs that were settled at nothing, as by a store that was told so in error. The
// folder proves more, and so does a copy of it or a journal that was cut: the store charges the more.
func TestProofOfMoreRaises(t *testing.T) {
	for name, c := range map[string]struct {
		before []string
		dir    string
	}{
		"its folder":  {[]string{"fit", "release", "kill"}, out},
		"a copy":      {[]string{"fit", "release", "copy", "kill"}, copied},
		"a lost tail": {[]string{"fit", "release", "release", "kill", "zero a tail"}, out},
		"no intent":   {[]string{"fit", "release", "kill", "lose intent"}, out},
	} {
		w := killedAfter(t, c.before...)
		if err := w.forget(); err != nil {
			t.Fatal(err)
		}
		s, err := recoverIn(t.Context(), w.process(hostA), c.dir, RecoverOptions{Overwrite: true, Stores: w.store.open})
		got := w.lastRun()
		if err != nil && !strings.Contains(err.Error(), "nothing to recover") || got.Corrected != 1 || !(got.Charged.Charge > 0) {
			t.Errorf("%s: %+v, %v: %+v", name, s, err, got)
		}
		if name != "a lost tail" && got.Charged.Charge < w.released[w.last()] {
			t.Errorf("%s: charged %v of %v", name, got.Charged.Charge, w.released[w.last()])
		}
	}
}

// forget has the store withdraw its last run, as if the run's mark had been lost.
func (w *world) forget() error {
	lease := *w.lastRun().Lease
	lease.Charge, lease.Events = 0, 0
	w.store.leases = append(w.store.leases, leased{"people", lease, 0, len(w.store.rows), true})
	ctx := holder.On(context.Background(), w.process(hostA))
	_, err := budget.NewBook(w.store).Withdraw(ctx, "people", lease.Run)
	return err
}
