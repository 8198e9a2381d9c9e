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
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
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
	r.run = r.book.Run(c.Budget.Dataset, c.label())
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
	return &receipt, nil
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

// settleStored settles a recovered fit in its store, by the certificate in its folder: its
// journal, or the session before it, held every charge before its answer was handed out.
func (f *folder) settleStored(ctx context.Context, open Stores) error {
	e := f.entry
	if e.Run == "" {
		return nil
	}
	cert, err := f.certificate()
	if err != nil {
		return fmt.Errorf("fit %d is settled in its store by its certificate: %w", f.fit, err)
	}
	if r, reserved := cert.Budget(); !reserved || r.Run != e.Run || r.Dataset != e.Dataset {
		return fmt.Errorf("%s: must be that of fit %d, which dataset %q is charged for as run %s",
			f.file(CertificateFile), f.fit, e.Dataset, e.Run)
	}
	book, err := open.open(ctx, e.Store)
	if err != nil {
		return err
	}
	return errors.Join(book.Settle(ctx, cert), book.Close())
}

// certificate reads the one that is to be seen.
func (f *folder) certificate() (*certificate.Certificate, error) {
	text, err := durable.ReadAll(f.disk, f.file(CertificateFile), regular.Document)
	if err != nil {
		return nil, err
	}
	return certificate.Parse(text)
}
