package budget

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Store keeps chains of rows, one for each dataset, and never changes or removes a row. [Book], and
// not the Store, knows the meaning of rows and the rules by which they follow each other.
//
// The packages sqlite and postgres below internal/budgetstore implement it and pass the suite in
// budgettest.
type Store interface {
	// Update runs one serializable transaction on a dataset's chain: no other transaction appends to the chain before
	// it ends. Update calls next with the rows of the chain whose number, counted from 1, is larger than from. next
	// returns the row to append, or nil to append none, or an error. If next returns an error, nothing is appended, and
	// Update returns this error. If Update returns nil, the row is on stable storage. If the store itself fails, Update
	// returns an error, and the row may or may not be stored. If the row has a Lease, the same transaction stores the
	// lease in place of the run's earlier one. No call of Renew on a lease in Tail.Leases ends between the call of next
	// and the end of the transaction.
	Update(ctx context.Context, dataset string, from int, next func(Tail) (*Row, error)) error
	// Renew replaces the lease before, which a run of the dataset has in the store, by after, with the present time by
	// the store's clock as Renewed. It returns false and changes nothing unless the store has a lease of this run that
	// has not ended and has the Holder of before, and its Events and Charge are those of before or those of after. If
	// Renew returns true, the lease is on stable storage. An error means what it means for Update.
	Renew(ctx context.Context, dataset string, before, after Lease) (renewed bool, err error)
	// View returns those rows of a dataset's chain whose number is larger than from, in one
	// consistent snapshot.
	View(ctx context.Context, dataset string, from int) (Tail, error)
	// Datasets returns the names of all datasets that have a chain, sorted.
	Datasets(ctx context.Context) ([]string, error)
	// Draw returns 32 random hexadecimal digits that nobody can guess and that were never returned
	// before.
	Draw(ctx context.Context) (string, error)
	// Key returns 64 random hexadecimal digits, the same on every call. The digits were drawn when
	// the store was made, and are kept in the store and nowhere else.
	Key(ctx context.Context) (string, error)
	// Mark stores the keyed fingerprint of a dataset's table. It returns the names of the other
	// datasets with the same fingerprint, sorted.
	Mark(ctx context.Context, dataset, fingerprint string) (others []string, err error)
	Close() error
}

// Row is a row of a dataset's chain.
type Row struct {
	// Text is the encoding of an [Entry].
	Text string
	// Hash is the hash of Text and of the hash of the row before.
	Hash string
	// Lease, if not nil, is a lease that is stored together with the row (see Store.Update). A row that is
	// read has none.
	Lease *Lease
}

// Tail is the end of a dataset's chain, as a transaction reads it.
type Tail struct {
	// Rows are the requested rows, in order.
	Rows []Row
	// Length is the number of all rows, or zero if there is no chain. The store keeps Length and
	// Head apart from the rows. A chain that has lost its last rows therefore does not match them.
	Length int
	// Head is the hash of the last row. It is empty if there is no chain.
	Head string
	// Before is the hash of row number from, the last row before Rows. It is empty if from is 0 or the
	// chain has no such row.
	Before string
	// Leases are the leases of the dataset's runs that have not ended.
	Leases []Lease
	// Now is the time by the store's clock. Of all decisions only one depends on it: whether a lease of
	// another machine is alive (see Lease).
	Now string
}

// Address is the location of a store of budgets: a file or a server. Exactly one of its fields is
// set.
type Address struct {
	// File is the path of an SQLite database.
	File string
	// Server is the address of a PostgreSQL database.
	Server string
}

const filePrefix = "sqlite:"

// ParseAddress reads sqlite:FILE or postgres://USER@HOST/DATABASE (postgresql:// is accepted, too). It returns an error
// for any other form and for an address with a password, since addresses are written to the files of a run. The
// PostgreSQL driver takes passwords from the environment variable PGPASSWORD and from password files.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, filePrefix); ok && path != "" {
		return Address{File: path}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.Contains(u.RawQuery, ";") {
		return Address{}, fmt.Errorf("budget: store: must be sqlite:FILE or postgres://USER@HOST/DATABASE")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") || u.Query().Has("sslpassword") {
		return Address{}, fmt.Errorf("budget: store: must hold no password: set PGPASSWORD, or keep a password file")
	}
	return Address{Server: text}, nil
}

// In returns the address with a relative File joined to folder. An absolute File and a Server stay
// as they are.
func (a Address) In(folder string) Address {
	if a.File != "" && !filepath.IsAbs(a.File) {
		a.File = filepath.Join(folder, a.File)
	}
	return a
}

// String returns the address in the form that ParseAddress reads.
func (a Address) String() string {
	if a.File != "" {
		return filePrefix + a.File
	}
	return a.Server
}
