package row

// Ahead is a Reader that reads a block while its caller works on another.
type Ahead interface {
	Reader
	// BlockAhead is Block(i), and begins with block next, which is asked for next;
	// with none, if there is no such block.
	BlockAhead(i, next int) (Block, error)
}

// aheadReader reads by two readers in turn: the caller has what the one returned while
// the other reads. What was begun and is not asked for is dropped; nothing waits for it
// when the reader is given up.
type aheadReader struct {
	now, then *fileReader
	begun     int // the block that then is reading; -1 for none
	read      chan fetched
}

type fetched struct {
	block Block
	err   error
}

func newAheadReader(f *File) *aheadReader {
	return &aheadReader{now: &fileReader{file: f}, then: &fileReader{file: f}, begun: -1, read: make(chan fetched, 1)}
}

func (r *aheadReader) Block(i int) (Block, error) { return r.BlockAhead(i, -1) }

func (r *aheadReader) BlockAhead(i, next int) (Block, error) {
	b, err := r.take(i)
	if err == nil && next >= 0 && next < r.now.file.Blocks() {
		r.begun = next
		then, read := r.then, r.read
		go func() {
			b, err := then.Block(next)
			read <- fetched{b, err}
		}()
	}
	return b, err
}

// take returns block i: what was begun, if it is that one.
func (r *aheadReader) take(i int) (Block, error) {
	if r.begun < 0 {
		return r.now.Block(i)
	}
	was, got := r.begun, <-r.read
	r.begun = -1
	if was != i {
		return r.now.Block(i)
	}
	r.now, r.then = r.then, r.now
	return got.block, got.err
}

// Rows reads while a block may be on its way, to another buffer.
func (r *aheadReader) Rows(b *Block, members []int32) error { return r.now.Rows(b, members) }
