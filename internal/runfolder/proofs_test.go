package runfolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// counted is a store that counts the times that it is opened and closed.
type counted struct {
	budget.Store
	opened, closed int
}

func (c *counted) open(context.Context, string) (*budget.Book, error) {
	c.opened++
	return budget.NewBook(c), nil
}

func (c *counted) Close() error {
	c.closed++
	return nil
}

// evidenceOf returns what the folder of a disk proves of its last run.
func evidenceOf(t *testing.T, d place) evidence {
	t.Helper()
	f := &folder{disk: d, path: diskOut}
	entries, left, err := f.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	f.last(entries)
	p, err := f.evidence(f.on(t.Context()), f.entry, intentOf(left, f.entry.Run), entries)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReasonsToTheLetter tests the reason why a folder does not prove the charge of a killed run, for each change of
// its files, and which events it knows in spite of it.
func TestReasonsToTheLetter(t *testing.T) {
	_, d, _, _, journal := killedWithStore(t)
	lines := strings.SplitAfter(strings.TrimRight(journal, "\x00"), "\n")
	room, events := strings.Repeat("\x00", 99), strings.Count(journal, `"event":`)
	const name = "out/journal-1.jsonl"
	put := func(text string) func(*durabletest.Disk) {
		return func(d *durabletest.Disk) { overwritten(t, d, name, text) }
	}
	again := func(path string) func(*durabletest.Disk) {
		return func(d *durabletest.Disk) {
			text, _ := d.Text(path)
			d.Put(path, text)
		}
	}
	without := strings.Join(lines[:3], "")
	for what, c := range map[string]struct {
		do     func(*durabletest.Disk)
		why    string
		events int
	}{
		"as it was": {func(*durabletest.Disk) {}, "", events},
		"a line lost": {put(without + strings.Join(lines[4:], "") + room),
			name + ": line 4 is damaged or cut off, and the releases after it are not known", strings.Count(without, `"event":`)},
		"cut off": {put(without),
			name + ": line 4 is damaged or cut off, and the releases after it are not known", strings.Count(without, `"event":`)},
		"version 1": {put(versioned(t, journal)),
			name + ": its lines have no checksums, as those of version 1, and do not prove that they are all", events},
		"no intent": {func(d *durabletest.Disk) { _ = d.Remove("out/intent-1.json") },
			"out/intent-1.json: is not there, and the journal alone proves nothing", events},
		"a journal put back": {again(name),
			name + ": is of another folder, or was put back: only the folder in which the fit ran proves that it is whole", events},
		"another lock": {again("out/" + lockFile), "out/intent-1.json: is of another folder, or was put back: only the folder in " +
			"which the fit ran proves that it is whole", events},
		"an intent of no place": {func(d *durabletest.Disk) {
			text, _ := d.Text("out/intent-1.json")
			i, err := parseIntent([]byte(text), 1)
			if err != nil {
				t.Fatal(err)
			}
			i.Place = nil
			whole, err := i.text()
			if err != nil {
				t.Fatal(err)
			}
			overwritten(t, d, "out/intent-1.json", string(whole))
		}, "out/intent-1.json: does not say which folder it is of, as files of earlier versions", events},
		"no journal":    {func(d *durabletest.Disk) { _ = d.Remove(name) }, "fit 1 has left no journal", -1},
		"no head":       {put("x\n"), name + ": line 1: not the head of a journal: ", -1},
		"another fit's": {put(forged(t, journal, `"epsilon":1,`, `"epsilon":2,`)), name + ": is not the journal of fit 1 as ledger.jsonl has it", -1},
	} {
		left := d.Crash(len(d.Ops()), durabletest.Kept{})
		c.do(left)
		p := evidenceOf(t, left)
		if !strings.HasPrefix(p.why, c.why) || (p.why == "") != (c.why == "") || p.events != c.events {
			t.Errorf("%s: %d events, %q: must be %d, %q", what, p.events, p.why, c.events, c.why)
		}
		if c.events >= 0 && len(p.cert.Events()) != c.events {
			t.Errorf("%s: the certificate has %d events: must have %d", what, len(p.cert.Events()), c.events)
		}
	}
}

// overwritten replaces the content of a file and leaves its number as it is.
func overwritten(t *testing.T, d *durabletest.Disk, path, text string) {
	t.Helper()
	if w := (&world{disk: d}); !w.overwrite(path, text) {
		t.Fatalf("%s: cannot be written", path)
	}
}

// TestASettledRunIsRaised tests folders that prove another charge than the one at which their run was settled: a larger
// one is told to the store, with both numbers, and a smaller or equal one changes nothing. Each opened store is closed.
func TestASettledRunIsRaised(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 4)
	f, a, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	early, late := a.marks[0], 0
	for n, o := range d.Ops() {
		if o.String() == "rename out/.model.json-1 out/model.json" {
			late = n + 1
		}
	}
	for _, intent := range []bool{true, false} {
		store := &counted{Store: c.until(early).at(2, nil)}
		state := func() budget.RunState {
			all, err := budget.NewBook(store).Dataset(t.Context(), "people")
			if err != nil {
				t.Fatal(err)
			}
			return all.Runs[0]
		}
		recovered := func(mark int) (*Recovered, error) {
			left := d.Crash(mark, durabletest.Kept{})
			if !intent && mark == late {
				_ = left.Remove("out/intent-1.json")
			}
			return recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open})
		}
		r, err := recovered(early)
		low := state()
		if err != nil || len(r.Settlements) != 1 || !low.Settled || low.Charged.Charge < a.charged[0] ||
			low.Charged.Charge >= f.Charged || r.Settlements[0].Charged != low.Charged.Charge || r.Settlements[0].Before != 0 {
			t.Fatalf("%+v, %v: the store has %+v", r, err, low)
		}
		for i := range 2 {
			r, err = recovered(late)
			high := state()
			if err != nil || !high.Settled || high.Charged.Charge != f.Charged || len(r.Settlements) > 1 {
				t.Fatalf("recovery %d of the whole: %+v, %v: the store has %+v: must have %v", i, r, err, high, f.Charged)
			}
			if (len(r.Settlements) == 1) != (intent || i == 0) {
				t.Errorf("recovery %d, intent %v: %+v", i, intent, r.Settlements)
			}
			for _, told := range r.Settlements {
				want := Settlement{Store: "sqlite:none.db", Dataset: "people", Run: high.Run, Fit: 1, Charged: f.Charged}
				want.Store = told.Store // the address is that of the scene's folder
				if i == 0 {
					want.Before = low.Charged.Charge
				}
				if told != want || !strings.HasSuffix(told.Store, "none.db") {
					t.Errorf("recovery %d, intent %v: %+v: must be %+v", i, intent, told, want)
				}
			}
		}
		if _, err := recovered(early); err != nil || state().Charged.Charge != f.Charged {
			t.Errorf("an earlier folder: %v, the store has %+v", err, state())
		}
		if store.opened == 0 || store.opened != store.closed {
			t.Errorf("%d stores were opened and %d closed", store.opened, store.closed)
		}
	}
}

