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

// open opens the table's files, or the caller's reader if there is one.
func (c Config) open() (*table.Reader, error) {
	if c.Reader != nil {
		return table.OpenStream(&guarded{c.Reader}, c.CSV)
	}
	return table.Open(c.paths(), c.CSV)
}

// guarded is a reader that the caller gave. Its code may panic with a record's values, or return an error
// that quotes them. Neither the panic's value nor the error's text is shown.
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

// readerError wraps an error of the caller's reader. Like rowsError, it shows a fixed text.
type readerError struct{ cause func() error }

func (*readerError) Error() string { return "curator: reader: failed" }

// Unwrap returns the caller's error.
func (e *readerError) Unwrap() error { return e.cause() }

// paths returns the names of the table's files, Path first. It returns none if neither Path nor Paths is
// given.
func (c Config) paths() []string {
	if c.Path == "" {
		return c.Paths
	}
	return append([]string{c.Path}, c.Paths...)
}

// encoded is a row in its stored form: its numbers x, the level and codes of its one-hot groups, its target
// y, and its unit. ok is false for a faulty row.
type encoded struct {
	x     []float32
	level float32
	codes []uint32
	y     float64
	ok    bool
	owned
}

// encoder encodes rows. It must be used by one goroutine at a time.
type encoder struct {
	rows    *dataset.Map
	grouped *grouping
	x       []float32
	codes   []uint32
	// If Config.Reduce is given: the map, the whole row before the map, and scratch memory.
	reduce *dataset.Projection
	full   []float32
	sums   []float64
}

func (c Config) encoder(m *dataset.Map, l *row.Layout, g *grouping) *encoder {
	e := &encoder{rows: m, grouped: g, x: make([]float32, l.Numbers()), codes: make([]uint32, l.Groups()),
		reduce: c.Reduce}
	if c.Reduce != nil {
		e.full, e.sums = make([]float32, m.Dim()), make([]float64, c.Reduce.Size())
	}
	return e
}

// encode encodes the row with the given cells. The result is valid until the encoder encodes another row.
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

// encodeReadings encodes row i of a table whose cells are already read as numbers, column by column.
// Each row of the table is a record.
func (e *encoder) encodeReadings(columns [][]float64, i int) encoded {
	r := encoded{x: e.x, codes: e.codes}
	if e.reduce == nil {
		r.level, r.y, r.ok = e.rows.EncodeReadings(e.x, e.codes, columns, i)
		return r
	}
	r.y, r.ok = e.rows.EncodeReadingsWhole(e.full, columns, i)
	e.reduce.Map(e.x, e.sums, e.full)
	return r
}

// batch holds consecutive rows, encoded.
type batch struct {
	rows int // number of rows read, including rows that the filter rejects
	kept []encoded
	// x and codes hold the numbers and the codes of all kept rows, one row after the other.
	x     []float32
	codes []uint32
}

// batchBytes is the approximate size of a batch: small compared with the rows of a session, and large
// enough that passing it between goroutines costs little. If Config.Memory sets a limit, a batch takes at
// most Config.Memory/batchShare bytes, in addition to Config.Memory, but holds at least one row.
const (
	batchBytes = 1 << 20
	batchShare = 128
)

func (b *batch) add(r encoded, most int) {
	if b.kept == nil {
		b.kept, b.x, b.codes = make([]encoded, 0, most), make([]float32, 0, most*len(r.x)),
			make([]uint32, 0, most*len(r.codes))
	}
	b.x = append(b.x, r.x...)
	b.codes = append(b.codes, r.codes...)
	b.kept = append(b.kept, r)
}

func (b *batch) read() int { return b.rows }

func (b *batch) reset() { *b = batch{kept: b.kept[:0], x: b.x[:0], codes: b.codes[:0]} }

