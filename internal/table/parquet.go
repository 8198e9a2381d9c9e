package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// parquetFile reads Parquet: the columns that are looked at, a row group a chunk.
type parquetFile struct {
	file    *file
	source  *parquet.File
	columns []*parquet.Column
	used    []bool // nil for all
	group   int    // the next
}

func newParquet(f *file, disk *os.File) (p *parquetFile, err error) {
	defer undamaged(&err)
	size := f.info.Size()
	if err := footer(disk, size); err != nil {
		return nil, f.fault(err)
	}
	// A section answers an offset that no file has as the end of one.
	source, err := parquet.OpenFile(io.NewSectionReader(disk, 0, size), size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, f.fault(err)
	}
	return &parquetFile{file: f, source: source, columns: source.Root().Columns()}, nil
}

// footer looks at how long the description of a file says it is, since as much
// memory is taken for it.
func footer(src io.ReaderAt, size int64) error {
	end := make([]byte, 4+len(parquetMagic))
	if size < int64(len(end)+len(parquetMagic)) {
		return errDamaged
	}
	if _, err := src.ReadAt(end, size-int64(len(end))); err != nil {
		return err
	}
	if int64(binary.LittleEndian.Uint32(end)) > size-int64(len(end)+len(parquetMagic)) {
		return errDamaged
	}
	return nil
}

var errDamaged = errors.New("damaged")

// undamaged turns a panic of the reader of Parquet, whose text may hold anything,
// into the error of a damaged file.
func undamaged(err *error) {
	if recover() != nil {
		*err = errDamaged
	}
}

func (p *parquetFile) names() []string {
	names := make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.Name()
	}
	return names
}

func (p *parquetFile) use(cells []bool) error {
	p.used = cells
	for i, c := range p.columns {
		if !p.uses(i) {
			continue
		}
		if !c.Leaf() || c.Repeated() {
			return &Error{p.file.path, fmt.Sprintf("column %q is nested or repeated: only flat columns can be read (another can be ignored by the schema)", c.Name()), nil}
		}
		if spellerOf(c.Type()) == nil {
			return &Error{p.file.path, fmt.Sprintf("column %q is %s, which cannot be read (the schema can ignore it)", c.Name(), c.Type()), nil}
		}
	}
	return nil
}

func (p *parquetFile) uses(i int) bool { return p.used == nil || p.used[i] }

func (p *parquetFile) chunk() (Chunk, error) {
	if p.group == 0 && p.used == nil {
		if err := p.use(nil); err != nil {
			return nil, err
		}
	}
	groups := p.source.RowGroups()
	if p.group == len(groups) {
		return nil, io.EOF
	}
	g := groups[p.group]
	p.group++
	rows := &groupRows{file: p.file, left: g.NumRows(), row: make([]string, len(p.columns)), columns: make([]*column, len(p.columns))}
	for i, c := range p.columns {
		if p.uses(i) {
			rows.columns[i] = &column{chunk: g.ColumnChunks()[c.Index()], spell: spellerOf(c.Type()), most: byte(c.MaxDefinitionLevel())}
		}
	}
	return rows, nil
}

// groupRows are the rows of a group.
type groupRows struct {
	file    *file
	left    int64
	columns []*column // nil for those that are not looked at
	row     []string
}

// Next returns the next row.
func (g *groupRows) Next() (cells []string, ok bool, err error) {
	if g.left == 0 {
		return nil, false, nil
	}
	g.left--
	for i, c := range g.columns {
		if c == nil {
			continue
		}
		if g.row[i], err = c.next(); err != nil {
			g.left = 0
			return nil, false, g.file.fault(err)
		}
	}
	return g.row, true, nil
}

// column is a column of a group: its pages one after the other.
type column struct {
	chunk parquet.ColumnChunk
	spell speller
	most  byte // the definition level of a cell that is there

	pages      parquet.Pages
	levels     []byte // of the page's cells; nil if all are there
	rows       int    // cells of the page, missing ones too
	row, value int
	index      []int32 // of a page of indices: which entry of the dictionary each value is
	values     texts   // of any other page
	dictionary texts
	known      bool // whether dictionary is
}

// next returns the next cell.
func (c *column) next() (string, error) {
	for c.row == c.rows {
		if err := c.load(); err != nil {
			return "", err
		}
	}
	row := c.row
	c.row++
	if c.levels != nil && c.levels[row] != c.most {
		return "", nil
	}
	value := c.value
	c.value++
	if c.index == nil {
		return c.values.at(value)
	}
	if value >= len(c.index) {
		return "", errDamaged
	}
	return c.dictionary.at(int(c.index[value]))
}

// load reads the next page.
func (c *column) load() (err error) {
	defer undamaged(&err)
	if c.pages == nil {
		c.pages = c.chunk.Pages()
	}
	page, err := c.pages.ReadPage()
	if err != nil { // the end, too: there are fewer cells than rows
		c.pages.Close()
		return err
	}
	defer parquet.Release(page)
	c.row, c.value, c.rows = 0, 0, int(page.NumRows())
	c.levels = append([]byte(nil), page.DefinitionLevels()...)
	if len(c.levels) == 0 {
		c.levels = nil
	} else if len(c.levels) != c.rows {
		return errDamaged
	}
	data := page.Data()
	dictionary := page.Dictionary()
	if dictionary == nil {
		c.index, c.values = nil, c.spell(data, int(page.NumValues()-page.NumNulls()))
		return nil
	}
	if !c.known {
		c.dictionary, c.known = c.spell(dictionary.Page().Data(), dictionary.Len()), true
	}
	c.index = append(make([]int32, 0, 1), data.Int32()...)
	return nil
}

// texts are texts, one behind the other.
type texts struct {
	text string
	ends []uint32
}

// at returns the text of that number.
func (t texts) at(i int) (string, error) {
	if i < 0 || i >= len(t.ends) {
		return "", errDamaged
	}
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]], nil
}