// TestARecoveryTellsOfAnAbsentRun tests a recovery of a folder without an intent, as earlier versions left them, whose run the store
// does not have: the recovery has a settlement that says so, and the store stays as it is.
func TestARecoveryTellsOfAnAbsentRun(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 4)
	if _, _, err := storedFit(t, s, d, c); err != nil {
		t.Fatal(err)
	}
	for n, o := range d.Ops() {
		if o.String() != "rename out/.model.json-1 out/model.json" {
			continue
		}
		left := d.Crash(n+1, durabletest.Kept{})
		if err := left.Remove("out/intent-1.json"); err != nil {
			t.Fatal(err)
		}
		store := &counted{Store: c.until(n).at(1, nil)} // with the dataset alone
		r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open})
		if err != nil || len(r.Settlements) != 1 || !r.Settlements[0].Absent || r.Settlements[0].Fit != 1 || r.Settlements[0].Charged != 0 {
			t.Fatalf("%+v, %v: must have one settlement, of an absent run", r, err)
		}
		all, err := budget.NewBook(store).Dataset(t.Context(), "people")
		if err != nil || len(all.Runs) != 0 || store.opened != store.closed {
			t.Errorf("the store has %+v, %v; %d were opened, %d closed", all, err, store.opened, store.closed)
		}
		return
	}
	t.Fatal("the fit wrote no model")
}

