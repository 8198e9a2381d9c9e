package engine

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

// kernel is a set of functions that multiply and add rows of numbers. All kernels return the same
// bits and integers as the portable kernel.
type kernel struct {
	name string
	// dots sets z to the dot products of rows with vectors. The rows start at x. The vectors are in w, and each vector
	// starts width floats after the start of the previous one. The products of a row with all vectors precede the
	// products of the next row. stride is the length of rows and vectors, a multiple of row.Lane.
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
	// weigh is the inner loop of lengths ||R x|| in a metric. It adds sk[j] * x[panel*j+i] to sums[panel*k+i] for k
	// from 0 to 3 and i below panel, in the order of j, by fused multiplications and additions. The four vectors s0 to
	// s3 have the same length. weigh is nil on machines on which the loops of metric.go are faster.
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

// strip is the number of features whose values for all rows are kept together in the inner loop of sums over pairs, so
// that they stay in the first-level cache.
const strip = 32

// paired is a goroutine's scratch memory for kernel.pairs: rows in strips, and four coefficients of each row.
type paired struct {
	strips []float32
	times  []float64
}

// stripsOf returns the first dim features of the rows in strips: feature j of row i is at
// [(j/strip*rows+i)*strip + j%strip]. The features behind the last one are zeros.
func (p *paired) stripsOf(x []float32, rows, stride, dim int) []float32 {
	n := (dim + strip - 1) / strip * strip * rows
	p.strips = slices.Grow(p.strips[:0], n)[:n]
	for from := 0; from < dim; from += strip {
		for i := range rows {
			to := p.strips[from*rows+i*strip:][:strip]
			clear(to[copy(to, x[i*stride:][from:dim]):])
		}
	}
	return p.strips
}

// pairsBy computes the same sums as addAllPairs, on machines with vector instructions. It processes four
// features at a time. inner adds the products of these four features with later features of one strip, which
// are called columns. inner processes some of the columns, from the first on, and returns their number.
// pairsBy adds the products with the remaining columns, and the products among the four features.
func pairsBy(inner func(a *[4][]int64, times []float64, x []float32, stride, rows, columns int) int,
	p *paired, acc []int64, c []float64, x []float32, stride, dim int) {
	rows := len(c)
	if rows == 0 {
		return
	}
	if dim < 1 || dim > stride || rows > pairRows || (rows-1)*stride+dim > len(x) || len(acc) < dim*(dim+1)/2 {
		panic("engine: rows, coefficients and sums over pairs do not fit each other")
	}
	strips := p.stripsOf(x, rows, stride, dim)
	var first, scaled [4][pairRows]float64
	var root, products [pairRows]float64
	for i, v := range c {
		root[i] = float64(v * math.Sqrt2)
	}
	p.times = slices.Grow(p.times[:0], 4*rows)[:4*rows]
	times := p.times
	var a [4][]int64
	j := 0
	for ; j+4 <= dim; j += 4 {
		for i := range rows {
			for k, v := range strips[j/strip*strip*rows+i*strip+j%strip:][:4] {
				first[k][i] = float64(v)
			}
		}
		for k := range a {
			a[k], acc = acc[:dim-j-k], acc[dim-j-k:]
			own := products[:rows]
			simd.Times(own, c, first[k][:rows])
			a[k][0] += simd.RoundedDot(own, first[k][:rows])
			simd.Times(scaled[k][:rows], root[:rows], first[k][:rows])
			for l := k + 1; l < 4; l++ {
				a[k][l-k] += simd.RoundedDot(scaled[k][:rows], first[l][:rows])
			}
			a[k] = a[k][4-k:]
		}
		for i := range rows {
			four := times[4*i:][:4]
			for k := range four {
				four[k] = scaled[k][i]
			}
		}
		for from := j + 4; from < dim; {
			columns := min(strip-from%strip, dim-from)
			near := strips[from/strip*strip*rows+from%strip:]
			done := inner(&a, times, near, strip, rows, columns)
			for k := range a {
				for i := 0; i < rows && done < columns; i++ {
					for l, v := range near[i*strip:][done:columns] {
						a[k][done+l] += roundProduct(times[4*i+k], float64(v))
					}
				}
				a[k] = a[k][columns:]
			}
			from += columns
		}
	}
	if j < dim {
		addAllPairs(p, acc, c, x[j:], stride, dim-j)
	}
}

// panel is the number of rows whose lengths in a metric kernel.weigh computes together.
const panel = simd.Columns

// weighed is a goroutine's scratch memory for kernel.weigh: the panels of a tile of rows, and sums.
type weighed struct {
	panels [tileRows / panel][]float64 // feature j of row i of a panel is at [j*panel+i]
	sums   [4 * panel]float64
}

// turn copies the first dim features of the rows, at most a panel of them, to panel p, ordered by features, so that
// the values of one feature are adjacent. If there are fewer rows than a panel has, the rest of the panel is zeros.
func (w *weighed) turn(p int, x []float32, rows, stride, dim int) {
	if len(w.panels[p]) != dim*panel {
		w.panels[p] = make([]float64, dim*panel)
	}
	if rows < panel {
		clear(w.panels[p])
	}
	for i := range rows {
		to := w.panels[p][i:]
		for j, v := range x[i*stride:][:dim] {
			to[j*panel] = float64(v)
		}
	}
}

// quadraticsBy adds the squared lengths in a metric of a tile's rows to dst. It computes the same bits as the
// method quadratics, by the kernel's function weigh. Both add up each row's terms in the same order. Four rows of the
// matrix are read once for the whole tile.
func (r *ruler) quadraticsBy(w *weighed, dst []float64, x []float32, stride int) {
	for from := 0; from < len(dst); from += panel {
		w.turn(from/panel, x[from*stride:], min(panel, len(dst)-from), stride, r.dim)
	}
	for j := 0; j < r.dim; j += 4 {
		n := min(4, r.dim-j)
		s := r.square[j : j+n]
		var near [16]float64 // the products with zeros leave the sums as they are
		for k := range n {
			for l := k + 1; l < n; l++ {
				near[4*k+l] = s[k][l-k]
			}
		}
		for from := 0; from < len(dst); from += panel {
			t := w.panels[from/panel][j*panel:]
			clear(w.sums[:])
			simd.AddProducts(w.sums[:], panel, near[:], 4, t, panel, n)
			if len(s[0]) > 4 {
				r.kernel.weigh(&w.sums, s[0][4:], s[1][3:], s[2][2:], s[3][1:], t[4*panel:])
			}
			for k := range n {
				addQuadratics(dst[from:min(from+panel, len(dst))], s[k][0], t[k*panel:], w.sums[k*panel:])
			}
		}
	}
}

// addQuadratics adds x_j (S_jj x_j + 2 t) to dst for each row of a panel. first holds the rows' x_j, s is the
// matrix entry S_jj, and sums holds the rows' sums t of S_jk x_k over k > j.
func addQuadratics(dst []float64, s float64, first, sums []float64) {
	for i := range dst {
		f := first[i]
		dst[i] += float64(f * (float64(s*f) + 2*sums[i]))
	}
}

// productsBy sets dst[j][k-j] to the product <row j, row k> for k >= j, by the kernel's function weigh. The rows form a
// symmetric matrix of integers. Their products and sums are exact, so the order of addition does not matter.
func productsBy(k kernel, dst, rows [][]float64) {
	d := len(rows)
	var sums [4 * panel]float64
	turned := make([]float64, d*panel)
	for from := 0; from < d; from += panel {
		n := min(panel, d-from)
		clear(turned)
		for j, r := range rows {
			copy(turned[j*panel:][:n], r[from:from+n])
		}
		for j := 0; j < from+n; j += 4 {
			clear(sums[:])
			var four [4][]float64
			for l := range four {
				four[l] = rows[min(j+l, d-1)][:d]
			}
			k.weigh(&sums, four[0], four[1], four[2], four[3], turned)
			for l := j; l < min(j+4, d); l++ {
				for i := max(from, l); i < from+n; i++ {
					dst[l][i-l] = sums[(l-j)*panel+i-from]
				}
			}
		}
	}
}
