package runfolder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// settles recovers the state that a kill left and tests the result. The store must charge the killed fit, its
// last run, at least the charge least and at most one release more. Nothing may stay reserved. Recover must
// report every message to the store.
func settles(t *testing.T, d *durabletest.Disk, c *chains, least float64, what string) {
	t.Helper()
	before := c.dataset(t)
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Overwrite: true, Stores: c.open})
	if err != nil && !strings.Contains(err.Error(), "nothing to recover") && len(before.Runs) > 0 && !isAbsent(err) {
		t.Fatalf("%s: %v", what, err)
	}
	after := c.dataset(t)
	if err != nil && after.Head != before.Head {
		t.Fatalf("%s: the store was told, and recovery says %v", what, err)
	}
	if after.Head != before.Head && len(r.Settlements) == 0 {
		t.Fatalf("%s: the store was told, and recovery does not say so", what)
	}
	settled(t, d, c, least, what)
}

// settled fails the test if a reservation stays in the store, if an intent is left in the folder, or if the
// store does not charge its last run at least the charge least and at most its reservation.
func settled(t *testing.T, d *durabletest.Disk, c *chains, least float64, what string) {
	t.Helper()
	after := c.dataset(t)
	if after.Open != 0 {
		t.Fatalf("%s: %v stays reserved", what, after.Open)
	}
	if n := len(after.Runs); n > 0 {
		// The mark in the store is ahead of the releases by the charge of a time, so that its size depends on the machine.
		last := after.Runs[n-1]
		if got := last.Charged.Charge; got < least || got > last.Reserved.Charge {
			t.Fatalf("%s: charged %v, released %v of %v", what, got, least, last.Reserved.Charge)
		}
		if !strings.Contains(ledgerText(d), last.Run) && last.Charged.Charge != 0 {
			t.Fatalf("%s: charged %v without an entry in the ledger", what, last.Charged.Charge)
		}
	}
	if strings.Contains(d.Tree(), "/intent-") {
		t.Fatalf("%s: an intent is left\n%s", what, d.Tree())
	}
}

func ledgerText(d *durabletest.Disk) string {
	text, _ := d.Text(diskOut + "/" + LedgerFile)
	return text
}

// TestKillStrandsNothing kills a fit that is charged to a store: after each operation on its disk, and before
// and after each commit of its store. A recovery must then settle the run with the charge of its releases.
// The next fit in the folder must do the same, and so must a recovery that is killed and run again.
func TestKillStrandsNothing(t *testing.T) {
	some := 2
	if testing.Short() {
		some = 0
	}
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 9, 3)
	for earlier := range 2 {
		if testing.Short() && earlier > 0 {
			break
		}
		d.Settle()
		c = c.at(len(c.rows), d)
		if _, a, err := storedFit(t, s, d, c); err != nil || len(a.marks) != 3 {
			t.Fatal(err)
		} else {
			killed := kills{t: t, scene: s, disk: d, store: c, answers: a, earlier: earlier}
			killed.everywhere(some)
			if killed.stranded == 0 || killed.recovered == 0 || killed.replaced == 0 {
				t.Errorf("the test shows less than it says: %+v", killed)
			}
		}
	}
}

// kills is a test that kills one fit in every possible way.
type kills struct {
	t *testing.T
	scene
	disk    *durabletest.Disk
	store   *chains
	answers answers
	earlier int
	// Counters of the cases that the test has met: only the store knew of the run, a recovery was
	// killed, and another fit followed.
	stranded, recovered, replaced int
}

func (k *kills) everywhere(some int) {
	ops := k.disk.Ops()
	seen := map[string]bool{}
	for n := range len(ops) + 1 {
		least, most := k.store.between(n)
		for commits := least; commits <= most; commits++ {
			for _, f := range fates(uint64(n), some) {
				left := k.disk.Crash(n, f)
				what := fmt.Sprintf("killed after %d of %d operations and %d commits, %s", n, len(ops), commits, f.name)
				released := k.answers.least(n)
				key := fmt.Sprint(commits, released, left.Tree())
				if seen[key] {
					continue
				}
				seen[key] = true
				k.kill(left, commits, released, n, what)
			}
		}
	}
}

