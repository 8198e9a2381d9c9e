package runfolder

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// The tests of this file search all orders of the things that may befall a fit, its folder and its store, up to
// a depth: releases, the end, a kill, copies, older files that are put back, files that are lost or lose their
// tail, recoveries, settlements, other fits and another machine. The code of folders and stores is the real one,
// on the disk in memory. In every state two things must hold:
//
//   - the store charges each run at least what it released;
//   - once the processes have ended, a command ends every reservation.

var depth = flag.Int("protocol", 2, "number of actions in every order, after each beginning")

// beginnings are the actions after which the search begins.
var beginnings = [][]string{
	{"fit"},
	{"fit", "release", "release"},
	{"fit", "copy", "release", "kill"},
	{"fit", "release", "release", "kill"},
	{"fit", "release", "end", "copy", "fit"},
}

// people whose commands act: a fit's machine, and another one that sees the same disk.
const hostA, hostB = "a", "b"

// world is a disk, a store, and the processes that use them.
type world struct {
	t     *testing.T
	head  train.Header
	disk  *durabletest.Disk
	store *chains
	// processes is the number of processes so far. live is the fit that runs, if any, and alive the numbers of
	// the processes of fits that run.
	processes int
	alive     map[int]bool
	live      *liveFit
	// released is the sum of the charges of the answers of each run.
	released map[string]float64
	runs     []string
}

// process is the disk as a process sees it.
type process struct {
	*durabletest.Disk
	w    *world
	host string
	id   int
}

func (p process) Self() holder.Process {
	return holder.Process{Host: p.host, Boot: p.host, Space: p.host, ID: p.id, Start: "1"}
}

func (p process) Ended(q holder.Process) (ended, known bool) {
	return !p.w.alive[q.ID], q.Host == p.host
}

func (w *world) process(host string) process {
	w.processes++
	return process{w.disk, w, host, w.processes}
}

// liveFit is a fit that runs. It does what train.Config.Fit does with the storage and the store, and releases
// answers without a table.
type liveFit struct {
	on      process
	storage *storage
	log     train.Log
	run     *budget.Run
	book    *budget.Book
	session *answering
	entry   Entry
	head    train.Header
	id      string
	noted   int
	// stopped is true after an error, after which a fit releases nothing.
	stopped bool
}

// answering is a session without a table.
type answering struct{ own *account.Ledger }

func (a *answering) Ledger() account.View { return a.own.View() }
func (a *answering) Close() error         { a.own.End(); return nil }

