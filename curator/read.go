package curator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// read stores the configuration's table. The argument most is the largest number of stored rows: read returns
// an error if the table has further rows. For a whole table under replace-one, it also returns an error if
// there is no record. The argument key determines which rows of a unit are kept.
func read(ctx context.Context, c Config, most int, key *coin.Keyed) (*stored, error) {
	memory := c.Memory
	switch {
	case memory < 0:
		return nil, fmt.Errorf("curator: memory = %d bytes: must be >= 0", memory)
	case memory == 0:
		memory = math.MaxInt64
	}
	whole, err := c.layout()
	if err != nil {
		return nil, err
	}
	layout, err := whole.Bare()
	if err != nil {
		return nil, err
	}
	rows, err := row.NewFileOf(layout, c.BlockRows, memory, c.Folder)
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			rows.Close()
		}
	}()
	grouped := newGrouping(c.Schema.Unit(), key)
	if c.Memory > 0 && (grouped != nil || c.partition != nil || c.Budget.Relation() == account.AddOrRemove) {
		// In these cases the number of stored rows is secret. Whether the rows need a file is then secret
		// as well, and the file is always made.
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
	if records == 0 && c.partition == nil && c.Budget.Relation() != account.AddOrRemove {
		if c.Schema.Filter() == (dataset.Filter{}) {
			return nil, fmt.Errorf("curator: %s: there is no %s", c.name(), c.record())
		}
		return nil, fmt.Errorf("curator: %s: no %s is left after the public filter", c.name(), c.record())
	}
	s := &stored{scale: c.Schema.WithoutEffects().Scale()}
	if s.rows, err = rows.Source(); err != nil {
		return nil, err
	}
	if grouped != nil {
		if c.partition != nil {
			c.partition.mark(grouped.index)
		}
		s.units = grouped.kept()
	}
	done = true
	return s, nil
}

// stored is a table as it is stored: rows without what is computed when they are read, and the rows of each unit.
type stored struct {
	rows  row.Source
	scale float64   // the divisor of the stored rows
	units *unitRows // nil if each row is a record
}

// records returns the records of a stored table, which engines read in blocks. They have the hats of the
// configuration's schema, which must store rows as the schema does by which the table was stored
// (dataset.Schema.Refines).
func (c Config) records(of *stored) (row.Source, error) {
	layout, err := c.layout()
	if err != nil {
		return nil, err
	}
	rows := of.rows
	if scale := c.Schema.WithoutEffects().Scale(); of.scale != scale { // curves were left out
		rows = row.NewScaled(rows, of.scale/scale*(1-0x1p-22)) // room for the second rounding to float32
	}
	s, err := c.computed(rows, layout, c.keepsHats(rows, layout), c.keeps(rows))
	if err != nil {
		return nil, err
	}
	if u := of.units; u != nil {
		return row.NewGrouped(s, u.most, u.rows, u.first)
	}
	return s, nil
}

// computed returns rows with the features that are computed when rows are read: hats and features of effects.
// layout is that of rows with hats alone. hats says whether hats are kept in memory, and
// kept is the share of the rows whose features of effects are.
func (c Config) computed(s row.Source, layout *row.Layout, hats bool, kept float64) (row.Source, error) {
	var err error
	if t := c.Schema.Target(); t.Event != "" {
		s = row.NewTimed(s, targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards, Grouped: t.Grouped})
	}
	if layout.Edges() > 0 {
		if s, err = c.curved(s, layout, hats); err != nil {
			return nil, err
		}
	}
	if e, ok := c.Schema.Effects(); ok {
		amplitude, ratio := c.Schema.EffectFactors()
		basis := effects.New(e.Seed, e.Features, e.Centres, e.Scale, amplitude, e.Deviations...)
		return c.extended(s, row.Effects{Basis: basis, Ratio: ratio, Weights: e.Weights}, kept)
	}
	return s, nil
}

// curved returns the rows with the schema's hats, the values of the basis functions of its curves. It keeps them in
// memory if keep is true.
func (c Config) curved(of row.Source, l *row.Layout, keep bool) (row.Source, error) {
	var hanging []row.Hanging
	for _, h := range c.Schema.Hats() {
		r := row.Hanging{Group: h.Group}
		for _, a := range h.Axes {
			r.Axes = append(r.Axes, row.Axis{Number: a.Number, Missing: a.Missing, Knots: spline.Of(a.Knots, a.At)})
		}
		hanging = append(hanging, r)
	}
	s, err := row.NewCurved(of, l, l.Dim()-1, hanging)
	if err == nil && keep {
		err = s.Keep()
	}
	return s, err
}

// extended returns the rows with the features of effects of the schema. It keeps those of a share of the rows in
// memory.
func (c Config) extended(of row.Source, e row.Effects, kept float64) (row.Source, error) {
	for i, r := range c.Schema.Ranges() {
		e.Of = append(e.Of, slices.Repeat([]int{i}, r.Width)...)
	}
	l, err := c.layoutOf(c.Schema.Dim())
	if err != nil {
		return nil, err
	}
	s, err := row.NewExtended(of, l, e)
	if err != nil {
		return nil, err
	}
	if kept > 0 {
		err = s.Keep(int(kept * float64(s.Len())))
	}
	return s, err
}

// mostKept is the largest number of bytes of features of effects that are kept in memory, and mostHats that of hats.
const (
	mostKept = 3 << 28
	mostHats = 1 << 28
)

// KeptEffects returns the share of its rows whose features of effects a session without Config.Memory, Config.Shards
// and a unit keeps in memory, 4 bytes each, at most 768 MiB. The session computes the others whenever it reads rows,
// which takes several times as long. The number of rows is public under replace-one. Under add-or-remove features are
// never kept.
func KeptEffects(rows float64, features int) float64 {
	return min(1, mostKept/(4*max(rows, 1)*float64(max(features, 1))))
}

