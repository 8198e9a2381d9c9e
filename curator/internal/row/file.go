package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
)

// File is a list of rows that is partly in memory and partly in a private file. The first blocks
// are in memory. Only this user can read and write the file. Where the system allows it, the file
// has no name from the start and disappears when the last process that has it open ends, however
// that process ends. The file also contains the first blocks, since the number of blocks that fit
// in memory is known only when the number of rows is known.
//
// In the file, a row is its target, its numbers and, with one-hot groups, its level and codes, all
// little-endian. Rows without groups are stored with their padding. A row that is read back counts as
// faulty if no row map could have made it: if its squared norm exceeds MaxSquare, if a number is not
// finite, or if a code is outside its group. A damaged disk can therefore not change a sum by more than the
// sensitivity that is charged.
type File struct {
	head   *Table // the first blocks, all of them full
	most   int64  // largest number of rows in head
	memory int64  // largest number of bytes in memory
	dir    string
	n      int

	file *os.File // nil until Create or the first spill
	name string   // name to remove on closing; "" if the file has none
	// spilled means that some rows are in the file or in last.
	spilled bool
	// last holds rows that are not in the file yet, at most one block of them. bytes is scratch
	// memory for the encoding of rows to write.
	last   Block
	bytes  []byte
	closed sync.Once
}

// beside is the number of bytes of memory that the engine, which computes sums over the rows, needs for
// each row, wherever the row is stored. Engines store the row's length in a metric there.
const beside = 4

// NewFile returns an empty list of rows of dim features, all of them numbers. At most the given number of
// bytes of memory is used for whole blocks of rows and for the memory that engines need for every row.
// Buffers for writing and reading a block come in addition. The file is made in dir when the first row does
// not fit in memory. dir "" means the system's folder for temporary files. dim and blockRows are as in
// NewTable.
func NewFile(dim, blockRows int, bytes int64, dir string) (*File, error) {
	l, err := Dense(dim)
	if err != nil {
		return nil, err
	}
	return NewFileOf(l, blockRows, bytes, dir)
}

// NewFileOf returns an empty list of rows of any layout; the other arguments are as in NewFile.
func NewFileOf(l *Layout, blockRows int, bytes int64, dir string) (*File, error) {
	head, err := NewTableOf(l, blockRows)
	if err != nil {
		return nil, err
	}
	block := int64(head.blockRows) * int64(l.rowBytes()+beside)
	return &File{head: head, most: bytes / block * int64(head.blockRows), memory: bytes, dir: dir}, nil
}

// Append stores a copy of one record, as Table.Append does. An error is the system's error about
// the file.
func (f *File) Append(x []float32, y float64, ok bool) error {
	return f.AppendCoded(x, 0, nil, y, ok)
}

// AppendCoded stores a copy of one record, as Table.AppendCoded does. An error is the system's
// error about the file.
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

// Create makes the private file at once. Without Create, the file is made when the first row does not fit
// in memory. If Create is called before the first row, its failure reveals nothing about the number of
// rows.
func (f *File) Create() error {
	file, err := os.CreateTemp(f.dir, "rows-*") // mode 0600; never an existing file
	if err != nil {
		return fmt.Errorf("row: private file: %w", err)
	}
	f.file, f.name = file, file.Name()
	if os.Remove(f.name) == nil {
		f.name = ""
	}
	return nil
}

// spill writes the blocks in memory to the file, and makes the file if there is none. Later rows go
// to the file.
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

// Source returns the rows as a source: a Table if all rows fit in memory, and the File otherwise. No row may
// be appended afterwards.
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

// trim drops blocks from memory, to make room for the memory that engines need for each row. The
// file holds these blocks too.
func (f *File) trim() {
	block := int64(f.head.blockRows) * int64(f.head.layout.rowBytes())
	kept := min(max(f.memory-beside*int64(f.n), 0)/block, int64(len(f.head.blocks)))
	clear(f.head.blocks[kept:])
	f.head.blocks = f.head.blocks[:kept]
	f.most = kept * int64(f.head.blockRows)
}

// Len returns the number of rows.
func (f *File) Len() int { return f.n }

// Layout returns the layout of the rows.
func (f *File) Layout() *Layout { return f.head.layout }

// Blocks returns the number of blocks.
func (f *File) Blocks() int { return (f.n + f.head.blockRows - 1) / f.head.blockRows }

// Close closes the file and removes it if it still has a name.
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

// Reader returns a reader with its own buffers. It implements Ahead.
func (f *File) Reader() Reader { return newAheadReader(f) }

type fileReader struct {
	file  *File
	bytes []byte
	block Block
	in    []uint32 // codes of one row
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

// Rows adds copies of the rows numbered by members to b.
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

// read reads n rows from the file, the first of which is numbered first, and adds them to a block.
// read checks each row as Append does, and stores a row that fails as faulty. It returns ErrUnread
// if the file cannot be read.
func (r *fileReader) read(b *Block, first, n int) error {
	l := r.file.head.layout
	size := l.size()
	each := min(n, max(1, readBytes/size))
	if cap(r.bytes) < each*size {
		r.bytes = make([]byte, each*size)
	}
	for i := l.extend(b, n); n > 0; {
		each = min(each, n)
		bytes := r.bytes[:each*size]
		if _, err := r.file.file.ReadAt(bytes, int64(first)*int64(size)); err != nil {
			return ErrUnread
		}
		r.unpack(b, i, bytes)
		i, first, n = i+each, first+each, n-each
	}
	return nil
}

// readBytes is the number of bytes that are read from the file together. They stay in the second-level cache
// until they are decoded.
const readBytes = 64 << 10

// unpack decodes rows from the file's bytes and stores them in a block, from row i of the block on.
func (r *fileReader) unpack(b *Block, i int, bytes []byte) {
	l := r.file.head.layout
	if len(l.groups) == 0 {
		l.unpackRows(b, i, bytes)
		return
	}
	if r.in == nil {
		r.in = make([]uint32, len(l.groups))
	}
	for size := l.size(); len(bytes) > 0; i++ {
		x := b.Rows[i*l.Stride():][:l.dense] // the place where put stores the row's numbers
		level, y := l.decode(x, r.in, bytes[:size])
		l.put(b, i, x, level, r.in, y, true)
		bytes = bytes[size:]
	}
}

// encode appends the rows of a block to bytes, in the form of the private file. Each row takes size
// bytes.
func (l *Layout) encode(bytes []byte, b Block) []byte {
	little, groups := binary.LittleEndian, len(l.groups)
	for i, y := range b.Targets {
		bytes = little.AppendUint64(bytes, math.Float64bits(y))
		numbers := b.Rows[i*l.Stride():][:l.Stride()]
		if groups > 0 {
			numbers = numbers[:l.dense]
		}
		for _, v := range numbers {
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

// decode reads a row with one-hot groups from the bytes that the method encode wrote. A damaged code
// that is below its group's first code wraps around to a value outside the group.
func (l *Layout) decode(x []float32, in []uint32, bytes []byte) (level float32, y float64) {
	little := binary.LittleEndian
	y = math.Float64frombits(little.Uint64(bytes))
	bytes = bytes[8:]
	decodeFloats(x, bytes[:4*len(x)])
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

// decodeFloats sets x to the numbers in bytes, which has four bytes for each number. It loads eight bytes at
// a time.
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
