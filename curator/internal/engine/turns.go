package engine

import (
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// turns assigns pieces to a goroutine, from a counter that all goroutines share. If rows are read
// ahead, the goroutine takes its next piece before it has finished the current one.
type turns struct {
	next *atomic.Int64
	n    int
	// after is the piece of the next turn. It is at least n if there is none, and -1 if it is not
	// taken yet.
	after int
	ahead bool
}

func turnsOf(next *atomic.Int64, n int, r row.Reader) turns {
	_, ahead := r.(row.Ahead)
	return turns{next: next, n: n, after: -1, ahead: ahead}
}

// take returns the piece of this turn. ok is false if none is left.
func (t *turns) take() (i int, ok bool) {
	if i = t.after; i < 0 {
		i = int(t.next.Add(1)) - 1
	}
	if t.ahead && i < t.n {
		t.after = int(t.next.Add(1)) - 1
	}
	return i, i < t.n
}

// block reads block i. A reader that can read ahead starts to read block next.
func block(r row.Reader, i, next int) (row.Block, error) {
	if a, ok := r.(row.Ahead); ok {
		return a.BlockAhead(i, next)
	}
	return r.Block(i)
}
