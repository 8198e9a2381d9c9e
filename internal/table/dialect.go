package table

import (
	"bufio"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Dialect describes how text files write a table. [dataset.CSV] implements it.
type Dialect interface {
	// Check returns an error for the first rule that the dialect breaks.
	Check() error
	// Marks returns the bytes of the delimiter and of the quote. The quote is 0 if files have no quote.
	Marks() (delimiter, quote byte)
	// Charset returns the name of the encoding. It returns "" for files that are UTF-16 if they begin with
	// a UTF-16 byte order mark, and UTF-8 otherwise.
	Charset() string
	// Names returns the names of the columns of files without a header row. It returns nil if files have
	// a header row.
	Names() []string
	// Respelled returns the function that rewrites a number of the text to the form in which a
	// [Map] reads it. It returns nil if the text has this form already.
	Respelled() func(cell string) string
}

// named is a dialect with its own copy of the names, which no other code can change.
type named struct {
	Dialect
	names []string
}

// Names returns the copy of the names of the columns.
func (n named) Names() []string { return n.names }

// Map encodes the rows of a table by columns of type C. [dataset.Map] implements it.
type Map[C Column] interface {
	// Reads reports for each cell of a row whether the map reads it.
	Reads() []bool
	// Respell returns a function that rewrites the numbers of a row in place, each by the function plain.
	// It returns nil if there is nothing to rewrite.
	Respell(plain func(cell string) string) func(cells []string)
	// ByUnit reports whether the map needs the texts of all cells, so that readings ([Column]) do
	// not suffice.
	ByUnit() bool
	// Column returns the map of the cells of column i of the table.
	Column(i int) C
}

// Column maps the cells of one column to readings: numbers that contain all information of the cells that
// the row map uses ([dataset.ColumnMap]).
type Column interface {
	// Missing returns the texts of missing cells. The empty text means a missing cell even if it is not in
	// the list.
	Missing() []string
	// Text returns the reading of a cell given as text.
	Text(cell string) float64
	// Number reports whether cells may be passed to Numbers as numbers.
	Number() bool
	// Days reports whether cells may be passed to Numbers as days since 1970-01-01.
	Days() bool
	// Numbers replaces each number of x by the reading of a cell that contains this number. NaN means a
	// cell that is missing or cannot be read.
	Numbers(x []float64)
}

// columns returns the map of a table's column, given the column's index.
type columns func(i int) Column

var (
	littleEndian = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	bigEndian    = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
)

// decode converts text to UTF-8. Bytes that are invalid in the encoding become U+FFFD and are no error,
// because an error would depend on the records. UTF-8 is passed on unchanged.
func decode(src *bufio.Reader, as Dialect) (*bufio.Reader, error) {
	from, err := encodingOf(src, as)
	if from == nil || err != nil {
		return src, err
	}
	return bufio.NewReaderSize(&sticky{r: from.NewDecoder().Reader(src)}, bufferSize), nil
}

// encodingOf returns the encoding of a text. It returns nil for UTF-8.
func encodingOf(src *bufio.Reader, as Dialect) (encoding.Encoding, error) {
	switch as.Charset() {
	case "latin-1":
		return charmap.ISO8859_1, nil
	case "windows-1252":
		return charmap.Windows1252, nil
	case "utf-16le":
		return littleEndian, nil
	case "utf-16be":
		return bigEndian, nil
	case "utf-8":
		return nil, nil
	}
	return byMark(src, as)
}

// byMark returns the encoding that a UTF-16 byte order mark at the start of a text states. Without a mark,
// it returns nil, for UTF-8, or an error if the declared encoding is utf-16. A text without a header row
// starts with a record, whose bytes must not be read as a mark. For a text without a header row and without
// a declared encoding byMark therefore returns nil and reads nothing.
func byMark(src *bufio.Reader, as Dialect) (encoding.Encoding, error) {
	if as.Names() != nil && as.Charset() == "" {
		return nil, nil
	}
	start, err := peek(src, 2)
	switch {
	case err != nil:
		return nil, err
	case string(start) == "\xff\xfe":
		return littleEndian, nil
	case string(start) == "\xfe\xff":
		return bigEndian, nil
	case as.Charset() == "utf-16":
		return nil, errMark
	}
	return nil, nil
}

var errMark = &Error{Rule: "has no byte order mark: say utf-16le or utf-16be, whichever it is"}
