package row

import (
	"fmt"
	"math"
)

// Table is an append-only list of rows in memory. It is not safe for concurrent
// appends; reads may be concurrent once appending is over. It is a Source, and a
// Reader of itself: nothing is copied.
type Table struct {
	dim, stride, blockRows int
	blocks                 []Block
	n                      int
}

// blockBytes is the size aimed at for the features of a block: half of a small
// second-level cache.
const blockBytes = 256 << 10

// NewTable returns an empty table of rows with dim features. blockRows is the
// number of rows of a block, 0 for as many as fit the cache. The choice changes
// speed only.
func NewTable(dim, blockRows int) (*Table, error) {
	if dim < 1 || dim > 1<<24 {
		return nil, fmt.Errorf("row: dimension = %d: must be between 1 and 2^24", dim)
	}
	if blockRows < 0 || blockRows > math.MaxInt32 {
		return nil, fmt.Errorf("row: block rows = %d: must be between 0 and 2^31-1", blockRows)
	}
	stride := padded(dim)
	if blockRows == 0 {
		blockRows = max(1, blockBytes/(4*stride))
	}
	return &Table{dim: dim, stride: stride, blockRows: blockRows}, nil
}

// padded returns the stride of rows with dim features.
func padded(dim int) int { return (dim + Lane - 1) / Lane * Lane }

// Append stores a copy of one record. x has dim features; ok is false for a record
// whose row could not be made, which is stored as faulty. So is a row whose
// squared norm exceeds MaxSquare or is not finite, and a row whose target is not
// finite. What is found is not reported: a fault of a record is a secret.
func (t *Table) Append(x []float32, y float64, ok bool) {
	if len(t.blocks) == 0 || len(t.blocks[len(t.blocks)-1].Targets) == t.blockRows {
		t.blocks = append(t.blocks, Block{
			Rows:    make([]float32, 0, t.blockRows*t.stride),
			Targets: make([]float64, 0, t.blockRows),
		})
	}
	b := &t.blocks[len(t.blocks)-1]
	at := len(b.Rows)
	b.Rows = b.Rows[:at+t.stride]
	if ok && len(x) == t.dim && admissible(x, y) {
		copy(b.Rows[at:], x)
	} else {
		y = math.NaN()
	}
	b.Targets = append(b.Targets, y)
	t.n++
}

// admissible reports whether a row's target is finite and its squared norm at
// most MaxSquare. The square of a float32 is exact in float64 and cannot overflow;
// the sum's relative error, below (dim+1) 2^-53, is far inside the slack between
// 2^-24 and 2^-22.
func admissible(x []float32, y float64) bool {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return false
	}
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum <= MaxSquare
}

// Len returns the number of rows.
func (t *Table) Len() int { return t.n }

// Dim returns the number of features.
func (t *Table) Dim() int { return t.dim }

// Stride returns the number of float32s from one row to the next.
func (t *Table) Stride() int { return t.stride }

// Blocks returns the number of blocks.
func (t *Table) Blocks() int { return len(t.blocks) }

// Reader returns the table.
func (t *Table) Reader() Reader { return t }

// Close does nothing.
func (t *Table) Close() error { return nil }

// Block returns block i, shared.
func (t *Table) Block(i int) (Block, error) { return t.blocks[i], nil }

// Rows finds the members' rows, shared.
func (t *Table) Rows(x [][]float32, y []float64, members []int32) error {
	for i, m := range members {
		x[i], y[i] = t.row(int(m))
	}
	return nil
}

func (t *Table) row(i int) ([]float32, float64) {
	b := &t.blocks[i/t.blockRows]
	r := i % t.blockRows
	return b.Rows[r*t.stride : (r+1)*t.stride], b.Targets[r]
}
