package table

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

// Reader reads a table: one file, or several files that are one table, one after the other. A
// Reader is not safe for concurrent use. Different chunks may be read by different goroutines.
type Reader struct {
	as     Dialect
	header []string
	files  []watch // the table's files, in order
	// known maps the identity of a file to the indices of the files with this identity. It finds a file that
	// is given twice without a comparison with every other file.
	known map[regularfile.Identity][]int

	open  []*file        // the open files; the last is being read
	next  int            // index in files of the next file to open
	uses  []bool         // which cells are read; nil for all
	typed columns        // the columns whose readings chunks may give; nil for none
	spell func([]string) // rewrites the numbers of a row of text in place; nil if there is nothing to rewrite
	most  int64          // bytes that may be buffered ahead of rows; 0 for the default

	ajar int   // files that ended within quotes, of those that Next has read
	rows Chunk // the chunk that Next reads; nil before the first and after the last
	text bool  // whether Next has read rows of the chunk, so that all its rows are read by Next
	err  error // repeated by every call; io.EOF at the end of the table
}

// Chunk is a sequence of consecutive rows of a table.
type Chunk interface {
	// Next returns the next row's cells, or nil cells for a malformed row. The next call overwrites the
	// slice cells, but its strings stay valid. At the end of the chunk ok is false and err is nil.
	// Errors reveal nothing about records.
	Next() (cells []string, ok bool, err error)
}

// Typed is a chunk that can return, in place of the cells' texts, their readings: the numbers to which the map given
// to [For] maps the cells. Once Next has returned a row of Parquet, all rows of its chunk must be read by Next.
type Typed interface {
	Chunk
	// Readings returns the readings of the next n rows. columns has an element for each column of the table: a slice of
	// at least n readings, or nil for a column that the map does not read. The next call overwrites the slices. If n is
	// 0, Next returns the next row, or says that the chunk has ended. Errors reveal nothing about records.
	Readings() (columns [][]float64, n int, err error)
}

// Open opens a table and reads its header. paths are regular files, or Standard alone. The files must not change until
// the last row is read. Several files must have the same columns in the same order. No file may be given twice, because
// its records would count twice. as is the dialect of text files.
func Open(paths []string, as Dialect) (*Reader, error) {
	if len(paths) == 0 {
		return nil, errors.New("table: must be at least one file")
	}
	if err := as.Check(); err != nil {
		return nil, err
	}
	as = named{as, slices.Clone(as.Names())}
	r := &Reader{as: as, known: map[regularfile.Identity][]int{}}
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
			f.close() // the file is opened again when its rows are read
		}
	}
	return r, nil
}

// OpenStream opens a table of text from a stream and reads its header. The stream is read once. A Reader
// cannot distinguish a stream that ends early from a shorter table. as is the dialect of the text.
func OpenStream(src io.Reader, as Dialect) (*Reader, error) {
	if err := as.Check(); err != nil {
		return nil, err
	}
	as = named{as, slices.Clone(as.Names())}
	f := &file{watch: watch{path: Stream}, text: true, closer: io.NopCloser(src)}
	if err := f.read(src, as); err != nil {
		return nil, err
	}
	return &Reader{as: as, header: slices.Clone(f.names()), files: []watch{f.watch}, open: []*file{f}, next: 1}, nil
}

// admit adds a file to the table. It returns an error if the file is given twice, if its columns
// differ from the first file's, or if standard input is not the only file.
func (r *Reader) admit(f *file) error {
	if len(r.files) > 0 && (f.path == Standard || r.files[0].path == Standard) {
		return &Error{f.name(), "must be the only file of its table", nil}
	}
	if f.path != Standard {
		id := regularfile.IdentityOf(f.info)
		for _, i := range r.known[id] {
			if os.SameFile(f.info, r.files[i].info) {
				return &Error{f.path, "is given twice, also as " + r.files[i].path, nil}
			}
		}
		r.known[id] = append(r.known[id], len(r.files))
	}
	if !slices.Equal(f.names(), r.header) {
		return &Error{f.path, "its columns are not those of " + r.files[0].path +
			" in the same order, which files of one table must have", nil}
	}
	r.files = append(r.files, f.watch)
	return nil
}

// Header returns the names of the columns.
func (r *Reader) Header() []string { return slices.Clone(r.header) }

// For declares the map that encodes the rows. The Reader may then leave cells empty that the map does not read. It
// rewrites numbers to the form that the map reads, and its chunks may be Typed. For must be called before the first row
// is read. It returns an error if a Parquet column that the map reads is nested or of a type without a text form.
func For[C Column](r *Reader, m Map[C]) error {
	if !m.ByUnit() {
		r.typed = func(i int) Column { return m.Column(i) }
	}
	return read(r, m)
}

// Look declares the map by which cells are looked at, one by one. It does what For does, but chunks may be ByColumn,
// and none is Typed.
func Look[C Column](r *Reader, m Map[C]) error {
	r.typed = func(i int) Column { return looked{m.Column(i)} }
	return read(r, m)
}

func read[C Column](r *Reader, m Map[C]) error {
	r.uses, r.spell = m.Reads(), m.Respell(r.as.Respelled())
	return r.open[0].use(r.uses, r.typed)
}

// Use declares which cells of a row are read, for callers that do not encode rows. The Reader may leave all
// other cells empty. Use must be called before the first row is read. It returns an error if a Parquet column
// that is read is nested or of a type without a text form.
func (r *Reader) Use(cells []bool) error {
	r.uses = cells
	return r.open[0].use(r.uses, nil)
}