// lateReservation is a store of which the first readings come before a reservation that is under way, and transactions
// after it.
type lateReservation struct {
	*chains
	before *chains
	views  int
}

func (l *lateReservation) View(ctx context.Context, name string, from int) (budget.Tail, error) {
	if l.views--; l.views >= 0 {
		return l.before.View(ctx, name, 0)
	}
	return l.chains.View(ctx, name, from)
}

// TestAReservationUnderWay tests a recovery that begins while a transaction reserves the run of its folder's intent:
// the store is read without the run, and has it afterwards. The run is withdrawn, and nothing stays reserved.
func TestAReservationUnderWay(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 3)
	if _, _, err := storedFit(t, s, d, c); err != nil {
		t.Fatal(err)
	}
	asked := c.rows[1].ops // the intent is there, and the store has not replied
	for _, reserved := range []bool{true, false} {
		left := d.Crash(asked, durabletest.Kept{})
		commits := 1
		if reserved {
			commits = 2
		}
		store := &lateReservation{chains: c.until(asked).at(commits, left), before: c.at(1, nil), views: 3}
		open := func(context.Context, string) (*budget.Book, error) { return budget.NewBook(store), nil }
		r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: open})
		if err != nil || len(r.Settlements) != 1 || r.Settlements[0].Absent == reserved || r.Settlements[0].Charged != 0 ||
			r.Settlements[0].Kept != "" || r.Settlements[0].Fit != 0 {
			t.Fatalf("reserved %v: %+v, %v", reserved, r, err)
		}
		if got := store.chains.dataset(t); got.Open != 0 || got.Spent != 0 || len(got.Runs) != commits-1 {
			t.Errorf("reserved %v: %+v", reserved, got)
		}
	}
}

// TestStoresThatCannotBeAsked tests a recovery whose store cannot be opened: the files are made, the error is told, and
// a journal that proves nothing stays. Later, when it can be opened, the store is told.
func TestStoresThatCannotBeAsked(t *testing.T) {
	_, d, c, _, journal := killedWithStore(t)
	away := func(context.Context, string) (*budget.Book, error) { return nil, errUnreachable }
	for _, whole := range []bool{true, false} {
		left := d.Crash(len(d.Ops()), durabletest.Kept{})
		if !whole {
			left.Put("out/journal-1.jsonl", strings.TrimRight(journal, "\x00")+"x\n")
		}
		r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: away})
		if !errors.Is(err, errUnreachable) || !r.Files || r.unproven == whole || len(r.Settlements) > 0 {
			t.Errorf("whole %v: %+v, %v", whole, r, err)
		}
		entries, err := ledgerfile.Parse([]byte(ledgerText(left)))
		if err != nil || (len(entries) == 2) != whole {
			t.Errorf("whole %v: %d entries, %v", whole, len(entries), err)
		}
		if _, there := left.Text("out/journal-1.jsonl"); !there {
			t.Errorf("whole %v: the journal is gone", whole)
		}
		if _, there := left.Text("out/intent-1.json"); !there {
			t.Errorf("whole %v: the intent is gone", whole)
		}
		store := &counted{Store: c.at(2, left)}
		if r, err = recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open}); err != nil || len(r.Settlements) != 1 ||
			(r.Settlements[0].Kept == "") != whole || store.opened == 0 || store.opened != store.closed {
			t.Errorf("whole %v, later: %+v, %v: %d stores were opened and %d closed", whole, r, err, store.opened, store.closed)
		}
	}
	// If the store was told the end from a whole copy of the folder, a copy whose journal is damaged needs to prove nothing.
	left := d.Crash(len(d.Ops()), durabletest.Kept{})
	store := &counted{Store: c.at(2, left)}
	if _, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open}); err != nil {
		t.Fatal(err)
	}
	left = d.Crash(len(d.Ops()), durabletest.Kept{})
	left.Put("out/journal-1.jsonl", strings.TrimRight(journal, "\x00")+"x\n")
	r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open})
	entries, bad := ledgerfile.Parse([]byte(ledgerText(left)))
	if _, there := left.Text("out/journal-1.jsonl"); err != nil || bad != nil || r.unproven || len(entries) != 2 || there {
		t.Errorf("a store that was told: %+v, %v, %d entries, %v, a journal is there: %v", r, err, len(entries), bad, there)
	}
}

