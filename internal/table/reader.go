package table

import (
	"bufio"
	"io"

	"github.com/stillpoint-dp/stillpoint/internal/regular"
)

// Reader reads a table row by row. It is not safe for concurrent use.
type Reader interface {
	// Header returns the first row's cells.
	Header() []string

	// Next returns the next row's cells, or nil cells for a malformed row. The
	// slice is overwritten by the next call; its strings stay valid. At the end
	// of the table ok is false and err nil. After an error, which says nothing
	// about records, every further call returns the same one.
	Next() (cells []string, ok bool, err error)

	Close() error
}

const bufferSize = 1 << 16

// Open opens the table at path and reads its header. The table must be a regular
// file and stay as it is until its end was read, or be Standard.
func Open(path string) (Reader, error) {
	if path == Standard {
		return standard()
	}
	file, err := regular.Open(path)
	if err != nil {
		return nil, fault(path, err)
	}
	w, err := newWatch(path, file)
	if err != nil {
		file.Close()
		return nil, fault(path, err)
	}
	r, err := read(path, file, w)
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// read starts reading a table; path is for errors only.
func read(path string, file io.ReadCloser, w watch) (*csvReader, error) {
	src, err := decompress(bufio.NewReaderSize(&sticky{r: file}, bufferSize))
	if err != nil {
		return nil, fault(path, err)
	}
	if rule := refused(src); rule != "" {
		return nil, &Error{path, rule, nil}
	}
	return newCSV(path, file, w, src)
}

// sticky repeats the first error of r, so that nothing is read past it.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.r.Read(p)
	return n, s.err
}