// Limit sets the largest number of bytes of Parquet pages that are held in memory while rows are read, in addition to
// one page for each chunk. It must be called before the first row is read. It affects only speed and memory.
func (r *Reader) Limit(bytes int64) {
	r.most = bytes
	r.open[0].limit(bytes)
}

// Next returns the table's next row, as Chunk.Next does for a chunk. At the end of the table ok is false and
// err is nil. After an error every further call returns the same error.
func (r *Reader) Next() (cells []string, ok bool, err error) {
	for r.more() {
		cells, ok, err := r.rows.Next()
		c, text := r.rows.(interface{ unclosed() bool })
		r.text = ok && !text
		if ok {
			return cells, true, nil
		}
		if text && c.unclosed() {
			r.ajar++
		}
		r.rows, r.err = nil, err
	}
	return nil, false, r.fault()
}

// more reports whether rows holds a chunk. It reads the next chunk if rows holds none.
func (r *Reader) more() bool {
	for r.err == nil && r.rows == nil {
		if r.rows, r.err = r.Chunk(); r.err == io.EOF {
			r.err = r.whole()
		}
	}
	return r.err == nil
}

// fault returns the error that every call repeats, and nil at the end of the table.
func (r *Reader) fault() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// Readings returns the readings of the next n rows of a table whose cells have types, as Typed.Readings does for a
// chunk. n is 0 if the next row, if there is one, must be read by Next.
func (r *Reader) Readings() (columns [][]float64, n int, err error) { return rowsOf(r, Typed.Readings) }

// Columns returns the next n rows of a table whose cells have types, as ByColumn.Columns does for a chunk. n is 0 if
// the next row, if there is one, must be read by Next.
func (r *Reader) Columns() (columns []Cells, n int, err error) { return rowsOf(r, ByColumn.Columns) }

// rowsOf returns the next rows as the method of says, or none if the current chunk does not have it.
func rowsOf[C Chunk, T any](r *Reader, of func(C) (T, int, error)) (columns T, n int, err error) {
	for r.more() {
		chunk, is := r.rows.(C)
		if !is || r.text {
			return columns, 0, nil
		}
		if columns, n, err = of(chunk); n > 0 {
			return columns, n, nil
		}
		if _, text := r.rows.(interface{ unclosed() bool }); text {
			return columns, 0, nil
		}
		r.rows, r.err = nil, err
	}
	return columns, 0, r.fault()
}

// Unclosed returns the number of records with a quote that is not closed, of those that Next has returned: at the end
// of a file, or with a quote and longer than any record may be.
func (r *Reader) Unclosed() int { return r.ajar }

// Chunk returns the next rows of the table. After the last row it returns io.EOF. After reading all rows of
// all chunks, the caller must call the method whole, which returns an error if a file has changed.
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

// turn opens the next file of the table, and closes the last one if it is text. It returns an error if the
// next file has changed since the table was opened.
func (r *Reader) turn() error {
	if last := r.open[len(r.open)-1]; last.text { // all rows of the file have been returned
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
	return f.use(r.uses, r.typed)
}

// whole must be called after the last row. It returns an error if a file has changed since the table was
// opened, and io.EOF if none has.
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

// spelled is a chunk of text whose numbers the function spell rewrites from the file's dialect to
// plain decimals.
type spelled struct {
	Chunk
	spell func([]string)
}

func (s *spelled) unclosed() bool {
	c, text := s.Chunk.(interface{ unclosed() bool })
	return text && c.unclosed()
}

// Next returns the next row.
func (s *spelled) Next() (cells []string, ok bool, err error) {
	cells, ok, err = s.Chunk.Next()
	s.spell(cells)
	return cells, ok, err
}

// Each processes a table's rows in parallel and passes the results on in the order of the rows. As many goroutines as
// workers says call work, each for one chunk at a time. work calls yield for each of its results, called parts, and
// must return when yield returns false. The caller's goroutine calls take with the parts of all chunks in the order of
// the rows. The parts and their order do not depend on workers. The first error stops all work, and Each returns it.
func Each[T any](r *Reader, workers int, work func(c Chunk, yield func(T) bool) error, take func(T) error) error {
	type job struct {
		chunk Chunk
		parts chan T
		err   error // valid once parts is closed
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	defer func() {
		close(stop)
		all.Wait()
	}()
	todo, order := make(chan *job), make(chan *job, 2*workers)
	var readErr error // valid once order is closed
	all.Go(func() {
		defer close(order)
		defer close(todo)
		for {
			j := &job{parts: make(chan T, 1)}
			if j.chunk, readErr = r.Chunk(); readErr != nil {
				return
			}
			for _, queue := range []chan *job{order, todo} {
				select {
				case queue <- j:
				case <-stop:
					return
				}
			}
		}
	})
	for range workers {
		all.Go(func() {
			for j := range todo {
				j.err = work(j.chunk, func(part T) bool {
					select {
					case j.parts <- part:
						return true
					case <-stop:
						return false
					}
				})
				close(j.parts)
			}
		})
	}
	for j := range order {
		for part := range j.parts {
			if err := take(part); err != nil {
				return err
			}
		}
		if j.err != nil {
			return j.err
		}
	}
	if readErr != io.EOF {
		return readErr
	}
	if err := r.whole(); err != io.EOF {
		return err
	}
	return nil
}
