package parquet

import "fmt"

// batchRows is the largest number of rows of a batch. A file of many columns has batches of fewer rows, at least
// fewRows: about batchValues values of all columns together, so that those of a row are still in the second-level
// cache when the last column has been read. If the page must be decompressed again for each batch, it is the number
// that Group.large returns, which is at most largeRows.
const (
	batchRows   = 1 << 10
	fewRows     = 1 << 7
	batchValues = 1 << 16
	largeRows   = 1 << 14
)

// rowsOfBatch returns the number of rows of a batch, for a file of so many columns.
func rowsOfBatch(columns int) int { return min(batchRows, max(fewRows, batchValues/max(columns, 1))) }

// Batch holds consecutive rows of a column.
type Batch struct {
	Rows int
	// Present reports for each row whether it has a value. It is nil if all rows have a value.
	Present []bool
	// N is the number of values: the number of rows that have a value.
	N int
	// Indices are the indices of the values in the dictionary. It is nil if Values holds the values.
	Indices []int32
	Values  Values

	levels []int32
	flags  []bool // memory for Present
	index  []int32
}

// Reader reads the values of a column in a row group.
type Reader struct {
	group  *Group
	column *Column
	codec  codec
	offset int64 // offset in the file of the next page
	left   int64 // number of rows after the current page

	dictionary header // header of the dictionary page; its start is 0 if there is none
	entries    int32  // number of entries of the dictionary

	current header // header of the page being read
	done    int    // number of rows of the page already returned in batches
	page    *page  // nil before the first page, and if the page must be read again
	buf     []byte // contents of the page
	beside  int64  // bytes that the caller declared with Hold
	held    int64  // bytes that File.held counts for this reader
}

func (r *Reader) refuse(rule string) error {
	return Unsupported(fmt.Sprintf("has a column %q that %s, which cannot be read", r.column.Name, rule))
}

// Next reads the next rows of the column, at least one, into b. The content of b is valid until the next
// call with b or until a call of Rest. After the last row Next returns ErrDamaged: callers know the number of
// rows and must not call it.
func (r *Reader) Next(b *Batch) error {
	if r.page == nil {
		if err := r.again(b); err != nil {
			return err
		}
	}
	for r.page == nil || r.page.rows == 0 {
		if err := r.load(); err != nil {
			return err
		}
	}
	rows := r.group.file.rows
	if r.group.file.over() {
		rows = r.group.large()
	}
	return r.decode(b, rows)
}

// Rest releases the reader's page if the pages of all readers, and the bytes that callers declared with Hold,
// take more than File.Limit bytes together. It reports whether it released the page. If it did, the caller
// must also release the bytes that it declared with Hold.
func (r *Reader) Rest() bool {
	if !r.group.file.over() {
		return false
	}
	r.group.file.short.Store(true)
	if r.group.file.held.Load() > r.group.file.Limit {
		r.Close()
		return true
	}
	return false
}

// Hold declares how many bytes the caller keeps in memory for this column, such as converted dictionary
// entries. They count towards File.Limit.
func (r *Reader) Hold(bytes int) {
	r.beside = int64(bytes)
	r.count()
}

// Close releases the memory that the reader holds.
func (r *Reader) Close() {
	r.page, r.buf, r.beside = nil, nil, 0
	r.count()
}

// count adds the change of the number of bytes that this reader holds to File.held, the bytes of all readers.
func (r *Reader) count() {
	now := int64(cap(r.buf)) + r.beside
	r.group.file.held.Add(now - r.held)
	r.held = now
}

// again reads once more the page that Rest released, and skips the rows already returned. It does nothing if
// there is no such page or all its rows were returned. b is scratch memory.
func (r *Reader) again(b *Batch) error {
	if r.current.start == 0 || r.done == int(r.current.values) {
		return nil
	}
	done := r.done
	if err := r.fill(); err != nil {
		return err
	}
	for r.done < done {
		if err := r.decode(b, min(r.group.large(), done-r.done)); err != nil {
			return err
		}
	}
	return nil
}

// load reads the next page. It makes a data page the current page, records the position of a dictionary page,
// and skips any other page.
func (r *Reader) load() error {
	if r.left == 0 {
		return ErrDamaged
	}
	h, err := r.group.file.header(r.offset)
	if err != nil {
		return err
	}
	r.offset = h.start + int64(h.compressed)
	switch h.kind {
	case dictionaryPage:
		if r.dictionary.start != 0 || r.current.start != 0 || h.encoding != plain && h.encoding != plainDictionary {
			return ErrDamaged
		}
		r.dictionary, r.entries = h, h.values
		return nil
	case dataPage, dataPage2:
	default:
		return nil
	}
	if int64(h.values) > r.left {
		return ErrDamaged
	}
	r.left -= int64(h.values)
	r.current = h
	return r.fill()
}

