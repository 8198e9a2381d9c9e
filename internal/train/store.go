package train

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Stores is a function that opens a store of budgets by its address, such as stores.Open of package budget/stores.
// Programs pass it to Fit in Options. A program that uses no store passes nil and then links no database driver.
type Stores func(ctx context.Context, address string) (*budget.Book, error)

// Open calls s to open the store of budgets at an address. It returns an error if s is nil.
func (s Stores) Open(ctx context.Context, address string) (*budget.Book, error) {
	if s == nil {
		return nil, fmt.Errorf("budget.store: %s: this program opens none: nothing was charged", address)
	}
	return s(ctx, address)
}

// storedRun is the reservation of a fit in a store of budgets. A fit without a store has a nil *storedRun.
// All methods accept nil and then do nothing.
type storedRun struct {
	address string
	dataset string
	book    *budget.Book
	run     *budget.Run
	id      string // identifies the run in the store; empty until the storage has written its note of the run
}

// stored opens the store of budgets that the configuration names, for the fit's reservation; it returns nil if the
// configuration names none. If the store cannot be reached, stored returns an error and the fit does not start.
func (c *Config) stored(ctx context.Context, open Stores) (*storedRun, error) {
	if c.Budget == nil {
		return nil, nil
	}
	a, err := budget.ParseAddress(c.Budget.Store)
	if err != nil {
		return nil, fmt.Errorf("budget.store: %w", err)
	}
	// The folder's ledger states the absolute address, so that recovery works from any folder.
	folder, err := filepath.Abs(c.folder)
	if err != nil {
		return nil, err
	}
	r := &storedRun{address: a.In(folder).String(), dataset: c.Budget.Dataset}
	if r.book, err = open.Open(ctx, r.address); err != nil {
		return nil, err
	}
	r.run = r.book.Run(c.Budget.Dataset, c.label())
	r.run.Hold()
	return r, nil
}

// label returns the configuration's name in a form that every store of budgets accepts. Unprintable
// characters are replaced, the name is cut to at most mostName bytes, and white space at its ends is removed.
func (c *Config) label() string {
	name := safetext.Text(c.name)
	for len(name) > mostName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return strings.TrimSpace(name)
}

// reserve returns the function that reserves the fit's budget in the store of budgets, as
// curator.Config.Reserve needs it; nil without a store.
func (r *storedRun) reserve() func(context.Context, account.View) error {
	if r == nil {
		return nil
	}
	return r.run.Reserve
}

// begin reserves the session's budget in the store of budgets. Before that the storage, which stores the fit, writes a
// note of the reservation to stable storage. Nothing may be released before begin returns without an error.
func (r *storedRun) begin(ctx context.Context, k Storage, v account.View, e *Entry) (*account.Reservation, error) {
	if r == nil {
		return nil, nil
	}
	id, err := r.run.ID(ctx)
	if err != nil {
		return nil, err
	}
	if err := k.Intend(r.address, r.dataset, id); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	r.id = id
	if err := r.run.Reserve(ctx, v); err != nil {
		return nil, err
	}
	receipt, _ := r.run.Receipt()
	e.Store, e.Dataset, e.Run = r.address, receipt.Dataset, receipt.Run
	return &receipt, nil
}

// cover returns after the store has noted that the session may release answers up to the charge of its ledger.
// noted is the number of events in the log. If another process has settled the run, cover returns an error.
func (r *storedRun) cover(ctx context.Context, noted int, charge float64) error {
	if r == nil {
		return nil
	}
	if err := r.run.Cover(ctx, noted, charge); err != nil {
		return fmt.Errorf("budget.store: %w", err)
	}
	return nil
}

// withdraw closes a session that has released nothing, cancels the reservation that begin may have made for
// it in the store of budgets, and removes the storage's note. If this fails, the reservation stays charged and
// withdraw returns an error.
func (r *storedRun) withdraw(ctx context.Context, k Storage, s budget.Session) error {
	if r == nil || r.id == "" {
		return nil
	}
	return r.tell(ctx, k, s, "a reservation there, if there is one, stays charged", " until stillpoint recover %s gives it back")
}

// covers returns an error if the budget is larger than what is left of the dataset's cap in the store of
// budgets. It is called before the table is read. For a run that may draw Poisson samples covers returns nil.
// The store is asked about such a run later, when its schedule is known.
func (r *storedRun) covers(ctx context.Context, b account.Budget, unit string, samples bool) error {
	if r == nil || samples {
		return nil
	}
	_, err := r.book.Covers(ctx, r.dataset, budget.Limit{Guarantee: b.Guarantee(unit)})
	return err
}

// would returns the charge that begin would make in the store of budgets, or the error that begin
// would return, without charging anything.
func (r *storedRun) would(ctx context.Context, v account.View) (*budget.Cost, error) {
	if r == nil {
		return nil, nil
	}
	cost, err := r.run.Would(ctx, v)
	if err != nil {
		return nil, err
	}
	return &cost, nil
}

// settle tells the store of budgets how much of the reservation the session has spent, so that the
// rest becomes available again, and removes the storage's note. It must be called after the
// session's last query. The store is told even if the fit was interrupted.
func (r *storedRun) settle(ctx context.Context, k Storage, s budget.Session) error {
	if r == nil {
		return nil
	}
	return r.tell(ctx, k, s, "was not told the charge of the fit, and keeps its earlier charge",
		": stillpoint recover %s tells the store")
}

// tell settles the run by what the session has spent, and removes the storage's note. If this fails, its error says what
// stays, and for a run with a folder how to mend it.
func (r *storedRun) tell(ctx context.Context, k Storage, s budget.Session, stays, mends string) error {
	if err := r.run.Settle(context.WithoutCancel(ctx), s); err != nil {
		if k.Folder() != "" {
			stays += fmt.Sprintf(mends, k.Folder())
		}
		return fmt.Errorf("budget.store: %s: %w", stays, err)
	}
	return k.Forget()
}

func (r *storedRun) close() {
	if r != nil {
		_ = r.book.Close()
	}
}
