package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// fake is a database that keeps the statements that it was told, and fails at those that begin with one of a list. A query
// has rows with one text each, of which reading fails at the given one; -1 for none.
type fake struct {
	told     []string
	fails    []string
	rows, at int
	conns    int // connections that are open
}

var errFake = errors.New("the database fails")

func (f *fake) Connect(context.Context) (driver.Conn, error) {
	f.conns++
	return &fakeConn{f}, nil
}

func (f *fake) Driver() driver.Driver { return nil }

type fakeConn struct{ f *fake }

func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errFake }
func (c *fakeConn) Begin() (driver.Tx, error)           { return nil, errFake }

func (c *fakeConn) Close() error {
	c.f.conns--
	return nil
}

func (c *fakeConn) ExecContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.f.told = append(c.f.told, query)
	if slices.ContainsFunc(c.f.fails, func(s string) bool { return strings.HasPrefix(query, s) }) {
		return nil, errFake
	}
	return driver.RowsAffected(1), nil
}

func (c *fakeConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &fakeRows{f: c.f}, nil
}

type fakeRows struct {
	f    *fake
	next int
}

func (*fakeRows) Columns() []string { return []string{"text"} }
func (*fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(dest []driver.Value) error {
	switch r.next {
	case r.f.at:
		return errFake
	case r.f.rows:
		return io.EOF
	}
	dest[0] = fmt.Sprint("row", r.next)
	r.next++
	return nil
}

// TestRowsThatFail lets the reading of each row of an answer fail in turn, and its end: no part of the answer is taken for
// all of it.
func TestRowsThatFail(t *testing.T) {
	for at := -1; at <= 3; at++ {
		s := &Store{db: sql.OpenDB(&fake{rows: 3, at: at})}
		names, err := s.Datasets(t.Context())
		if at < 0 && (err != nil || fmt.Sprint(names) != "[row0 row1 row2]") || at >= 0 && !errors.Is(err, errFake) {
			t.Errorf("row %d fails: %v, %v", at, names, err)
		}
		_ = s.Close()
	}
}

// TestHowTransactionsEnd tests the statements with which a transaction ends, and its error: also one whose context has ended
// is committed or rolled back, and a connection whose transaction did not end is closed.
func TestHowTransactionsEnd(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		fails  []string
		commit bool
		err    error
		want   string
		told   error
		conns  int
	}{
		"committed":                   {nil, true, nil, "[BEGIN COMMIT]", nil, 1},
		"not committed":               {nil, false, nil, "[BEGIN ROLLBACK]", nil, 1},
		"refused":                     {nil, true, refused, "[BEGIN ROLLBACK]", refused, 1},
		"the beginning fails":         {[]string{"BEGIN"}, true, nil, "[BEGIN ROLLBACK]", errFake, 1},
		"the commit fails":            {[]string{"COMMIT"}, true, nil, "[BEGIN COMMIT ROLLBACK]", errFake, 1},
		"the end fails":               {[]string{"COMMIT", "ROLLBACK"}, true, nil, "[BEGIN COMMIT ROLLBACK]", errFake, 0},
		"the rollback fails":          {[]string{"ROLLBACK"}, false, nil, "[BEGIN ROLLBACK]", nil, 0},
		"the rollback fails, refused": {[]string{"ROLLBACK"}, true, refused, "[BEGIN ROLLBACK]", refused, 0},
	} {
		for _, ends := range []bool{false, true} {
			f := &fake{fails: c.fails}
			s := &Store{db: sql.OpenDB(f)}
			ctx, cancel := context.WithCancel(t.Context())
			err := s.transact(ctx, []string{"BEGIN"}, func(*sql.Conn) (bool, error) {
				if ends {
					cancel()
				}
				return c.commit, c.err
			})
			cancel()
			if got := fmt.Sprint(f.told); got != c.want || !errors.Is(err, c.told) || f.conns != c.conns {
				t.Errorf("%s, its context ends %v: %s, %v, %d connections: must be %s, %v, %d", name, ends, got, err, f.conns, c.want,
					c.told, c.conns)
			}
			_ = s.Close()
		}
	}
}

// TestLeasesAreLookedFor tests that a store without the table of leases looks for it at each transaction, since another
// process may make it, and that one that has seen it does not.
func TestLeasesAreLookedFor(t *testing.T) {
	s := &Store{dialect: Dialect{Leases: "SELECT"}}
	for turn, want := range []bool{false, false, true, true} {
		s.db = sql.OpenDB(counting{[]int64{0, 0, 1, 0}[turn]}) // at last the table is not asked for
		c, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if has, err := s.hasLeases(t.Context(), c); has != want || err != nil {
			t.Errorf("turn %d: %v, %v: must be %v", turn, has, err, want)
		}
		_ = c.Close()
		_ = s.db.Close()
	}
}

// counting is a database whose answers are one number.
type counting struct{ n int64 }

func (c counting) Connect(context.Context) (driver.Conn, error) {
	return &countingConn{fakeConn{new(fake)}, c.n}, nil
}
func (counting) Driver() driver.Driver { return nil }

type countingConn struct {
	fakeConn
	n int64
}

func (c *countingConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &oneNumber{n: c.n}, nil
}

type oneNumber struct {
	n    int64
	over bool
}

func (*oneNumber) Columns() []string { return []string{"n"} }
func (*oneNumber) Close() error      { return nil }

func (r *oneNumber) Next(dest []driver.Value) error {
	if r.over {
		return io.EOF
	}
	dest[0], r.over = r.n, true
	return nil
}

// TestStatementsOfDialects tests that parameters are numbered in their order where the database wants numbers.
func TestStatementsOfDialects(t *testing.T) {
	const text = "UPDATE t SET a = ?, b = ? WHERE c = ?"
	for numbered, want := range map[bool]string{false: text, true: "UPDATE t SET a = $1, b = $2 WHERE c = $3"} {
		if got := (&Store{dialect: Dialect{Numbered: numbered}}).sql(text); got != want {
			t.Errorf("numbered %v: %s: must be %s", numbered, got, want)
		}
	}
}
