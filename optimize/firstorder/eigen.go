package firstorder

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

// eigen computes the eigendecomposition A = V diag(values) V' of the symmetric dim x dim matrix A, given row by row,
// with the eigenvalues in ascending order. It returns V row by row: eigenvector k is column k. ok is false if the
// iteration does not converge, or the matrix or an eigenvalue is not finite.
//
// These are the steps of LAPACK's dsyev: A is reduced to tridiagonal form, and implicit QL and QR
// iterations make that diagonal. Each sweep of an iteration turns neighbouring columns of V. dsyev turns them sweep
// by sweep, and passes over all of V each time. Here the rotations of many sweeps are collected, and then applied
// to a few rows of V at a time, since rows do not depend on each other (Van Zee, van de Geijn and Quintana-Orti,
// "Restructuring the tridiagonal and bidiagonal QR algorithms for performance", 2014).
func eigen(matrix []float64, dim int) (values, vectors []float64, ok bool) {
	unit, ok := unitOf(matrix)
	if !ok {
		return nil, nil, false
	}
	if dim == 1 {
		return []float64{matrix[0]}, []float64{1}, true
	}
	if unit != 0 {
		matrix = slices.Clone(matrix)
		for i, v := range matrix {
			matrix[i] = math.Ldexp(v, -unit)
		}
	}
	r := tridiagonal(matrix, dim)
	d := r.d
	t := newTurning(r.product(), dim)
	if !t.diagonalise(d, r.e) {
		return nil, nil, false
	}
	order := make([]int, dim)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
	values = make([]float64, dim)
	for k, from := range order {
		if values[k] = math.Ldexp(d[from], unit); !(math.Abs(values[k]) <= math.MaxFloat64) {
			return nil, nil, false
		}
	}
	return values, t.columns(order), true
}

// unitOf returns the exponent of a power of two by which the matrix is divided before it is decomposed. It is 0 where
// the largest entry is so far from the ends of the range of float64 that the iteration's squares and products neither
// overflow nor vanish, which is so for every released moment but those of extreme budgets. ok is false if an
// entry is not finite.
func unitOf(matrix []float64) (unit int, ok bool) {
	const most = 450
	var largest float64
	for _, v := range matrix {
		if !(math.Abs(v) <= math.MaxFloat64) {
			return 0, false
		}
		largest = max(largest, math.Abs(v))
	}
	if _, unit = math.Frexp(largest); unit >= -most && unit <= most {
		unit = 0
	}
	return unit, true
}

// mostWaiting is the number of rotations that wait until they are applied to band rows of V at a time. Both together
// fit the second-level cache for a thousand features and more.
const mostWaiting = 1 << 14

// turning is the matrix V of eigen with the rotations that have not been applied to it yet. The columns that a sweep
// turns follow each other: rotation k turns the columns first + k step and first + (k+1) step, with step 1 if the sweep
// goes up, and else -1.
type turning struct {
	dim int
	// blocks holds the rows of V, band rows to a block: each row is a record of package lanes.
	blocks [][]float64
	sweeps []sweep
	c, s   []float64 // of all sweeps, one after the other
}

type sweep struct {
	first, step, rotations int
}

// newTurning returns V = Q, for a matrix Q whose columns are in panels (see reduction.product).
func newTurning(panels [][]float64, dim int) *turning {
	t := &turning{dim: dim}
	for from := 0; from < dim; from += band {
		n := min(band, dim-from)
		block := make([]float64, n*dim)
		for i := range n {
			for j := range dim {
				block[j*n+i] = panels[j/band][(from+i)*band+j%band]
			}
		}
		t.blocks = append(t.blocks, block)
	}
	return t
}

// columns returns V row by row, with its columns in the given order.
func (t *turning) columns(order []int) []float64 {
	t.apply()
	out := make([]float64, t.dim*t.dim)
	for i := range t.dim {
		block := t.blocks[i/band]
		n, at := len(block)/t.dim, i%band
		for k, from := range order {
			out[i*t.dim+k] = block[from*n+at]
		}
	}
	return out
}

// add appends a sweep of the rotations c and s.
func (t *turning) add(first int, up bool, c, s []float64) {
	w := sweep{first, 1, len(c)}
	if !up {
		w.step = -1
	}
	t.sweeps = append(t.sweeps, w)
	t.c, t.s = append(t.c, c...), append(t.s, s...)
	if len(t.c) > mostWaiting {
		t.apply()
	}
}

// apply applies the rotations that wait.
func (t *turning) apply() {
	for _, block := range t.blocks {
		n, at := len(block)/t.dim, 0
		for from, end := 0, 0; from < len(t.sweeps); from = end {
			rotations := 0
			for end < len(t.sweeps) && t.sweeps[end].step == t.sweeps[from].step {
				rotations += t.sweeps[end].rotations
				end++
			}
			follow(block, n, t.sweeps[from:end], t.c[at:], t.s[at:])
			at += rotations
		}
	}
	t.sweeps, t.c, t.s = t.sweeps[:0], t.c[:0], t.s[:0]
}

