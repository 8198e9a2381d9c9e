package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// kernel is how rows of numbers are multiplied and added. Every one gives the bits
// and integers of the portable one.
type kernel struct {
	name string
	// dots sets z to the dot products of the rows that start at x with the vectors that
	// w holds, one every width floats: those of a row with all of them before those of
	// the next row. stride is the length of rows and vectors, a multiple of row.Lane.
	dots func(z, w []float64, x []float32, stride, width int)
	// add adds sum_i round(c[i] * row i), coordinate by coordinate, to the sums that acc
	// holds, one every width integers: c holds a coefficient for each sum and row, those
	// of a row before those of the next. |c*x| must be at most 2^51.
	add func(acc []int64, width int, c []float64, x []float32, stride int)
}

// portable is the kernel of every machine.
var portable = kernel{"portable", dots, addRounded}

// fastest is the kernel for this machine.
func fastest() kernel {
	all := kernels()
	return all[len(all)-1]
}

// extent checks that z or c holds numbers for the rows at x of so many vectors, which
// are as long as a stride and within their width, and returns how many of both: what is
// written in assembly trusts it.
func extent(numbers, vectors int, x []float32, stride, width int) (rows, count int) {
	count = vectors / width
	rows = numbers / count
	if stride < row.Lane || stride%row.Lane != 0 || stride > width || count*width != vectors || rows*count != numbers || rows*stride > len(x) {
		panic("engine: rows, vectors and coefficients do not fit each other")
	}
	return rows, count
}
