package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

// csvFile reads a text file in chunks of whole records.
type csvFile struct {
	split  splitter
	header []string
	typed  *textReader // nil if rows are read by Next
}

func newCSV(path string, as Dialect, src *bufio.Reader) (*csvFile, error) {
	if start, _ := peek(src, len(byteOrderMark)); string(start) == byteOrderMark {
		src.Discard(len(byteOrderMark))
	}
	delimiter, quote := as.Marks()
	f := &csvFile{split: splitter{dialect: dialect{delimiter, quote}, src: src, size: chunkSize, most: mostRecord},
		header: as.Names()}
	if f.header != nil {
		return f, nil
	}
	header, v, err := f.split.head()
	if err != nil {
		return nil, err
	}
	if rule := headerRule(header, v, delimiter); rule != "" {
		return nil, &Error{path, rule, nil}
	}
	f.header = slices.Clone(header)
	return f, nil
}

// limit has no effect: a text reader keeps only one chunk and one record in memory.
func (f *csvFile) limit(int64) {}

// head reads the first record of the text, the header row, and removes it from the text. It returns the
// record's cells, or its verdict if the header row is not valid.
func (s *splitter) head() ([]string, verdict, error) {
	for size := s.size; ; size *= 2 {
		if s.fill(min(size, mostHeader)); endsInCR(s.held) {
			return nil, 0, &Error{Rule: ruleCR}
		}
		r := records{dialect: s.dialect, text: string(s.held), last: s.err == io.EOF, cells: mostHeader, quoted: -1}
		cells, v := r.next()
		switch {
		case v == whole || v == malformed || v == over && r.last:
			s.held = append(s.held[:0], r.text[r.at:]...)
			return cells, v, nil
		case s.err != nil:
			return nil, 0, s.err
		case size >= mostHeader:
			return nil, cut, nil
		}
	}
}

const ruleCR = "lines must end in LF or CRLF: those of the header row end in CR alone"

// endsInCR reports whether the first line of a file's start ends in CR alone. If lines end in CR
// alone, the whole file is read as the header row. The error about CR must come before any other error,
// because otherwise the records would decide which rule the header breaks.
func endsInCR(start []byte) bool {
	i := bytes.IndexAny(start, "\r\n")
	return i >= 0 && i+1 < len(start) && start[i] == '\r' && start[i+1] != '\n' &&
		!slices.ContainsFunc(start[:i], foreignByte)
}

// headerRule returns the rule that a header row breaks, or "" if it breaks none.
func headerRule(cells []string, v verdict, delimiter byte) string {
	switch {
	case v == over:
		return "is empty: a table starts with a header row"
	case v == malformed:
		return "the header row is not valid CSV"
	case v == cut:
		return fmt.Sprintf("the header row, up to its newline, is longer than %d bytes", mostHeader)
	case slices.ContainsFunc(cells, func(s string) bool { return !utf8.ValidString(s) }):
		return "the header row is not UTF-8: " + supported
	case len(cells) == 1:
		return otherDelimiter(cells[0], delimiter)
	}
	return ""
}

// otherDelimiter returns advice, for an error message, if the only cell of a header row contains a common
// delimiter other than the given one. Otherwise it returns "".
func otherDelimiter(cell string, delimiter byte) string {
	for _, d := range []struct{ mark, name, yaml, flag string }{
		{";", "semicolons", `";"`, `';'`}, {"\t", "tabs", "tab", "tab"}, {"|", "bars", `"|"`, `'|'`},
		{",", "commas", `","`, `','`},
	} {
		if strings.Contains(cell, d.mark) && d.mark[0] != delimiter {
			return fmt.Sprintf("the fields of the header row are separated by %s: add the line csv: {delimiter: %s} to the "+
				"configuration, or say --delimiter=%s where there is none", d.name, d.yaml, d.flag)
		}
	}
	return ""
}

func (f *csvFile) names() []string { return f.header }

// use makes chunks give readings if rows is not nil. Next returns all cells of a row, whether they are read or not.
func (f *csvFile) use(cells []bool, rows columns) error {
	f.typed = newTextReader(f.split.delimiter, cells, rows)
	return nil
}

