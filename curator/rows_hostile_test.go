package curator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
)

// secretCell stands for the contents of a record.
const secretCell = "Quokka-4815162342"

type secretError struct{ Cell string }

func (e secretError) Error() string { return "row 17: " + e.Cell }

// TestHostileRows: whatever a source of rows does, Open returns a session, or an error whose text
// is the same for all records.
func TestHostileRows(t *testing.T) {
	header := []string{"age", "job", "ill"}
	good := []string{"31", "nurse", "no"}
	cells := func(f func(yield func([]string, error) bool)) *curator.Rows {
		return &curator.Rows{Header: header, Cells: f}
	}
	for name, c := range map[string]struct {
		rows *curator.Rows
		want string // text of the error; "" for none
		n    float64
	}{
		"no columns": {&curator.Rows{Cells: func(func([]string, error) bool) {}},
			`rows: dataset: column "age" of the schema is not in the table's header (its first row)`, 0},
		"nothing at all": {&curator.Rows{Header: header}, "curator: rows: cells: must be given", 0},
		"no rows": {cells(func(func([]string, error) bool) {}),
			"curator: rows: there is no row", 0},
		"wrong lengths": {cells(func(y func([]string, error) bool) {
			y(nil, nil)
			y(good[:1], nil)
			y(append(good, "x"), nil)
			y([]string{}, nil)
		}), "", 4},
		"not text": {cells(func(y func([]string, error) bool) { y([]string{"\xff\x00", "NaN", "\u202eno"}, nil) }), "",
			1},
		"an error": {cells(func(y func([]string, error) bool) { y(good, nil); y(good, secretError{secretCell}) }),
			"curator: rows: what yields them failed", 0},
		"an error first": {cells(func(y func([]string, error) bool) { y(nil, secretError{secretCell}); y(good, nil) }),
			"curator: rows: what yields them failed", 0},
		"goes on": {cells(func(y func([]string, error) bool) {
			for y(good, secretError{secretCell}); !y(good, nil); {
				y(good, nil)
				break
			}
		}), "curator: rows: what yields them failed", 0},
		"panics": {cells(func(y func([]string, error) bool) { y(good, nil); panic(secretCell) }),
			"curator: rows: what yields them panicked", 0},
		"panics at once": {cells(func(func([]string, error) bool) { panic(secretError{secretCell}) }),
			"curator: rows: what yields them panicked", 0},
		"panics with nil": {cells(func(y func([]string, error) bool) { y(good, nil); panic(nil) }),
			"curator: rows: what yields them panicked", 0},
		"panics late": {cells(func(y func([]string, error) bool) { y(good, secretError{secretCell}); panic(secretCell) }),
			"curator: rows: what yields them failed", 0},
		"of records": {curator.RowsOf([]string{secretCell}, curator.Text("age", func(s string) string { panic(s) }),
			curator.Text("job", strings.ToUpper), curator.Text("ill", strings.ToUpper)),
			"curator: rows: what yields them panicked", 0},
	} {
		s, err := curator.Open(context.Background(), held(t, c.rows))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if s.All().Size() != c.n {
				t.Errorf("%s: %v records: must be %v", name, s.All().Size(), c.n)
			}
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v: must be %s", name, err, c.want)
			continue
		}
		shown, _ := json.Marshal(err)
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Error("open", "error", err)
		for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q %x %d %t", err, err, err, err, err, err, err, err),
			string(shown), log.String()} {
			if strings.Contains(text, secretCell) || strings.Contains(text, "17") && strings.Contains(text, "row 1") {
				t.Errorf("%s: shows %s", name, text)
			}
		}
	}
}

// TestRowsErrorIsTheCallers: the caller can unwrap its own error.
func TestRowsErrorIsTheCallers(t *testing.T) {
	mine := secretError{secretCell}
	_, err := curator.Open(context.Background(), held(t, &curator.Rows{
		Header: []string{"age", "job", "ill"},
		Cells:  func(y func([]string, error) bool) { y(nil, mine) },
	}))
	var found secretError
	if !errors.As(err, &found) || found != mine {
		t.Errorf("%v", err)
	}
}

// TestEndlessRows: reading rows without end stops when the context ends, and at the largest number
// of rows of a table, even if the source ignores yield's result.
func TestEndlessRows(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := 0
	rows := &curator.Rows{Header: []string{"age", "job", "ill"}, Cells: func(yield func([]string, error) bool) {
		for yield([]string{"31", "nurse", "no"}, nil) {
			if asked++; asked == 10_000 {
				cancel()
			}
		}
		yield([]string{"31", "nurse", "no"}, nil)
	}}
	if _, err := curator.Open(ctx, held(t, rows)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if asked > 20_000 {
		t.Errorf("%d rows were taken after the context had ended", asked-10_000)
	}
	for _, most := range []int{1, 50} {
		asked = 20_000
		_, err := curator.Read(context.Background(), held(t, rows), most)
		if want := fmt.Sprintf("curator: rows: must have at most %d rows", most); err == nil || err.Error() != want {
			t.Errorf("%v: must be %s", err, want)
		}
		if n := asked - 20_000; n != most {
			t.Errorf("%d rows were taken", n)
		}
		fits := held(t, rowsOf(rows.Header, make([][]string, most)))
		s, err := curator.Read(context.Background(), fits, most)
		if err != nil || s.Len() != most {
			t.Errorf("%d rows: %v", most, err)
		}
	}
	// a context that ends while the last rows are read
	ended, end := context.WithCancel(context.Background())
	_, err := curator.Open(ended, held(t,
		&curator.Rows{Header: rows.Header, Cells: func(yield func([]string, error) bool) {
			yield([]string{"31", "nurse", "no"}, nil)
			end()
		}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled at the end: %v", err)
	}
}

// TestOneSource: a table has exactly one source, and settings that are valid.
func TestOneSource(t *testing.T) {
	rows := rowsOf([]string{"age", "job", "ill"}, [][]string{{"31", "nurse", "no"}})
	for want, change := range map[string]func(*curator.Config){
		"curator: rows: must not be given beside a path":    func(c *curator.Config) { c.Path = "people.csv" },
		"curator: path: must be given, or rows or a reader": func(c *curator.Config) { c.Rows = nil },
		"curator: memory = -1 bytes: must be >= 0":          func(c *curator.Config) { c.Memory = -1 },
	} {
		c := held(t, rows)
		change(&c)
		if _, err := curator.Open(context.Background(), c); err == nil || err.Error() != want {
			t.Errorf("%v: must be %s", err, want)
		}
	}
}
