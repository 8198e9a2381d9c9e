package table

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/decimal"
)

// The cells of most rows of text are read where they are, without a slice of texts for each row. A number is parsed
// while its end is found, and the numbers of a column are mapped to readings together. Rows with quotes, and rows of
// which the number of cells is not that of the header, are left to Next.

// textRows is the largest number of rows of one call of Readings: few enough that their readings are still in the
// processor's cache when the rows are encoded. Wide tables have fewer rows, so that there are about textValues readings.
const (
	textRows   = 1 << 8
	textValues = 1 << 13
)

// textReader reads the rows of chunks of text as readings.
type textReader struct {
	columns []textColumn
	rows    int       // largest number of rows of one call of Readings
	spare   sync.Pool // of *textReadings
}

// textColumn says how the cells of a column are read. Its Column is nil if the map does not read the column.
type textColumn struct {
	Column
	number bool
	marked []float64 // numbers of which a text marks missing cells
}

// textReadings is memory for the readings of a chunk.
type textReadings struct {
	columns [][]float64
	texts   []textReading
}

// textReading is the reading of a cell in a column of numbers whose text is not that of a common number.
type textReading struct {
	column, row int
	x           float64
}

// newTextReader returns the reader of a text with the given delimiter, or nil if its rows must be read by Next.
func newTextReader(delimiter byte, cells []bool, rows columns) *textReader {
	if rows == nil || strings.IndexByte("+-.", delimiter) >= 0 {
		return nil
	}
	t := &textReader{columns: make([]textColumn, len(cells)), rows: max(1, min(textRows, textValues/len(cells)))}
	for i := range t.columns {
		of := rows(i)
		if _, look := of.(looked); look {
			return nil
		}
		if !cells[i] {
			continue
		}
		c := &t.columns[i]
		c.Column, c.number = of, of.Number()
		for _, marker := range of.Missing() {
			if x, err := strconv.ParseFloat(marker, 64); err == nil {
				c.marked = append(c.marked, x)
			}
		}
	}
	t.spare.New = func() any {
		m := &textReadings{columns: make([][]float64, len(cells))}
		for i := range cells {
			if cells[i] {
				m.columns[i] = make([]float64, t.rows)
			}
		}
		return m
	}
	return t
}

// typedText is a chunk of text of which most rows can be read as readings.
type typedText struct {
	textChunk
	as     *textReader
	memory *textReadings // nil before the first row and after the last
}

// Next returns the next row.
func (c *typedText) Next() (cells []string, ok bool, err error) {
	if cells, ok, err = c.textChunk.Next(); !ok && c.memory != nil {
		c.as.spare.Put(c.memory)
		c.memory = nil
	}
	return cells, ok, err
}

// Readings implements Typed.
func (c *typedText) Readings() (columns [][]float64, n int, err error) {
	if c.memory == nil {
		c.memory = c.as.spare.Get().(*textReadings)
	}
	m := c.memory
	m.texts = m.texts[:0]
	for n < c.as.rows && c.read(n) {
		n++
	}
	if n == 0 {
		return nil, 0, nil
	}
	for i := range c.as.columns {
		if column := &c.as.columns[i]; column.number {
			column.Numbers(m.columns[i][:n])
		}
	}
	for _, t := range m.texts {
		m.columns[t.column][t.row] = t.x
	}
	return m.columns, n, nil
}

// read reads the next row into the memory for row. It returns false, and skips nothing, if the row is left to Next: its
// readings are then not used.
func (c *typedText) read(row int) bool {
	if c.at < len(c.text) && (c.text[c.at] == '\n' || c.text[c.at] == '\r') {
		c.skipEmpty()
	}
	end, next, ended := c.line(c.at)
	if c.at == len(c.text) || !ended || c.quoteFrom(c.at) < next {
		return false
	}
	m, i, last := c.memory, c.at, len(c.as.columns)-1
	for k := range c.as.columns {
		column := &c.as.columns[k]
		if column.number {
			x, stop := decimal.Prefix(c.text, i)
			if stop > i && (k < last && stop < end && c.text[stop] == c.delimiter || k == last && stop == end) &&
				(len(column.marked) == 0 || !slices.Contains(column.marked, x)) {
				m.columns[k][row] = x
				i = stop + 1
				continue
			}
		}
		stop := strings.IndexByte(c.text[i:end], c.delimiter)
		if (stop < 0) != (k == last) { // too few cells, or too many
			return false
		}
		if stop += i; k == last {
			stop = end
		}
		switch cell := c.text[i:stop]; {
		case column.number:
			m.texts = append(m.texts, textReading{k, row, column.Text(cell)})
		case column.Column != nil:
			m.columns[k][row] = column.Text(cell)
		}
		i = stop + 1
	}
	c.at = next
	return true
}
