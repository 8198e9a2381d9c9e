package row

import (
	"math/rand/v2"
	"testing"
	"time"
)

// filed returns a File of n rows, four in a block. Row i has target i. The given number of bytes of
// the rows is in memory.
func filed(t *testing.T, n int, bytes int64) *File {
	t.Helper()
	f, err := NewFile(3, 4, bytes, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := f.Append([]float32{.5, .25, 0}, float64(i), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Source(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// eager returns a reader that reads ahead however fast reads are.
func eager(f *File) *aheadReader {
	r := f.Reader().(*aheadReader)
	r.waiting = -1
	return r
}

// TestReadingAheadWaits tests that a block is begun in the background after one that took longer to read than the
// reader's limit, and not after others.
func TestReadingAheadWaits(t *testing.T) {
	f := filed(t, 12, 0)
	r := f.Reader().(*aheadReader)
	for _, waiting := range []time.Duration{time.Hour, -1, time.Hour, -1} {
		r.waiting = waiting
		if b, err := r.BlockAhead(0, 1); err != nil || b.Targets[0] != 0 {
			t.Fatalf("%v, %v", b, err)
		}
		if begun := r.begun == 1; begun != (waiting < 0) {
			t.Errorf("after a read longer than %v: begun: %v", waiting, begun)
		}
	}
}

// TestReadingAhead tests that the requested block is returned, whichever block the reader has begun
// to read ahead, and that it does not change while the next block is read.
func TestReadingAhead(t *testing.T) {
	f := filed(t, 4*20+3, 1000)
	if f.most == 0 || f.most == int64(f.n) {
		t.Fatalf("%d of %d rows are in memory", f.most, f.n)
	}
	r := eager(f)
	rng := rand.New(rand.NewPCG(1, 2))
	next := 0
	for range 500 {
		i := next
		if rng.IntN(4) == 0 {
			i = rng.IntN(f.Blocks()) // not the block that was begun
		}
		next = rng.IntN(f.Blocks())
		b, err := r.BlockAhead(i, []int{next, next, next, -1, f.Blocks()}[rng.IntN(5)])
		if err != nil {
			t.Fatal(err)
		}
		if r.begun >= 0 { // the read that was begun is finished
			r.read <- <-r.read
		}
		var m Block
		if rng.IntN(3) == 0 {
			if err := r.Rows(&m, []int32{int32(next)}); err != nil || m.Targets[0] != float64(next) {
				t.Fatalf("row %d: %v, %v", next, m.Targets, err)
			}
			continue // the last block was valid until this call
		}
		if len(b.Targets) != min(4, f.n-4*i) {
			t.Fatalf("block %d has %d rows", i, len(b.Targets))
		}
		for j, y := range b.Targets {
			if y != float64(4*i+j) {
				t.Fatalf("block %d: row %d is %v", i, j, y)
			}
		}
	}
}

// TestReadingAheadFails tests that an error of the file is returned, and that a block that was
// begun in the background is validated like any other.
func TestReadingAheadFails(t *testing.T) {
	f := filed(t, 12, 0)
	long := encoded(f.head.layout, 1, 1, 1, 1)
	if _, err := f.file.WriteAt(long, 5*int64(f.head.layout.size())); err != nil {
		t.Fatal(err)
	}
	r := eager(f)
	if _, err := r.BlockAhead(0, 1); err != nil {
		t.Fatal(err)
	}
	b, err := r.BlockAhead(1, 2)
	if err != nil || b.Targets[1] == b.Targets[1] || b.Rows[f.head.layout.Stride()] != 0 {
		t.Errorf("a longer row, read ahead: %v, %v", b, err)
	}
	if err := f.file.Truncate(3); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Reader().(Ahead).BlockAhead(0, 1); err != ErrUnread {
		t.Errorf("a block cut off: %v", err)
	}
	r = eager(f)
	r.begun = 2
	r.read <- fetched{err: ErrUnread}
	if _, err := r.Block(2); err != ErrUnread {
		t.Errorf("a block that could not be read ahead: %v", err)
	}
}

// encoded returns a row's encoding in the file.
func encoded(l *Layout, y float64, x ...float32) []byte {
	b := l.make(1)
	b.Rows = append(b.Rows, make([]float32, l.Stride())...)
	copy(b.Rows, x)
	b.Targets = append(b.Targets, y)
	return l.encode(nil, b)
}

// TestMemoryCountsEveryRow tests that the memory of the blocks in memory and the memory that engines need
// for every row, rows in the file included, together stay within the limit.
func TestMemoryCountsEveryRow(t *testing.T) {
	for _, n := range []int{1, 40, 41, 100, 400, 1000} {
		const bytes = 2000
		f := filed(t, n, bytes)
		l := f.head.layout
		if f.file == nil {
			if n*(l.rowBytes()+beside) > bytes {
				t.Errorf("%d rows of %d bytes are in memory", n, l.rowBytes()+beside)
			}
			continue
		}
		used := int64(len(f.head.blocks)*f.head.blockRows*l.rowBytes() + beside*n)
		if used > bytes && len(f.head.blocks) > 0 {
			t.Errorf("%d rows: %d bytes in memory: want at most %d", n, used, bytes)
		}
		if n == 100 && len(f.head.blocks) == 0 {
			t.Errorf("%d rows: nothing in memory", n)
		}
	}
}
