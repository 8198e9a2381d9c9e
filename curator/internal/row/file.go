package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
)

// File is a list of rows of which the first blocks are in memory and the others in
// a private file: readable and writable by this user alone, and without a name
// from the moment it is made, where the system allows that. It goes when the last
// who holds it open is gone, however that ends. The file has the first blocks, too: how
// many of them memory has room for is known when the number of rows is.
//
// In the file a row is its target, its numbers and, where there are groups, its level
// and codes, little-endian; padding is not stored. A row that comes back as what no row
// map makes, a longer one, one that is not finite or one with a code that is none of
// its group, is faulty: sums move by no more than is charged, whatever the disk gives
// back.
type File struct {
	head   *Table // the first blocks, whole ones
	most   int64  // the number of rows of head, at most
	memory int64  // the number of bytes that may be kept in memory
	dir    string
	n      int

	file *os.File // nil while none is needed, unless Create made it
	name string   // to be removed on closing; "" if it is gone
	// spilled says that some rows are in the file, or are to be.
	spilled bool
	// last holds rows that are not in the file yet, at most a block of them, and bytes
	// what is to be written of them.
	last   Block
	bytes  []byte
	closed sync.Once
}

// beside is the number of bytes of memory that engines take for each row, wherever it is:
// its length in a metric.
const beside = 4

// NewFile returns an empty list of rows of dim features, all of them numbers, of which
// at most so many bytes are kept in memory: whole blocks, less what engines take beside
// every row. The file is made in
// dir, "" for the system's folder for temporary files, when the first row does not fit.
// dim and blockRows are as in NewTable.
func NewFile(dim, blockRows int, bytes int64, dir string) (*File, error) {
	l, err := Dense(dim)
	if err != nil {
		return nil, err
	}
	return NewFileOf(l, blockRows, bytes, dir)
}

// NewFileOf is NewFile for rows of a layout.
func NewFileOf(l *Layout, blockRows int, bytes int64, dir string) (*File, error) {
	head, err := NewTableOf(l, blockRows)
	if err != nil {
		return nil, err
	}
	block := int64(head.blockRows) * int64(l.room()+beside)
	return &File{head: head, most: bytes / block * int64(head.blockRows), memory: bytes, dir: dir}, nil
}

// Append stores a copy of one record as Table.Append does. Errors are the
// system's, about the file.
func (f *File) Append(x []float32, y float64, ok bool) error {
	return f.AppendCoded(x, 0, nil, y, ok)
}

// AppendCoded stores a copy of one record as Table.AppendCoded does.
func (f *File) AppendCoded(x []float32, level float32, in []uint32, y float64, ok bool) error {
	f.n++
	if int64(f.n) <= f.most {
		f.head.AppendCoded(x, level, in, y, ok)
		return nil
	}
	if !f.spilled {
		if err := f.spill(); err != nil {
			return err
		}
	}
	f.head.layout.add(&f.last, x, level, in, y, ok)
	if len(f.last.Targets) < f.head.blockRows {
		return nil
	}
	return f.flush()
}

// Create makes the file while everything is in memory still. Whether it can be made then
// tells nothing of how many rows there are.
func (f *File) Create() error {
	file, err := os.CreateTemp(f.dir, "rows-*") // mode 0600, and no file that was there
	if err != nil {
		return fmt.Errorf("row: private file: %w", err)
	}
	f.file, f.name = file, file.Name()
	if os.Remove(f.name) == nil {
		f.name = ""
	}
	return nil
}

// spill writes the blocks that are in memory to the file, which the next rows go to.
func (f *File) spill() error {
	if f.file == nil {
		if err := f.Create(); err != nil {
			return err
		}
	}
	for _, b := range f.head.blocks {
		if err := f.write(b); err != nil {
			return err
		}
	}
	f.last, f.spilled = f.head.layout.make(f.head.blockRows), true
	return nil
}

func (f *File) flush() error {
	defer f.last.Clear()
	return f.write(f.last)
}

func (f *File) write(b Block) error {
	f.bytes = f.head.layout.encode(f.bytes[:0], b)
	if _, err := f.file.Write(f.bytes); err != nil {
		return fmt.Errorf("row: private file: %w", err)
	}
	return nil
}

// Source returns the rows, to which none is appended any more: a Table if all of
// them fit in memory.
func (f *File) Source() (Source, error) {
	if !f.spilled {
		return f.head, f.Close()
	}
	if err := f.flush(); err != nil {
		return nil, err
	}
	f.last, f.bytes = Block{}, nil
	f.trim()
	return f, nil
}

// trim gives up blocks in memory for what engines take beside the rows in the file.
func (f *File) trim() {
	block := int64(f.head.blockRows) * int64(f.head.layout.room())
	kept := min(max(f.memory-beside*int64(f.n), 0)/block, int64(len(f.head.blocks)))
	clear(f.head.blocks[kept:])
	f.head.blocks = f.head.blocks[:kept]
	f.most = kept * int64(f.head.blockRows)
}