// kill tests one state that a kill may leave in three ways: with a recovery, with recoveries
// that are killed and run again, and with another fit instead of a recovery.
func (k *kills) kill(left *durabletest.Disk, commits int, released float64, n int, what string) {
	t := k.t
	store := k.store.until(n).at(commits, left)
	if d := store.dataset(t); len(d.Runs) == k.earlier {
		released = 0 // counts the releases of this fit only; the earlier fit has settled
		if k.earlier > 0 {
			released = d.Runs[0].Charged.Charge
		}
	} else if run := d.Runs[len(d.Runs)-1]; !strings.Contains(ledgerText(left), run.Run) {
		k.stranded++
	}
	again := left.Crash(0, durabletest.Kept{})
	settles(t, left, store, released, what)
	// A recovery is killed and run again.
	steps := len(left.Ops())
	every := 3
	if testing.Short() {
		every = 8
	}
	for half := n % every; half < steps; half += every {
		least, most := store.between(half)
		for commits := least; commits <= most; commits++ {
			k.recovered++
			settles(t, left.Crash(half, durabletest.Kept{}), store.at(commits, nil), released,
				what+fmt.Sprintf(", recovery after %d", half))
		}
	}
	if n%3 > 0 && testing.Short() {
		return
	}
	// Another fit runs instead of a recovery.
	next := k.store.until(n).at(commits, again)
	before := len(next.dataset(t).Runs)
	if _, _, err := storedFit(t, k.scene, again, next); err != nil {
		t.Fatalf("%s: the next fit: %v", what, err)
	}
	k.replaced++
	d := next.dataset(t)
	if len(d.Runs) != before+1 || d.Open != 0 || strings.Contains(again.Tree(), "intent-") {
		t.Fatalf("%s: after the next fit %v of %d runs stays reserved\n%s", what, d.Open, len(d.Runs), again.Tree())
	}
	if before > k.earlier {
		if got := d.Runs[before-1].Charged.Charge; got < released || got > d.Runs[before-1].Reserved.Charge {
			t.Fatalf("%s: the next fit has the store charge %v: %v was released", what, got, released)
		}
	}
}

// TestIntentBeforeTheStoreIsAsked requires the order of operations on which the other tests of this
// file rest: the intent (the note of a reservation) is on stable storage before the store reserves,
// the ledger is on stable storage before the first release, and the intent is removed after the
// store knows the charge.
func TestIntentBeforeTheStoreIsAsked(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 3)
	_, a, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	ops := d.Ops()
	at := func(op string, from int) int {
		for i := from; i < len(ops); i++ {
			if ops[i].String() == op {
				return i
			}
		}
		t.Fatalf("no %q from operation %d of %v", op, from, ops)
		return 0
	}
	i := at("sync out/.intent-1", at("write out/.intent-1", 0))
	i = at("sync-folder out", at("rename out/.intent-1 out/intent-1.json", i))
	if reserved := c.rows[1].ops; reserved <= i {
		t.Errorf("the store was asked after %d operations: the intent is stable after %d", reserved, i+1)
	}
	i = at("sync-folder out", at("sync out/ledger.jsonl", c.rows[1].ops))
	if a.marks[0] <= i {
		t.Errorf("released after %d operations: the ledger is stable after %d", a.marks[0], i+1)
	}
	if settled := c.rows[2].ops; at("remove out/intent-1.json", 0) < settled {
		t.Error("the intent was forgotten before the store knew what was used")
	}
}

// TestStoreThatFails tests a store whose reply to a reservation is lost, or which cannot be reached. If the
// fit cannot continue, it must release nothing. The reservation must be freed at once or by a recovery, and
// the error must say which.
func TestStoreThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		// lost is the number of transactions whose replies are lost. away says that the store
		// cannot be reached after them.
		lost int
		away bool
		err  string
	}{
		"once":           {1, false, ""},
		"not before end": {0, true, "the store is out of reach"},
		"for good":       {1, true, "stillpoint recover out gives it back"},
	} {
		s := newScene(t, "gd")
		d := durabletest.New()
		store := newChains(t, s, d, 3, 3)
		lost := 0
		store.fail = func(committed bool) error {
			switch {
			case committed && lost < c.lost:
				lost++
				return errUnreachable
			case !committed && c.away && lost == c.lost:
				return errUnreachable
			}
			return nil
		}
		_, a, err := storedFit(t, s, d, store)
		if c.err == "" && err != nil || c.err != "" &&
			(!errors.Is(err, budget.ErrStore) || !strings.Contains(err.Error(), c.err) || len(a.marks) > 0) {
			t.Fatalf("%s: %v after %d steps", name, err, len(a.marks))
		}
		if store.fail = nil; err == nil {
			continue
		}
		if reserved := len(store.dataset(t).Runs); reserved != c.lost {
			t.Fatalf("%s: %d runs", name, reserved)
		}
		settles(t, d, store, 0, name)
	}
}

