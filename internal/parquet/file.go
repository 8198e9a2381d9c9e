package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

const (
	// MostPage is the largest number of bytes of a page, compressed or decompressed.
	MostPage = 256 << 20
	// MostDictionary is the largest number of bytes of a decompressed dictionary page.
	MostDictionary = 64 << 20
	// MostDescription is the largest number of bytes of the footer, the file's metadata.
	MostDescription = 64 << 20
	// DefaultLimit is the default of File.Limit.
	DefaultLimit = 1 << 30
)

const magic = "PAR1"

// ErrDamaged says that a file violates the format.
var ErrDamaged = errors.New("parquet: damaged")

// Unsupported is an error about a feature of a file that cannot be read. Its text continues the sentence
// "the file ...".
type Unsupported string

func (u Unsupported) Error() string { return "parquet: the file " + string(u) }

// File is a Parquet file. Different groups may be read by different goroutines.
type File struct {
	// Limit is the number of bytes of decompressed pages that may stay in memory, in addition to one page
	// and one dictionary for each row group being read. Open sets it to DefaultLimit. It may be changed
	// before the first group is read.
	Limit int64
	// Columns are the columns of the table.
	Columns []Column

	src    io.ReaderAt
	end    int64 // offset of the end of the pages, where the metadata starts
	groups []groupInfo
	held   atomic.Int64 // bytes that all readers hold
	short  atomic.Bool  // whether Limit has ever been exceeded, so that pages may have to be read again

	rows, largeRows int // the largest numbers of rows of a batch: see batchRows
}

// over reports whether the bytes that readers hold exceed f.Limit, or have exceeded it before.
func (f *File) over() bool { return f.short.Load() || f.held.Load() > f.Limit }

// Open reads the metadata of a file of size bytes. It returns ErrDamaged or an Unsupported error if the file
// cannot be read.
func Open(src io.ReaderAt, size int64) (*File, error) {
	var tail [8]byte
	if size < int64(len(tail)+len(magic)) {
		return nil, ErrDamaged
	}
	if _, err := src.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	end := size - int64(len(tail)) - length
	switch {
	case string(tail[4:]) == "PARE":
		return nil, Unsupported("is encrypted, which cannot be read")
	case string(tail[4:]) != magic || end < int64(len(magic)):
		return nil, ErrDamaged
	case length > MostDescription:
		return nil, Unsupported("describes itself in more than 64 MiB, which cannot be read: write it with fewer row groups")
	}
	b := make([]byte, length)
	if _, err := src.ReadAt(b, end); err != nil {
		return nil, err
	}
	t := &thrift{b: b}
	m := t.metadata()
	if t.bad {
		return nil, ErrDamaged
	}
	f := &File{Limit: DefaultLimit, largeRows: largeRows, src: src, end: end, groups: m.groups}
	leaves, err := f.columns(m.elements)
	if err != nil {
		return nil, err
	}
	f.rows = rowsOfBatch(leaves)
	return f, check(m, leaves)
}

// check returns ErrDamaged unless the counts of rows and columns, which the metadata states in
// several places, agree.
func check(m metadata, leaves int) error {
	rows := int64(0)
	for _, g := range m.groups {
		if g.rows < 0 || g.rows > m.rows-rows || len(g.chunks) != leaves {
			return ErrDamaged
		}
		rows += g.rows
	}
	return exactly(rows == m.rows)
}

