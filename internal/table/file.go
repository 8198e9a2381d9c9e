package table

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

const bufferSize = 1 << 16

// file is one file of a table.
type file struct {
	watch
	text   bool // the file is text, whose rows stay valid when the file is closed
	closer io.Closer
	content
}

// content reads the rows of a file.
type content interface {
	names() []string
	// use declares which cells are read. nil means all cells. If rows is not nil, the method chunk may
	// return a Typed, which gives numbers in place of texts.
	use(cells []bool, rows columns) error
	// limit sets the largest number of bytes that may be buffered ahead of the rows being read.
	limit(bytes int64)
	// chunk returns the next rows. After the last row it returns io.EOF.
	chunk() (Chunk, error)
}

func openFile(path string, as Dialect) (*file, error) {
	if path == Standard {
		return openStandard(os.Stdin, as)
	}
	disk, err := regularfile.Open(path)
	if err != nil {
		return nil, fault(path, err)
	}
	f := &file{closer: disk, text: true}
	if f.watch, err = newWatch(path, disk); err != nil {
		return f, fault(path, err)
	}
	if isParquet(disk, as) {
		f.text = false
		f.content, err = newParquet(f, disk, f.info.Size())
		return f, err
	}
	return f, f.read(disk, as)
}

// openStandard opens standard input. Standard input may be Parquet only if it is a regular file, on a disk
// or in memory, and none of it has been read, since Parquet is read from its end. openStandard does not
// detect whether the file changes while it is read, because it does not know the file's path.
func openStandard(src *os.File, as Dialect) (*file, error) {
	f := &file{watch: watch{path: Standard}, text: true, closer: io.NopCloser(src)}
	info, err := src.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return f, f.read(src, as)
	}
	if at, err := src.Seek(0, io.SeekCurrent); err != nil || at != 0 || !isParquet(src, as) {
		return f, f.read(src, as)
	}
	f.text = false
	f.content, err = newParquet(f, src, info.Size())
	return f, err
}

// read opens the file's content as text: it decompresses and decodes it and reads the header row. It returns
// an error if the content cannot be a table.
func (f *file) read(src io.Reader, as Dialect) error {
	plain, err := decompress(f.path, bufio.NewReaderSize(&sticky{r: src}, bufferSize), as)
	if err != nil {
		return f.fault(err)
	}
	if plain, err = decode(plain, as); err != nil {
		return f.fault(err)
	}
	if start, _ := peek(plain, startSize); as.Names() == nil && endsInCR(start) {
		return &Error{f.name(), ruleCR, nil}
	}
	if rule := refused(plain, as); rule != "" {
		return &Error{f.name(), rule, nil}
	}
	c, err := newCSV(f.name(), as, plain)
	if err != nil {
		return f.fault(err)
	}
	f.content = c
	return nil
}

// close closes the file. It does nothing for a nil file.
func (f *file) close() error {
	if f == nil {
		return nil
	}
	return f.closer.Close()
}

// fault returns the error to show for err. If the file has changed since it was opened, the error
// says so, because a changed file may look damaged.
func (f *file) fault(err error) error {
	if f.changed() {
		return errChanged(f.path)
	}
	return fault(f.name(), err)
}

func errChanged(path string) error {
	return &Error{path, "changed while it was read: leave it as it is and start again", nil}
}

// isParquet reports whether a file starts as Parquet does. It returns false if files have no header row:
// the file may then start with a record (see the package comment).
func isParquet(src io.ReaderAt, as Dialect) bool {
	if as.Names() != nil {
		return false
	}
	start := make([]byte, startSize)
	n, _ := src.ReadAt(start, 0)
	return bytes.HasPrefix(start[:n], []byte(parquetMagic)) && !textual(start[:n])
}

// sticky repeats the first error of r, so that nothing is read after it.
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

// Standard is the path that means standard input. Standard input may be a pipe or a file in memory, so that
// the table need not be on a disk. It can be read only once. A truncated text cannot be detected, so the
// caller must state the number of rows.
const Standard = "-"

// Stream is the name that errors give to a table that is read from a stream (OpenStream).
const Stream = "the reader's table"

// Error is a fault of a file. Its text depends on the file's name, on the file's bytes that are not records,
// such as a header row, and on the operating system's answer. It never depends on records.
type Error struct {
	Path string
	Rule string
	err  error
}

func (e *Error) Error() string { return "table: " + e.Path + ": " + e.Rule }

// Unwrap returns the operating system's error, such as [fs.ErrNotExist]. It returns nil if the fault is in
// the file's content.
func (e *Error) Unwrap() error { return e.err }

// fault converts an error of opening or reading into an Error that may be shown. Only errors of the
// operating system and of this package are kept: errors of decoders may contain offsets.
func fault(path string, err error) error {
	var sys *fs.PathError
	var own *Error
	switch {
	case errors.As(err, &own):
		return &Error{path, own.Rule, own.err}
	case errors.As(err, &sys):
		return &Error{path, sys.Err.Error(), sys.Err}
	}
	return &Error{path, "the file is damaged: it ends early or fails its checksum", nil}
}

// watch detects whether a file has changed since it was opened: whether its path has another file, another
// size or another time of modification. A watch without info reports no change.
type watch struct {
	path string
	info fs.FileInfo
}

func newWatch(path string, file *os.File) (watch, error) {
	info, err := file.Stat()
	return watch{path, info}, err
}

func (w watch) changed() bool {
	if w.info == nil {
		return false
	}
	now, err := os.Stat(w.path)
	if err != nil || !os.SameFile(w.info, now) {
		return true
	}
	return now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime())
}

// name returns the file's name for errors.
func (w watch) name() string {
	if w.path == Standard {
		return "standard input"
	}
	return w.path
}
