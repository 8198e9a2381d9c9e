package table

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// Reader reads a table: one file, or several that are one table, one after the
// other. It is not safe for concurrent use, but chunks are: each by one goroutine.
type Reader struct {
	as     dataset.CSV
	header []string
	files  []watch // those of the table, in order

	open  []*file // the files that are open; the last is being read
	next  int     // the file behind it
	uses  []bool  // the cells that are looked at; nil for all
	spell func([]string)
	most  int64 // bytes that may be held of what is read ahead; 0 for what readers take

	rows Chunk // of Next; nil before the first and behind the last
	err  error // sticky; io.EOF at the end of the table
}

// Chunk is rows of a table that follow each other.
type Chunk interface {
	// Next returns the next row's cells, or nil cells for a malformed row. The
	// slice is overwritten by the next call; its strings stay valid. At the end
	// of the chunk ok is false and err nil. Errors say nothing about records.
	Next() (cells []string, ok bool, err error)
}

// Open opens a table and reads its header. Files must be regular ones and stay as
// they are until the end of the last was read; or there is one, Standard. Those of
// several have the same columns in the same order, and no file is there twice: its
// records would count twice. as says how they are written, where they are text.
func Open(paths []string, as dataset.CSV) (*Reader, error) {
	if len(paths) == 0 {
		return nil, errors.New("table: must be at least one file")
	}
	if err := as.Check(); err != nil {
		return nil, err
	}
	as.Header = slices.Clone(as.Header)
	r := &Reader{as: as}
	for i, path := range paths {
		f, err := openFile(path, as)
		if err == nil && i == 0 {
			r.header = slices.Clone(f.names())
		}
		if err == nil {
			err = r.admit(f)
		}
		switch {
		case err != nil:
			f.close()
			r.Close()
			return nil, err
		case i == 0:
			r.open, r.next = []*file{f}, 1
		default:
			f.close() // to be opened again when it is its turn
		}
	}
	return r, nil
}

// OpenStream is Open for a text that is read from a stream once, to its end. An end that
// comes early cannot be told from the table's.
func OpenStream(src io.Reader, as dataset.CSV) (*Reader, error) {
	if err := as.Check(); err != nil {
		return nil, err
	}
	as.Header = slices.Clone(as.Header)
	f := &file{watch: watch{path: Stream}, text: true, closer: io.NopCloser(src)}
	if err := f.read(src, as); err != nil {
		return nil, err
	}
	return &Reader{as: as, header: slices.Clone(f.names()), files: []watch{f.watch}, open: []*file{f}, next: 1}, nil
}

// admit takes a file for one of the table's.
func (r *Reader) admit(f *file) error {
	for _, other := range r.files {
		switch {
		case f.path == Standard || other.path == Standard:
			return &Error{f.name(), "must be the only file of its table", nil}
		case os.SameFile(f.info, other.info):
			return &Error{f.path, "is given twice, also as " + other.path, nil}
		}
	}
	if !slices.Equal(f.names(), r.header) {
		return &Error{f.path, "its columns are not those of " + r.files[0].path + " in the same order, which files of one table must have", nil}
	}
	r.files = append(r.files, f.watch)
	return nil
}

// Header returns the names of the columns.
func (r *Reader) Header() []string { return slices.Clone(r.header) }

// For says by which map the rows are encoded: cells that it does not look at may be
// left empty, and numbers are written as it reads them. It comes before the first
// row, and is an error if the table has no such cells.
func (r *Reader) For(m *dataset.Map) error {
	r.uses = m.Reads()
	r.spell = m.Respell(r.as)
	return r.open[0].use(r.uses)
}

// Limit bounds the bytes of pages of Parquet that are held while rows are read, beside
// one page of each chunk. It is called before the first row is read, and changes speed
// alone.
func (r *Reader) Limit(bytes int64) {
	r.most = bytes
	r.open[0].limit(bytes)
}

// Next returns the table's next row, as Chunk has it. After an error every further
// call returns the same one.
func (r *Reader) Next() (cells []string, ok bool, err error) {
	for r.err == nil {
		if r.rows == nil {
			if r.rows, r.err = r.Chunk(); r.err == io.EOF {
				r.err = r.whole()
			}
			continue
		}
		cells, ok, err := r.rows.Next()
		if ok {
			return cells, true, nil
		}
		r.rows, r.err = nil, err
	}
	if r.err == io.EOF {
		return nil, false, nil
	}
	return nil, false, r.err
}

// Chunk returns the next rows of the table. The end is io.EOF; once all rows were
// taken off their chunks, whole says whether they are the table's.
func (r *Reader) Chunk() (Chunk, error) {
	for {
		f := r.open[len(r.open)-1]
		c, err := f.chunk()
		if err == nil && r.spell != nil && f.text {
			c = &spelled{c, r.spell}
		}
		switch {
		case err == nil:
			return c, nil
		case err != io.EOF:
			return nil, f.fault(err)
		case r.next == len(r.files):
			return nil, io.EOF
		}
		if err := r.turn(); err != nil {
			return nil, err
		}
	}
}

// turn goes to the next file.
func (r *Reader) turn() error {
	if last := r.open[len(r.open)-1]; last.text { // nothing is left in it
		last.close()
		r.open = r.open[:len(r.open)-1]
	}
	want := r.files[r.next]
	f, err := openFile(want.path, r.as)
	if err != nil {
		return err
	}
	r.open = append(r.open, f)
	r.next++
	if want.changed() {
		return errChanged(want.path)
	}
	if r.most > 0 {
		f.limit(r.most)
	}
	return f.use(r.uses)
}

// whole returns io.EOF, or the error that a file is no longer what it was.
func (r *Reader) whole() error {
	for _, f := range r.files {
		if f.changed() {
			return errChanged(f.path)
		}
	}
	return io.EOF
}

// Close closes all files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.open {
		err = errors.Join(err, f.close())
	}
	r.open = nil
	return err
}

// spelled is a chunk whose numbers are written otherwise.
type spelled struct {
	Chunk
	spell func([]string)
}

// Next returns the next row.
func (s *spelled) Next() (cells []string, ok bool, err error) {
	cells, ok, err = s.Chunk.Next()
	s.spell(cells)
	return cells, ok, err
}
