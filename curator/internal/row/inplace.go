package row

import (
	"encoding/binary"
	"math"
)

// A row without one-hot groups has the same bytes in the file, after its target, as in a block,
// padding included. One loop therefore reads rows back: it copies them and computes their squared
// norms.

// unpack copies rows from bytes to x, stride numbers each. Consecutive rows begin size bytes apart
// in bytes. unpack sets squares to the rows' squared norms, summed in the same order as by the
// function square. stride is a multiple of Lane.
func unpack(x []float32, squares []float64, bytes []byte, stride, size int) {
	for i := range squares {
		row := x[i*stride:][:stride]
		decodeFloats(row, bytes[i*size:][:4*stride])
		squares[i] = square(row)
	}
}

// tile is the number of rows that are copied from the file's bytes before their norms and targets are
// checked.
const tile = 64

// unpackRows decodes rows of a layout without groups from the file's bytes and stores them in a block, from
// row i of the block on. A row whose target is not finite, or whose squared norm exceeds MaxSquare or is
// NaN, is stored as faulty: as zeros with target NaN.
func (l *Layout) unpackRows(b *Block, i int, bytes []byte) {
	var squares [tile]float64
	size, stride := l.size(), l.Stride()
	for len(bytes) > 0 {
		n := min(tile, len(bytes)/size)
		x := b.Rows[i*stride : (i+n)*stride]
		fastUnpack(x, squares[:n], bytes[8:], stride, size)
		for k, square := range squares[:n] {
			row := x[k*stride : (k+1)*stride]
			y := math.Float64frombits(binary.LittleEndian.Uint64(bytes[k*size:]))
			if y-y != 0 || !(square <= MaxSquare) {
				clear(row)
				y = faulty
			}
			clear(row[l.dense:])
			b.Targets[i+k] = y
		}
		i += n
		bytes = bytes[n*size:]
	}
}

// checkUnpack panics unless x and bytes have room for the rows. The assembly relies on this check.
func checkUnpack(x []float32, squares []float64, bytes []byte, stride, size int) {
	n := len(squares)
	if n == 0 || stride < Lane || stride%Lane != 0 || size < 4*stride || n*stride > len(x) ||
		(n-1)*size+4*stride > len(bytes) {
		panic("row: rows and bytes do not fit each other")
	}
}
