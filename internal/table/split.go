package table

import (
	"io"
	"strings"
)

// chunkSize is the size in bytes of a chunk of text: small enough for a cache,
// and far more than it takes to hand one over.
const chunkSize = 256 << 10

// splitter divides a text into chunks that hold whole records. Where a record ends
// is found in the order of the text, by the rules of records and nothing else: a
// quote may join lines, and so no place of a text tells by itself whether it is
// inside a cell. Memory is bounded by the size of one record.
type splitter struct {
	dialect
	src  io.Reader
	size int // of a chunk, about
	most int // of a record

	held []byte // what was read of src and is in no chunk yet
	err  error  // what ended src
}

// chunk is a text of whole records, or stands for one that is longer than may be.
type chunk struct {
	text string
	last bool // whether the table ends with it
	long bool
}

// next returns the next chunk. The end is io.EOF.
func (s *splitter) next() (chunk, error) {
	for size := s.size; ; size *= 2 {
		s.fill(min(size, s.most))
		text := string(s.held)
		if n := s.whole(text); n > 0 {
			s.held = append(s.held[:0], text[n:]...)
			return chunk{text: text[:n], last: s.err == io.EOF}, nil
		}
		if s.tooLong() {
			s.skipLine()
			return chunk{long: true}, nil
		}
		// At the end what is held is whole, which the next turn finds.
		if s.err != nil && (s.err != io.EOF || len(s.held) == 0) {
			return chunk{}, s.err
		}
	}
}

// fill reads until so many bytes are held.
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

// whole returns how many bytes of what is held are whole records.
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

// tooLong reports whether more is to come of a record that has as many bytes as a
// record may have.
func (s *splitter) tooLong() bool {
	if len(s.held) == s.most {
		s.fill(s.most + 1)
	}
	return len(s.held) > s.most
}

// skipLine drops what is held up to the end of the line that makes a record too
// long: the byte that does so is the last.
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