// begin starts a fit in a folder, up to its first release.
func (w *world) begin(dir, host string) (*liveFit, error) {
	ctx := context.Background()
	p := w.process(host)
	w.alive[p.id] = true
	b, err := account.NewBudget(w.head.Epsilon, w.head.Delta, w.head.Relation)
	if err != nil {
		w.t.Fatal(err)
	}
	own, err := account.OpenLedger(b, account.Records{Count: w.head.Records})
	if err != nil {
		w.t.Fatal(err)
	}
	f := newFolder(p, dir, "people", true)
	f.stores = w.store.open
	l := &liveFit{on: p, storage: &storage{f}, session: &answering{own}, head: w.head, book: budget.NewBook(w.store)}
	fail := func(err error) (*liveFit, error) {
		delete(w.alive, p.id)
		f.release()
		_ = l.book.Close()
		return nil, err
	}
	ctx = f.on(ctx)
	if err := l.storage.Claim(ctx, "/people.csv"); err != nil {
		return fail(err)
	}
	l.run = l.book.Run("people", "")
	l.run.Hold()
	if l.id, err = l.run.ID(ctx); err == nil {
		err = l.storage.Intend("store", "people", l.id)
	}
	if err == nil {
		err = l.run.Reserve(ctx, own.View())
	}
	if err != nil {
		return fail(errors.Join(err, l.run.Settle(ctx, l.session), l.storage.Forget()))
	}
	w.runs = append(w.runs, l.id)
	receipt, _ := l.run.Receipt()
	l.head.Fit, l.head.Budget = f.fit, &receipt
	l.entry = Entry{Data: "/people.csv", Algorithm: "gd", Guarantee: b.Guarantee(""), Store: "store", Dataset: "people",
		Run: l.id}
	if l.log, err = l.storage.Begin(l.head, train.Released{}); err == nil {
		err = l.storage.Reserve(l.entry)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return l, nil
}

// release charges an answer, and releases it unless the store or the journal fails.
func (w *world) release(l *liveFit) {
	if l.stopped {
		return
	}
	b := l.session.own.Budget()
	e, err := account.GaussianEvent("gradient", account.Everyone, b.Mu()/2.3, 1)
	if err == nil {
		err = l.session.own.Reserve(e)
	}
	if over := (*account.BudgetError)(nil); errors.As(err, &over) {
		return
	} else if err != nil {
		w.t.Fatal(err)
	}
	ctx := l.storage.f.on(context.Background())
	if err = l.run.Cover(ctx, l.noted, l.session.Ledger().Charged()); err == nil {
		err = l.log.Events(l.session.Ledger().Since(l.noted))
	}
	if l.noted = l.session.Ledger().Len(); err != nil {
		l.stopped = true
		return
	}
	w.released[l.id] = l.session.Ledger().Charged()
}

// end ends a fit as one that has no model, or with its certificate.
func (w *world) end(l *liveFit, certified bool) {
	ctx := l.storage.f.on(context.Background())
	_ = l.session.Close()
	if !certified {
		l.log.Discard()
		_ = l.storage.Settle(l.session.Ledger().Charged(), false)
	} else if _, cert, err := l.head.Files(train.Released{Events: l.session.Ledger().Events()}); err != nil {
		w.t.Fatal(err)
	} else {
		_ = l.log.Publish(nil, cert)
	}
	if err := l.run.Settle(ctx, l.session); err == nil {
		_ = l.storage.Forget()
	}
	w.stop(l)
}

// stop ends the process of a fit; nil is none.
func (w *world) stop(l *liveFit) {
	if l == nil {
		return
	}
	l.log.Close()
	_ = l.book.Close()
	l.storage.Release()
	if w.live == l {
		w.live = nil
	}
	delete(w.alive, l.on.id)
}

// action is something that may happen. It reports whether it was possible.
type action struct {
	name string
	do   func(w *world) bool
}

const out, copied = "out", "copy"

func (w *world) last() string { return w.runs[len(w.runs)-1] }

// files returns the names of the files in a folder.
func (w *world) files(dir string) (names []string) {
	entries, _ := w.disk.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// newest returns the name of the newest journal or intent in the folder out.
func (w *world) newest(kind string) string {
	found := ""
	for _, name := range w.files(out) {
		if strings.HasPrefix(name, kind) {
			found = name
		}
	}
	return found
}

var filesOfFits = map[string]func(w *world) string{
	"journal":     func(w *world) string { return w.newest("journal-") },
	"intent":      func(w *world) string { return w.newest("intent-") },
	"ledger":      func(*world) string { return LedgerFile },
	"lock":        func(*world) string { return lockFile },
	"certificate": func(*world) string { return CertificateFile },
}

func actions() (all []action) {
	add := func(name string, do func(w *world) bool) { all = append(all, action{name, do}) }
	add("fit", func(w *world) bool {
		if w.live != nil {
			return false
		}
		l, err := w.begin(out, hostA)
		if err != nil {
			return false
		}
		w.live = l
		w.release(l)
		return true
	})
	add("release", func(w *world) bool {
		if w.live == nil || w.live.stopped {
			return false
		}
		w.release(w.live)
		return true
	})
	for name, certified := range map[string]bool{"end": true, "end without a model": false} {
		add(name, func(w *world) bool {
			if w.live == nil {
				return false
			}
			w.end(w.live, certified)
			return true
		})
	}
	add("kill", func(w *world) bool {
		if w.live == nil {
			return false
		}
		w.stop(w.live)
		return true
	})
	add("copy", func(w *world) bool {
		for _, name := range w.files(copied) {
			_ = w.disk.Remove(copied + "/" + name)
		}
		for _, name := range w.files(out) {
			text, _ := w.disk.Text(out + "/" + name)
			w.disk.Put(copied+"/"+name, text)
		}
		return true
	})
	for kind, named := range filesOfFits {
		file := func(w *world) string { return out + "/" + named(w) }
		add("lose "+kind, func(w *world) bool { return w.disk.Remove(file(w)) == nil })
		if kind == "lock" {
			continue
		}
		older := func(w *world) (string, bool) { return w.disk.Text(copied + "/" + named(w)) }
		add("put back "+kind, func(w *world) bool {
			text, ok := older(w)
			if ok {
				w.disk.Put(file(w), text)
			}
			return ok
		})
		add("put back "+kind+" in place", func(w *world) bool {
			text, ok := older(w)
			return ok && w.overwrite(file(w), text)
		})
	}
	add("zero a tail", func(w *world) bool {
		path := out + "/" + w.newest("journal-")
		text, ok := w.disk.Text(path)
		lines := strings.SplitAfter(strings.TrimRight(text, "\x00"), "\n")
		if !ok || len(lines) < 3 {
			return false
		}
		kept := strings.Join(lines[:len(lines)-2], "")
		return w.overwrite(path, kept+strings.Repeat("\x00", len(text)-len(kept)))
	})
	for _, dir := range []string{out, copied} {
		for _, host := range []string{hostA, hostB} {
			add("recover "+dir+" on "+host, func(w *world) bool {
				_, _ = recoverIn(context.Background(), w.process(host), dir, RecoverOptions{Overwrite: true, Stores: w.store.open})
				return true
			})
			add("settle "+dir+" on "+host, func(w *world) bool {
				_, _ = settleIn(context.Background(), w.process(host), dir, w.runs[0], w.store.open)
				return true
			})
		}
	}
	add("fit in copy on b", func(w *world) bool {
		l, err := w.begin(copied, hostB)
		if err == nil {
			w.release(l)
			w.end(l, true)
		}
		return err == nil
	})
	add("in full", func(w *world) bool {
		ctx := holder.On(context.Background(), w.process(hostB))
		_ = budget.NewBook(w.store).SettleInFull(ctx, "people", w.runs[0])
		return true
	})
	add("three minutes pass", func(w *world) bool { w.store.pass(3 * time.Minute); return true })
	slices.SortFunc(all, func(a, b action) int { return strings.Compare(a.name, b.name) })
	return all
}

// overwrite replaces the content of a file that is there.
func (w *world) overwrite(path, text string) bool {
	f, err := w.disk.Update(path)
	if err != nil {
		return false
	}
	_ = f.Truncate(0)
	_, err = f.WriteAt([]byte(text), 0)
	return err == nil
}

// state returns a text that differs for states that differ in anything on which a later action depends.
func (w *world) state() string {
	var b strings.Builder
	for _, dir := range []string{out, copied} {
		f := &folder{disk: process{w.disk, w, hostA, 0}, path: dir}
		left, _ := f.intents()
		for _, i := range left {
			f.fit = i.Fit
			fmt.Fprint(&b, away(i.Place, f.here(nil), ""))
			if file, err := w.disk.Open(f.journalFile()); err == nil {
				if t, err := readJournal(file, mostLine); err == nil {
					fmt.Fprint(&b, away(t.head.Place, f.here(file), ""))
				}
			}
		}
		for _, name := range w.files(dir) {
			text, _ := w.disk.Text(dir + "/" + name)
			fmt.Fprint(&b, dir, name, len(text), strings.TrimRight(text, "\x00"))
		}
	}
	if w.live != nil {
		fmt.Fprint(&b, w.live.id, w.live.noted, w.live.stopped)
	}
	w.store.mu.Lock() // a live fit renews its lease in the background
	defer w.store.mu.Unlock()
	fmt.Fprint(&b, w.store.rows, w.store.held("people"), w.store.elapsed, w.released)
	return unequal.ReplaceAllString(b.String(), "")
}

// unequal are texts that differ without an effect: times, the numbers of processes and files, and the checksums
// of lines that have them.
var unequal = regexp.MustCompile(`"(time|sum|process|inode)\\?":"?[^",}]*"?`)

// replay makes the state that a path of actions leads to. possible is false if the last action was not possible.
func replay(t *testing.T, head train.Header, empty *chains, all []action, path []int) (w *world, possible bool) {
	d := durabletest.New()
	w = &world{t: t, head: head, disk: d, store: empty.at(1, nil), released: map[string]float64{}, alive: map[int]bool{}}
	possible = true
	for _, at := range path {
		possible = all[at].do(w)
	}
	return w, possible
}

func names(all []action, path []int) (list []string) {
	for _, at := range path {
		list = append(list, all[at].name)
	}
	return list
}

// covered returns an error unless the store charges each run at least what it released.
func (w *world) covered() error {
	d, err := budget.NewBook(w.store).Dataset(context.Background(), "people")
	if err != nil {
		return err
	}
	for _, r := range d.Runs {
		if got := w.released[r.Run]; r.Charged.Charge < got {
			return fmt.Errorf("run %s has released %v and is charged %v", r.Run, got, r.Charged.Charge)
		}
	}
	return nil
}

// ends ends all processes, waits, and has commands end every run: the recovery of the folder, or the settlement
// in full. It returns the number of runs that ended at less than they had reserved.
func (w *world) ends() (freed int, err error) {
	w.stop(w.live)
	w.store.pass(3 * time.Minute)
	_, _ = recoverIn(context.Background(), w.process(hostA), out, RecoverOptions{Overwrite: true, Stores: w.store.open})
	ctx := holder.On(context.Background(), w.process(hostB))
	book := budget.NewBook(w.store)
	d, err := book.Dataset(ctx, "people")
	if err != nil {
		return 0, err
	}
	for _, r := range d.Runs {
		if !r.Settled {
			if err := book.SettleInFull(ctx, "people", r.Run); err != nil {
				return 0, err
			}
		} else if r.Charged.Charge < r.Reserved.Charge {
			freed++
		}
	}
	if d, err = book.Dataset(ctx, "people"); err == nil && d.Open != 0 {
		err = fmt.Errorf("%v stays reserved", d.Open)
	}
	return freed, errors.Join(err, w.covered())
}

// TestStoreChargesWhatWasReleased searches the states (see above) breadth first. Of each state it keeps the
// shortest path of actions, by which it makes the state again.
func TestStoreChargesWhatWasReleased(t *testing.T) {
	head, empty := modelHead(t)
	all := actions()
	seen := map[string]bool{}
	var paths [][]int
	for _, list := range beginnings {
		var path []int
		for _, name := range list {
			path = append(path, slices.IndexFunc(all, func(a action) bool { return a.name == name }))
		}
		paths = append(paths, path)
	}
	steps, freed, kept := 0, 0, 0
	most := *depth
	if testing.Short() {
		most = min(most, 1)
	}
	for range most {
		var next [][]int
		for _, path := range paths {
			for at := range all {
				longer := append(slices.Clone(path), at)
				w, possible := replay(t, head, empty, all, longer)
				if steps++; !possible {
					w.stop(w.live)
					continue
				}
				if err := w.covered(); err != nil {
					t.Fatalf("%q: %v", names(all, longer), err)
				}
				state := w.state()
				if seen[state] {
					w.stop(w.live)
					continue
				}
				seen[state] = true
				next = append(next, longer)
				n, err := w.ends()
				if err != nil {
					t.Fatalf("%q, and then its end: %v", names(all, longer), err)
				}
				if freed += n; n == 0 {
					kept++
				}
			}
		}
		paths = next
	}
	t.Logf("%d actions in every order up to depth %d after %d beginnings: %d states, %d replays; %d runs ended at less "+
		"than their reservation, in %d states none did", len(all), most, len(beginnings), len(seen), steps, freed, kept)
	if freed == 0 || kept == 0 || len(seen) < 50 {
		t.Error("the search shows less than it says")
	}
}

// modelHead returns the head of a fit's journal, by which the fits of the search begin theirs, and a store with
// the dataset.
func modelHead(t *testing.T) (train.Header, *chains) {
	t.Helper()
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 9, 3)
	_, a, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{disk: d.Crash(a.marks[0], durabletest.Kept{}), path: diskOut, fit: 1}
	told, err := f.tells()
	if err != nil {
		t.Fatal(err)
	}
	told.head.Place = nil
	return *told.head, c
}
