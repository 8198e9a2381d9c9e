// Package row holds encoded records: float32 features with a squared norm of at most MaxSquare and
// a float64 target, in blocks that fit a processor's cache. Of the features of a one-hot group only
// the index of the nonzero one is stored.
//
// A Source is a place where records are stored: a Table is in memory, a File also keeps rows on
// disk. The results of an engine must not depend on the source. Package rowtest has the tests that
// every source must pass, and engine/enginetest tests that engines give the same integers over each
// source.
package row

import (
	"errors"
	"math"
)

// ErrUnread reports that stored rows could not be read back from the file in which they are kept. The
// error reveals neither which rows nor how many.
var ErrUnread = errors.New("curator: rows cannot be read back from where they are kept")

// MaxSquare is the largest squared Euclidean norm of a stored row. The norm is therefore at most 1
// + 2^-23. Rows are encoded to norm at most 1. Rounding to float32 then multiplies the norm by at
// most 1 + 2^-24 and adds at most 2^-149 for each coordinate. A row of larger norm does not come
// from the row map and is faulty.
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

// Edges are the edges of rows, row by row. Hats are features that hold the values of the basis functions of
// a curve or surface. An edge is a pair of neighbouring hats. Only hats in an edge may be nonzero: a curve
// has one edge in each row, and a surface has two. Edge e has the left feature At[e], an index among the
// features of groups and hats, with the value By[2e]. The feature after At[e] has the value By[2e+1]. No
// two edges of a row have a feature in common.
type Edges struct {
	At []uint32
	By []float32
}

// Codes are the codes of rows' one-hot groups, row by row. A code is the index of a group's nonzero feature
// among the features of all groups. The codes are in Narrow if all codes of the layout fit in 16 bits, and
// in Wide otherwise.
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