// fill reads the contents of the current page.
func (r *Reader) fill() (err error) {
	r.done = 0
	r.buf, err = r.contents(r.current, r.buf)
	if err != nil {
		r.buf = nil
	}
	if r.count(); err != nil {
		return err
	}
	r.page, err = r.open(r.current, r.buf)
	return err
}

// decode decodes the next rows of the current page into b: at most as many as rows says, and fewer if the
// page or a limit on the size of a batch ends first.
func (r *Reader) decode(b *Batch, rows int) error {
	p := r.page
	rows = min(rows, p.rows)
	b.Rows, b.N, b.Present, b.Indices = rows, rows, nil, nil
	var before hybrid
	if p.missing != nil {
		before = *p.missing
		if err := b.present(p.missing, rows); err != nil {
			return err
		}
	}
	n, err := r.values(b)
	if err != nil {
		return err
	}
	if n < b.N {
		// The batch ends with its last value, or with missing values after it.
		b.N = n
		b.Rows = b.until(n)
		if p.missing != nil {
			*p.missing = before
			if b.Present != nil {
				b.Present = b.Present[:b.Rows]
			}
			if err := p.missing.decode(b.levels[:b.Rows]); err != nil {
				return err
			}
		}
	}
	p.rows -= b.Rows
	r.done += b.Rows
	return nil
}

// present decodes the definition levels of the next rows: which of them have a value.
func (b *Batch) present(levels *hybrid, rows int) error {
	b.levels = resize(b.levels, rows)
	if levels.ones(rows) {
		return nil // all rows have a value
	}
	b.flags = resize(b.flags, rows)
	if err := levels.decode(b.levels); err != nil {
		return err
	}
	b.N = 0
	for i, level := range b.levels {
		b.flags[i] = level != 0
		b.N += int(level)
	}
	if b.N < rows {
		b.Present = b.flags
	}
	return nil
}

// until returns the number of rows of the batch before the row with value n, counted from 0.
func (b *Batch) until(n int) int {
	if b.Present == nil {
		return n
	}
	for i, is := range b.Present {
		if is {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(b.Present)
}

// values decodes the next b.N values of the current page and returns how many it decoded. The number is less
// than b.N if the values take too much memory for one batch.
func (r *Reader) values(b *Batch) (int, error) {
	p := r.page
	if b.N == 0 {
		return 0, nil
	}
	if p.encoding == rleDictionary || p.encoding == plainDictionary {
		b.index = resize(b.index, b.N)
		b.Indices = b.index
		return b.N, r.indices(b.Indices)
	}
	if p.values == nil {
		var err error
		if p.values, err = newValues(r.column.Type, p.encoding, p.b); err != nil {
			return 0, err
		}
		if p.values == nil {
			return 0, r.refuse(fmt.Sprintf("has values of encoding %d, not one of its type", p.encoding))
		}
	}
	return p.values.next(&b.Values, b.N)
}

// indices decodes the next values of a page that stores them as indices of dictionary entries.
func (r *Reader) indices(dst []int32) error {
	p := r.page
	if p.indices == nil {
		if r.dictionary.start == 0 || len(p.b) == 0 {
			return ErrDamaged
		}
		h, err := newHybrid(p.b[1:], uint(p.b[0]))
		if err != nil {
			return err
		}
		p.indices = &h
	}
	if err := p.indices.decode(dst); err != nil {
		return err
	}
	most := uint32(0)
	for _, i := range dst {
		most = max(most, uint32(i))
	}
	return exactly(most < uint32(r.entries))
}

// Dictionary calls take with consecutive entries of the dictionary until take has received all of them. Each
// call has n entries in v. left is an upper bound on the number of entries of this call and all later calls.
// It follows from the number of entries that the file states and from the number of bytes that were read.
// Dictionary may be called only after a batch with Indices. Entries are valid until take returns.
func (r *Reader) Dictionary(take func(v *Values, n, left int) error) error {
	b, err := r.contents(r.dictionary, r.group.entries)
	if err != nil {
		return err
	}
	r.group.entries = b
	// A byte array is preceded by its length in four bytes.
	possible := len(b) / max(r.column.Type.width(), 1)
	if r.column.Type.Kind == ByteArray {
		possible = len(b) / 4
	}
	entries, err := newValues(r.column.Type, plain, b)
	if err != nil {
		return err
	}
	if r.column.Type.Kind == Boolean {
		return ErrDamaged
	}
	var v Values
	for left := int(r.entries); left > 0; {
		n, err := entries.next(&v, min(left, batchRows))
		if err != nil {
			return err
		}
		if err := take(&v, n, min(left, possible)); err != nil {
			return err
		}
		left -= n
	}
	return nil
}
