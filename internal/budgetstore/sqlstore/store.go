// Package sqlstore stores budgets in an SQL database. A [Dialect] contains the SQL in which databases
// differ: the statements that begin a transaction and a few expressions.
package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Dialect holds the parts of SQL in which databases differ.
type Dialect struct {
	// Begin are the statements that begin a transaction that writes. After such a transaction has
	// read the row of a chain in the table of chains, no other transaction may change this chain
	// until the transaction ends. Begin and Lock together must ensure this.
	Begin []string
	// Lock is the SQL text that is appended to the SELECT of a chain's row, so that the database
	// locks this row.
	Lock string
	// Read begins a transaction that reads a consistent snapshot.
	Read string
	// Draw, Key and Now are SQL expressions. Draw gives 32 random hexadecimal digits, and Key gives
	// 64. Now gives the present time as text.
	Draw, Key, Now string
	// Leases is a SELECT of one number: 0 if the database lacks the table of leases, and 1 if it has it.
	Leases string
	// Numbered is true if parameters of statements are written $1, $2 and so on. Otherwise they are
	// written as question marks.
	Numbered bool
	// Schema has the statements that create the tables unless they exist, one on each line.
	Schema string
}

// Store is a budget.Store whose chains of rows are in an SQL database.
type Store struct {
	db      *sql.DB
	dialect Dialect
	// leases is true if the database has the table of leases. Stores of earlier versions lack it; it is
	// made together with the first lease.
	leases atomic.Bool
}

var _ budget.Store = (*Store)(nil)

// version is the version of the layout of the tables. A store of another version is refused.
const version = 1

// ErrNone reports a database without tables of budgets.
var ErrNone = errors.New("holds no budgets: stillpoint budget create makes a store")

