package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

func fileOf(t testing.TB, records []record, bytes int64) row.Source {
	t.Helper()
	f, err := row.NewFile(len(records[0].x), 16, bytes, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := f.Append(r.x, r.y, r.ok); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Source()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSessionsOverAFile tests that a session over a file answers as a session over memory does, to
// the bit, including noise and ledger.
func TestSessionsOverAFile(t *testing.T) {
	records := randomRecords(rand.New(rand.NewPCG(2, 7)), 300, 6)
	records[17].ok = false
	run := func(rows row.Source) []any {
		b := budget(t, 2, 1e-6, account.ReplaceOne)
		s, err := New(Config{Engine: engineOver(t, rows, parse(t, "logistic")), Budget: b, Workers: 2,
			Coins: coin.Simulated([32]byte{3})})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Draw(100)
		if err != nil {
			t.Fatal(err)
		}
		var out []any
		keep := func(v any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		w := make([]float64, 6)
		keep(s.Ask(context.Background(), question(t, .01, query.GradientAt(s.All(), w, 1))))
		keep(s.Ask(context.Background(), question(t, .01, query.NormAt(c, w, 1, nil))))
		pass, err := query.NewStable(.01, c, query.Pass{Start: w, Step: .1, Clip: 1})
		if err != nil {
			t.Fatal(err)
		}
		keep(s.Stable(context.Background(), pass))
		out = append(out, s.Ledger().Events())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return out
	}
	want := run(tableOf(t, records, 0))
	for _, bytes := range []int64{0, 4000} {
		if got := run(fileOf(t, records, bytes)); !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes in memory: %+v: must be %+v", bytes, got, want)
		}
	}
}

// TestUnreadRowsAreCharged tests that, if rows cannot be read, the query returns an error that
// reveals nothing of the rows, and stays charged.
func TestUnreadRowsAreCharged(t *testing.T) {
	s := open(t, randomRecords(rand.New(rand.NewPCG(2, 8)), 50, 3), parse(t, "logistic"),
		budget(t, 1, 1e-6, account.ReplaceOne), func(c *Config) {
			c.Engine = engineOver(t, fileOf(t, randomRecords(rand.New(rand.NewPCG(2, 8)), 50, 3), 0), parse(t, "logistic"))
		})
	if err := s.engine().Close(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Ask(context.Background(), question(t, .01, query.GradientAt(s.All(), make([]float64, 3), 1)))
	if !errors.Is(err, row.ErrUnread) || r.Mean != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if n := s.Ledger().Len(); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestCloseGivesUpTheRows tests that a closed session keeps no file open.
func TestCloseGivesUpTheRows(t *testing.T) {
	var rows row.Source
	s := open(t, randomRecords(rand.New(rand.NewPCG(2, 9)), 50, 3), parse(t, "logistic"),
		budget(t, 1, 1e-6, account.ReplaceOne), func(c *Config) {
			rows = fileOf(t, randomRecords(rand.New(rand.NewPCG(2, 9)), 50, 3), 0)
			c.Engine = engineOver(t, rows, parse(t, "logistic"))
		})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := rows.Reader().Block(0); !errors.Is(err, row.ErrUnread) {
		t.Errorf("read after the session was closed: %v", err)
	}
}
