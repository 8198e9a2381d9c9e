package runfolder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// form is the format of a journal's lines. A numbered line begins with its number, counted from 1, and a
// checksum over this number and the record:
//
//	{"line":7,"sum":"0123456789abcdef","event":{...}}
//
// The checksum of every line but the first also covers the checksum of the first line, so a line of another
// journal is never accepted as a line of this one. A line of a journal of version 1 has neither number nor
// checksum: it is the record's JSON text.
type form struct {
	numbered bool
	// salt is the checksum of the journal's first line. It is empty until the first line has been read or
	// written.
	salt string
}

const (
	lineOpen  = `{"line":`
	sumOpen   = `,"sum":"`
	sumClose  = `",`
	sumDigits = 16
)

// lineSum returns the checksum of a journal's line: the first 16 hexadecimal digits of a SHA-256 over the
// salt, the line's number, and the line's text after the checksum.
func (f *form) lineSum(number int, rest []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "stillpoint journal\n%s\n%d\n", f.salt, number)
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil))[:sumDigits]
}

// write returns a record as a line of the journal with the given number. The line ends in a
// newline.
func (f *form) write(number int, r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil || !f.numbered {
		return append(text, '\n'), err
	}
	rest := text[1:] // after the opening brace
	sum := f.lineSum(number, rest)
	if number == 1 {
		f.salt = sum
	}
	return fmt.Appendf(nil, "%s%d%s%s%s%s\n", lineOpen, number, sumOpen, sum, sumClose, rest), nil
}

var errLine = errors.New("its number or checksum is not that of its text")

// read parses a line of the journal, given without its newline. It returns the line's record and number. The
// number is 0 in journals without line numbers. A malformed line or a wrong checksum is an error.
func (f *form) read(line []byte) (number int, r record, err error) {
	if !f.numbered {
		r, err = parseRecord(line)
		return 0, r, err
	}
	rest, ok := bytes.CutPrefix(line, []byte(lineOpen))
	digits, rest, also := bytes.Cut(rest, []byte(sumOpen))
	number, err = strconv.Atoi(string(digits))
	if !ok || !also || err != nil || strconv.Itoa(number) != string(digits) || len(rest) < sumDigits+len(sumClose) {
		return 0, r, errLine
	}
	sum, rest := string(rest[:sumDigits]), rest[sumDigits:]
	rest, ok = bytes.CutPrefix(rest, []byte(sumClose))
	if !ok || sum != f.lineSum(number, rest) {
		return 0, r, errLine
	}
	if number == 1 {
		f.salt = sum
	}
	r, err = parseRecord(append([]byte{'{'}, rest...))
	return number, r, err
}

func parseRecord(line []byte) (r record, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if _, err := d.Token(); err != io.EOF {
		return r, errors.New("must be one JSON value")
	}
	return r, nil
}
