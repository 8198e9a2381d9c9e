package table

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode"
)

// Sizes in bytes, with line ends and quotes.
const (
	mostHeader = 1 << 20
	mostRecord = 16 << 20
)

var (
	errQuote = errors.New("a quote where none may stand")
	errLong  = errors.New("longer than the limit")
)

// records splits text into records as package encoding/csv does with
// TrimLeadingSpace, in memory bounded by the size of one record.
type records struct {
	src   *bufio.Reader
	most  int  // size of a record
	cells int  // cells of a record that are kept
	skip  bool // whether the rest of a line that is too long is skipped

	size int    // of the record so far
	line []byte // a line that does not fit the buffer of src
	text []byte // the cells of a record, joined
	ends []int  // where each ends in text
	last []string
}

// next returns the cells of the next record; they are overwritten by the next
// call. After errQuote and errLong, with skip, it stands at the start of a line.
// The end is io.EOF.
func (r *records) next() ([]string, error) {
	var line []byte
	for len(bytes.TrimSuffix(line, newline)) == 0 {
		var err error
		r.size = 0
		if line, err = r.readLine(); err != nil {
			return nil, err
		}
	}
	r.text, r.ends = r.text[:0], r.ends[:0]
	for {
		line = bytes.TrimLeftFunc(line, unicode.IsSpace)
		more, rest, err := r.cell(line)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		line = rest
	}
	text, start := string(r.text), 0
	r.last = r.last[:0]
	for _, end := range r.ends {
		r.last = append(r.last, text[start:end])
		start = end
	}
	return r.last, nil
}

var newline = []byte{'\n'}

// cell takes the cell that a line starts with. more tells that another follows
// it in rest.
func (r *records) cell(line []byte) (more bool, rest []byte, err error) {
	if len(line) == 0 || line[0] != '"' {
		plain, rest, more := bytes.Cut(line, []byte{','})
		if !more {
			plain = bytes.TrimSuffix(plain, newline)
		}
		if bytes.IndexByte(plain, '"') >= 0 {
			return false, nil, errQuote
		}
		r.keep(plain)
		r.end()
		return more, rest, nil
	}
	for line = line[1:]; ; {
		inside, rest, closed := bytes.Cut(line, []byte{'"'})
		r.keep(inside)
		if !closed {
			if line, err = r.readLine(); err == io.EOF {
				err = errQuote
			}
			if err != nil {
				return false, nil, err
			}
			continue
		}
		switch {
		case len(rest) > 0 && rest[0] == '"':
			r.keep(rest[:1])
			line = rest[1:]
		case len(rest) > 0 && rest[0] == ',':
			r.end()
			return true, rest[1:], nil
		case len(rest) == 0 || len(rest) == 1 && rest[0] == '\n':
			r.end()
			return false, nil, nil
		default:
			return false, nil, errQuote
		}
	}
}

// keep and end build a cell, if it is one of those that are kept.
func (r *records) keep(part []byte) {
	if len(r.ends) < r.cells {
		r.text = append(r.text, part...)
	}
}

func (r *records) end() {
	if len(r.ends) < r.cells {
		r.ends = append(r.ends, len(r.text))
	}
}

// readLine returns the next line, its end a newline, or none at the end of the
// text. It is valid until the next call.
func (r *records) readLine() ([]byte, error) {
	line, err := r.src.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		r.line = append(r.line[:0], line...)
		for err == bufio.ErrBufferFull && r.size+len(r.line) <= r.most {
			line, err = r.src.ReadSlice('\n')
			r.line = append(r.line, line...)
		}
		line = r.line
		for long := err; long == bufio.ErrBufferFull && r.skip; err = long {
			_, long = r.src.ReadSlice('\n')
		}
	}
	r.size += len(line)
	switch {
	case err != nil && err != io.EOF && err != bufio.ErrBufferFull, err == io.EOF && len(line) == 0:
		return nil, err
	case r.size > r.most:
		return nil, errLong
	case err == io.EOF:
		return bytes.TrimSuffix(line, []byte{'\r'}), nil
	}
	if n := len(line); n >= 2 && line[n-2] == '\r' {
		line[n-2] = '\n'
		line = line[:n-1]
	}
	return line, nil
}
