package table

import (
	"io"
	"strings"
)

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
