package runfolder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestEveryAnswerIsCovered runs fits of several algorithms and tests at each step that the store had allowed what
// was released by then.
func TestEveryAnswerIsCovered(t *testing.T) {
	algorithms := train.Algorithms()
	if testing.Short() {
		algorithms = algorithms[:3]
	}
	for _, algorithm := range algorithms {
		s := newScene(t, algorithm)
		text := read(t, s.config())
		d := durabletest.New()
		c := newChains(t, s, d, 9, 3)
		write(t, s.config(), text+"budget: {store: \"sqlite:none.db\", dataset: people}\n")
		config, o, err := s.begin(nil)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		o.Out, o.disk, o.Stores = diskOut, d, c.open
		o.Step = func(step train.Step) {
			steps++
			if l := c.dataset(t).Runs[0].Lease; l == nil || l.Charge < step.Charged {
				t.Errorf("%s, step %d: released %v, the store had allowed %+v", algorithm, step.Number, step.Charged, l)
			}
		}
		if _, err := fit(t.Context(), config, o); err != nil || steps == 0 {
			t.Errorf("%s: %v after %d steps", algorithm, err, steps)
		}
	}
}

// TestFitThatIsSettledStops settles a fit's run after its second step, as another machine may after the fit was
// not heard of for two minutes. The fit must release no answer that the settlement does not cover, say why it
// stops, and save what it has.
func TestFitThatIsSettledStops(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 40)
	config, o, err := s.begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	settled, released := 0.0, 0.0
	o.Out, o.disk, o.Stores = diskOut, d, c.open
	o.Step = func(step train.Step) {
		if released = step.Charged; step.Number != 2 {
			return
		}
		left := d.Crash(len(d.Ops()), durabletest.Kept{})
		if r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: c.open}); err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		settled = c.dataset(t).Runs[0].Charged.Charge
	}
	f, err := fit(t.Context(), config, o)
	if f == nil || f.Model == nil || !errors.Is(err, budget.ErrSettled) || strings.Contains(err.Error(), "did not use") {
		t.Errorf("%+v, %v: must say that it was settled", f, err)
	}
	if got := c.dataset(t).Runs[0]; settled == 0 || settled < released || got.Charged.Charge < released ||
		got.Charged.Charge < f.Charged || !got.Settled || f.Result.Steps >= 40 {
		t.Errorf("settled at %v after two steps, released %v in %d: %+v", settled, released, f.Result.Steps, got)
	}
}

// TestInterruptedFitSettlesItsStore interrupts a fit after its second step. Its store must be told what it
// released, although the fit's context has ended.
func TestInterruptedFitSettlesItsStore(t *testing.T) {
	for _, at := range []int{0, 2} {
		s := newScene(t, "gd")
		d := durabletest.New()
		c := newChains(t, s, d, 3, 8)
		config, o, err := s.begin(nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o.Out, o.disk, o.Stores = diskOut, d, c.open
		o.Step = func(step train.Step) {
			if step.Number == at {
				cancel()
			}
		}
		if at == 0 { // before the first step: when the first answer's line, the journal's second, is written
			lines := 0
			d.Fail = func(op durabletest.Op) error {
				if op.Kind == "write" && strings.Contains(op.Path, "journal") {
					if lines++; lines == 2 {
						cancel()
					}
				}
				return nil
			}
		}
		f, err := fit(ctx, config, o)
		d.Fail = nil
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at step %d: %v", at, err)
		}
		r := c.dataset(t).Runs[0]
		if !r.Settled || !(r.Charged.Charge > 0 && r.Charged.Charge < r.Reserved.Charge) ||
			f != nil && r.Charged.Charge != f.Charged {
			t.Errorf("interrupted at step %d: the store has %+v", at, r)
		}
		if strings.Contains(d.Tree(), "/intent-") {
			t.Errorf("interrupted at step %d: an intent is left", at)
		}
	}
}

