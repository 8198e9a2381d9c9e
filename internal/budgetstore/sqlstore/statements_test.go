package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// script is a database that keeps the statements that it was told, with their parameters, and answers queries by rows
// that were made up, found by the beginning of the query.
type script struct {
	told    []string
	answers map[string][][]driver.Value
	changed int64
	fails   int // the number of the statement that fails, from 1
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return scriptConn{s}, nil }
func (s *script) Driver() driver.Driver                        { return nil }

type scriptConn struct{ s *script }

func (scriptConn) Prepare(string) (driver.Stmt, error) { return nil, errFake }
func (scriptConn) Begin() (driver.Tx, error)           { return nil, errFake }
func (scriptConn) Close() error                        { return nil }

func (c scriptConn) tell(query string, args []driver.NamedValue) error {
	for _, a := range args {
		query += fmt.Sprintf(" [%v]", a.Value)
	}
	if c.s.told = append(c.s.told, query); len(c.s.told) == c.s.fails {
		return errFake
	}
	return nil
}

func (c scriptConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(c.s.changed), c.tell(query, args)
}

func (c scriptConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.tell(query, args); err != nil {
		return nil, err
	}
	for begin, rows := range c.s.answers {
		if strings.HasPrefix(query, begin) {
			return &scriptRows{query, rows}, nil
		}
	}
	return &scriptRows{query, nil}, nil
}

type scriptRows struct {
	query string
	rows  [][]driver.Value
}

func (r *scriptRows) Columns() []string {
	if len(r.rows) == 0 {
		return []string{"none"}
	}
	return make([]string, len(r.rows[0]))
}
func (*scriptRows) Close() error { return nil }

