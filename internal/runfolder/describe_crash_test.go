package runfolder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/sqlite"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// marking is a storage that notes, whenever an answer is about to be returned, the number of operations on the disk and the
// sum of the charges until then.
type marking struct {
	train.Storage
	train.Log
	disk    *durabletest.Disk
	at      []int
	charged []float64
}

func (m *marking) Begin(h train.Header, r train.Released) (log train.Log, err error) {
	m.Log, err = m.Storage.Begin(h, r)
	return m, err
}

func (m *marking) Events(list []account.Event) error {
	err := m.Log.Events(list)
	sum := 0.
	if n := len(m.charged); n > 0 {
		sum = m.charged[n-1]
	}
	for _, e := range list {
		sum += e.Charge
	}
	m.at, m.charged = append(m.at, len(m.disk.Ops())), append(m.charged, sum)
	return err
}

// TestKilledDescriptionKeepsItsCharge stops the machine after every operation on the disk of a description that is charged
// to a store, and recovers each state that is left: all writes kept, or those lost that were not on stable storage. Once
// anything was released there must be a reservation, and after the recovery the store's charge must be that of all
// releases until then or more, and the budget at most. A description that was made must be the certificate's.
func TestKilledDescriptionKeepsItsCharge(t *testing.T) {
	ctx := context.Background()
	s := newScene(t, "gd")
	address := stored(t, s, 3, "train: {algorithm: gd, steps: 6}\n")
	a, err := budget.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := train.ReadDescription(s.config())
	if err != nil {
		t.Fatal(err)
	}
	d := durabletest.New()
	leave := func(ctx context.Context, address string) (*budget.Book, error) {
		store, err := sqlite.Open(ctx, a.File, false)
		return budget.NewBook(&leaving{Store: store}), err
	}
	out := Out{Path: diskOut, disk: d}.folder(c, leave)
	out.describes = true
	ctx = out.on(ctx)
	marked := &marking{Storage: &storage{out}, disk: d}
	made, err := c.Describe(ctx, train.DescribeOptions{Level: .95,
		Options: train.Options{Software: "test", Stores: leave, Storage: marked}})
	if unsettled := (*ChargedError)(nil); made == nil || !errors.As(err, &unsettled) {
		t.Fatalf("a description whose store is out of reach at its end: %v, %v", made, err)
	}
	whole := made.Budget.Charge()
	if got := registered(t, address); got.Open != whole {
		t.Fatalf("before it is recovered the description is charged %v: must be %v", got.Open, whole)
	}
	reserved, err := os.ReadFile(a.File)
	if err != nil {
		t.Fatal(err)
	}
	ops, released := len(d.Ops()), 0.
	seen := map[string]bool{}
	for n := range ops + 1 {
		for i, at := range marked.at {
			if at <= n {
				released = marked.charged[i]
			}
		}
		if testing.Short() && n%4 != 0 && n != ops {
			continue
		}
		kept := d.Crash(n, durabletest.Kept{})
		for _, left := range []*durabletest.Disk{kept, d.Crash(n, durabletest.Lost{})} {
			if key := fmt.Sprint(released, left.Tree()); seen[key] {
				continue
			} else {
				seen[key] = true
			}
			state := diskState(left)
			entries, err := ledgerfile.Parse(state.ledger)
			if err != nil || released > 0 && len(entries) == 0 {
				t.Fatalf("after %d of %d operations: %v released, and the ledger has %d entries, %v", n, ops, released, len(entries), err)
			}
			if len(entries) == 0 {
				continue // nothing was released: the store is told by the run's mark
			}
			if err := os.WriteFile(a.File, reserved, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second recovery has only the store left to tell
				if _, err := recoverIn(ctx, left, diskOut, RecoverOptions{Overwrite: true, Stores: stores.Open}); err != nil &&
					!strings.Contains(err.Error(), "nothing to recover") {
					t.Fatalf("after %d of %d operations: %v", n, ops, err)
				}
			}
			got := registered(t, address)
			if spent := got.Spent + got.Open; spent < released*(1-1e-9) || spent > whole*(1+1e-9) {
				t.Fatalf("after %d of %d operations the store has %v: %v was released, of %v", n, ops, spent, released, whole)
			}
			if text, ok := left.Text(diskOut + "/" + DescriptionFile); ok {
				if c, err := certificate.Parse(diskState(left).certificate); err != nil || c.ModelSHA256() != sha([]byte(text)) {
					t.Fatalf("after %d of %d operations: a description that is not the certificate's: %v", n, ops, err)
				}
			}
		}
	}
	if released < made.Charged*(1-1e-9) {
		t.Errorf("a charge of %v was seen, of %v: the test shows nothing", released, made.Charged)
	}
}

// TestADescriptionThatIsNotSettled tests that a description whose store is out of reach at its end is returned with the error
// that it stays charged, and with its folder.
func TestADescriptionThatIsNotSettled(t *testing.T) {
	s := newScene(t, "gd")
	a, err := budget.ParseAddress(stored(t, s, 3, "train: {algorithm: gd, steps: 6}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := train.ReadDescription(s.config())
	if err != nil {
		t.Fatal(err)
	}
	leave := func(ctx context.Context, address string) (*budget.Book, error) {
		store, err := sqlite.Open(ctx, a.File, false)
		return budget.NewBook(&leaving{Store: store}), err
	}
	made, err := Describe(t.Context(), c, Out{Path: diskOut, disk: durabletest.New()}, train.DescribeOptions{Level: .95,
		Options: train.Options{Software: "test", Stores: leave}})
	if unsettled := (*ChargedError)(nil); made == nil || made.Folder != diskOut || !errors.As(err, &unsettled) {
		t.Errorf("%+v, %v", made, err)
	}
}
