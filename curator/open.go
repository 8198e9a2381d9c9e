package curator

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Config says which records a session holds and what it may charge.
type Config struct {
	// Path is a CSV file, optionally compressed by gzip.
	Path string
	// Schema describes its columns by public facts.
	Schema *dataset.Schema
	// Loss is the loss of one record.
	Loss loss.Loss
	// Budget is what all answers together may be charged. It has no default.
	Budget account.Budget
	// Declared is the public number of records under add-or-remove, which
	// stands in for the secret one; zero under replace-one.
	Declared float64
	// Workers is the number of goroutines of a pass; zero means GOMAXPROCS. It
	// changes speed, never an answer's law.
	Workers int
	// BlockRows is the number of rows of a block in memory; zero means as many
	// as fit a cache. It changes speed only.
	BlockRows int
}

// Open reads the table into memory and returns a session over it. A cancelled
// context ends the reading.
func Open(ctx context.Context, c Config) (*Session, error) {
	if c.Schema == nil {
		return nil, errors.New("curator: schema: must be given")
	}
	// What is assigned to the caller's schema from here on changes nothing.
	schema := *c.Schema
	c.Schema = &schema
	if err := matches(c.Loss, c.Schema.Target()); err != nil {
		return nil, err
	}
	rows, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	coins, err := coin.NewSecret()
	if err != nil {
		return nil, err
	}
	workers := c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	k, err := kernel.New(kernel.Config{
		Table: rows, Loss: c.Loss, Budget: c.Budget, Declared: c.Declared, Workers: workers, Coins: coins,
	})
	if err != nil {
		return nil, err
	}
	return &Session{wall: &wall{kernel: func() *kernel.Session { return k }}}, nil
}

// Count returns the number of rows of a table that its schema's public filter
// keeps: the n that replace-one makes public. It reads nothing else of them.
// Tables that differ in one row which passes the filter in both agree on it.
func Count(ctx context.Context, path string, s *dataset.Schema) (int, error) {
	n := 0
	err := each(ctx, path, s, func(*dataset.Map, []string) { n++ })
	return n, err
}

func matches(l loss.Loss, t dataset.Target) error {
	if l == nil {
		return errors.New("curator: loss: must be given")
	}
	if want := l.Target(); (want == loss.Binary) != (t.Kind == dataset.Category) {
		return fmt.Errorf("curator: loss %s expects a %v target: column %q is declared otherwise", l.Name(), want, t.Column)
	}
	return nil
}

func read(ctx context.Context, c Config) (*row.Table, error) {
	rows, err := row.NewTable(c.Schema.Dim(), c.BlockRows)
	if err != nil {
		return nil, err
	}
	x := make([]float32, c.Schema.Dim())
	err = each(ctx, c.Path, c.Schema, func(m *dataset.Map, cells []string) {
		y, ok := m.Encode(x, cells)
		rows.Append(x, y, ok)
	})
	if err != nil {
		return nil, err
	}
	if rows.Len() == 0 && c.Budget.Relation() != account.AddOrRemove {
		return nil, fmt.Errorf("curator: %s: no row is left after the public filter", c.Path)
	}
	return rows, nil
}

// each calls f for every row the public filter keeps.
func each(ctx context.Context, path string, s *dataset.Schema, f func(*dataset.Map, []string)) error {
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
		if i%4096 == 0 {
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
			f(m, cells)
		}
	}
}
