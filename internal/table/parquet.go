package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/parquet"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// parquetFile reads the needed columns of a Parquet file, one row group as a chunk.
type parquetFile struct {
	file   *file
	source *parquet.File
	used   []bool  // which columns are read; nil for all
	rows   columns // nil if the cells are read as texts only
	group  int     // index of the next row group
}

func newParquet(f *file, disk *os.File, size int64) (*parquetFile, error) {
	source, err := parquet.Open(disk, size)
	if err != nil {
		return nil, f.parquetFault(err)
	}
	return &parquetFile{file: f, source: source}, nil
}

// parquetFault returns the error to show for a Parquet file.
func (f *file) parquetFault(err error) error {
	var rule parquet.Unsupported
	if errors.As(err, &rule) {
		err = &Error{f.name(), string(rule), nil}
	}
	return f.fault(err)
}

func (p *parquetFile) names() []string {
	return vector.Map(p.source.Columns, func(c parquet.Column) string { return c.Name })
}

func (p *parquetFile) limit(bytes int64) { p.source.Limit = bytes }

func (p *parquetFile) use(cells []bool, rows columns) error {
	p.used, p.rows = cells, rows
	for i, c := range p.source.Columns {
		if !p.uses(i) {
			continue
		}
		if !c.Flat {
			return &Error{p.file.name(), fmt.Sprintf("column %q is nested or repeated: only flat columns can be read "+
				"(another can be ignored by the schema)", c.Name), nil}
		}
		if spellerOf(c.Type) == nil {
			return &Error{p.file.name(), fmt.Sprintf("column %q is of a type that cannot be read "+
				"(the schema can ignore it)", c.Name), nil}
		}
	}
	return nil
}

func (p *parquetFile) uses(i int) bool { return p.used == nil || p.used[i] }

func (p *parquetFile) chunk() (Chunk, error) {
	if p.group == 0 && p.used == nil {
		if err := p.use(nil, nil); err != nil {
			return nil, err
		}
	}
	if p.group == p.source.Groups() {
		return nil, io.EOF
	}
	g := p.source.Group(p.group)
	p.group++
	rows := &groupRows{file: p.file, left: g.Rows()}
	rows.row, rows.columns = make([]string, len(p.source.Columns)), make([]*column, len(p.source.Columns))
	look := false
	for i := range p.source.Columns {
		if !p.uses(i) {
			continue
		}
		c := &p.source.Columns[i]
		r, err := g.Column(c)
		if err != nil {
			return nil, p.file.parquetFault(err)
		}
		rows.columns[i] = &column{reader: r, batch: &rows.batch, spell: spellerOf(c.Type), spare: &rows.spare}
		if p.rows == nil {
			continue
		}
		of := p.rows(i)
		if _, look = of.(looked); !look || of.Number() && counts(c.Type) {
			rows.columns[i].keeps = look
			rows.columns[i].read, rows.columns[i].none = readingsOf(c.Type, of), of.Text("")
		}
	}
	switch {
	case p.rows == nil:
		return rows, nil
	case look:
		return &lookedRows{rows, make([]Cells, len(rows.columns))}, nil
	}
	return &typedRows{rows, make([][]float64, len(rows.columns))}, nil
}

// groupRows are the rows of a Parquet row group, returned as texts.
type groupRows struct {
	file    *file
	left    int64
	columns []*column // nil for columns that are not read
	batch   parquet.Batch
	spare   []float64
	row     []string
}

// Next returns the next row.
func (g *groupRows) Next() (cells []string, ok bool, err error) {
	if g.left == 0 {
		g.close()
		return nil, false, nil
	}
	g.left--
	for i, c := range g.columns {
		if c == nil {
			continue
		}
		if c.row == c.rows {
			if err := c.load(); err != nil {
				g.left = 0
				return nil, false, g.file.parquetFault(err)
			}
		}
		g.row[i] = c.next()
	}
	return g.row, true, nil
}

// close releases the memory that the columns hold.
func (g *groupRows) close() {
	for _, c := range g.columns {
		if c != nil {
			c.reader.Close()
		}
	}
	g.columns = nil
}

