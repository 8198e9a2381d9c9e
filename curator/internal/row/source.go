// Package row holds encoded records: features of squared norm at most MaxSquare and
// a float64 target, in blocks that fit a processor's cache. Features are float32s;
// those of one-hot groups, of which one is not zero, are kept as its place.
//
// A Source is where they are: a Table in memory, a File that keeps what memory
// has no room for. What an engine computes must not depend on which: rowtest
// holds what every source has to pass, engine/enginetest that engines give the
// same integers over each of them.
package row

import (
	"errors"
	"math"
)

// ErrUnread reports rows that could not be read back from where they are kept. It
// says nothing of which or how many.
var ErrUnread = errors.New("curator: rows cannot be read back from where they are kept")

// MaxSquare bounds the squared Euclidean norm of every stored row, the norm
// itself by 1 + 2^-23. Rows are encoded to norm at most 1 and then rounded to
// float32, which moves the norm by at most a factor 1 + 2^-24 and 2^-149 a
// coordinate; a longer row did not come from the row map and is faulty.
const MaxSquare = 1 + 0x1p-22

// Lane is the number of coordinates the kernels take at a time; strides are
// multiples of it and the padding is zero.
const Lane = 8

// Block is a run of rows of a layout: len(Targets) rows of Stride float32s each and,
// where there are groups, of one level and a code for each group. The target of a
// faulty row is NaN; its numbers and level are zero, and its codes those of the
// groups' first features.
type Block struct {
	Rows    []float32
	Targets []float64
	Levels  []float32
	Codes   Codes
}

// Codes are the groups' codes of rows, those of a row before those of the next: Narrow
// where all of a layout's fit 16 bits, or else Wide.
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

// Source is a sequence of rows that no longer changes, numbered from zero. It is
// safe for concurrent use.
type Source interface {
	// Len is the number of rows.
	Len() int
	// Layout says how they are kept.
	Layout() *Layout
	// Blocks is the number of blocks. In their order they hold every row once, in
	// the order of the rows' numbers; a block may be empty.
	Blocks() int
	// Reader returns a reader for one goroutine.
	Reader() Reader
	// Close gives up what the rows are kept in. Reads may fail from then on.
	Close() error
}

// Reader reads the rows of a source, for one goroutine at a time. An error is
// ErrUnread.
type Reader interface {
	// Block returns block i. It is not to be written to, and holds until the reader's
	// next call: what other readers do does not touch it.
	Block(i int) (Block, error)
	// Rows adds copies of the rows of these numbers to a block: in the order of
	// members, and as often as they name them.
	Rows(b *Block, members []int32) error
}
