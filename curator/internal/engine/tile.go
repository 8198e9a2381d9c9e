package engine

import (
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// tileRows is the number of rows processed together. With the usual numbers of features, the rows
// of a tile, the point and the sums stay in the first-level cache.
const tileRows = 64

// tiling divides a table, or a list of its rows, into pieces of consecutive rows that goroutines take
// in any order.
type tiling struct {
	table   row.Source
	members []int32
	// measured holds the rows' lengths in a metric, nil without one.
	measured *lengths
	// steep is where the rows' squared slopes are if they are known, and otherwise where they are left. It is nil
	// if the query does neither.
	steep *steepness
	known bool
}

func (e *Portable) tiles(members []int32) tiling { return tiling{table: e.table, members: members} }

func (t tiling) len() int {
	if t.members == nil {
		return t.table.Blocks()
	}
	return (len(t.members) + tileRows - 1) / tileRows
}

// records returns the number of records in all pieces.
func (t tiling) records() int {
	if t.members == nil {
		return t.table.Len()
	}
	return len(t.members)
}

// at returns the rows of piece i: a block of the table, or a copy of the members' rows in the goroutine's
// scratch memory. next is the piece that the goroutine processes after i, or -1 if this is not known yet.
// If the query has a metric, at also sets p.long to the rows' lengths in the metric, and p.steep if the squares of
// their slopes are known or kept.
func (t tiling) at(i, next int, p *pass) (row.Block, error) {
	if t.members == nil {
		if t.measured != nil {
			p.long = t.measured.block(i)
		}
		if t.known { // nothing else of the rows is needed
			p.steep = t.steep.blocks[i]
			return row.Block{Targets: p.steep}, nil
		}
		b, err := block(p.reader, i, next)
		if t.steep != nil && err == nil {
			p.steep = t.steep.block(i, len(b.Targets))
		}
		return b, err
	}
	members := t.members[i*tileRows : min((i+1)*tileRows, len(t.members))]
	p.gathered.Clear()
	if err := p.reader.Rows(&p.gathered, members); err != nil {
		return row.Block{}, err
	}
	if t.measured != nil {
		p.long = t.measured.rows(members)
	}
	return p.gathered, nil
}

// writer expands stored rows to all their features. A stored row holds one index for each one-hot group and
// two values for each edge (row.Edges), without the zeros.
type writer struct {
	layout *row.Layout
	full   []float32
}

// out returns the rows of a tile with all their features, layout.Full float32s each.
func (w *writer) out(b row.Block) []float32 {
	if w.layout.Groups()+w.layout.Edges() == 0 {
		return b.Rows
	}
	if w.full == nil {
		w.full = make([]float32, tileRows*w.layout.Full())
	}
	x := w.full[:len(b.Targets)*w.layout.Full()]
	w.layout.WriteOut(x, b)
	return x
}

// turns assigns pieces of the rows to one goroutine, from a counter that all goroutines share. If rows are read ahead,
// the goroutine is assigned its next piece before it has finished the current one.
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
