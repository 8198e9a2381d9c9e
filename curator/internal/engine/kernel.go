package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// kernel is a set of functions that multiply and add rows of numbers. All kernels return the same
// bits and integers as the portable kernel.
type kernel struct {
	name string
	// dots sets z to the dot products of rows with vectors. The rows start at x. The vectors are in w, and
	// each vector starts width floats after the start of the previous one. The products of a row with all
	// vectors precede the products of the next row. stride is the length of rows and vectors, a multiple of
	// row.Lane.
	dots func(z, w []float64, x []float32, stride, width int)
	// add adds round(c[i] * row i) for all rows i, coordinate by coordinate, to the sums in acc. It rounds the exact
	// products, as the function roundProduct does. Each sum starts width integers after the start of the previous
	// one. c holds a coefficient for each sum and row. The coefficients of a row precede the coefficients of the
	// next row. |c*x| must be at most 2^51.
	add func(acc []int64, width int, c []float64, x []float32, stride int)
	// dotsAtCodes and addAtCodes compute the same numbers as the functions dotsAtCodes and addAtCodes.
	dotsAtCodes func(z, w []float64, levels []float32, codes row.Codes, stride, width int)
	addAtCodes  func(acc []int64, width int, c []float64, levels []float32, codes row.Codes, stride int)
	// dotsAtEdges and addAtEdges compute the same numbers as the functions dotsAtEdges and addAtEdges.
	dotsAtEdges func(z, w []float64, e row.Edges, edges, stride, width int)
	addAtEdges  func(acc []int64, width int, c []float64, e row.Edges, edges, stride int)
	// pairs computes the same sums as the function addAllPairs, for at most pairRows rows, in scratch memory p.
	pairs func(p *paired, acc []int64, c []float64, x []float32, stride, dim int)
	// weigh is the inner loop of lengths ||R x|| in a metric. It adds sk[j] * x[panel*j+i] to
	// sums[panel*k+i] for k from 0 to 3 and i below panel, in the order of j, by fused multiplications and
	// additions. The four vectors s0 to s3 have the same length. weigh is nil on machines on which the loops of
	// metric.go are faster.
	weigh func(sums *[4 * panel]float64, s0, s1, s2, s3, x []float64)
	// logistic and residual compute the same numbers as the method fused.portable, for the logistic loss and
	// for clipped residuals. They compute the first of them, as many as fill their registers again and again,
	// and return how many. They are nil on machines without such registers.
	logistic, residual func(c, z, y []float64, f *fused) int
}

// portable is the kernel in plain Go, which every machine can run.
var portable = kernel{name: "portable", dots: dots, add: addRounded, dotsAtCodes: dotsAtCodes, addAtCodes: addAtCodes,
	dotsAtEdges: dotsAtEdges, addAtEdges: addAtEdges, pairs: addAllPairs}

// fastest returns the fastest kernel that this machine supports.
func fastest() kernel {
	all := kernels()
	return all[len(all)-1]
}

// extent returns the number of rows at x and the number of vectors (or sums) beside them. numbers is the
// number of products or coefficients, one for each row and vector. vectors is the length of all vectors
// together, width each. extent panics unless numbers is a multiple of the number of vectors, stride is a
// multiple of row.Lane and at most width, and x holds all rows. The assembly relies on these checks.
func extent(numbers, vectors int, x []float32, stride, width int) (rows, count int) {
	count = vectors / width
	rows = numbers / count
	if stride < row.Lane || stride%row.Lane != 0 || stride > width || count*width != vectors || rows*count != numbers || rows*stride > len(x) {
		panic("engine: rows, vectors and coefficients do not fit each other")
	}
	return rows, count
}
