// Package row holds encoded records: float32 features with a squared norm of at most MaxSquare and a float64 target, in
// blocks that fit a processor's cache. Of the features of a one-hot group only the index of the nonzero one is stored.
//
// A Source is a place where records are stored: a Table is in memory, a File also keeps rows on disk. The results of an
// engine must not depend on the source. Package rowtest has the tests that every source must pass, and
// engine/enginetest tests that engines give the same integers over each source.
package row

import (
	"errors"
	"fmt"
	"math"
)

// ErrUnread reports that stored rows could not be read back from the file in which they are kept. The
// error reveals neither which rows nor how many.
var ErrUnread = errors.New("curator: rows cannot be read back from where they are kept")

// MaxSquare is the largest squared Euclidean norm of a stored row. The norm is therefore at most 1 + 2^-23. Rows are
// encoded to norm at most 1. Rounding to float32 then multiplies the norm by at most 1 + 2^-24 and adds at most 2^-149
// for each coordinate. A row of larger norm does not come from the row map and is faulty.
const MaxSquare = 1 + 0x1p-22

// Lane is the number of coordinates that kernels process at a time. Strides are multiples of Lane. The
// numbers that pad a row to its stride are zero.
const Lane = 8

// Block is a sequence of rows of a layout: len(Targets) rows of Stride float32s each. If the layout has
// one-hot groups, the block also has a level for each row and a code for each group of a row. If the layout
// has hats, the values of curves' basis functions, the block also has the rows' edges. A faulty row has
// target NaN, zero numbers, level and hats, and the codes of the groups' first features.
type Block struct {
	Rows    []float32
	Targets []float64
	Levels  []float32
	Codes   Codes
	Edges   Edges
}

// Edges are the edges of rows, row by row. Hats are features that hold the values of the basis functions of a curve or
// surface. An edge is a pair of neighbouring hats. Only hats in an edge may be nonzero: a curve has one edge in each
// row, and a surface has two. Edge e has the left feature At[e], an index among the features of groups and hats, with
// the value By[2e]. The feature after At[e] has the value By[2e+1]. No two edges of a row have a feature in common.
type Edges struct {
	At []uint32
	By []float32
}

// Codes are the codes of rows' one-hot groups, row by row. A code is the index of a group's nonzero feature among the
// features of all groups. The codes are in Narrow if all codes of the layout fit in 16 bits, and in Wide otherwise.
type Codes struct {
	Narrow []uint16
	Wide   []uint32
}

func (c Codes) at(i int) int {
	if c.Wide != nil {
		return int(c.Wide[i])
	}
	return int(c.Narrow[i])
}

// faulty is the target of a faulty row.
var faulty = math.NaN()

// Source is an immutable sequence of rows, numbered from zero. It is safe for concurrent use.
type Source interface {
	// Len is the number of rows.
	Len() int
	// Layout returns the layout of the rows.
	Layout() *Layout
	// Blocks returns the number of blocks. The blocks, in order, hold every row once, in the order of
	// the row numbers. A block may be empty.
	Blocks() int
	// Reader returns a reader for one goroutine.
	Reader() Reader
	// Close releases the storage of the rows. Later reads may fail.
	Close() error
}

// Reader reads the rows of a source. It is for one goroutine at a time. Its only error is
// ErrUnread.
type Reader interface {
	// Block returns block i. The caller must not write to the block. The block is valid until the next call
	// of a method of this reader; other readers do not affect it.
	Block(i int) (Block, error)
	// Rows appends copies of rows to a block: the rows numbered by members, in the order of members. A row
	// that is in members several times is appended several times.
	Rows(b *Block, members []int32) error
}

// Table is an append-only list of rows in memory. Appends must not be concurrent. After the last append, reads may be
// concurrent. A Table is a Source, and a Reader of itself that returns blocks without copying.
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

// NewTable returns an empty table of rows with dim features, all of them numbers. blockRows is the number of rows of a
// block. 0 means as many rows as fit in the cache. blockRows affects speed only.
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
