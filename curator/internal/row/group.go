package row

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Grouped is the rows of another source, put together into records of several: those of
// a unit of privacy, as package carry lays them out. A record whose rows are all faulty,
// or that has none, is faulty; of others only the sound rows are in it. What is stored is
// each row once: records, which have room for as many rows as there may be, are put
// together as they are read.
type Grouped struct {
	of  Source
	lie carry.Rows
	// rows are the numbers of rows, record after record, from first[i] to first[i+1].
	rows, first    []int32
	stride, blocks int
}

// recordsABlock is the number of records put together at a time.
const recordsABlock = 64

// NewGrouped returns a source of len(first)-1 records: record i is the rows of which the
// numbers are rows[first[i]:first[i+1]], at most as many as there is room for, in that
// order. It closes the source that it is made of.
func NewGrouped(of Source, most int, rows, first []int32) (*Grouped, error) {
	lie := carry.Rows{Features: of.Dim(), Most: most}
	if err := lie.Check(); err != nil {
		return nil, err
	}
	records := len(first) - 1
	return &Grouped{
		of: of, lie: lie, rows: rows, first: first,
		stride: padded(lie.Width()), blocks: (records + recordsABlock - 1) / recordsABlock,
	}, nil
}

// Len returns the number of records.
func (g *Grouped) Len() int { return len(g.first) - 1 }

// Dim returns the number of features of a record.
func (g *Grouped) Dim() int { return g.lie.Width() }

// Stride returns the number of float32s from one record of a block to the next.
func (g *Grouped) Stride() int { return g.stride }

// Blocks returns the number of blocks.
func (g *Grouped) Blocks() int { return g.blocks }

// Close closes what the rows are kept in.
func (g *Grouped) Close() error { return g.of.Close() }

// Reader returns a reader with buffers of its own.
func (g *Grouped) Reader() Reader {
	return &groupedReader{g: g, of: g.of.Reader(), x: make([][]float32, g.lie.Most), y: make([]float64, g.lie.Most)}
}

type groupedReader struct {
	g     *Grouped
	of    Reader
	x     [][]float32 // the rows of one record
	y     []float64
	block Block
}

// Block returns block i.
func (r *groupedReader) Block(i int) (Block, error) {
	from := i * recordsABlock
	n := min(recordsABlock, r.g.Len()-from)
	r.room(n)
	for k := range n {
		if err := r.read(k, from+k); err != nil {
			return Block{}, err
		}
	}
	return r.block, nil
}

// Rows finds the members' records.
func (r *groupedReader) Rows(x [][]float32, y []float64, members []int32) error {
	r.room(len(members))
	for k, m := range members {
		if err := r.read(k, int(m)); err != nil {
			return err
		}
		x[k], y[k] = r.block.Rows[k*r.g.stride:(k+1)*r.g.stride], r.block.Targets[k]
	}
	return nil
}

// room makes room for n records.
func (r *groupedReader) room(n int) {
	if cap(r.block.Targets) < n {
		r.block = Block{Rows: make([]float32, n*r.g.stride), Targets: make([]float64, n)}
	}
	r.block = Block{Rows: r.block.Rows[:n*r.g.stride], Targets: r.block.Targets[:n]}
}

// read puts record i together at place k of the block.
func (r *groupedReader) read(k, i int) error {
	g := r.g
	rows := g.rows[g.first[i]:g.first[i+1]]
	if err := r.of.Rows(r.x, r.y, rows); err != nil {
		return err
	}
	record := r.block.Rows[k*g.stride : (k+1)*g.stride]
	clear(record)
	n := 0
	for j := range rows {
		if y := r.y[j]; math.Abs(y) <= carry.MostTarget { // not NaN, and no other than row maps make
			g.lie.Put(record[:g.lie.Width()], n, r.x[j], y)
			n++
		}
	}
	r.block.Targets[k] = float64(n)
	if n == 0 {
		r.block.Targets[k] = math.NaN()
	}
	return nil
}
