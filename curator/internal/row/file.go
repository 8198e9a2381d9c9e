package row

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// File is a list of rows that is partly in memory and partly in a private file. The first blocks are in memory. Only
// this user can read and write the file. Where the system allows it, the file has no name from the start and disappears
// when the last process that has it open ends, however that process ends. The file also contains the first blocks,
// since the number of blocks that fit in memory is known only when the number of rows is known.
//
// In the file, a row is its target, its numbers and, with one-hot groups, its level and codes, all little-endian and
// without padding. A row that is read back counts as faulty if no row map could have made it: if its squared norm
// exceeds MaxSquare, if a number is not finite, or if a code is outside its group. A damaged disk can therefore not
// change a sum by more than the sensitivity that is charged.
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

// NewFile returns an empty list of rows of dim features, all of them numbers. At most the given number of bytes of
// memory is used for whole blocks of rows and for the memory that engines need for every row. Buffers for writing and
// reading a block come in addition. The file is made in dir when the first row does not fit in memory. dir "" means the
// system's folder for temporary files. dim and blockRows are as in NewTable.
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
func (f *File) Append(x []float32, y float64, ok bool) error { return f.AppendCoded(x, 0, nil, y, ok) }

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

// Create makes the private file at once. Without Create, the file is made when the first row does not fit in memory. If
// Create is called before the first row, its failure reveals nothing about the number of rows.
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
	// decoder decodes rows; nil before the first read.
	decoder *unpacker
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

// read reads n rows from the file, the first of which is numbered first, and adds them to a block. read checks each row
// as Append does, and stores a row that fails as faulty. It returns ErrUnread if the file cannot be read.
func (r *fileReader) read(b *Block, first, n int) error {
	l := r.file.head.layout
	size := l.size()
	each := min(n, max(1, readBytes/size))
	if len(r.bytes) < each*size+slack {
		r.bytes = make([]byte, each*size+slack)
	}
	if r.decoder == nil {
		r.decoder = newUnpacker(l)
	}
	for i := l.extend(b, n); n > 0; {
		each = min(each, n)
		if _, err := r.file.file.ReadAt(r.bytes[:each*size], int64(first)*int64(size)); err != nil {
			return ErrUnread
		}
		r.decoder.rows(b, i, each, r.bytes)
		i, first, n = i+each, first+each, n-each
	}
	return nil
}

// readBytes is the number of bytes that are read from the file together. They stay in the second-level cache
// until they are decoded.
const readBytes = 64 << 10

// Ahead is a Reader that can read the next block while its caller works on the current block.
type Ahead interface {
	Reader
	// BlockAhead returns block number i and begins to read the block numbered next in the background,
	// for the next call. BlockAhead begins nothing if there is no block with this number.
	BlockAhead(i, next int) (Block, error)
}

// aheadReader alternates between two readers: the caller holds the block of one reader while the
// other reader reads. It reads ahead only while reads wait for a disk: reading what the system holds in memory
// takes no longer than the goroutine and the second buffer would cost. A block that was begun and is not requested
// next is dropped. An aheadReader may be abandoned while a block is being read.
type aheadReader struct {
	now, then *fileReader
	begun     int // number of the block that the reader in field then is reading; -1 for none
	read      chan fetched
	// waits is true if the last block took longer to read than waiting.
	waits   bool
	waiting time.Duration
}

type fetched struct {
	block Block
	err   error
	took  time.Duration
}

func newAheadReader(f *File) *aheadReader {
	r := &aheadReader{now: &fileReader{file: f}, then: &fileReader{file: f}, begun: -1, read: make(chan fetched, 1)}
	// A gigabyte a second is a sixth of the speed of a copy from the system's memory.
	r.waiting = time.Duration(f.head.blockRows*f.head.layout.size()) * time.Second / 1e9
	return r
}

func (r *fileReader) fetch(i int) fetched {
	start := time.Now()
	b, err := r.Block(i)
	return fetched{b, err, time.Since(start)}
}

func (r *aheadReader) Block(i int) (Block, error) { return r.BlockAhead(i, -1) }

func (r *aheadReader) BlockAhead(i, next int) (Block, error) {
	got := r.take(i)
	r.waits = got.took > r.waiting
	if got.err == nil && r.waits && next >= 0 && next < r.now.file.Blocks() {
		r.begun = next
		then, read := r.then, r.read
		go func() { read <- then.fetch(next) }()
	}
	return got.block, got.err
}

// take returns block i. If block i is the one begun in the background, take waits for it; otherwise it reads
// block i.
func (r *aheadReader) take(i int) fetched {
	if r.begun < 0 {
		return r.now.fetch(i)
	}
	was, got := r.begun, <-r.read
	r.begun = -1
	if was != i {
		return r.now.fetch(i)
	}
	r.now, r.then = r.then, r.now
	return got
}

// Rows adds copies of the rows numbered by members to b. Rows does not disturb a block that is being
// read ahead, since that block has another buffer.
func (r *aheadReader) Rows(b *Block, members []int32) error { return r.now.Rows(b, members) }