// TestRefusedFitLeavesNoIntent tests two fits for whose budgets the dataset's cap suffices only
// once. The later fit is refused. It must leave no intent (the note of a reservation), so that no
// recovery settles a run by its folder.
func TestRefusedFitLeavesNoIntent(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 1.2, 3)
	config, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	o.Out, o.disk = diskOut, d
	o.Stores = func(ctx context.Context, address string) (*budget.Book, error) {
		opened++
		return budget.NewBook(&overtaken{chains: c, by: t}), nil
	}
	over := (*account.BudgetError)(nil)
	if _, err := fit(context.Background(), config, o); !errors.As(err, &over) || opened != 1 {
		t.Fatalf("a fit that was overtaken: %v", err)
	}
	if tree := d.Tree(); strings.Contains(tree, "intent") || strings.Contains(tree, LedgerFile) {
		t.Errorf("a refused fit has left\n%s", tree)
	}
}

// overtaken is a store in which another run uses the budget after a fit has asked whether the
// budget suffices, and before the fit's reservation.
type overtaken struct {
	*chains
	by   *testing.T
	done bool
}

func (o *overtaken) Update(ctx context.Context, dataset string, from int,
	next func(budget.Tail) (*budget.Row, error)) error {
	if !o.done {
		o.done = true
		d := durabletest.New()
		s := newScene(o.by, "gd")
		write(o.by, s.config(),
			peopleYAML+"budget: {store: \"sqlite:none.db\", dataset: people}\ntrain: {algorithm: gd, steps: 3}\n")
		if _, _, err := storedFit(o.by, s, d, o.chains); err != nil {
			o.by.Error(err)
		}
	}
	return o.chains.Update(ctx, dataset, from, next)
}

// TestStoreOutOfReachAtTheEnd: a fit cannot reach its store at its end. The next recovery
// settles the run and says so. The recovery after that has nothing left to do and says so.
func TestStoreOutOfReachAtTheEnd(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 3)
	commits := 0
	c.fail = func(committed bool) error {
		if committed {
			commits++
		} else if commits == 1 {
			return errUnreachable
		}
		return nil
	}
	f, _, err := storedFit(t, s, d, c)
	if charged := (*ChargedError)(nil); f == nil || !errors.As(err, &charged) {
		t.Fatalf("%v, %v", f, err)
	}
	away := func(context.Context, string) (*budget.Book, error) { return nil, errUnreachable }
	_, err = recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: away})
	if !errors.Is(err, errUnreachable) {
		t.Errorf("recovered without its store: %v", err)
	}
	c.fail = nil
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: c.open})
	if err != nil || r.Files || len(r.Settlements) != 1 || !nearly(r.Settlements[0].Charged, f.Charged) ||
		r.Settlements[0].Fit != 1 || r.Settlements[0].Kept != "" {
		t.Errorf("recovered %+v, %v", r, err)
	}
	if got := c.dataset(t); !nearly(got.Spent, f.Charged) || got.Open != 0 {
		t.Errorf("the store has %v, %v open: must have %v", got.Spent, got.Open, f.Charged)
	}
	if _, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: c.open}); err == nil ||
		!strings.Contains(err.Error(), "nothing to recover") {
		t.Errorf("recovered twice: %v", err)
	}
	// A folder of an earlier version has no intent; its ledger names the run.
	if entries, err := ledgerfile.Parse([]byte(ledgerText(d))); err != nil || entries[0].Run != c.dataset(t).Runs[0].Run {
		t.Errorf("%v, %v", entries, err)
	}
	old := c.at(2, d)
	if r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: old.open}); err != nil ||
		len(r.Settlements) != 1 || !nearly(old.dataset(t).Spent, f.Charged) {
		t.Errorf("recovered %+v, %v without an intent", r, err)
	}
}

// TestDamagedIntent tests that an intent (the note of a reservation) is an error if one of its
// bytes was changed, or if it belongs to another fit.
func TestDamagedIntent(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 3)
	if _, _, err := storedFit(t, s, d, c); err != nil {
		t.Fatal(err)
	}
	left := d.Crash(c.rows[1].ops, durabletest.Lost{})
	text, ok := left.Text("out/intent-1.json")
	if !ok {
		t.Fatal("no intent")
	}
	for at := range len(text) {
		damaged := []byte(text)
		damaged[at] ^= 1
		if i, err := parseIntent(damaged, 1); err == nil {
			t.Errorf("byte %d: read %+v", at, i)
		}
	}
	if _, err := parseIntent([]byte(text), 2); err == nil {
		t.Error("the intent of another fit was read")
	}
	left.Put("out/intent-1.json", strings.Replace(text, "people", "People", 1))
	store := c.at(2, left)
	if _, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Stores: store.open}); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("recovered: %v", err)
	}
	if _, _, err := storedFit(t, s, left, store); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("fitted: %v", err)
	}
}
