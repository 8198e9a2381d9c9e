package row

import (
	"fmt"
	"math"
)

// Table is an append-only list of rows in memory. Appends must not be concurrent. After the last
// append, reads may be concurrent. A Table is a Source, and a Reader of itself that returns blocks
// without copying.
type Table struct {
	layout    *Layout
	blockRows int
	blocks    []Block
	n         int
}

// blockBytes is the intended size of the features of a block: half of a small second-level cache.
const blockBytes = 256 << 10

// tileRows is the number of rows that engines process together. Blocks of more rows hold a multiple of it.
const tileRows = 64

// NewTable returns an empty table of rows with dim features, all of them numbers. blockRows is the
// number of rows of a block. 0 means as many rows as fit in the cache. blockRows affects speed
// only.
func NewTable(dim, blockRows int) (*Table, error) {
	l, err := Dense(dim)
	if err != nil {
		return nil, err
	}
	return NewTableOf(l, blockRows)
}

// NewTableOf returns an empty table of rows of any layout; blockRows is as in NewTable.
func NewTableOf(l *Layout, blockRows int) (*Table, error) {
	if blockRows < 0 || blockRows > math.MaxInt32 {
		return nil, fmt.Errorf("row: block rows = %d: must be between 0 and 2^31-1", blockRows)
	}
	if blockRows == 0 {
		if blockRows = max(1, blockBytes/(l.rowBytes()-8)); blockRows > tileRows {
			blockRows = blockRows / tileRows * tileRows
		}
	}
	return &Table{layout: l, blockRows: blockRows}, nil
}

// Append stores a copy of one record of a layout without one-hot groups. x has a number for each feature. A
// record is stored as faulty if ok is false (no row could be made), if x has another length, if its squared
// norm exceeds MaxSquare or is not finite, or if its target is not finite. Append does not report that a
// record is faulty, since this is secret.
func (t *Table) Append(x []float32, y float64, ok bool) { t.AppendCoded(x, 0, nil, y, ok) }

// AppendCoded stores a copy of one record of a layout with one-hot groups. x has the numbers, and level is
// the value of the nonzero features of groups. The argument in has, for each group, the index of its
// nonzero feature, counted from the group's first feature. A record is stored as faulty for the reasons
// that Append names, and if a code is outside its group.
func (t *Table) AppendCoded(x []float32, level float32, in []uint32, y float64, ok bool) {
	if len(t.blocks) == 0 || len(t.blocks[len(t.blocks)-1].Targets) == t.blockRows {
		t.blocks = append(t.blocks, t.layout.make(t.blockRows))
	}
	t.layout.add(&t.blocks[len(t.blocks)-1], x, level, in, y, ok)
	t.n++
}

// Len returns the number of rows.
func (t *Table) Len() int { return t.n }

// Layout returns the layout of the rows.
func (t *Table) Layout() *Layout { return t.layout }

// Blocks returns the number of blocks.
func (t *Table) Blocks() int { return len(t.blocks) }

// Reader returns the table.
func (t *Table) Reader() Reader { return t }

// Close does nothing.
func (t *Table) Close() error { return nil }

// Block returns block i without copying it.
func (t *Table) Block(i int) (Block, error) { return t.blocks[i], nil }

// Rows appends copies of the rows numbered by members to b.
func (t *Table) Rows(b *Block, members []int32) error {
	for _, m := range members {
		t.copyRow(b, int(m))
	}
	return nil
}

func (t *Table) copyRow(b *Block, i int) {
	r := i % t.blockRows
	b.Append(t.layout.Cut(t.blocks[i/t.blockRows], r, r+1))
}