// keeps returns the share of the rows whose features of effects are kept in memory (KeptEffects). keepsHats reports
// whether hats are, 12 bytes for each edge of a row.
func (c Config) keeps(rows row.Source) float64 {
	e, ok := c.Schema.Effects()
	if !ok || !c.mayKeep() {
		return 0
	}
	return KeptEffects(float64(rows.Len()), e.Features)
}

func (c Config) keepsHats(rows row.Source, l *row.Layout) bool {
	return c.mayKeep() && 12*rows.Len()*l.Edges() <= mostHats
}

// mayKeep reports whether the number of rows is public and no key limits the memory.
func (c Config) mayKeep() bool {
	return c.Memory == 0 && c.partition == nil && c.Schema.Unit() == (dataset.Unit{}) &&
		c.Budget.Relation() == account.ReplaceOne
}

// layout returns the form of rows without features of effects, which are computed from it: with the schema's
// one-hot groups and hats (values of curves' basis functions), or numbers only if rows are reduced.
func (c Config) layout() (*row.Layout, error) {
	if c.Reduce != nil {
		return row.Dense(c.Reduce.Size())
	}
	return c.layoutOf(c.Schema.WithoutEffects().Dim())
}

// layoutOf returns the layout of rows with dim features, of which those after groups and hats are numbers.
func (c Config) layoutOf(dim int) (*row.Layout, error) {
	var groups []row.Group
	for _, g := range c.Schema.Groups() {
		groups = append(groups, row.Group(g))
	}
	var hats []row.Hats
	for _, h := range c.Schema.Hats() {
		hats = append(hats, row.Hats{First: h.First, Width: h.Width, Edges: len(h.Axes)})
	}
	return row.NewHatted(dim, groups, hats)
}

// record returns the words by which errors name what makes a record: "row" or, if the schema has a unit,
// "row with a cell in" the unit's column.
func (c Config) record() string {
	if unit := c.Schema.Unit(); unit != (dataset.Unit{}) {
		return fmt.Sprintf("row with a cell in %q", unit.Column)
	}
	return "row"
}

// name returns the words by which errors name the table.
func (c Config) name() string {
	switch {
	case c.Rows != nil:
		return "rows"
	case c.Reader != nil:
		return table.Stream
	}
	return strings.Join(c.paths(), ", ")
}

// each calls f for every row of the table that passes the public filter, encoded, in the table's
// order. The row that f is given may be overwritten after f returns.
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

// contextRows is the number of rows between two tests of the context.
const contextRows = 4096

// each calls f for every row that the caller's function r.Cells yields, up to the first error. The caller's
// function may misbehave: it may panic, go on after yield returned false, or keep yield and call it later, when
// the session is open. In none of these cases does f get a row after each has returned.
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

// untilPanic calls f and reports whether f returned without a panic. The value of a panic may contain a
// record's values, so it is dropped.
func untilPanic(f func()) (whole bool) {
	defer func() {
		if !whole {
			_ = recover()
		}
	}()
	f()
	return true
}

// rowsError wraps an error of the caller's code, which may quote records. rowsError's own text is fixed, and
// printing a rowsError shows nothing else.
type rowsError struct{ cause func() error }

func (*rowsError) Error() string { return "curator: rows: what yields them failed" }

// Unwrap returns the caller's error.
func (e *rowsError) Unwrap() error { return e.cause() }

// Rows is a table that its caller holds, such as the results of a query in a service. Its rows pass the schema's row
// map as the rows of a file do: cells are trimmed and read by the same rules. Only the encoded rows are kept, so that
// changes to the caller's data after Open returned have no effect.
//
// The caller is responsible for two things. First, two sessions over the same people have two budgets that add up, and
// this package cannot know whether the people are the same. Second, a change of one person's record must change exactly
// one row, and neither the number of rows nor other rows: the guarantee holds for such changes only.
type Rows struct {
	// Header lists the names of the columns, in the order of a row's cells. It is public. The
	// schema must name the same columns, in any order.
	Header []string
	// Cells yields the cells of the rows, one row after the other, from one goroutine. A slice may be reused
	// after yield has returned. A row whose length differs from the header's, including nil, is malformed: it
	// counts and contributes zero. After an error or a panic, Open stops reading and fails, and does not show
	// the error's text. From then on yield returns false.
	Cells iter.Seq2[[]string, error]
}

// Column is a column of records of type T: the column's name, and the function that returns a record's cell
// in it.
type Column[T any] struct {
	name string
	cell func(T) string
}

// Text returns a column of categories, labels or other text. Its function argument returns a record's cell.
func Text[T any](name string, of func(T) string) Column[T] { return Column[T]{name, of} }

// Number returns a column of numbers. Its function argument returns a record's number. NaN counts as missing. So does a
// number whose shortest decimal text, such as -99 or 1e+21, is one of the schema's missing markers.
func Number[T any](name string, of func(T) float64) Column[T] {
	return Column[T]{name, func(r T) string { return strconv.FormatFloat(of(r), 'g', -1, 64) }}
}

// RowsOf returns one row for each record, in the order of records. The records are read when a
// session is opened.
func RowsOf[T any](records []T, columns ...Column[T]) *Rows {
	r := &Rows{Header: make([]string, len(columns))}
	for i, c := range columns {
		r.Header[i] = c.name
	}
	r.Cells = func(yield func([]string, error) bool) {
		cells := make([]string, len(columns))
		for _, record := range records {
			for i, c := range columns {
				cells[i] = c.cell(record)
			}
			if !yield(cells, nil) {
				return
			}
		}
	}
	return r
}
