package row

import "time"

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
