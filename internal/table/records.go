package table

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes in bytes, with line ends and quotes.
const (
	mostHeader = 1 << 20
	mostRecord = 16 << 20
)

// verdict is what a text turned out to start with.
type verdict uint8

const (
	whole     verdict = iota // a record
	malformed                // a record that is none
	cut                      // a record of which the text has not all
	over                     // nothing: the text is over
)

// dialect is how records are written.
type dialect struct {
	delimiter byte
	quote     byte // 0 for none: every quote is a character as any other
}

// records takes records off a text one by one, as package encoding/csv does with
// TrimLeadingSpace. Cells are parts of the text, but for those with doubled quotes
// or line ends of two bytes.
type records struct {
	dialect
	text  string
	last  bool // whether the table ends with the text
	cells int  // cells of a record that are kept

	at     int // where the next record starts
	quoted int // where the next quote is, from at on; what is behind it is not known yet
	built  []byte
	row    []string
}

// next returns the cells of the next record; the slice is overwritten by the next
// call. After whole and malformed, at is where the record ends, at the start of a
// line; after cut it is where the record starts.
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
				r.at = len(r.text)
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

// skipEmpty goes past empty lines.
func (r *records) skipEmpty() {
	for r.at < len(r.text) {
		end, next, ended := r.line(r.at)
		if !ended || end > r.at {
			return
		}
		r.at = next
	}
}

// line returns where the line of text[i:] ends, without what ends it, and where the
// next starts; ended is false if the text has not all of it.
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

// quoteFrom returns where the first quote from i on is, or the length of the text.
func (r *records) quoteFrom(i int) int {
	if r.quoted < i {
		r.quoted = len(r.text)
		if n := strings.IndexByte(r.text[i:], r.quote); r.quote != 0 && n >= 0 {
			r.quoted = i + n
		}
	}
	return r.quoted
}

// plain takes the cells of a line without quotes.
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

// trim returns where the white space at text[i:end] ends.
func (r *records) trim(i, end int) int { return i + r.space(r.text[i:end]) }

// space returns the length of the white space that a text starts with. A delimiter
// is none.
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

// inQuotes returns the cell whose opening quote is before i, and where it ends. It
// is closed by a quote that none follows; the byte behind it must be known.
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