// TestLeftoversThatStay tests a fit in a folder in which a killed fit has left files that cannot be removed: it says so
// before it releases anything.
func TestLeftoversThatStay(t *testing.T) {
	s := newScene(t, "gd")
	clean := durabletest.New()
	if _, _, err := s.fitOn(t, t.Context(), clean); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"journal-2.jsonl", ".model.json-2", ".certificate.json-2"} {
		d := clean.Crash(len(clean.Ops()), durabletest.Kept{})
		d.Put("out/"+kind, "left")
		tried := false
		d.Fail = func(o durabletest.Op) error {
			if o.Kind == "remove" && o.Path == "out/"+kind {
				tried = true
				return errFull
			}
			return nil
		}
		f, marks, err := s.fitOn(t, t.Context(), d)
		if d.Fail = nil; !tried || f != nil || !errors.Is(err, errFull) || len(marks) > 0 {
			t.Errorf("%s: %v, %d steps, tried %v", kind, err, len(marks), tried)
		}
		if entries, err := ledgerfile.Parse([]byte(ledgerText(d))); err != nil || len(entries) != 2 {
			t.Errorf("%s: %d entries, %v", kind, len(entries), err)
		}
	}
}

// TestLostTailsAreCounted puts zeros in place of the last lines of a killed fit's journal, as many as there are. The
// run stays charged in full, and the reason has both numbers, if the store has heard of more events than are left;
// otherwise it is charged at least what the journal and the store have.
func TestLostTailsAreCounted(t *testing.T) {
	_, d, c, a, journal := killedWithStore(t)
	whole := strings.TrimRight(journal, "\x00")
	lines := strings.SplitAfter(whole, "\n")
	lease := c.dataset(t).Runs[0].Lease
	if lease == nil || lease.Events < 2 || lease.Events >= strings.Count(whole, `"event":`) {
		t.Fatalf("the store has heard %+v of %d events", lease, strings.Count(whole, `"event":`))
	}
	lost, kept := 0, 0
	for n := 1; n < len(lines); n++ {
		left, store := d.Crash(len(d.Ops()), durabletest.Kept{}), c.at(2, nil)
		text := strings.Join(lines[:n], "")
		overwritten(t, left, "out/journal-1.jsonl", text+strings.Repeat("\x00", len(journal)-len(text)))
		r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: store.open})
		if err != nil || len(r.Settlements) != 1 {
			t.Fatalf("%d lines: %+v, %v", n, r, err)
		}
		events, told, got := strings.Count(text, `"event":`), r.Settlements[0], store.dataset(t).Runs[0]
		if events < lease.Events {
			want := fmt.Sprintf("the journal has %d events, and the store knows that it had %d", events, lease.Events)
			if lost++; told.Kept != want || got.Settled || got.Charged != got.Reserved || told.Charged != got.Reserved.Charge {
				t.Errorf("%d lines: %+v: must say %q; the store has %+v", n, told, want, got)
			}
		} else if kept++; told.Kept != "" || !got.Settled || got.Charged.Charge < lease.Charge || got.Charged.Charge < a.charged[0] ||
			told.Charged != got.Charged.Charge {
			t.Errorf("%d lines: %+v: the store has %+v", n, told, got)
		}
	}
	if lost == 0 || kept == 0 {
		t.Errorf("%d tails are noticed and %d are not", lost, kept)
	}
}

