package curator

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	rows, err := row.NewFile(c.features(), c.BlockRows, memory, c.Folder)
	if err != nil {
		return nil, err
	}
	whole := false
	defer func() {
		if !whole {
			rows.Close()
		}
	}()
	encode := c.encoder()
	grouped := newGrouping(c.Schema.Unit(), key)
	err = c.each(ctx, func(m *dataset.Map, cells []string) error {
		if rows.Len() >= most {
			return fmt.Errorf("curator: %s: must have at most %d rows", c.name(), most)
		}
		x, y, ok := encode(m, cells)
		if grouped == nil {
			return rows.Append(x, y, ok)
		}
		if !grouped.takes(m, cells, ok, rows.Len()) {
			return nil
		}
		return rows.Append(x, y, ok)
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

// encoder returns what maps a row's cells to features and a target; what it returns holds
// until the next row.
func (c Config) encoder() func(*dataset.Map, []string) ([]float32, float64, bool) {
	x := make([]float32, c.Schema.Dim())
	if c.Reduce == nil {
		return func(m *dataset.Map, cells []string) ([]float32, float64, bool) {
			y, ok := m.Encode(x, cells)
			return x, y, ok
		}
	}
	short, sums := make([]float32, c.features()), make([]float64, c.features())
	return func(m *dataset.Map, cells []string) ([]float32, float64, bool) {
		y, ok := m.Encode(x, cells)
		c.Reduce.Map(short, sums, x)
		return short, y, ok
	}
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
	if c.Rows != nil {
		return "rows"
	}
	return c.Path
}

// each calls f for every row of the table that the public filter keeps.
func (c Config) each(ctx context.Context, f func(*dataset.Map, []string) error) error {
	switch {
	case c.Rows == nil && c.Path == "":
		return errors.New("curator: path: must be given, or rows")
	case c.Rows == nil:
		return eachOf(ctx, c.Path, c.Schema, f)
	case c.Path != "":
		return errors.New("curator: rows: must not be given beside a path")
	}
	return c.Rows.each(ctx, c.Schema, f)
}

// eachOf is each for a file.
func eachOf(ctx context.Context, path string, s *dataset.Schema, f func(*dataset.Map, []string) error) error {
	r, err := table.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := s.Bind(r.Header())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := 0; ; i++ {
		// The context is looked at by row number, which is public.
		if i%contextRows == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		cells, ok, err := r.Next()
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		if m.Keep(cells) {
			if err := f(m, cells); err != nil {
				return err
			}
		}
	}
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
