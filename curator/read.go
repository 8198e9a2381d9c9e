package curator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// read encodes the configuration's table into a source of at most so many rows. The key
// settles which rows of a unit are kept.
func read(ctx context.Context, c Config, most int, key *coin.Keyed) (row.Source, error) {
	memory := c.Memory
	switch {
	case memory < 0:
		return nil, fmt.Errorf("curator: memory = %d bytes: must be >= 0", memory)
	case memory == 0:
		memory = math.MaxInt64
	}
	layout, err := c.layout()
	if err != nil {
		return nil, err
	}
	rows, err := row.NewFileOf(layout, c.BlockRows, memory, c.Folder)
	if err != nil {
		return nil, err
	}
	whole := false
	defer func() {
		if !whole {
			rows.Close()
		}
	}()
	grouped := newGrouping(c.Schema.Unit(), key)
	if c.Memory > 0 && (grouped != nil || c.Budget.Relation() == account.AddOrRemove) {
		// How many rows are kept is secret then, and so must be whether they need the file.
		if err := rows.Create(); err != nil {
			return nil, err
		}
	}
	err = c.each(ctx, layout, grouped, func(r encoded) error {
		if rows.Len() >= most {
			return fmt.Errorf("curator: %s: must have at most %d rows", c.name(), most)
		}
		if grouped != nil && !grouped.takes(r.owned, r.ok, rows.Len()) {
			return nil
		}
		return rows.AppendCoded(r.x, r.level, r.codes, r.y, r.ok)
	})
	if err != nil {
		return nil, err
	}
	records := rows.Len()
	if grouped != nil {
		records = len(grouped.units)
	}
	if records == 0 && c.Budget.Relation() != account.AddOrRemove {
		return nil, fmt.Errorf("curator: %s: no %s is left after the public filter", c.name(), c.record())
	}
	s, err := rows.Source()
	if err == nil && grouped != nil {
		s, err = grouped.source(s)
	}
	whole = err == nil
	return s, err
}

// layout is how encoded rows are kept: by the schema's groups, but for reduced ones,
// which have none.
func (c Config) layout() (*row.Layout, error) {
	if c.Reduce != nil {
		return row.Dense(c.Reduce.Size())
	}
	var groups []row.Group
	for _, g := range c.Schema.Groups() {
		groups = append(groups, row.Group(g))
	}
	return row.NewLayout(c.Schema.Dim(), groups)
}

// record is what one is called in errors.
func (c Config) record() string {
	if unit := c.Schema.Unit(); unit != (dataset.Unit{}) {
		return fmt.Sprintf("row with a cell in %q", unit.Column)
	}
	return "row"
}

// name is the table's in errors.
func (c Config) name() string {
	switch {
	case c.Rows != nil:
		return "rows"
	case c.Reader != nil:
		return table.Stream
	}
	return strings.Join(c.paths(), ", ")
}

// each calls f for every row of the table that the public filter keeps, encoded, in
// the table's order. What it is given holds until it returns.
func (c Config) each(ctx context.Context, l *row.Layout, g *grouping, f func(encoded) error) error {
	switch paths := c.paths(); {
	case c.Rows == nil && c.Reader == nil && len(paths) == 0:
		return errors.New("curator: path: must be given, or rows or a reader")
	case c.Reader != nil && (c.Rows != nil || len(paths) > 0):
		return errors.New("curator: reader: must not be given beside a path or rows")
	case c.Rows == nil:
		return c.eachOfFiles(ctx, l, g, f)
	case len(paths) > 0:
		return errors.New("curator: rows: must not be given beside a path")
	}
	var e *encoder
	return c.Rows.each(ctx, c.Schema, func(m *dataset.Map, cells []string) error {
		if e == nil {
			e = c.encoder(m, l, g)
		}
		return f(e.encode(cells))
	})
}

// contextRows is the number of rows between two looks at the context.
const contextRows = 4096

// each is Config.each for rows of the caller's, whose code runs in between: it may
// panic, go on after it was told to stop, or keep yield and call it when the
// session is open. None of that adds a row.
func (r *Rows) each(ctx context.Context, s *dataset.Schema, f func(*dataset.Map, []string) error) error {
	m, err := s.Bind(r.Header)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if r.Cells == nil {
		return errors.New("curator: rows: cells: must be given")
	}
	var mu sync.Mutex
	var over bool
	var i int
	var fault error
	whole := untilPanic(func() {
		r.Cells(func(cells []string, failed error) bool {
			mu.Lock()
			defer mu.Unlock()
			if over {
				return false
			}
			switch {
			case failed != nil:
				fault = &rowsError{func() error { return failed }}
			case i%contextRows == 0:
				fault = ctx.Err()
			}
			i++
			if fault == nil && m.Keep(cells) {
				fault = f(m, cells)
			}
			over = fault != nil
			return !over
		})
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	if fault == nil && !whole {
		return errors.New("curator: rows: what yields them panicked")
	}
	if fault == nil {
		fault = ctx.Err()
	}
	return fault
}

// untilPanic reports whether f returned. What it panics with may carry a record's
// values: it is dropped.
func untilPanic(f func()) (whole bool) {
	defer func() {
		if !whole {
			_ = recover()
		}
	}()
	f()
	return true
}

// rowsError is an error of the caller's own. Its text is fixed, and printing it
// shows no more: an error of whoever holds records may quote them.
type rowsError struct{ cause func() error }

func (*rowsError) Error() string { return "curator: rows: what yields them failed" }

// Unwrap returns the caller's error.
func (e *rowsError) Unwrap() error { return e.cause() }