// column reads the cells of one column of a row group, one batch of rows at a time, as texts or as
// readings.
type column struct {
	reader *parquet.Reader
	batch  *parquet.Batch // shared by all columns: load copies the data that it keeps
	spell  speller

	present    []bool  // which cells of the batch have a value; nil if all do
	rows       int     // number of cells of the batch, missing cells included
	row, value int     // indices, in the batch, of the next cell and of the next value
	index      []int32 // dictionary entry of each value; nil if values holds the values
	values     texts   // texts of the values, if index is nil
	dictionary []string
	known      bool // whether dictionary, or for readings entries, is filled

	// The following fields are used if readings are read in place of texts.
	read     func(dst []float64, v *parquet.Values)
	none     float64    // reading of a missing value
	readings []float64  // readings of the batch, missing values included
	entries  []float64  // readings of the dictionary
	spare    *[]float64 // memory for entries, shared by the columns of a group

	// The following fields are used if cells are looked at.
	keeps        bool           // whether text writes the texts of held and listed
	held, listed parquet.Values // the values of the batch and of the dictionary whose numbers are readings and entries
	order        []int32        // by row of the batch: the number of values in the rows before
	kept         []int32        // memory for index
	marks        []bool         // memory for present
}

// next returns the next cell of the batch.
func (c *column) next() string {
	row := c.row
	c.row++
	if c.present != nil && !c.present[row] {
		return ""
	}
	value := c.value
	c.value++
	if c.index == nil {
		return c.values.at(value)
	}
	return c.dictionary[c.index[value]]
}

// load reads the next batch of the column's values and writes their texts.
func (c *column) load() error {
	b := c.batch
	if err := c.reader.Next(b); err != nil {
		return err
	}
	c.row, c.value, c.rows, c.index = 0, 0, b.Rows, nil
	if c.present = nil; b.Present != nil {
		c.present = slices.Clone(b.Present)
	}
	switch {
	case b.Indices != nil:
		if err := c.define(); err != nil {
			return err
		}
		c.index = slices.Clone(b.Indices)
	case b.N > 0:
		c.values.reset()
		c.spell(&c.values, &b.Values, b.N)
		c.values.seal()
	}
	c.reader.Rest()
	return nil
}

// define reads the dictionary and writes its entries as text. It does nothing if it did so before.
func (c *column) define() error {
	if c.known {
		return nil
	}
	c.known = true
	return c.reader.Dictionary(func(v *parquet.Values, n, _ int) error {
		var part texts
		c.spell(&part, v, n)
		part.seal()
		for i := range n {
			c.dictionary = append(c.dictionary, part.at(i))
		}
		return nil
	})
}

// texts holds several texts, one after the other, in one buffer.
type texts struct {
	built []byte
	text  string // content of built, after seal
	ends  []int  // the end in built of each text
}

func (t *texts) reset() { t.built, t.ends = t.built[:0], t.ends[:0] }

// seal copies the buffer to the string text, so that cells stay valid when the buffer is reused.
func (t *texts) seal() { t.text = string(t.built) }

// at returns the text with index i.
func (t *texts) at(i int) string {
	start := 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

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
	b, load := c.batch, c.load
	if c.read != nil {
		load = c.loadReadings
	}
	if err := load(); err != nil {
		return err
	}
	if c.read != nil {
		c.present, c.index = nil, nil
		switch {
		case b.Indices != nil:
			c.index = append(c.kept[:0], b.Indices...)
			c.kept = c.index
		case b.N > 0:
			keep(&c.held, 0, &b.Values, b.N)
		}
		if b.Present != nil {
			c.present = append(c.marks[:0], b.Present...)
			c.marks = c.present
		}
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

// keep puts the first n numbers of v behind the first numbers of to, as many as at says.
func keep(to *parquet.Values, at int, v *parquet.Values, n int) {
	keepOf(&to.Int32s, at, v.Int32s, n)
	keepOf(&to.Int64s, at, v.Int64s, n)
	keepOf(&to.Floats, at, v.Floats, n)
	keepOf(&to.Doubles, at, v.Doubles, n)
}

func keepOf[T any](to *[]T, at int, v []T, n int) { // a slice of another kind of value is empty
	*to = append((*to)[:min(at, len(*to))], v[:min(n, len(v))]...)
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