// Len returns the number of rows.
func (f *File) Len() int { return f.n }

// Layout says how rows are kept.
func (f *File) Layout() *Layout { return f.head.layout }

// Blocks returns the number of blocks.
func (f *File) Blocks() int { return (f.n + f.head.blockRows - 1) / f.head.blockRows }

// Close closes the file, and removes it where that was not possible before.
func (f *File) Close() (err error) {
	f.closed.Do(func() {
		if f.file == nil {
			return
		}
		err = f.file.Close()
		if f.name != "" {
			err = os.Remove(f.name)
		}
	})
	return err
}

// Reader returns a reader with buffers of its own, which is an Ahead.
func (f *File) Reader() Reader { return newAheadReader(f) }

type fileReader struct {
	file  *File
	bytes []byte
	block Block
	in    []uint32 // one row's
}

// Block returns block i.
func (r *fileReader) Block(i int) (Block, error) {
	f := r.file
	first := i * f.head.blockRows
	if int64(first) < f.most {
		return f.head.Block(i)
	}
	r.block.Clear()
	if err := r.read(&r.block, first, min(f.head.blockRows, f.n-first)); err != nil {
		return Block{}, err
	}
	return r.block, nil
}

// Rows copies the members' rows.
func (r *fileReader) Rows(b *Block, members []int32) error {
	for _, m := range members {
		if int64(m) < r.file.most {
			r.file.head.copyRow(b, int(m))
		} else if err := r.read(b, int(m), 1); err != nil {
			return err
		}
	}
	return nil
}

// read reads n rows from the given one on and adds them to a block. They are checked
// as what is appended.
func (r *fileReader) read(b *Block, first, n int) error {
	l := r.file.head.layout
	size := l.size()
	if cap(r.bytes) < n*size {
		r.bytes = make([]byte, n*size)
	}
	bytes := r.bytes[:n*size]
	if _, err := r.file.file.ReadAt(bytes, int64(first)*int64(size)); err != nil {
		return ErrUnread
	}
	if r.in == nil {
		r.in = make([]uint32, len(l.groups))
	}
	for i := l.extend(b, n); len(bytes) > 0; i++ {
		x := b.Rows[i*l.Stride():][:l.dense] // where put leaves it
		level, y := l.decode(x, r.in, bytes[:size])
		l.put(b, i, x, level, r.in, y, true)
		bytes = bytes[size:]
	}
	return nil
}

// encode adds the rows of a block to bytes, of size each.
func (l *Layout) encode(bytes []byte, b Block) []byte {
	little, groups := binary.LittleEndian, len(l.groups)
	for i, y := range b.Targets {
		bytes = little.AppendUint64(bytes, math.Float64bits(y))
		for _, v := range b.Rows[i*l.Stride():][:l.dense] {
			bytes = little.AppendUint32(bytes, math.Float32bits(v))
		}
		if groups == 0 {
			continue
		}
		bytes = little.AppendUint32(bytes, math.Float32bits(b.Levels[i]))
		for g := range groups {
			if code := b.Codes.at(i*groups + g); l.wide() {
				bytes = little.AppendUint32(bytes, uint32(code))
			} else {
				bytes = little.AppendUint16(bytes, uint16(code))
			}
		}
	}
	return bytes
}

// decode reads a row that encode wrote. A code before its group's first wraps around
// and is as much beyond it as one after the last.
func (l *Layout) decode(x []float32, in []uint32, bytes []byte) (level float32, y float64) {
	little := binary.LittleEndian
	y = math.Float64frombits(little.Uint64(bytes))
	bytes = bytes[8:]
	decodeFloats(x, bytes[:4*len(x)])
	if len(in) == 0 {
		return 0, y
	}
	bytes = bytes[4*len(x):]
	level = math.Float32frombits(little.Uint32(bytes))
	bytes = bytes[4:]
	if l.wide() {
		for g := range in {
			in[g] = little.Uint32(bytes[4*g:]) - uint32(l.starts[g])
		}
		return level, y
	}
	for g := range in {
		in[g] = uint32(little.Uint16(bytes[2*g:])) - uint32(l.starts[g])
	}
	return level, y
}

// decodeFloats sets x to the numbers in bytes, four of each's, two at a time.
func decodeFloats(x []float32, bytes []byte) {
	for len(x) >= 4 && len(bytes) >= 16 {
		a, b := binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint64(bytes[8:])
		x[0], x[1] = math.Float32frombits(uint32(a)), math.Float32frombits(uint32(a>>32))
		x[2], x[3] = math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32))
		x, bytes = x[4:], bytes[16:]
	}
	for j := range x {
		x[j] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*j:]))
	}
}