func (f *csvFile) chunk() (Chunk, error) {
	c, err := f.split.next()
	if err != nil {
		return nil, err
	}
	if c.long {
		return &malformedRow{open: c.open}, nil
	}
	// At most one cell more than the header has is kept. The additional cell shows that a row has too many.
	text := textChunk{records{dialect: f.split.dialect, text: c.text, last: c.last, cells: len(f.header) + 1, quoted: -1}}
	if f.typed != nil {
		return &typedText{textChunk: text, as: f.typed}, nil
	}
	return &text, nil
}

// textChunk is a chunk of text that consists of whole records.
type textChunk struct{ records }

func (c *textChunk) unclosed() bool { return c.open }

// Next returns the next row.
func (c *textChunk) Next() (cells []string, ok bool, err error) {
	cells, v := c.next()
	switch v {
	case whole:
		return cells, true, nil
	case malformed:
		return nil, true, nil
	}
	return nil, false, nil
}

// malformedRow is a chunk that holds one malformed row.
type malformedRow struct {
	over bool
	open bool // the row has a quote, which is probably not closed
}

func (c *malformedRow) unclosed() bool { return c.open }

// Next returns the row.
func (c *malformedRow) Next() (cells []string, ok bool, err error) {
	ok = !c.over
	c.over = true
	return nil, ok, nil
}

// chunkSize is the size in bytes of a chunk of text. It is small enough for a processor's cache, and large
// enough that passing chunks between goroutines takes little time.
const chunkSize = 256 << 10

// splitter divides a text into chunks of whole records. It finds the ends of records by scanning
// the text from its start, by the rules of type records, because no part of a text shows by itself
// whether it is inside quotes. Its memory is bounded by the size of one record.
type splitter struct {
	dialect
	src  io.Reader
	size int // approximate size of a chunk in bytes
	most int // largest size of a record in bytes

	held []byte // read from src and not yet in a chunk
	err  error  // the error, or io.EOF, with which src ended
}

// chunk is a part of the text that consists of whole records. If long is true, it stands for one record that
// is too long, and text is empty.
type chunk struct {
	text string
	last bool // the table ends with this chunk
	long bool
	open bool // the record that is too long has a quote, which is probably not closed
}

// next returns the next chunk. After the last chunk it returns io.EOF.
func (s *splitter) next() (chunk, error) {
	for size := s.size; ; size *= 2 {
		s.fill(min(size, s.most))
		text := string(s.held)
		if n := s.whole(text); n > 0 {
			s.held = append(s.held[:0], text[n:]...)
			return chunk{text: text[:n], last: s.err == io.EOF}, nil
		}
		if s.tooLong() {
			open := s.quote != 0 && strings.IndexByte(text, s.quote) >= 0
			s.skipLine()
			return chunk{long: true, open: open}, nil
		}
		// At the end of the source all bytes held are whole records, which the next iteration
		// returns.
		if s.err != nil && (s.err != io.EOF || len(s.held) == 0) {
			return chunk{}, s.err
		}
	}
}

// fill reads until size bytes are held or src ends.
func (s *splitter) fill(size int) {
	if cap(s.held) < size {
		s.held = append(make([]byte, 0, size), s.held...)
	}
	for len(s.held) < size && s.err == nil {
		var n int
		n, s.err = s.src.Read(s.held[len(s.held):size])
		s.held = s.held[:len(s.held)+n]
	}
}

// whole returns the number of bytes at the start of text that are whole records.
func (s *splitter) whole(text string) int {
	if s.err == io.EOF {
		return len(text)
	}
	if s.quote == 0 || strings.IndexByte(text, s.quote) < 0 {
		return strings.LastIndexByte(text, '\n') + 1
	}
	r := records{dialect: s.dialect, text: text, quoted: -1}
	for {
		if _, v := r.next(); v == cut || v == over {
			return r.at
		}
	}
}

// tooLong reports whether the first record held is longer than most bytes.
func (s *splitter) tooLong() bool {
	if len(s.held) == s.most {
		s.fill(s.most + 1)
	}
	return len(s.held) > s.most
}

// skipLine drops a record that is too long: the bytes held, up to the end of the line that contains
// the first byte beyond the limit.
func (s *splitter) skipLine() {
	s.held = append(s.held[:0], s.held[s.most:]...)
	for s.err == nil || len(s.held) > 0 {
		if n := strings.IndexByte(string(s.held), '\n'); n >= 0 {
			s.held = append(s.held[:0], s.held[n+1:]...)
			return
		}
		s.held = s.held[:0]
		s.fill(s.size)
	}
}
