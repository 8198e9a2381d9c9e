package curator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// open opens the table's files or its reader.
func (c Config) open() (*table.Reader, error) {
	if c.Reader != nil {
		return table.OpenStream(&guarded{c.Reader}, c.CSV)
	}
	return table.Open(c.paths(), c.CSV)
}

// guarded is a reader of the caller's, whose code may panic with what a record holds, or
// fail in words that quote one: neither is shown.
type guarded struct{ r io.Reader }

// Read implements io.Reader.
func (g *guarded) Read(p []byte) (n int, err error) {
	if !untilPanic(func() { n, err = g.r.Read(p) }) {
		return 0, errors.New("curator: reader: panicked")
	}
	if err != nil && err != io.EOF {
		cause := err
		err = &readerError{func() error { return cause }}
	}
	if n < 0 || n > len(p) {
		return 0, errors.New("curator: reader: says that it read more than it was asked for")
	}
	return n, err
}

// readerError is an error of the caller's own, like rowsError.
type readerError struct{ cause func() error }

func (*readerError) Error() string { return "curator: reader: failed" }

// Unwrap returns the caller's error.
func (e *readerError) Unwrap() error { return e.cause() }

// paths returns the files of the table; none if the caller gives Rows.
func (c Config) paths() []string {
	if c.Path == "" {
		return c.Paths
	}
	return append([]string{c.Path}, c.Paths...)
}

// encoded is a row in its stored form: its numbers, level and codes, its target, and its unit.
type encoded struct {
	x     []float32
	level float32
	codes []uint32
	y     float64
	ok    bool
	owned
}

// encoder encodes rows. It is for one goroutine.
type encoder struct {
	rows    *dataset.Map
	grouped *grouping
	x       []float32
	codes   []uint32
	// With a reduction: the whole row, and scratch memory.
	reduce *dataset.Projection
	full   []float32
	sums   []float64
}

func (c Config) encoder(m *dataset.Map, l *row.Layout, g *grouping) *encoder {
	e := &encoder{rows: m, grouped: g, x: make([]float32, l.Numbers()), codes: make([]uint32, l.Groups()), reduce: c.Reduce}
	if c.Reduce != nil {
		e.full, e.sums = make([]float32, m.Dim()), make([]float64, c.Reduce.Size())
	}
	return e
}

// encode encodes a row. The result is valid until the next call.
func (e *encoder) encode(cells []string) encoded {
	r := encoded{x: e.x, codes: e.codes, owned: e.grouped.owner(e.rows, cells)}
	if e.reduce == nil {
		r.level, r.y, r.ok = e.rows.EncodeCoded(e.x, e.codes, cells)
		return r
	}
	r.y, r.ok = e.rows.Encode(e.full, cells)
	e.reduce.Map(e.x, e.sums, e.full)
	return r
}

// batch holds consecutive rows, encoded.
type batch struct {
	rows int // number of rows read, with those that the filter rejects
	kept []encoded
	// numbers and codes of the kept rows, one after the other
	x     []float32
	codes []uint32
}

// batchBytes is the approximate size of a batch: small compared with the rows of a session, and
// large enough that passing it between goroutines costs nothing.
const batchBytes = 1 << 20

func (b *batch) add(r encoded) {
	b.x = append(b.x, r.x...)
	b.codes = append(b.codes, r.codes...)
	b.kept = append(b.kept, r)
}

func (b *batch) read() int { return b.rows }

func (b *batch) reset() { *b = batch{kept: b.kept[:0], x: b.x[:0], codes: b.codes[:0]} }

// eachOfFiles is each for files. Several goroutines encode rows; one calls f on them, in their
// order.
func (c Config) eachOfFiles(ctx context.Context, l *row.Layout, g *grouping, f func(encoded) error) error {
	numbers, groups := l.Numbers(), l.Groups()
	most := max(1, batchBytes/(4*(numbers+groups)))
	spare := sync.Pool{New: func() any { return new(batch) }}
	work := func(m *dataset.Map, rows table.Chunk, yield func(*batch) bool) error {
		e, b := c.encoder(m, l, g), spare.Get().(*batch)
		b.reset()
		for {
			cells, more, err := rows.Next()
			if err != nil {
				return err
			}
			if !more {
				yield(b)
				return nil
			}
			if b.rows++; m.Keep(cells) {
				b.add(e.encode(cells))
			}
			if len(b.kept) < most && b.rows < contextRows {
				continue
			}
			if !yield(b) {
				return nil
			}
			b = spare.Get().(*batch)
			b.reset()
		}
	}
	return eachPart(ctx, c, work, func(b *batch) error {
		for i, r := range b.kept {
			r.x, r.codes = b.x[i*numbers:(i+1)*numbers], b.codes[i*groups:(i+1)*groups]
			if err := f(r); err != nil {
				return err
			}
		}
		spare.Put(b)
		return nil
	})
}

// part holds results from consecutive rows. read returns their number, with the rows that the
// filter rejects.
type part interface{ read() int }

// pageShare limits the memory for Parquet pages while rows are read. The limit is Config.Memory divided
// by pageShare. This memory comes on top of Config.Memory.
const pageShare = 16

// eachPart reads a table in chunks. Several goroutines call work on the chunks, and one calls take
// on the results, in the order of the rows.
func eachPart[T part](ctx context.Context, c Config, work func(*dataset.Map, table.Chunk, func(T) bool) error, take func(T) error) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := c.Schema.Bind(r.Header())
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	if err := r.For(m); err != nil {
		return err
	}
	if c.Memory > 0 {
		r.Limit(c.Memory / pageShare)
	}
	// The context is tested after a number of rows, which is public. A negative number of workers
	// is refused by kernel.New.
	rows, look := 0, 0
	return table.Each(r, max(1, c.workers()), func(rows table.Chunk, yield func(T) bool) error {
		return work(m, rows, yield)
	}, func(p T) error {
		if rows += p.read(); rows > look {
			if err := ctx.Err(); err != nil {
				return err
			}
			look = rows - rows%contextRows + contextRows
		}
		return take(p)
	})
}

// counted counts the records among some rows: rows, or the set of their units.
type counted struct {
	rows, records int
	units         map[string]bool
}

func (k *counted) read() int { return k.rows }

// count returns the number of records.
func (c Config) count(ctx context.Context) (n int, err error) {
	rows := c.Schema.Unit() == (dataset.Unit{})
	of := map[string]bool{}
	switch {
	case c.Reader != nil:
		return 0, errors.New("curator: reader: is read once: its records cannot be counted beforehand")
	case c.Rows != nil:
		err = c.Rows.each(ctx, c.Schema, func(m *dataset.Map, cells []string) error {
			if rows {
				n++
			} else if unit, ok := m.Unit(cells); ok && !of[unit] {
				of[strings.Clone(unit)] = true
			}
			return nil
		})
		return n + len(of), err
	}
	err = eachPart(ctx, c, func(m *dataset.Map, chunk table.Chunk, yield func(*counted) bool) error {
		k := &counted{units: map[string]bool{}}
		for {
			cells, more, err := chunk.Next()
			if err != nil {
				return err
			}
			if !more {
				yield(k)
				return nil
			}
			if k.rows++; !m.Keep(cells) {
				continue
			}
			if rows {
				k.records++
			} else if unit, ok := m.Unit(cells); ok {
				k.units[unit] = true
			}
		}
	}, func(k *counted) error {
		n += k.records
		for unit := range k.units {
			if !of[unit] {
				of[strings.Clone(unit)] = true
			}
		}
		return nil
	})
	return n + len(of), err
}
