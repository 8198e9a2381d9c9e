package table

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the sizes of records and header rows, in bytes, including line ends and quotes.
const (
	mostHeader = 1 << 20
	mostRecord = 16 << 20
)

// verdict says with what the remaining text starts: a valid record, a malformed record, a record whose end
// is not in the text, or nothing.
type verdict uint8

const (
	whole     verdict = iota // a valid record
	malformed                // an invalid record
	cut                      // a record whose end is not in the text
	over                     // nothing: the text has ended
)

// dialect holds the delimiter and the quote of the text.
type dialect struct {
	delimiter byte
	quote     byte // 0 for none: a quote character is then an ordinary character
}

// records splits a text into records one by one, as package encoding/csv does with TrimLeadingSpace. Cells share memory
// with the text, except cells with doubled quotes or with line ends of two bytes.
type records struct {
	dialect
	text  string
	last  bool // the table ends with this text
	cells int  // largest number of cells kept of a record

	at     int  // start of the next record
	open   bool // the last record of the table has a quote that is not closed
	quoted int  // position of the last quote that quoteFrom found, or len(text); -1 at first
	built  []byte
	row    []string
}

// next returns the cells and the verdict of the next record. The next call overwrites the slice of cells.
// If the verdict is whole or malformed, r.at is then the start of the line after the record. If the verdict
// is cut, r.at is the start of the record.
func (r *records) next() ([]string, verdict) {
	if r.skipEmpty(); r.at == len(r.text) {
		return nil, over
	}
	i := r.at
	end, next, ended := r.line(i)
	if !ended {
		return nil, cut
	}
	r.row = r.row[:0]
	if r.quoteFrom(i) >= next {
		r.plain(r.text[i:end])
		r.at = next
		return r.row, whole
	}
	for {
		i = r.trim(i, end)
		if i == end || r.text[i] != r.quote {
			stop := end
			if n := strings.IndexByte(r.text[i:end], r.delimiter); n >= 0 {
				stop = i + n
			}
			if r.quoteFrom(i) < stop {
				r.at = next
				return nil, malformed
			}
			r.keep(r.text[i:stop])
			i = stop
		} else {
			cell, after, closed := r.inQuotes(i + 1)
			if !closed && !r.last {
				return nil, cut
			}
			if !closed {
				r.at, r.open = len(r.text), true
				return nil, malformed
			}
			if end, next, ended = r.line(after); !ended {
				return nil, cut
			}
			if after < end && r.text[after] != r.delimiter {
				r.at = next
				return nil, malformed
			}
			r.keep(cell)
			i = after
		}
		if i == end {
			r.at = next
			return r.row, whole
		}
		i++ // the delimiter
	}
}

// skipEmpty skips empty lines.
func (r *records) skipEmpty() {
	for r.at < len(r.text) {
		end, next, ended := r.line(r.at)
		if !ended || end > r.at {
			return
		}
		r.at = next
	}
}

// line returns the end of the line at text[i:], without its line end, and the start of the next
// line. ended is false if the end of the line is not in the text.
func (r *records) line(i int) (end, next int, ended bool) {
	n := strings.IndexByte(r.text[i:], '\n')
	if n < 0 && !r.last {
		return 0, 0, false
	}
	end, next = i+n, i+n+1
	if n < 0 {
		end, next = len(r.text), len(r.text)
	}
	if end > i && r.text[end-1] == '\r' {
		end--
	}
	return end, next, true
}

// quoteFrom returns the position of the first quote from i on, or the length of the text if there
// is none.
func (r *records) quoteFrom(i int) int {
	if r.quoted < i {
		r.quoted = len(r.text)
		if n := strings.IndexByte(r.text[i:], r.quote); r.quote != 0 && n >= 0 {
			r.quoted = i + n
		}
	}
	return r.quoted
}

// plain appends the cells of a line without quotes to the row.
func (r *records) plain(line string) {
	for len(r.row) < r.cells {
		line = line[r.space(line):]
		n := strings.IndexByte(line, r.delimiter)
		if n < 0 {
			r.row = append(r.row, line)
			return
		}
		r.row = append(r.row, line[:n])
		line = line[n+1:]
	}
}

// trim returns the position after the white space at text[i:end].
func (r *records) trim(i, end int) int { return i + r.space(r.text[i:end]) }

// space returns the length, in bytes, of the white space at the start of s. The delimiter is not white space,
// even if it is a blank or a tab.
func (r *records) space(s string) int {
	if len(s) == 0 || s[0] > ' ' && s[0] < utf8.RuneSelf {
		return 0
	}
	n := strings.IndexFunc(s, func(c rune) bool { return !unicode.IsSpace(c) || c == rune(r.delimiter) })
	if n < 0 {
		return len(s)
	}
	return n
}

// inQuotes returns the cell whose opening quote is directly before position i, and the position after its
// closing quote. Two quotes in a row mean one quote within the cell. A single quote closes the cell. closed
// is false if the text does not contain the closing quote. It is also false if the text ends directly after a
// quote and is not the end of the table, since the next byte may be a second quote.
func (r *records) inQuotes(i int) (cell string, after int, closed bool) {
	r.built = r.built[:0]
	for first := true; ; first = false {
		n := strings.IndexByte(r.text[i:], r.quote)
		if n < 0 || i+n+1 == len(r.text) && !r.last {
			return "", 0, false
		}
		inside := r.text[i : i+n]
		i += n + 1
		doubled := i < len(r.text) && r.text[i] == r.quote
		if !doubled && first && !strings.Contains(inside, "\r\n") {
			return inside, i, true
		}
		r.built = append(r.built, strings.ReplaceAll(inside, "\r\n", "\n")...)
		if !doubled {
			return string(r.built), i, true
		}
		r.built = append(r.built, r.quote)
		i++
	}
}

func (r *records) keep(cell string) {
	if len(r.row) < r.cells {
		r.row = append(r.row, cell)
	}
}
