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
// who holds it open is gone, however that ends.
//
// In the file a row is its target and its Dim features, little-endian, 8 + 4 Dim
// bytes; padding is not stored. A row that comes back as what no row map makes, a
// longer one or one that is not finite, is faulty: sums move by no more than is
// charged, whatever the disk gives back.
type File struct {
	head *Table // the first blocks, whole ones
	most int64  // the number of rows of head, at most
	dir  string
	n    int

	file *os.File // nil while everything is in memory
	name string   // to be removed on closing; "" if it is gone
	// last holds rows that are not in the file yet, at most a block of them.
	last   []byte
	closed sync.Once
}

// NewFile returns an empty list of rows of which at most so many bytes are kept in
// memory: whole blocks of them. The file is made in dir, "" for the system's
// folder for temporary files, when the first row does not fit. dim and blockRows
// are as in NewTable.
func NewFile(dim, blockRows int, bytes int64, dir string) (*File, error) {
	head, err := NewTable(dim, blockRows)
	if err != nil {
		return nil, err
	}
	block := int64(head.blockRows) * int64(4*head.stride+8)
	return &File{head: head, most: bytes / block * int64(head.blockRows), dir: dir}, nil
}

// Append stores a copy of one record as Table.Append does. Errors are the
// system's, about the file.
func (f *File) Append(x []float32, y float64, ok bool) error {
	if int64(f.n) < f.most {
		f.head.Append(x, y, ok)
		f.n++
		return nil
	}
	if f.file == nil {
		if err := f.create(); err != nil {
			return err
		}
	}
	ok = ok && len(x) == f.head.dim && admissible(x, y)
	if !ok {
		y = math.NaN()
	}
	f.last = binary.LittleEndian.AppendUint64(f.last, math.Float64bits(y))
	for j := range f.head.dim {
		var v float32
		if ok {
			v = x[j]
		}
		f.last = binary.LittleEndian.AppendUint32(f.last, math.Float32bits(v))
	}
	f.n++
	if len(f.last) < f.head.blockRows*f.size() {
		return nil
	}
	return f.flush()
}

// size is the number of bytes of a row in the file.
func (f *File) size() int { return 8 + 4*f.head.dim }

func (f *File) create() error {
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

func (f *File) flush() error {
	_, err := f.file.Write(f.last)
	f.last = f.last[:0]
	if err != nil {
		return fmt.Errorf("row: private file: %w", err)
	}
	return nil
}

// Source returns the rows, to which none is appended any more: a Table if all of
// them fit in memory.
func (f *File) Source() (Source, error) {
	if f.file == nil {
		return f.head, nil
	}
	if err := f.flush(); err != nil {
		return nil, err
	}
	f.last = nil
	return f, nil
}

// Len returns the number of rows.
func (f *File) Len() int { return f.n }

// Dim returns the number of features.
func (f *File) Dim() int { return f.head.dim }

// Stride returns the number of float32s from one row of a block to the next.
func (f *File) Stride() int { return f.head.stride }

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

// Reader returns a reader with buffers of its own.
func (f *File) Reader() Reader { return &fileReader{file: f} }

type fileReader struct {
	file  *File
	bytes []byte
	block Block
}

// Block returns block i.
func (r *fileReader) Block(i int) (Block, error) {
	f := r.file
	first := i * f.head.blockRows
	if int64(first) < f.most {
		return f.head.Block(i)
	}
	n := min(f.head.blockRows, f.n-first)
	r.room(n)
	if err := r.read(0, first, n); err != nil {
		return Block{}, err
	}
	return r.block, nil
}

// Rows finds the members' rows.
func (r *fileReader) Rows(x [][]float32, y []float64, members []int32) error {
	r.room(len(members))
	stride := r.file.head.stride
	for i, m := range members {
		if int64(m) < r.file.most {
			x[i], y[i] = r.file.head.row(int(m))
			continue
		}
		if err := r.read(i, int(m), 1); err != nil {
			return err
		}
		x[i], y[i] = r.block.Rows[i*stride:(i+1)*stride], r.block.Targets[i]
	}
	return nil
}

// room makes room for n rows.
func (r *fileReader) room(n int) {
	if stride := r.file.head.stride; cap(r.block.Targets) < n {
		r.block = Block{Rows: make([]float32, n*stride), Targets: make([]float64, n)}
	} else {
		r.block = Block{Rows: r.block.Rows[:n*stride], Targets: r.block.Targets[:n]}
	}
}

// read reads n rows from the given one on into the block, from row at on.
func (r *fileReader) read(at, first, n int) error {
	size, dim, stride := r.file.size(), r.file.head.dim, r.file.head.stride
	if cap(r.bytes) < n*size {
		r.bytes = make([]byte, n*size)
	}
	b := r.bytes[:n*size]
	if _, err := r.file.file.ReadAt(b, (int64(first)-r.file.most)*int64(size)); err != nil {
		return ErrUnread
	}
	for i := at; i < at+n; i++ {
		x := r.block.Rows[i*stride:][:dim]
		y := math.Float64frombits(binary.LittleEndian.Uint64(b))
		features := b[8:size]
		for j := range x {
			x[j] = math.Float32frombits(binary.LittleEndian.Uint32(features[4*j:]))
		}
		if !admissible(x, y) {
			y = math.NaN()
			clear(x)
		}
		r.block.Targets[i] = y
		b = b[size:]
	}
	return nil
}
