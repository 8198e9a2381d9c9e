package table

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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
