package table

import (
	"bufio"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

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