// TestReasonsOfCertificates tests the reason why the certificate of a fit that has ended does not prove its charge, for
// each change of the folder: the ledger's end states more or less, and the certificate is another's, altered, made from
// a journal, or not there.
func TestReasonsOfCertificates(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 4)
	f, a, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	const name = "out/certificate.json"
	recovered := d.Crash(a.marks[1], durabletest.Kept{})
	if _, err := recoverIn(t.Context(), recovered, diskOut, RecoverOptions{Stores: c.until(a.marks[1]).at(2, recovered).open}); err != nil {
		t.Fatal(err)
	}
	fromJournal, _ := recovered.Text(name)
	fromCert, err := certificate.Parse([]byte(fromJournal))
	if err != nil {
		t.Fatal(err)
	}
	other := durabletest.New()
	if !(f.Charged < f.Budget.Charge()) {
		t.Fatalf("the fit has charged all of %v", f.Charged)
	}
	if _, _, err := storedFit(t, s, other, newChains(t, s, other, 3, 4)); err != nil {
		t.Fatal(err)
	}
	anothers, _ := other.Text(name)
	states := func(charged float64) func(*durabletest.Disk) {
		return func(d *durabletest.Disk) {
			entries, err := ledgerfile.Parse([]byte(ledgerText(d)))
			if err != nil || len(entries) != 2 {
				t.Fatal(entries, err)
			}
			entries[1].Charged = charged
			text := ""
			for _, e := range entries {
				line, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				text += string(line) + "\n"
			}
			d.Put("out/"+LedgerFile, text)
		}
	}
	put := func(text string) func(*durabletest.Disk) { return func(d *durabletest.Disk) { d.Put(name, text) } }
	differs := func(want float64) string {
		return fmt.Sprintf("%s: charged = %v: must be %v, as fit 1 said elsewhere", name, f.Charged, want)
	}
	for what, c := range map[string]struct {
		do      func(*durabletest.Disk)
		why     string
		charged float64 // of the certificate; 0 for none
	}{
		"as it was":           {func(*durabletest.Disk) {}, "", f.Charged},
		"the same":            {states(f.Charged), "", f.Charged},
		"more in the ledger":  {states(f.Budget.Charge()), differs(f.Budget.Charge()), f.Charged},
		"less in the ledger":  {states(f.Charged * .75), differs(f.Charged * .75), f.Charged},
		"made from a journal": {put(fromJournal), name + ": was made from a journal that does not prove to be whole", fromCert.Charged()},
		"another's":           {put(strings.ReplaceAll(anothers, strings.Repeat("0", 31)+"2", strings.Repeat("0", 31)+"9")), name + ": ", 0},
		"no certificate":      {put("{}"), name + ": ", 0},
		"none":                {func(d *durabletest.Disk) { _ = d.Remove(name) }, "open " + name + ": file does not exist", 0},
		"no end": {func(d *durabletest.Disk) {
			d.Put("out/"+LedgerFile, strings.SplitAfter(ledgerText(d), "\n")[0])
		}, "fit 1 has left no journal", 0},
	} {
		left := d.Crash(len(d.Ops()), durabletest.Kept{})
		c.do(left)
		p := evidenceOf(t, left)
		if !strings.HasPrefix(p.why, c.why) || (p.why == "") != (c.why == "") || p.events != -1 || (p.cert != nil) != (c.charged > 0) ||
			p.cert != nil && p.cert.Charged() != c.charged {
			t.Errorf("%s: %q, %+v: must be %q, charged %v", what, p.why, p, c.why, c.charged)
		}
	}
	// The certificate is of one run of one dataset.
	left := d.Crash(len(d.Ops()), durabletest.Kept{})
	own := &folder{disk: left, path: diskOut}
	entries, err := own.read(own.path)
	if err != nil {
		t.Fatal(err)
	}
	own.last(entries)
	for field, value := range map[string]*string{"nothing": new(string), "Run": &own.entry.Run, "Dataset": &own.entry.Dataset} {
		before := *value
		*value += "x"
		p := own.charges(t.Context(), name, f.Charged)
		*value = before
		if want := map[bool]string{false: name + ": is not that of fit 1"}[field == "nothing"]; p.why != want || (p.cert != nil) != (want == "") {
			t.Errorf("another %s: %q: must be %q", field, p.why, want)
		}
	}
}
