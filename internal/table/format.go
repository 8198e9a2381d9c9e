package table

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

const (
	gzipMagic    = "\x1f\x8b"
	zstdMagic    = "\x28\xb5\x2f\xfd"
	parquetMagic = "PAR1"
)

// mostWindow is the largest window, in bytes of memory, that a zstd stream may request: 128 MiB, the default
// limit of the zstd command.
const mostWindow = 128 << 20

// decompress returns the content of a file, decompressed if it is compressed by gzip or zstd. It recognises
// compression by the file's first bytes. If files have no header row, the first bytes may belong to a
// record. decompress then uses the ending of the file's name, .gz or .zst.
func decompress(path string, src *bufio.Reader, as Dialect) (*bufio.Reader, error) {
	start, err := peek(src, len(zstdMagic))
	if err != nil {
		return src, err
	}
	is := func(magic, ending string) bool {
		if as.Names() != nil {
			return strings.HasSuffix(path, ending)
		}
		return strings.HasPrefix(string(start), magic)
	}
	var plain io.Reader
	switch {
	case is(gzipMagic, ".gz"):
		plain, err = gzip.NewReader(src)
	case is(zstdMagic, ".zst"):
		plain, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
	default:
		return src, nil
	}
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(&sticky{r: plain}, bufferSize), nil
}

// foreign lists formats that cannot be read, with their first bytes. They are recognised so that errors can
// name them.
var foreign = []struct{ magic, name string }{
	{parquetMagic, "a Parquet file within another"},
	{"PARE", "an encrypted Parquet file"},
	{"ARROW1", "an Arrow file"},
	{"FEA1", "a Feather file"},
	{"ORC", "an ORC file"},
	{"Obj\x01", "an Avro file"},
	{"PK\x03\x04", "a zip archive or a spreadsheet"},
	{"\xd0\xcf\x11\xe0", "a spreadsheet"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"<stata_dta>", "a Stata file"},
	{"$FL", "an SPSS file"},
	{strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60", "a SAS file"},
	{"\x80\x04\x95", "a Python pickle"},
	{"\x80\x05\x95", "a Python pickle"},
	{"{\"", "JSON"},
	{"[{", "JSON"},
	{"\xfd7zXZ\x00", "compressed with xz"},
	{"BZh", "compressed with bzip2"},
	{gzipMagic, "compressed twice"},
	{zstdMagic, "compressed twice"},
}

// refused returns the rule that the start of a text breaks, or "" if it breaks none. It reads only the first
// line, the header row, of which it needs at most startSize bytes, and more of an ORC file. If files have no header row, it returns
// "" and reads nothing, because the first line is a record.
func refused(src *bufio.Reader, as Dialect) string {
	if as.Names() != nil {
		return ""
	}
	start, err := peek(src, startSize)
	if err != nil {
		return "" // the type sticky repeats the error to the reader of the header
	}
	if len(start) == 0 {
		return "is empty: a table starts with a header row"
	}
	isJSON := bytes.HasPrefix(start, []byte(`{"`)) || bytes.HasPrefix(start, []byte("[{"))
	if textual(start) && !isORC(start) && !isJSON {
		return ""
	}
	for _, f := range foreign {
		if strings.HasPrefix(string(start), f.magic) {
			return "is " + f.name + ": " + supported
		}
	}
	return "is not UTF-8 text: " + supported
}

const supported = "only CSV, plain or compressed by gzip or zstd, and Parquet can be read (of text that is not " +
	"UTF-8, csv: {encoding: ...} says what it is)"

// startSize is the number of bytes used to recognise the format of a file.
const startSize = 512

// textual reports whether the first line of a file's start may be UTF-8 text: it has no foreignByte.
func textual(start []byte) bool {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	return !slices.ContainsFunc(line, foreignByte)
}

// isORC reports whether a file's start is that of an ORC file without compression, whose first line is the word ORC
// alone: a byte that no text has follows. Of other files no byte after the first line is looked at.
func isORC(start []byte) bool {
	rest, ok := bytes.CutPrefix(start, []byte("ORC\n"))
	return ok && slices.ContainsFunc(rest, func(b byte) bool { return b != '\n' && foreignByte(b) })
}

// foreignByte reports whether b is a byte that a header in UTF-8 does not contain: a control character other
// than tab and carriage return, or a byte that occurs in no UTF-8 sequence.
func foreignByte(b byte) bool {
	switch {
	case b == '\t' || b == '\r':
		return false
	case b < ' ' || b == 0x7f:
		return true
	}
	return b == 0xc0 || b == 0xc1 || b >= 0xf5
}

// peek returns the next n bytes without reading them, or fewer if the file ends before. A short file is no
// error.
func peek(src *bufio.Reader, n int) ([]byte, error) {
	start, err := src.Peek(n)
	if len(start) > 0 || err == io.EOF {
		return start, nil
	}
	return start, err
}

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