// eachOfFiles calls f for every row of the table's files that passes the public filter. Several
// goroutines encode rows; one goroutine calls f on them, in the order of the rows.
func (c Config) eachOfFiles(ctx context.Context, l *row.Layout, g *grouping, f func(encoded) error) error {
	numbers, groups := l.Numbers(), l.Groups()
	size := int64(batchBytes)
	if c.Memory > 0 {
		size = min(size, c.Memory/batchShare)
	}
	most := min(max(1, int(size)/(4*(numbers+groups))), contextRows)
	spare := sync.Pool{New: func() any { return new(batch) }}
	work := func(m *dataset.Map, rows table.Chunk, yield func(*batch) bool) error {
		e, b := c.encoder(m, l, g), spare.Get().(*batch)
		b.reset()
		pass := func() bool { // passes the batch to yield if it is full
			if len(b.kept) < most && b.rows < contextRows {
				return true
			}
			if !yield(b) {
				return false
			}
			b = spare.Get().(*batch)
			b.reset()
			return true
		}
		whole, err := eachRow(rows, func(columns [][]float64, i int) bool {
			if b.rows++; m.KeepReadings(columns, i) {
				b.add(e.encodeReadings(columns, i), most)
			}
			return pass()
		}, func(cells []string) bool {
			if b.rows++; m.Keep(cells) {
				b.add(e.encode(cells), most)
			}
			return pass()
		})
		if whole {
			yield(b)
		}
		return err
	}
	return eachPart(ctx, c, func(r *table.Reader, m *dataset.Map) error { return table.For(r, m) }, work,
		func(b *batch) error {
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

// eachRow calls readings for each row of a chunk whose cells come as readings, with its index, and row for each other.
// whole is false if one of them returned false, which ends the reading, or if reading failed.
func eachRow(rows table.Chunk, readings func([][]float64, int) bool, row func([]string) bool) (whole bool, err error) {
	typed, is := rows.(table.Typed)
	for {
		if is {
			columns, n, err := typed.Readings()
			if err != nil {
				return false, err
			}
			for i := range n {
				if !readings(columns, i) {
					return false, nil
				}
			}
			if n > 0 {
				continue
			}
		}
		if cells, more, err := rows.Next(); err != nil || !more {
			return err == nil, err
		} else if !row(cells) {
			return false, nil
		}
	}
}

// part holds the results of reading some consecutive rows of one chunk. The method read returns the number
// of these rows, including rows that the filter rejects.
type part interface{ read() int }

// pageShare limits the memory for Parquet pages while rows are read. The limit is Config.Memory divided by
// pageShare. This memory is in addition to Config.Memory.
const pageShare = 16

// eachPart reads a table in chunks. It calls declare first, which tells the table's reader which columns are read.
// Several goroutines call work on the chunks. One goroutine calls take on work's results, in the order of the rows.
func eachPart[T part](ctx context.Context, c Config, declare func(*table.Reader, *dataset.Map) error,
	work func(*dataset.Map, table.Chunk, func(T) bool) error, take func(T) error) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := c.Schema.Bind(r.Header())
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	if err := declare(r, m); err != nil {
		return err
	}
	if c.Memory > 0 {
		r.Limit(c.Memory / pageShare)
	}
	// The context is tested about every contextRows rows, a public number. A negative number of workers
	// counts as one here. session.New refuses it later.
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

// counted is a count of the records among some rows: the number of records or, with a unit, the set of units.
type counted struct {
	rows, records int
	units         map[string]bool
}

func (k *counted) read() int { return k.rows }

// count returns the number of records, as Count describes.
func (c Config) count(ctx context.Context) (n int, err error) {
	rows := c.Schema.Unit() == (dataset.Unit{})
	of := map[string]bool{}
	switch {
	case c.Shards != nil:
		return 0, errors.New("curator: shards: their records cannot be counted beforehand")
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
	err = eachPart(ctx, c, func(r *table.Reader, m *dataset.Map) error { return r.Use(m.ReadsToCount()) },
		func(m *dataset.Map, chunk table.Chunk, yield func(*counted) bool) error {
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