// TestFilesOfBeforeLeases reads a store and folders that a version wrote whose stores had no leases and whose
// folders did not say which folder they were (testdata/before-leases). Their runs are as they were. A run that
// was killed stays charged in full, since nothing tells its folder from a copy, until it is settled in full.
func TestFilesOfBeforeLeases(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "before-leases"))); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "budgets.db")
	if err := os.Chmod(store, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context, _ string) (*budget.Book, error) { return stores.Open(ctx, "sqlite:"+store) }
	book, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	state := func() *budget.Dataset {
		t.Helper()
		d, err := book.Dataset(t.Context(), "visits")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := state()
	if d := before; d.Rows != 5 || len(d.Runs) != 3 || !d.Runs[0].Settled || d.Runs[1].Settled || d.Runs[2].Settled {
		t.Fatalf("%+v", d)
	}
	if d, err := budget.Verify(t.Context(), []byte(read(t, filepath.Join(dir, "chain.json")))); err != nil ||
		d.Head != before.Head {
		t.Errorf("its certificate: %v", err)
	}
	killed := before.Runs[2].Run
	journal := filepath.Join(dir, "killed", "journal-1.jsonl")
	write(t, journal, read(t, journal)+strings.Repeat("\x00", 4096)) // the zeros of its reserved space
	r, err := Recover(t.Context(), filepath.Join(dir, "killed"), RecoverOptions{Stores: open})
	if err != nil || len(r.Settlements) != 1 || !strings.Contains(r.Settlements[0].Kept, "of earlier versions") ||
		r.Settlements[0].Run != killed || r.Releases != 6 {
		t.Errorf("%+v, %v", r, err)
	}
	if d := state(); d.Head != before.Head {
		t.Error("the store has changed")
	}
	// A fit of now goes on in the store, which then has leases.
	s := newScene(t, "gd")
	yaml := strings.Replace(read(t, s.config()), "epsilon: 1", "epsilon: 0.5", 1)
	write(t, s.config(), yaml+"budget: {store: \"sqlite:"+store+"\", dataset: visits}\n")
	c, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	o.Stores = open
	if _, err := fit(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	if d := state(); len(d.Runs) != 4 || !d.Runs[3].Settled || !d.Runs[3].Held {
		t.Errorf("%+v", d.Runs)
	}
	if err := book.SettleInFull(t.Context(), "visits", killed); err != nil {
		t.Error(err)
	}
	r, err = Recover(t.Context(), filepath.Join(dir, "killed"), RecoverOptions{Stores: open})
	if d := state(); err != nil || d.Runs[2].Charged != d.Runs[2].Reserved || !d.Runs[2].Settled {
		t.Errorf("settled in full: %+v, %v", r, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "killed", "intent-*")); len(names) > 0 {
		t.Errorf("its intent is left: %v", names)
	}
}

// TestRunsListsEveryFolder tests that Runs lists a run's folder and all copies of it, also below a link to their folder.
func TestRunsListsEveryFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c/d"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("testdata", "before-leases", "killed"))); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Runs(t.Context(), dir)
	want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c", "d")}
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	linked, err := Runs(t.Context(), link)
	if err != nil || len(linked) != 1 {
		t.Fatalf("%v, %v", linked, err)
	}
	for run, list := range found {
		if !slices.Equal(list, want) {
			t.Errorf("%q: must be %q", list, want)
		}
		if below := []string{filepath.Join(link, "a"), filepath.Join(link, "b"), filepath.Join(link, "c", "d")}; !slices.Equal(linked[run], below) {
			t.Errorf("%q: must be %q", linked[run], below)
		}
	}
	if _, err := Runs(t.Context(), filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that is absent")
	}
}

// TestLedgerDoesNotFall tests that a folder without a store, too, refuses the next fit and a sum if its ledger
// lacks a fit that its certificate or its journal shows: the sum of its fits must not fall because a file was lost.
func TestLedgerDoesNotFall(t *testing.T) {
	for name, c := range map[string]struct {
		fits   int
		damage func(t *testing.T, s scene, first string)
	}{
		"lost":            {1, func(t *testing.T, s scene, _ string) { must(t, os.Remove(s.file(LedgerFile))) }},
		"an earlier one":  {2, func(t *testing.T, s scene, first string) { write(t, s.file(LedgerFile), first) }},
		"undamaged":       {2, func(*testing.T, scene, string) {}},
		"lost, a journal": {0, func(t *testing.T, s scene, _ string) { must(t, os.Remove(s.file(LedgerFile))) }},
	} {
		s := newScene(t, "gd")
		first := ""
		for i := range c.fits {
			if s.fit(t); i == 0 {
				first = read(t, s.file(LedgerFile))
			}
		}
		if c.fits == 0 { // a fit that was killed
			d := durabletest.New()
			_, marks, err := s.fitOn(t, t.Context(), d)
			must(t, err)
			left := d.Crash(marks[1], durabletest.Kept{})
			for _, file := range []string{LedgerFile, "journal-1.jsonl"} {
				text, _ := left.Text(diskOut + "/" + file)
				write(t, s.file(file), text)
			}
		}
		c.damage(t, s, first)
		config, o, err := s.begin(func() {})
		must(t, err)
		_, fitting := fit(t.Context(), config, o)
		_, summing := Totals(t.Context(), []string{s.out}, 0)
		if name == "undamaged" {
			if fitting != nil || summing != nil {
				t.Errorf("%s: %v, %v", name, fitting, summing)
			}
			continue
		}
		if fitting == nil || !strings.Contains(fitting.Error(), "was lost, or an earlier one") {
			t.Errorf("%s: fitted: %v", name, fitting)
		}
		if summing == nil {
			t.Errorf("%s: summed", name)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