// columns reads the columns from the schema, a tree in depth-first order whose first element is the
// root. It returns the number of leaves, which are the nodes that hold values.
func (f *File) columns(elements []element) (leaves int, err error) {
	if len(elements) == 0 {
		return 0, ErrDamaged
	}
	root, rest := elements[0], elements[1:]
	for range root.children {
		if len(rest) == 0 {
			return 0, ErrDamaged
		}
		e := rest[0]
		c := Column{Name: e.name, Type: e.typ.checked(), optional: e.repetition == 1, leaf: leaves}
		c.Flat = e.leaf && e.repetition < 2
		for open := 1; open > 0; open-- {
			if len(rest) == 0 {
				return 0, ErrDamaged
			}
			e, rest = rest[0], rest[1:]
			switch {
			case e.leaf && e.children == 0:
				leaves++
			case e.leaf || e.children < 0 || int(e.children) > len(rest):
				return 0, ErrDamaged
			default:
				open += int(e.children)
			}
		}
		f.Columns = append(f.Columns, c)
	}
	return leaves, exactly(len(rest) == 0)
}

// mostScale is the largest number of digits after the point of a decimal.
const mostScale = 100

// checked returns the type y unchanged if its kind can store values of its meaning. Otherwise it returns y
// with the meaning Unreadable.
func (y Type) checked() Type {
	integer := y.Kind == Int32 || y.Kind == Int64
	ok := y.Kind >= Boolean && y.Kind <= FixedLenByteArray && y.Meaning != Unreadable
	switch y.Meaning {
	case Decimal:
		ok = (integer || y.Kind == ByteArray || y.Kind == FixedLenByteArray) && y.Scale >= 0 && y.Scale <= mostScale
	case Date:
		ok = y.Kind == Int32
	case Time, Timestamp:
		ok = integer && y.Second > 0
	case Unsigned:
		ok = integer
	case UUID:
		ok = y.Kind == FixedLenByteArray && y.Width == 16
	case Float16:
		ok = y.Kind == FixedLenByteArray && y.Width == 2
	}
	if y.Kind == FixedLenByteArray && y.Width <= 0 || !ok {
		y.Meaning = Unreadable
	}
	return y
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.groups) }

// Group is a row group: consecutive rows. It must be read by one goroutine.
type Group struct {
	file       *File
	info       groupInfo
	compressed []byte // buffer for the page that is being decompressed
	entries    []byte // buffer for the dictionary that is being read
	columns    int64  // number of columns that are read
}

// large returns the number of rows of a batch if the page must be decompressed again for each batch. Callers
// keep a batch of every column, of 8 bytes for each row. The number is chosen so that the batches of all
// columns together take File.Limit bytes. It is at least File.rows and at most File.largeRows.
func (g *Group) large() int {
	most := g.file.Limit / (8 * max(g.columns, 1))
	return int(min(max(most, int64(g.file.rows)), int64(g.file.largeRows)))
}

// Group returns row group i, counted from 0.
func (f *File) Group(i int) *Group { return &Group{file: f, info: f.groups[i]} }

// Rows returns the number of the group's rows.
func (g *Group) Rows() int64 { return g.info.rows }

// Column returns a reader of the group's values in column c, which must be flat and of a readable type. It
// returns ErrDamaged or an Unsupported error if the metadata rules out that the column can be read.
func (g *Group) Column(c *Column) (*Reader, error) {
	info := g.info.chunks[c.leaf]
	refuse := func(rule string) (*Reader, error) {
		return nil, Unsupported(fmt.Sprintf("has a column %q that %s, which cannot be read", c.Name, rule))
	}
	decompress, known := codecs[info.codec]
	switch {
	case info.encrypted:
		return refuse("is encrypted")
	case info.elsewhere:
		return refuse("is in another file")
	case !info.described || info.kind != c.Type.Kind || info.values != g.info.rows:
		return nil, ErrDamaged
	case g.info.rows > 0 && info.start() < int64(len(magic)): // a group without rows has no pages, so any offset
		return nil, ErrDamaged
	case info.codec == 3:
		return refuse("is compressed by LZO")
	case !known:
		return refuse("is compressed by an unknown codec")
	case decompress.into == nil:
		return refuse("is compressed by Brotli (a program built without -tags small reads it)")
	}
	g.columns++
	return &Reader{group: g, column: c, codec: decompress, offset: info.start(), left: info.values}, nil
}
