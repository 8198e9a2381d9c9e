package row

import (
	"math"
	"slices"

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
	rows, first []int32
	layout      *Layout
	blocks      int
}

// recordsABlock is the number of records put together at a time.
const recordsABlock = 64

// NewGrouped returns a source of len(first)-1 records: record i is the rows of which the
// numbers are rows[first[i]:first[i+1]], at most as many as there is room for, in that
// order. It closes the source that it is made of.
func NewGrouped(of Source, most int, rows, first []int32) (*Grouped, error) {
	lie := carry.Rows{Features: of.Layout().Dim(), Most: most}
	if err := lie.Check(); err != nil {
		return nil, err
	}
	layout, err := Dense(lie.Width())
	if err != nil {
		return nil, err
	}
	records := len(first) - 1
	return &Grouped{
		of: of, lie: lie, rows: rows, first: first,
		layout: layout, blocks: (records + recordsABlock - 1) / recordsABlock,
	}, nil
}

// Len returns the number of records.
func (g *Grouped) Len() int { return len(g.first) - 1 }

// Layout says how records are put together: of numbers, in the order of the features,
// whatever the rows are kept as.
func (g *Grouped) Layout() *Layout { return g.layout }

// Blocks returns the number of blocks.
func (g *Grouped) Blocks() int { return g.blocks }

// Close closes what the rows are kept in.
func (g *Grouped) Close() error { return g.of.Close() }

// Reader returns a reader with buffers of its own.
func (g *Grouped) Reader() Reader {
	return &groupedReader{g: g, of: g.of.Reader(), full: make([]float32, g.lie.Most*g.of.Layout().Full())}
}

type groupedReader struct {
	g    *Grouped
	of   Reader
	rows Block // of one record, and with all their features
	full []float32
	// The records of a block.
	block Block
}

// Block returns block i.
func (r *groupedReader) Block(i int) (Block, error) {
	r.block.Clear()
	for k := i * recordsABlock; k < min((i+1)*recordsABlock, r.g.Len()); k++ {
		if err := r.read(&r.block, k); err != nil {
			return Block{}, err
		}
	}
	return r.block, nil
}

// Rows puts the members' records together.
func (r *groupedReader) Rows(b *Block, members []int32) error {
	for _, m := range members {
		if err := r.read(b, int(m)); err != nil {
			return err
		}
	}
	return nil
}

// read puts record i together and adds it to a block.
func (r *groupedReader) read(b *Block, i int) error {
	g, of := r.g, r.g.of.Layout()
	rows := g.rows[g.first[i]:g.first[i+1]]
	r.rows.Clear()
	if err := r.of.Rows(&r.rows, rows); err != nil {
		return err
	}
	of.WriteOut(r.full[:len(rows)*of.Full()], r.rows)
	at, stride := len(b.Rows), g.layout.Stride()
	b.Rows = slices.Grow(b.Rows, stride)[:at+stride]
	record := b.Rows[at:]
	clear(record)
	n, target := 0, faulty
	for j, y := range r.rows.Targets {
		if math.Abs(y) <= carry.MostTarget { // not NaN, and no other than row maps make
			g.lie.Put(record[:g.lie.Width()], n, r.full[j*of.Full():][:of.Full()], y)
			n++
			target = float64(n)
		}
	}
	b.Targets = append(b.Targets, target)
	return nil
}
