package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// kernel multiplies and adds rows of numbers. Every kernel returns the same bits and integers as
// the portable one.
type kernel struct {
	name string
	// dots sets z to the dot products of rows with vectors. The rows start at x. w holds the
	// vectors, one every width floats. The products of a row with all vectors precede the products
	// of the next row. stride is the length of rows and vectors, a multiple of row.Lane.
	dots func(z, w []float64, x []float32, stride, width int)
	// add adds sum_i round(c[i] * row i), coordinate by coordinate, to the sums in acc, one every
	// width integers. c holds a coefficient for each sum and row; the coefficients of a row precede
	// those of the next row. |c*x| must be at most 2^51.
	add func(acc []int64, width int, c []float64, x []float32, stride int)
}

// portable is the kernel of every machine.
var portable = kernel{"portable", dots, addRounded}

// fastest is the kernel for this machine.
func fastest() kernel {
	all := kernels()
	return all[len(all)-1]
}

// extent returns the number of rows at x and the number of vectors. It panics unless numbers is
// their product, each vector is as long as stride and within width, and x holds all rows. The code
// in assembly relies on these checks.
func extent(numbers, vectors int, x []float32, stride, width int) (rows, count int) {
	count = vectors / width
	rows = numbers / count
	if stride < row.Lane || stride%row.Lane != 0 || stride > width || count*width != vectors || rows*count != numbers || rows*stride > len(x) {
		panic("engine: rows, vectors and coefficients do not fit each other")
	}
	return rows, count
}