// Open returns the store in a database. If create is true, it creates missing tables. It returns
// ErrNone if there are no tables, and an error for tables of another version.
func Open(ctx context.Context, db *sql.DB, d Dialect, create bool) (*Store, error) {
	s := &Store{db: db, dialect: d}
	if create {
		err := s.transact(ctx, d.Begin, func(c *sql.Conn) (bool, error) {
			if err := s.create(ctx, c); err != nil {
				return false, err
			}
			_, err := c.ExecContext(ctx, s.sql("INSERT INTO stillpoint_store (id, version, secret) SELECT 1, ?, "+d.Key+
				" WHERE NOT EXISTS (SELECT 1 FROM stillpoint_store)"), version)
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	var found int
	switch err := db.QueryRowContext(ctx, "SELECT version FROM stillpoint_store").Scan(&found); {
	case err != nil && ctx.Err() == nil && missing(err):
		return nil, ErrNone
	case err != nil:
		return nil, err
	case found != version:
		return nil, fmt.Errorf("version = %d: must be %d, the only version this program reads", found, version)
	}
	return s, nil
}

// create makes the tables that do not exist.
func (s *Store) create(ctx context.Context, c *sql.Conn) error {
	for _, statement := range strings.Split(strings.TrimSpace(s.dialect.Schema), "\n") {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// hasLeases reports whether the database has the table of leases. Another process may make it at any time.
func (s *Store) hasLeases(ctx context.Context, c *sql.Conn) (bool, error) {
	if s.leases.Load() {
		return true, nil
	}
	var n int
	if err := c.QueryRowContext(ctx, s.dialect.Leases).Scan(&n); err != nil {
		return false, err
	}
	s.leases.Store(n > 0)
	return n > 0, nil
}

// lease stores a lease in a transaction. It makes the table of leases if the database lacks it.
func (s *Store) lease(ctx context.Context, c *sql.Conn, dataset string, l budget.Lease) error {
	if has, err := s.hasLeases(ctx, c); err != nil {
		return err
	} else if !has {
		if err := s.create(ctx, c); err != nil {
			return fmt.Errorf("the table of leases must be made once, by a user who may: %w", err)
		}
	}
	ended := 0
	if l.Ended {
		ended = 1
	}
	_, err := c.ExecContext(ctx, s.sql("INSERT INTO stillpoint_leases (dataset, run, holder, events, charge, renewed, ended) "+
		"VALUES (?, ?, ?, ?, ?, "+s.dialect.Now+", ?) ON CONFLICT (dataset, run) DO UPDATE SET holder = excluded.holder, "+
		"events = excluded.events, charge = excluded.charge, renewed = excluded.renewed, ended = excluded.ended"),
		dataset, l.Run, l.Holder, l.Events, l.Charge, ended)
	return err
}

// Renew implements budget.Store. One statement does it, so that it takes one reply of the database.
func (s *Store) Renew(ctx context.Context, dataset string, before, after budget.Lease) (renewed bool, err error) {
	r, err := s.db.ExecContext(ctx, s.sql("UPDATE stillpoint_leases SET events = ?, charge = ?, renewed = "+s.dialect.Now+
		" WHERE dataset = ? AND run = ? AND holder = ? AND ended = 0 AND (charge = ? AND events = ? OR charge = ? AND events = ?)"),
		after.Events, after.Charge, dataset, before.Run, before.Holder, before.Charge, before.Events, after.Charge, after.Events)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// missing reports whether an error means that the table, or a row in it, does not exist.
func missing(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || strings.Contains(err.Error(), "no such table") ||
		strings.Contains(err.Error(), "does not exist")
}

// sql returns a statement with parameters in the dialect's notation.
func (s *Store) sql(text string) string {
	if !s.dialect.Numbered {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// transact begins a transaction with the statements begin and calls f in it. It commits the
// transaction if f returns true and no error, and otherwise rolls it back. It returns the error of
// a statement, of f or of the commit. If the rollback fails, the connection is closed.
func (s *Store) transact(ctx context.Context, begin []string, f func(*sql.Conn) (commit bool, err error)) (err error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// COMMIT and ROLLBACK are not interrupted if ctx ends, because the outcome of an interrupted
	// one would be unknown.
	whole := context.WithoutCancel(ctx)
	commit := false
	for _, statement := range begin {
		if _, err = c.ExecContext(ctx, statement); err != nil {
			break
		}
	}
	if err == nil {
		commit, err = f(c)
	}
	if err == nil && commit {
		if _, err = c.ExecContext(whole, "COMMIT"); err == nil {
			return nil
		}
	}
	if _, undone := c.ExecContext(whole, "ROLLBACK"); undone != nil {
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

// Update implements budget.Store.
func (s *Store) Update(ctx context.Context, dataset string, from int,
	next func(budget.Tail) (*budget.Row, error)) error {
	return s.transact(ctx, s.dialect.Begin, func(c *sql.Conn) (bool, error) {
		// The row of a new chain is inserted in the table of chains before it is locked. If two
		// transactions begin the same chain, one of them therefore waits until the other has ended.
		_, err := c.ExecContext(ctx, s.sql("INSERT INTO stillpoint_chains (dataset, length, head) VALUES (?, 0, '') "+
			"ON CONFLICT DO NOTHING"), dataset)
		if err != nil {
			return false, err
		}
		t, err := s.tail(ctx, c, dataset, from, s.dialect.Lock)
		if err != nil {
			return false, err
		}
		row, err := next(t)
		if err != nil || row == nil {
			return false, err
		}
		if row.Lease != nil {
			if err := s.lease(ctx, c, dataset, *row.Lease); err != nil {
				return false, err
			}
		}
		number := t.Length + 1
		_, err = c.ExecContext(ctx, s.sql("INSERT INTO stillpoint_rows (dataset, number, content, hash) VALUES (?, ?, ?, ?)"),
			dataset, number, row.Text, row.Hash)
		if err != nil {
			return false, err
		}
		_, err = c.ExecContext(ctx, s.sql("UPDATE stillpoint_chains SET length = ?, head = ? WHERE dataset = ?"), number,
			row.Hash, dataset)
		return err == nil, err
	})
}

// View implements budget.Store.
func (s *Store) View(ctx context.Context, dataset string, from int) (t budget.Tail, err error) {
	err = s.transact(ctx, []string{s.dialect.Read}, func(c *sql.Conn) (bool, error) {
		t, err = s.tail(ctx, c, dataset, from, "")
		return false, err
	})
	return t, err
}

// tail reads the rows of a dataset's chain after row number from, the hash of row number from,
// the chain's length and last hash, and the leases of its runs. lock is appended to the statements that read
// the chain's length and last hash, and the leases.
func (s *Store) tail(ctx context.Context, c *sql.Conn, dataset string, from int, lock string) (t budget.Tail,
	err error) {
	err = c.QueryRowContext(ctx,
		s.sql("SELECT length, head, "+s.dialect.Now+" FROM stillpoint_chains WHERE dataset = ?"+lock),
		dataset).Scan(&t.Length, &t.Head, &t.Now)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	type numbered struct {
		number int
		budget.Row
	}
	rows, err := list(ctx, c, func(r *numbered) []any { return []any{&r.number, &r.Text, &r.Hash} },
		s.sql("SELECT number, content, hash FROM stillpoint_rows WHERE dataset = ? AND number >= ? ORDER BY number"), dataset, from)
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		if r.number == from {
			t.Before = r.Hash
			continue
		}
		t.Rows = append(t.Rows, r.Row)
	}
	t.Leases, err = s.open(ctx, c, dataset, lock)
	return t, err
}

// open reads the leases of a dataset that have not ended. lock is appended to the statement: it keeps Renew
// from changing them until the transaction ends.
func (s *Store) open(ctx context.Context, c *sql.Conn, dataset, lock string) (all []budget.Lease, err error) {
	if has, err := s.hasLeases(ctx, c); err != nil || !has {
		return nil, err
	}
	return list(ctx, c, func(l *budget.Lease) []any { return []any{&l.Run, &l.Holder, &l.Events, &l.Charge, &l.Renewed} },
		s.sql("SELECT run, holder, events, charge, renewed FROM stillpoint_leases WHERE dataset = ? AND ended = 0 "+
			"ORDER BY run"+lock), dataset)
}

// Datasets implements budget.Store.
func (s *Store) Datasets(ctx context.Context) ([]string, error) {
	return s.texts(ctx, "SELECT dataset FROM stillpoint_chains ORDER BY dataset")
}

// texts runs a query whose result has one column of text, and returns the values of this column in
// order.
func (s *Store) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	return list(ctx, s.db, func(text *string) []any { return []any{text} }, s.sql(query), args...)
}

// list returns the rows of a query's answer. fields returns the places of a row's columns.
func list[T any](ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Draw implements budget.Store.
func (s *Store) Draw(ctx context.Context) (text string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT "+s.dialect.Draw).Scan(&text)
	return text, err
}

// Key implements budget.Store.
func (s *Store) Key(ctx context.Context) (text string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT secret FROM stillpoint_store").Scan(&text)
	return text, err
}

// Mark implements budget.Store.
func (s *Store) Mark(ctx context.Context, dataset, fingerprint string) (others []string, err error) {
	err = s.transact(ctx, s.dialect.Begin, func(c *sql.Conn) (bool, error) {
		_, err := c.ExecContext(ctx, s.sql("INSERT INTO stillpoint_marks (fingerprint, dataset) VALUES (?, ?) "+
			"ON CONFLICT DO NOTHING"), fingerprint, dataset)
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return s.texts(ctx, "SELECT dataset FROM stillpoint_marks WHERE fingerprint = ? AND dataset <> ? ORDER BY dataset",
		fingerprint, dataset)
}

// Close implements budget.Store.
func (s *Store) Close() error { return s.db.Close() }
