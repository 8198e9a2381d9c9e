package table

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// ByColumn is a chunk of a file whose cells have types, such as Parquet, for callers that look at cells ([Look]). A
// chunk must be read either by Columns or by Next.
type ByColumn interface {
	Chunk
	// Columns returns the next n rows, n >= 1, with an element for each column of the table. Cells of columns
	// that the map does not read are undefined. The next call overwrites the cells. At the end of the chunk n is 0.
	// Errors reveal nothing about records.
	Columns() (columns []Cells, n int, err error)
}

// Cells are the cells of one column in consecutive rows.
type Cells struct {
	// Numbers has the number of each cell: that which its text means. It is NaN for a cell without a number,
	// and for a cell whose text marks a missing one. Numbers is nil if the cells are no numbers, or have more than
	// one text for a number.
	Numbers []float64
	column  *column
	from    int
}

// Text returns the text of the cell in row i, as Chunk.Next returns it.
func (c *Cells) Text(i int) string { return c.column.text(c.from + i) }

// looked is a map of cells of which numbers are wanted as they are. The reading of a cell is its number, or NaN.
type looked struct{ Column }

func (looked) Numbers([]float64)   {}
func (looked) Text(string) float64 { return math.NaN() }
func (looked) Days() bool          { return false }

// counts reports whether the values of a type are numbers of which each has one text.
func counts(y parquet.Type) bool {
	switch y.Kind {
	case parquet.Float, parquet.Double:
		return y.Meaning == parquet.Plain
	case parquet.Int32, parquet.Int64:
		return y.Meaning == parquet.Plain || y.Meaning == parquet.Unsigned
	}
	return false
}

// lookedRows are the rows of a Parquet row group, returned by columns.
type lookedRows struct {
	*groupRows
	cells []Cells
}

// Columns implements ByColumn.
func (g *lookedRows) Columns() (columns []Cells, n int, err error) {
	if n, err = g.advance((*column).look); n == 0 {
		return nil, 0, err
	}
	for i, c := range g.columns {
		if c == nil {
			continue
		}
		g.cells[i] = Cells{column: c, from: c.row}
		if c.read != nil {
			g.cells[i].Numbers = c.readings[c.row:][:n]
		}
		c.row += n
	}
	return g.cells, n, nil
}

// look reads the next batch of the column's values: their texts, or their numbers and a copy of the values, of which
// text writes texts.
func (c *column) look() error {
	b := c.batch
	if c.read == nil {
		if err := c.load(); err != nil {
			return err
		}
	} else {
		if err := c.reader.Next(b); err != nil {
			return err
		}
		c.row, c.rows, c.present, c.index = 0, b.Rows, nil, nil
		c.readings = slices.Grow(c.readings[:0], b.Rows)[:b.Rows]
		values := c.readings[:b.N]
		switch {
		case b.Indices != nil:
			if err := c.hold(); err != nil {
				return err
			}
			c.index = append(c.kept[:0], b.Indices...)
			c.kept = c.index
			for i, entry := range b.Indices {
				values[i] = c.entries[entry]
			}
		case b.N > 0:
			c.read(values, &b.Values)
			c.held = parquet.Values{Int32s: c.held.Int32s[:0], Int64s: c.held.Int64s[:0], Floats: c.held.Floats[:0],
				Doubles: c.held.Doubles[:0]}
			keep(&c.held, &b.Values, b.N)
		}
		if b.Present != nil {
			c.present = append(c.marks[:0], b.Present...)
			c.marks = c.present
			c.spread(b.Present, b.N)
		}
		c.reader.Rest()
	}
	if c.present != nil {
		c.order = c.order[:0]
		n := int32(0)
		for _, is := range c.present {
			c.order = append(c.order, n)
			if is {
				n++
			}
		}
	}
	return nil
}

// hold keeps the values of the dictionary and their numbers. It does nothing if it did so before.
func (c *column) hold() error {
	if c.known {
		return nil
	}
	c.known = true
	return c.reader.Dictionary(func(v *parquet.Values, n, _ int) error {
		at := len(c.entries)
		c.entries = append(c.entries, make([]float64, n)...)
		c.read(c.entries[at:], v)
		keep(&c.listed, v, n)
		return nil
	})
}

// keep appends the first n numbers of v to those of to.
func keep(to, v *parquet.Values, n int) {
	first := func(length int) int { return min(n, length) } // a slice of another kind of value is empty
	to.Int32s = append(to.Int32s, v.Int32s[:first(len(v.Int32s))]...)
	to.Int64s = append(to.Int64s, v.Int64s[:first(len(v.Int64s))]...)
	to.Floats = append(to.Floats, v.Floats[:first(len(v.Floats))]...)
	to.Doubles = append(to.Doubles, v.Doubles[:first(len(v.Doubles))]...)
}

// text returns the text of the cell with index row in the batch.
func (c *column) text(row int) string {
	value := row
	if c.present != nil {
		if !c.present[row] {
			return ""
		}
		value = int(c.order[row])
	}
	held := &c.held
	if c.index != nil {
		value, held = int(c.index[value]), &c.listed
		if c.read == nil {
			return c.dictionary[value]
		}
	}
	if c.read == nil {
		return c.values.at(value)
	}
	rest := func(length int) int { return min(value, length) }
	c.values.reset()
	c.spell(&c.values, &parquet.Values{Int32s: held.Int32s[rest(len(held.Int32s)):],
		Int64s: held.Int64s[rest(len(held.Int64s)):], Floats: held.Floats[rest(len(held.Floats)):],
		Doubles: held.Doubles[rest(len(held.Doubles)):]}, 1)
	return string(c.values.built)
}
