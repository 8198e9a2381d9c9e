package engine

import (
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// turns assigns pieces of the rows to one goroutine, from a counter that all goroutines share. If
// rows are read ahead, the goroutine is assigned its next piece before it has finished the current
// one.
type turns struct {
	next *atomic.Int64
	n    int
	// after is the piece that is assigned for the next turn. It is n or more if no piece is left,
	// and -1 if the next piece is not assigned yet.
	after int
	ahead bool
}

func turnsOf(next *atomic.Int64, n int, r row.Reader) turns {
	_, ahead := r.(row.Ahead)
	return turns{next: next, n: n, after: -1, ahead: ahead}
}

// take returns the goroutine's next piece. ok is false if no piece is left.
func (t *turns) take() (i int, ok bool) {
	if i = t.after; i < 0 {
		i = int(t.next.Add(1)) - 1
	}
	if t.ahead && i < t.n {
		t.after = int(t.next.Add(1)) - 1
	}
	return i, i < t.n
}

// block reads block i. If the reader can read ahead, block also starts to read the block numbered next,
// provided that there is such a block.
func block(r row.Reader, i, next int) (row.Block, error) {
	if a, ok := r.(row.Ahead); ok {
		return a.BlockAhead(i, next)
	}
	return r.Block(i)
}
