package runfolder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/sqlite"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// stored makes a store with a dataset whose cap has the given epsilon, and writes a
// configuration for the scene that names the dataset. It returns the store's address.
func stored(t *testing.T, s scene, epsilon float64, train string) (address string) {
	t.Helper()
	address = "sqlite:" + filepath.Join(s.dir, "budgets.db")
	book, err := stores.Make(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	c, err := budget.NewCap(epsilon, 1e-6, account.ReplaceOne, 1)
	if err == nil {
		err = book.Create(context.Background(), "people", c)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config(), peopleYAML+"budget: {store: \"sqlite:budgets.db\", dataset: people}\n"+train)
	return address
}

func registered(t *testing.T, address string) *budget.Dataset {
	t.Helper()
	book, err := stores.Open(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	d, err := book.Dataset(context.Background(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFitIsCharged: a fit charges a registered dataset before its first query, and settles with
// the charge that it used. Its certificate names the row in the store. If the budget exceeds
// the cap, or no store can be reached, nothing is released and no file is left.
func TestFitIsCharged(t *testing.T) {
	s := newScene(t, "gd")
	address := stored(t, s, 1.2, "train: {algorithm: gd, steps: 8}\n")
	fit := func(out string, open train.Stores) (*Fitted, int, error) {
		answers := 0
		c, o, err := s.begin(func() { answers++ })
		if err != nil {
			t.Fatal(err)
		}
		o.Out, o.Stores = filepath.Join(s.dir, out), open
		f, err := fit(context.Background(), c, o)
		return f, answers, err
	}
	f, _, err := fit("one", stores.Open)
	if err != nil {
		t.Fatal(err)
	}
	d := registered(t, address)
	if len(d.Runs) != 1 || !d.Runs[0].Settled || d.Spent != f.Charged || d.Runs[0].Reserved.Charge != f.Budget.Charge() ||
		d.Runs[0].Label != "people" {
		t.Errorf("a fit charged %v: the store has %+v", f.Charged, d)
	}
	cert, err := certificate.Read(f.CertificatePath)
	if err != nil {
		t.Fatal(err)
	}
	receipt, ok := cert.Budget()
	if err := d.Holds(t.Context(), cert); !ok || err != nil {
		t.Errorf("the certificate's row: %+v, %v", receipt, err)
	}
	over := (*account.BudgetError)(nil)
	for name, c := range map[string]struct {
		open train.Stores
		is   func(error) bool
	}{
		"over the cap": {stores.Open, func(err error) bool { return errors.As(err, &over) }},
		"no store":     {nil, func(err error) bool { return strings.Contains(err.Error(), "nothing was charged") }},
		"unreachable": {func(context.Context, string) (*budget.Book, error) { return nil, os.ErrDeadlineExceeded },
			func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
	} {
		f, answers, err := fit("two", c.open)
		if f != nil || answers > 0 || err == nil || !c.is(err) {
			t.Errorf("%s: %v after %d answers", name, err, answers)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "two")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was left behind", name)
		}
	}
	if after := registered(t, address); after.Head != d.Head {
		t.Error("fits that did not begin have changed the store")
	}
}

// nearly reports whether a charge of a whole run is what the run used. A settlement by others than the fit is at
// what the store had allowed last: after the last step that may be the reservation, of which a plan leaves a billionth.
func nearly(charged, used float64) bool { return charged >= used && charged <= used*(1+1e-8) }

// leaving is a store that cannot be reached after its first transaction, the reservation of a
// run.
type leaving struct {
	budget.Store
	reserved bool
}

func (l *leaving) Update(ctx context.Context, name string, from int,
	next func(budget.Tail) (*budget.Row, error)) error {
	if l.reserved {
		return os.ErrDeadlineExceeded
	}
	l.reserved = true
	return l.Store.Update(ctx, name, from, next)
}

// Renew leaves the lease as it was at the reservation: the tests ask what the folder proves at earlier moments.
func (l *leaving) Renew(context.Context, string, budget.Lease, budget.Lease) (bool, error) {
	return true, nil
}

// TestRecoveryChargesAllThatWasReleased stops the machine after each step of a fit; all writes
// that were not on stable storage are lost. Until the fit is recovered, it is charged in full.
// After the recovery the charge is at least the charge of the answers that were returned.
func TestRecoveryChargesAllThatWasReleased(t *testing.T) {
	ctx := context.Background()
	s := newScene(t, "gd")
	address := stored(t, s, 3, "train: {algorithm: gd, steps: 6}\n")
	a, err := budget.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	d := durabletest.New()
	c, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	var marks []int
	var charged []float64
	o.Out, o.disk = diskOut, d
	o.Step = func(s train.Step) { marks, charged = append(marks, len(d.Ops())), append(charged, s.Charged) }
	o.Stores = func(ctx context.Context, address string) (*budget.Book, error) {
		store, err := sqlite.Open(ctx, a.File, false)
		return budget.NewBook(&leaving{Store: store}), err
	}
	f, err := fit(ctx, c, o)
	unsettled := (*ChargedError)(nil)
	if f == nil || !errors.As(err, &unsettled) {
		t.Fatalf("a fit whose store is out of reach at its end: %v, %v", f, err)
	}
	if got := registered(t, address); got.Open != f.Budget.Charge() {
		t.Fatalf("before it is recovered the fit is charged %v: must be %v", got.Open, f.Budget.Charge())
	}
	reserved, err := os.ReadFile(a.File)
	if err != nil {
		t.Fatal(err)
	}
	for i, mark := range append(marks, len(d.Ops())) {
		if err := os.WriteFile(a.File, reserved, 0o600); err != nil {
			t.Fatal(err)
		}
		crashed := d.Crash(mark, durabletest.Lost{})
		for range 2 { // the second recovery has only the store left to tell
			if _, err := recoverIn(ctx, crashed, diskOut, RecoverOptions{Overwrite: true, Stores: stores.Open}); err != nil &&
				!strings.Contains(err.Error(), "nothing to recover") {
				t.Fatalf("after step %d: %v", i+1, err)
			}
		}
		least := charged[min(i, len(charged)-1)]
		if got := registered(t, address); !got.Runs[0].Settled || got.Spent < least || got.Spent > f.Budget.Charge() ||
			i == len(marks) && !nearly(got.Spent, f.Charged) {
			t.Errorf("after step %d the store has %v: %v was charged", i+1, got.Spent, least)
		}
	}
}

// TestAStoreIsSettledByTheCertificate: if a fit could not reach its store at its end, Recover
// settles it by the certificate in its folder. With no certificate, with the certificate of
// another fit or with an altered one, the store does not change.
func TestAStoreIsSettledByTheCertificate(t *testing.T) {
	ctx := context.Background()
	s := newScene(t, "gd")
	address := stored(t, s, 3, "train: {algorithm: gd, steps: 4}\n")
	a, err := budget.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	leave := func(ctx context.Context, address string) (*budget.Book, error) {
		store, err := sqlite.Open(ctx, a.File, false)
		return budget.NewBook(&leaving{Store: store}), err
	}
	fit := func(out string) *Fitted {
		c, o, err := s.begin(func() {})
		if err != nil {
			t.Fatal(err)
		}
		o.Out, o.Stores = filepath.Join(s.dir, out), leave
		f, err := fit(ctx, c, o)
		if unsettled := (*ChargedError)(nil); f == nil || !errors.As(err, &unsettled) {
			t.Fatalf("a fit whose store is out of reach at its end: %v, %v", f, err)
		}
		return f
	}
	one, two := fit("one"), fit("two")
	own, err := os.ReadFile(one.CertificatePath)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(two.CertificatePath)
	if err != nil {
		t.Fatal(err)
	}
	before := registered(t, address)
	again := func(text []byte) (kept string) {
		t.Helper()
		if err := os.Remove(one.CertificatePath); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if text != nil {
			write(t, one.CertificatePath, string(text))
		}
		r, err := Recover(ctx, one.Folder, RecoverOptions{Stores: stores.Open})
		if err != nil || len(r.Settlements) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Settlements[0].Kept
	}
	altered := strings.Replace(string(own), `"charged": `, `"charged": 0.`, 1)
	for name, text := range map[string][]byte{"none": nil, "another fit's": other, "an altered one": []byte(altered)} {
		if again(text) == "" {
			t.Errorf("by %s: is settled", name)
		}
		if d := registered(t, address); d.Head != before.Head {
			t.Fatalf("by %s: the store has %v left, of %v", name, d.Left, before.Left)
		}
	}
	if kept := again(own); kept != "" {
		t.Errorf("by its own: %s", kept)
	}
	d := registered(t, address)
	if !d.Runs[0].Settled || d.Runs[1].Settled || !nearly(d.Runs[0].Charged.Charge, one.Charged) {
		t.Errorf("settled by its own certificate: %+v", d.Runs)
	}
}

// TestAFailedFitClosesItsStore: a fit that ends while its table is opened closes the store of budgets.
func TestAFailedFitClosesItsStore(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"number of records": {"relation: replace-one", "relation: replace-one, records: 59", "privacy.records"},
		"dataset":           {"dataset: people", "dataset: others", "others"},
		"table":             {"data: people.csv", "data: none.csv", "none.csv"},
	} {
		s := newScene(t, "gd")
		stored(t, s, 1.2, "train: {algorithm: gd, steps: 8}\n")
		write(t, s.config(), strings.Replace(read(t, s.config()), c.old, c.new, 1))
		conf, o, err := s.begin(func() {})
		if err != nil {
			t.Fatal(err)
		}
		var book *budget.Book
		o.Stores = func(ctx context.Context, address string) (*budget.Book, error) {
			opened, err := stores.Open(ctx, address)
			book = opened
			return opened, err
		}
		if _, err := fit(t.Context(), conf, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: must name %s", name, err, c.want)
		}
		if book == nil {
			t.Errorf("%s: no store was opened", name)
		} else if _, err := book.Names(t.Context()); err == nil {
			t.Errorf("%s: the store is still open", name)
		}
	}
}