func (r *scriptRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// TestStatementsOfOperations tests the statements of each operation, in their order and with their parameters: a
// transaction that writes begins first, locks what it reads and is committed last, and one that reads is a snapshot.
// The failure of each statement is told, and a transaction of which a statement has failed is rolled back.
func TestStatementsOfOperations(t *testing.T) {
	const (
		insertChain  = "INSERT INTO stillpoint_chains (dataset, length, head) VALUES (?, 0, '') ON CONFLICT DO NOTHING [people]"
		selectChain  = "SELECT length, head, NOW FROM stillpoint_chains WHERE dataset = ?"
		selectRows   = "SELECT number, content, hash FROM stillpoint_rows WHERE dataset = ? AND number >= ? ORDER BY number [people] [3]"
		selectLeases = "SELECT run, holder, events, charge, renewed FROM stillpoint_leases WHERE dataset = ? AND ended = 0 ORDER BY run"
		insertRow    = "INSERT INTO stillpoint_rows (dataset, number, content, hash) VALUES (?, ?, ?, ?) [people] [6] [text] [hash]"
		updateChain  = "UPDATE stillpoint_chains SET length = ?, head = ? WHERE dataset = ? [6] [hash] [people]"
		insertLease  = "INSERT INTO stillpoint_leases (dataset, run, holder, events, charge, renewed, ended) VALUES (?, ?, ?, ?, ?, NOW, ?) " +
			"ON CONFLICT (dataset, run) DO UPDATE SET holder = excluded.holder, events = excluded.events, charge = excluded.charge, " +
			"renewed = excluded.renewed, ended = excluded.ended"
	)
	lease := budget.Lease{Run: "r", Holder: "h", Events: 7, Charge: .125, Renewed: "then"}
	after := budget.Lease{Run: "r", Holder: "other", Events: 9, Charge: .25}
	ended := lease
	ended.Ended = true
	tail := budget.Tail{Length: 5, Head: "last", Now: "now", Before: "h3",
		Rows: []budget.Row{{Text: "four", Hash: "h4"}, {Text: "five", Hash: "h5"}}}
	update := func(row *budget.Row, leases []budget.Lease) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error {
			return s.Update(ctx, "people", 3, func(got budget.Tail) (*budget.Row, error) {
				want := tail
				if want.Leases = leases; !reflect.DeepEqual(got, want) {
					return nil, fmt.Errorf("%+v: must be %+v", got, want)
				}
				return row, nil
			})
		}
	}
	is := func(got, want any, err error) error {
		if err == nil && !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%+v: must be %+v", got, want)
		}
		return err
	}
	row := func(l *budget.Lease) *budget.Row { return &budget.Row{Text: "text", Hash: "hash", Lease: l} }
	begun := []string{"B1", "B2", insertChain, selectChain + " LOCK [people]", selectRows, "LEASES"}
	held := append(slices.Clone(begun), selectLeases+" LOCK [people]")
	written := []string{insertRow, updateChain, "COMMIT"}
	for name, c := range map[string]struct {
		leases bool // the database has the table of leases
		do     func(context.Context, *Store) error
		want   []string
	}{
		"a row":       {false, update(row(nil), nil), slices.Concat(begun, written)},
		"no row":      {false, update(nil, nil), slices.Concat(begun, []string{"ROLLBACK"})},
		"beside some": {true, update(row(nil), []budget.Lease{lease}), slices.Concat(held, written)},
		"a lease": {true, update(row(&after), []budget.Lease{lease}), slices.Concat(held,
			[]string{insertLease + " [people] [r] [other] [9] [0.25] [0]"}, written)},
		"an end": {true, update(row(&ended), []budget.Lease{lease}), slices.Concat(held,
			[]string{insertLease + " [people] [r] [h] [7] [0.125] [1]"}, written)},
		"a first lease": {false, update(row(&after), nil), slices.Concat(begun,
			[]string{"LEASES", "S1", "S2", insertLease + " [people] [r] [other] [9] [0.25] [0]"}, written)},
		"a view": {true, func(ctx context.Context, s *Store) error {
			want := tail
			want.Leases = []budget.Lease{lease}
			got, err := s.View(ctx, "people", 3)
			return is(got, want, err)
		}, []string{"READ", selectChain + " [people]", selectRows, "LEASES", selectLeases + " [people]", "ROLLBACK"}},
		"a renewal": {true, func(ctx context.Context, s *Store) error {
			got, err := s.Renew(ctx, "people", lease, after)
			return is(got, true, err)
		}, []string{"UPDATE stillpoint_leases SET events = ?, charge = ?, renewed = NOW WHERE dataset = ? AND run = ? AND holder = ? AND " +
			"ended = 0 AND (charge = ? AND events = ? OR charge = ? AND events = ?) [9] [0.25] [people] [r] [h] [0.125] [7] [0.25] [9]"}},
		"a mark": {false, func(ctx context.Context, s *Store) error {
			got, err := s.Mark(ctx, "people", "print")
			return is(got, []string{"a", "b"}, err)
		}, []string{"B1", "B2", "INSERT INTO stillpoint_marks (fingerprint, dataset) VALUES (?, ?) ON CONFLICT DO NOTHING [print] [people]", "COMMIT",
			"SELECT dataset FROM stillpoint_marks WHERE fingerprint = ? AND dataset <> ? ORDER BY dataset [print] [people]"}},
		"names": {false, func(ctx context.Context, s *Store) error {
			got, err := s.Datasets(ctx)
			return is(got, []string{"people", "pets"}, err)
		}, []string{"SELECT dataset FROM stillpoint_chains ORDER BY dataset"}},
		"a draw": {false, func(ctx context.Context, s *Store) error {
			got, err := s.Draw(ctx)
			return is(got, "drawn", err)
		}, []string{"SELECT DRAW"}},
		"a key": {false, func(ctx context.Context, s *Store) error {
			got, err := s.Key(ctx)
			return is(got, "secret", err)
		}, []string{"SELECT secret FROM stillpoint_store"}},
		"opened": {false, func(ctx context.Context, s *Store) error {
			_, err := Open(ctx, s.db, s.dialect, false)
			return err
		}, []string{"SELECT version FROM stillpoint_store"}},
		"made": {false, func(ctx context.Context, s *Store) error {
			_, err := Open(ctx, s.db, s.dialect, true)
			return err
		}, []string{"B1", "B2", "S1", "S2", "INSERT INTO stillpoint_store (id, version, secret) SELECT 1, ?, KEY WHERE NOT EXISTS (SELECT 1 FROM " +
			"stillpoint_store) [1]", "COMMIT", "SELECT version FROM stillpoint_store"}},
	} {
		there := int64(0)
		if c.leases {
			there = 1
		}
		end := 1 + slices.IndexFunc(c.want, func(q string) bool { return q == "COMMIT" || q == "ROLLBACK" })
		for fails := 0; fails <= len(c.want); fails++ { // 0 is none
			db := &script{changed: 1, fails: fails, answers: map[string][][]driver.Value{
				"SELECT length":                    {{int64(5), "last", "now"}},
				"SELECT number":                    {{int64(3), "three", "h3"}, {int64(4), "four", "h4"}, {int64(5), "five", "h5"}},
				"LEASES":                           {{there}},
				"SELECT run":                       {{"r", "h", int64(7), .125, "then"}},
				"SELECT dataset FROM stillpoint_m": {{"a"}, {"b"}},
				"SELECT dataset FROM stillpoint_c": {{"people"}, {"pets"}},
				"SELECT DRAW":                      {{"drawn"}},
				"SELECT secret":                    {{"secret"}},
				"SELECT version":                   {{int64(1)}},
			}}
			s := &Store{db: sql.OpenDB(db), dialect: Dialect{Begin: []string{"B1", "B2"}, Lock: " LOCK", Read: "READ", Draw: "DRAW", Key: "KEY",
				Now: "NOW", Leases: "LEASES", Schema: "S1\nS2\n"}}
			err := c.do(t.Context(), s)
			if fails > 0 {
				transaction := strings.HasPrefix(c.want[0], "B") || c.want[0] == "READ"
				if undone := c.want[fails-1] == "ROLLBACK"; !errors.Is(err, errFake) != undone || len(db.told) < fails ||
					!slices.Equal(db.told[:fails], c.want[:fails]) || transaction && fails <= end && db.told[len(db.told)-1] != "ROLLBACK" {
					t.Errorf("%s: statement %d fails: %v, told\n%s", name, fails, err, strings.Join(db.told, "\n"))
				}
			} else if err != nil || !slices.Equal(db.told, c.want) {
				t.Errorf("%s: %v, told\n%s\nmust be\n%s", name, err, strings.Join(db.told, "\n"), strings.Join(c.want, "\n"))
			}
			_ = s.Close()
		}
	}
}