// stretch is the number of rotations of a sweep that are applied before those of the next sweep. The columns that they
// turn fit the first-level cache.
const stretch = 64

// follow applies sweeps that go the same way to a block of n rows, a stretch of each sweep after the other. A sweep
// stays one rotation behind the sweep before it: then a column has been turned by the rotations of all earlier sweeps
// when a later one turns it.
func follow(block []float64, n int, sweeps []sweep, c, s []float64) {
	from, end := math.MaxInt, math.MinInt
	for i, w := range sweeps {
		from, end = min(from, w.first*w.step+i), max(end, w.first*w.step+i+w.rotations)
	}
	for ; from < end; from += stretch {
		at := 0
		for i, w := range sweeps {
			k := from - i - w.first*w.step
			if k, to := max(k, 0), min(k+stretch, w.rotations); k < to {
				simd.Rotate(block, n, w.first+k*w.step, w.step, c[at+k:at+to], s[at+k:at+to])
			}
			at += w.rotations
		}
	}
}

// mostSweeps is the largest number of sweeps, in multiples of the dimension.
const mostSweeps = 30

// diagonalise makes the tridiagonal matrix with the diagonal d and the entries e beside it diagonal, by the
// implicit QL and QR iterations of LAPACK's dsteqr, and adds the rotations to t. The eigenvalues are then in d, in
// any order. A block of the matrix is iterated from the end with the smaller entry, so that small eigenvalues of a
// graded matrix are not lost.
func (t *turning) diagonalise(d, e []float64) bool {
	const eps = 0x1p-53
	left := mostSweeps * len(d)
	for from := 0; from < len(d); {
		end := from
		for end < len(e) && !(math.Abs(e[end]) <= math.Sqrt(math.Abs(d[end]))*math.Sqrt(math.Abs(d[end+1]))*eps) {
			end++
		}
		if end < len(e) {
			e[end] = 0
		}
		down := math.Abs(d[end]) < math.Abs(d[from])
		if left = t.block(d[from:end+1], e[from:end], from, down, left); left < 0 {
			return false
		}
		from = end + 1
	}
	return true
}

// block makes a block of the tridiagonal matrix diagonal, whose first column is column first of V. It works from the
// first eigenvalue on, or from the last if down is true, and returns the number of sweeps that are left.
//
// The two directions are one: read backwards, the matrix is tridiagonal as well. at and beside map an index of the
// direction to one of d and of e.
func (t *turning) block(d, e []float64, first int, down bool, left int) int {
	var of gonum.Implementation
	n := len(d)
	at := func(i int) int {
		if down {
			return n - 1 - i
		}
		return i
	}
	beside := func(i int) int {
		if down {
			return n - 2 - i
		}
		return i
	}
	c, s := make([]float64, 0, n), make([]float64, 0, n)
	for l := 0; l < n; {
		m := l
		for ; m < n-1; m++ {
			v := math.Abs(e[beside(m)])
			if v*v <= (0x1p-106*math.Abs(d[at(m)]))*math.Abs(d[at(m+1)])+0x1p-1022 {
				e[beside(m)] = 0
				break
			}
		}
		if m == l {
			l++
			continue
		}
		if m == l+1 { // two columns are left, whose eigenvalues are known in closed form
			i, cosine, sine := min(at(l), at(m)), 0.0, 0.0
			d[i], d[i+1], cosine, sine = of.Dlaev2(d[i], e[i], d[i+1])
			t.add(first+i, true, []float64{cosine}, []float64{sine})
			e[i] = 0
			l += 2
			continue
		}
		if left--; left < 0 {
			return left
		}
		// Wilkinson's shift.
		p := d[at(l)]
		g := (d[at(l+1)] - p) / (2 * e[beside(l)])
		g = d[at(m)] - p + e[beside(l)]/(g+math.Copysign(of.Dlapy2(g, 1), g))
		sine, cosine := 1.0, 1.0
		p = 0
		c, s = c[:0], s[:0]
		for i := m - 1; i >= l; i-- {
			f, b := sine*e[beside(i)], cosine*e[beside(i)]
			var r float64
			cosine, sine, r = of.Dlartg(g, f)
			if i != m-1 {
				e[beside(i+1)] = r
			}
			g = d[at(i+1)] - p
			r = (d[at(i)]-g)*sine + 2*cosine*b
			p = sine * r
			d[at(i+1)] = g + p
			g = cosine*r - b
			c, s = append(c, cosine), append(s, sine)
		}
		d[at(l)] -= p
		e[beside(l)] = g
		t.add(first+at(m), down, c, s)
	}
	return left
}
