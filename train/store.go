package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// Stores opens a store of budgets by its address; stores.Open of package budget/stores
// does. It is given by programs, so that those which have no store carry no database.
type Stores func(ctx context.Context, address string) (*budget.Book, error)

// open opens a store.
func (s Stores) open(ctx context.Context, address string) (*budget.Book, error) {
	if s == nil {
		return nil, fmt.Errorf("budget.store: %s: this program opens none: nothing was charged", address)
	}
	return s(ctx, address)
}

// storedRun is the reservation of a fit in a store of budgets; nil for none.
type storedRun struct {
	address string
	dataset string
	book    *budget.Book
	run     *budget.Run
}

// stored opens the store of a configuration. A fit without one that could be reached
// does not begin.
func (c *Config) stored(ctx context.Context, open Stores) (*storedRun, error) {
	if c.Budget == nil {
		return nil, nil
	}
	a, err := budget.ParseAddress(c.Budget.Store)
	if err != nil {
		return nil, fmt.Errorf("budget.store: %w", err)
	}
	// The folder's ledger keeps the address, for recovery from anywhere.
	folder, err := filepath.Abs(c.folder)
	if err != nil {
		return nil, err
	}
	r := &storedRun{address: a.In(folder).String(), dataset: c.Budget.Dataset}
	if r.book, err = open.open(ctx, r.address); err != nil {
		return nil, err
	}
	r.run = r.book.Run(c.Budget.Dataset, c.label()).OfUnits(c.Schema.Unit().Column)
	return r, nil
}

// label is the configuration's name as a store can keep it.
func (c *Config) label() string {
	name := printable.Text(c.name)
	for len(name) > mostName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return strings.TrimSpace(name)
}

// reserve is curator.Config.Reserve.
func (r *storedRun) reserve() func(context.Context, account.View) error {
	if r == nil {
		return nil
	}
	return r.run.Reserve
}

// begin reserves a session's budget. Nothing may be released before it returns nil.
func (r *storedRun) begin(ctx context.Context, v account.View, e *Entry) (*certificate.Reservation, error) {
	if r == nil {
		return nil, nil
	}
	if err := r.run.Reserve(ctx, v); err != nil {
		return nil, err
	}
	receipt, _ := r.run.Receipt()
	e.Store, e.Dataset, e.Run = r.address, receipt.Dataset, receipt.Run
	return (*certificate.Reservation)(&receipt), nil
}

// would says what begin would charge, or why it would not.
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

// settle returns what the session did not use, which asks nothing any more.
func (r *storedRun) settle(ctx context.Context, s budget.Session) error {
	if r == nil {
		return nil
	}
	if err := r.run.Settle(context.WithoutCancel(ctx), s); err != nil {
		return fmt.Errorf("budget.store: what the fit did not use stays charged: stillpoint recover settles it: %w", err)
	}
	return nil
}

func (r *storedRun) close() {
	if r != nil {
		_ = r.book.Close()
	}
}

// settleStored settles a recovered fit in its store, by a journal that held every
// charge before its answer was handed out.
func settleStored(ctx context.Context, open Stores, e Entry, charged float64) error {
	if e.Run == "" {
		return nil
	}
	book, err := open.open(ctx, e.Store)
	if err != nil {
		return err
	}
	return errors.Join(book.Settle(ctx, e.Dataset, e.Run, charged), book.Close())
}
