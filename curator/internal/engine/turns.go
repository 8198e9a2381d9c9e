package engine

import (
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// turns are a goroutine's turns at pieces that all goroutines take from one counter. Where
// rows are read ahead it has its next piece before it is done with the last.
type turns struct {
	next *atomic.Int64
	n    int
	// after is the piece of the next turn; n or more if there is none, -1 if it is not
	// taken yet.
	after int
	ahead bool
}

func turnsOf(next *atomic.Int64, n int, r row.Reader) turns {
	_, ahead := r.(row.Ahead)
	return turns{next: next, n: n, after: -1, ahead: ahead}
}

// take returns the piece of this turn, or that none is left.
func (t *turns) take() (i int, ok bool) {
	if i = t.after; i < 0 {
		i = int(t.next.Add(1)) - 1
	}
	if t.ahead && i < t.n {
		t.after = int(t.next.Add(1)) - 1
	}
	return i, i < t.n
}

// block reads block i, and has a reader that can begin with the next one.
func block(r row.Reader, i, next int) (row.Block, error) {
	if a, ok := r.(row.Ahead); ok {
		return a.BlockAhead(i, next)
	}
	return r.Block(i)
}
