package row

// Ahead is a Reader that can read the next block while its caller works on the current one.
type Ahead interface {
	Reader
	// BlockAhead returns Block(i) and begins to read block next, for the next call. It begins
	// nothing if there is no such block.
	BlockAhead(i, next int) (Block, error)
}

// aheadReader alternates between two readers: the caller holds the block of one while the other
// reads. A block that was begun and is not requested is dropped. Giving up the reader waits for
// nothing.
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

// take returns block i. It uses the block that was begun if that is block i.
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

// Rows reads into b. A block that is being read has another buffer.
func (r *aheadReader) Rows(b *Block, members []int32) error { return r.now.Rows(b, members) }