// TestLeasesThatAreNotRenewed tests that a lease is renewed only if the database has changed a row, and that a database
// which does not answer whether it has leases is an error.
func TestLeasesThatAreNotRenewed(t *testing.T) {
	for changed, want := range map[int64]bool{0: false, 1: true} {
		s := &Store{db: sql.OpenDB(&script{changed: changed})}
		if renewed, err := s.Renew(t.Context(), "people", budget.Lease{}, budget.Lease{}); renewed != want || err != nil {
			t.Errorf("%d rows changed: renewed %v, %v", changed, renewed, err)
		}
		if got, err := s.View(t.Context(), "people", 0); !reflect.DeepEqual(got, budget.Tail{}) || err == nil {
			t.Errorf("no answer about leases: %+v, %v", got, err)
		}
		_ = s.Close()
	}
}

// away is a database to which no connection can be made.
type away struct{}

func (away) Connect(context.Context) (driver.Conn, error) { return nil, errFake }
func (away) Driver() driver.Driver                        { return nil }

// failed is a database whose queries fail with an error.
type failed struct{ err error }

func (f failed) Connect(context.Context) (driver.Conn, error) {
	return &failedConn{fakeConn{new(fake)}, f.err}, nil
}
func (failed) Driver() driver.Driver { return nil }

type failedConn struct {
	fakeConn
	err error
}

func (c *failedConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, c.err
}

// TestErrorsOfDatabases tests that a database without tables holds no budgets, and that any other error is told: that
// of a connection, of a caller who refuses, and of a row that cannot be read. No connection stays in use.
func TestErrorsOfDatabases(t *testing.T) {
	ended, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		none bool
	}{
		{t.Context(), errors.New("no such table: stillpoint_store"), true},
		{t.Context(), errors.New(`relation "stillpoint_store" does not exist`), true},
		{t.Context(), sql.ErrNoRows, true}, {t.Context(), errFake, false}, {ended, sql.ErrNoRows, false},
	} {
		db := sql.OpenDB(failed{c.err})
		if _, err := Open(c.ctx, db, Dialect{}, false); errors.Is(err, ErrNone) != c.none || err == nil || !c.none && c.ctx == t.Context() && !errors.Is(err, c.err) {
			t.Errorf("%v: %v: must be that there are no budgets: %v", c.err, err, c.none)
		}
		_ = db.Close()
	}
	s := &Store{db: sql.OpenDB(away{})}
	if err := s.transact(t.Context(), nil, nil); !errors.Is(err, errFake) {
		t.Errorf("no connection: %v", err)
	}
	refused := errors.New("refused")
	db := &script{changed: 1, answers: map[string][][]driver.Value{"LEASES": {{int64(0)}}, "SELECT length": {{int64(1), "h", "now"}}}}
	s = &Store{db: sql.OpenDB(db), dialect: Dialect{Leases: "LEASES"}}
	next := func(budget.Tail) (*budget.Row, error) { return nil, refused }
	if err := s.Update(t.Context(), "people", 0, next); !errors.Is(err, refused) || db.told[len(db.told)-1] != "ROLLBACK" {
		t.Errorf("a row that is refused: %v, told %q", err, db.told)
	}
	if _, err := s.View(t.Context(), "people", 0); err != nil {
		t.Error(err)
	}
	db.answers["SELECT number"] = [][]driver.Value{{"one", "text", "hash"}}
	if tail, err := s.View(t.Context(), "people", 0); err == nil {
		t.Errorf("a row whose number is a word: %+v", tail)
	}
	if n := s.db.Stats().InUse; n != 0 {
		t.Errorf("%d connections are in use", n)
	}
	_ = s.Close()
}
