package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
)

const gzipMagic = "\x1f\x8b"

// decompress looks at the first bytes of a file.
func decompress(src *bufio.Reader) (*bufio.Reader, error) {
	start, err := peek(src, len(gzipMagic))
	if err != nil || string(start) != gzipMagic {
		return src, err
	}
	plain, err := gzip.NewReader(src)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(&sticky{r: plain}, bufferSize), nil
}

// foreign lists formats that are recognised in order to name them.
var foreign = []struct{ magic, name string }{
	{"PAR1", "a Parquet file"},
	{"ARROW1", "an Arrow file"},
	{"FEA1", "a Feather file"},
	{"ORC", "an ORC file"},
	{"Obj\x01", "an Avro file"},
	{"PK\x03\x04", "a zip archive or a spreadsheet"},
	{"\xd0\xcf\x11\xe0", "a spreadsheet"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd"},
	{"\xfd7zXZ\x00", "compressed with xz"},
	{"BZh", "compressed with bzip2"},
	{gzipMagic, "gzipped twice"},
	{"\xff\xfe", "UTF-16 text"},
	{"\xfe\xff", "UTF-16 text"},
}

// refused returns the rule that the start of a table breaks, or "". It looks no
// further than the first line, which is the header if the file is a table.
func refused(src *bufio.Reader) string {
	start, err := peek(src, 512)
	if err != nil {
		return "" // sticky: met again by the reader of the header
	}
	if len(start) == 0 {
		return "is empty: a table starts with a header row"
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	if !slices.ContainsFunc(line, foreignByte) {
		return ""
	}
	for _, f := range foreign {
		if strings.HasPrefix(string(start), f.magic) {
			return "is " + f.name + ": " + supported
		}
	}
	return "is not UTF-8 text: " + supported
}

const supported = "only CSV in UTF-8, plain or gzipped, can be read"

// foreignByte reports a byte that a header in UTF-8 never holds: controls other
// than tab and carriage return, and those that no UTF-8 sequence has.
func foreignByte(b byte) bool {
	switch {
	case b == '\t' || b == '\r':
		return false
	case b < ' ' || b == 0x7f:
		return true
	}
	return b == 0xc0 || b == 0xc1 || b >= 0xf5
}

// peek returns up to n of the next bytes; a short file is no error.
func peek(src *bufio.Reader, n int) ([]byte, error) {
	start, err := src.Peek(n)
	if len(start) > 0 || err == io.EOF {
		return start, nil
	}
	return start, err
}
