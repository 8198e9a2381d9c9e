package row

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// Grouped is a source whose records are groups of rows of another source. Each record holds the rows of one
// privacy unit in the form of package targetpair, one vector for all of them. Invalid (faulty) rows are left out
// of records, and a record without a valid row is faulty. Each row is stored once. A record is built when
// it is read. Every record has the length of a record with the largest number of rows.
type Grouped struct {
	of Source
	// format is the form in which rows are stored in a record.
	format targetpair.Rows
	// rows lists row numbers by record: record i has rows[first[i]:first[i+1]].
	rows, first []int32
	layout      *Layout
	blocks      int
}

// recordsABlock is the number of records in a block.
const recordsABlock = 64

// NewGrouped returns a source of len(first)-1 records. Record i has the rows with numbers
// rows[first[i]:first[i+1]], in that order. The argument most is the largest number of rows of a record.
// Closing the source of records also closes the source of rows.
func NewGrouped(of Source, most int, rows, first []int32) (*Grouped, error) {
	format := targetpair.Rows{Features: of.Layout().Dim(), Most: most}
	if err := format.Check(); err != nil {
		return nil, err
	}
	layout, err := Dense(format.Width())
	if err != nil {
		return nil, err
	}
	records := len(first) - 1
	return &Grouped{
		of: of, format: format, rows: rows, first: first,
		layout: layout, blocks: (records + recordsABlock - 1) / recordsABlock,
	}, nil
}

// Len returns the number of records.
func (g *Grouped) Len() int { return len(g.first) - 1 }

// Layout returns the layout of the records. All features of a record are numbers, in the order of
// the features, whatever the layout of the rows.
func (g *Grouped) Layout() *Layout { return g.layout }

// Blocks returns the number of blocks.
func (g *Grouped) Blocks() int { return g.blocks }

// Close closes the source of the rows.
func (g *Grouped) Close() error { return g.of.Close() }

// Reader returns a reader with its own buffers.
func (g *Grouped) Reader() Reader {
	return &groupedReader{g: g, of: g.of.Reader(), full: make([]float32, g.format.Most*g.of.Layout().Full())}
}

type groupedReader struct {
	g    *Grouped
	of   Reader
	rows Block // rows of one record; full has the same rows with all their features
	full []float32
	// block holds the records of a block.
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

// Rows builds the records numbered by members and adds them to b.
func (r *groupedReader) Rows(b *Block, members []int32) error {
	for _, m := range members {
		if err := r.read(b, int(m)); err != nil {
			return err
		}
	}
	return nil
}

// read builds record i and adds it to a block. The record's target is the number of its valid rows, or NaN
// if it has none.
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
		if math.Abs(y) <= targetpair.MostTarget { // false for NaN and for targets that no row map makes
			g.format.Put(record[:g.format.Width()], n, r.full[j*of.Full():][:of.Full()], y)
			n++
			target = float64(n)
		}
	}
	b.Targets = append(b.Targets, target)
	return nil
}
