package firstorder

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	order := vector.Order(d)
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
	// blocks holds the rows of V, band rows to a block: each row is a record of package simd.
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

// band is the number of reflections that are applied to a matrix together. It is also the number of columns that
// simd.AddProducts computes, and the number of rows of V that are turned at a time.
const band = simd.Columns

// deep is the number of terms of a product of matrices that are added at a time: so many rows of band numbers fit the
// first-level cache.
const deep = 128

// padded returns the number of rows of a matrix of dim rows with rows of zeros behind them, a multiple of band, and
// the distance of their first numbers. That is an odd multiple of eight numbers, since the caches hold few lines whose
// addresses differ by a power of two.
func padded(dim int) (rows, stride int) {
	rows = (dim + band - 1) / band * band
	return rows, rows + 8
}

// pad returns a matrix, given row by row, with zeros beside and below it.
func pad(matrix []float64, dim int) []float64 {
	rows, stride := padded(dim)
	out := make([]float64, rows*stride)
	for i := range dim {
		copy(out[i*stride:], matrix[i*dim:(i+1)*dim])
	}
	return out
}

// timesTurned returns the product of the matrix left and the transpose of right, both padded. The product is known to
// be symmetric: the entries on and above the diagonal are computed, and copied. Rows of the result are not padded.
func timesTurned(left, right []float64, dim int) []float64 {
	rows, stride := padded(dim)
	sums, turned := make([]float64, rows*stride), make([]float64, deep*band)
	for from := 0; from < rows; from += band {
		for first := 0; first < rows; first += deep {
			terms := min(deep, rows-first)
			for j := range band {
				for k, v := range right[(from+j)*stride+first:][:terms] {
					turned[k*band+j] = v
				}
			}
			for i := 0; i < from+band; i += 4 {
				simd.AddProducts(sums[i*stride+from:], stride, left[i*stride+first:], stride, turned, band, terms)
			}
		}
	}
	out := make([]float64, dim*dim)
	for i := range dim {
		for j := i; j < dim; j++ {
			out[i*dim+j], out[j*dim+i] = sums[i*stride+j], sums[i*stride+j]
		}
	}
	return out
}

// reduction is a symmetric matrix A on its way to tridiagonal form: A = Q T Q', where Q is the product of the
// reflections H_0 H_1 ... H_(dim-2), and H_k = I - tau_k v_k v_k' changes the rows from k + 1 on.
//
// These are the steps of LAPACK's dsytrd and dorgtr. The matrix is held by the entries on and above its diagonal; those
// below have no meaning. Reflections that have been found are applied to the rest of the matrix band by band, in
// products of matrices. Only its product with each v_k passes over all of it.
type reduction struct {
	dim, rows, stride int
	// a is padded. Row k holds v_k from place k + 1 on, where v_k is 1, once H_k is known.
	a      []float64
	d, e   []float64 // the diagonal of T, and the entries beside it
	tau    []float64
	across []float64 // v_k and w_k of the band, by turns: H_k ... A ... H_k = A - v_k w_k' - w_k v_k'
	vector []float64 // scratch
	other  []float64 // scratch
}

// tridiagonal reduces the symmetric dim x dim matrix, given row by row.
func tridiagonal(matrix []float64, dim int) *reduction {
	rows, stride := padded(dim)
	r := &reduction{
		dim: dim, rows: rows, stride: stride, a: pad(matrix, dim),
		d: make([]float64, dim), e: make([]float64, dim-1), tau: make([]float64, dim-1),
		across: make([]float64, 2*band*stride), vector: make([]float64, stride), other: make([]float64, stride),
	}
	factors := make([]float64, rows*2*band)
	for first := 0; first < dim; first += band {
		clear(r.across)
		end := min(first+band, dim)
		for k := first; k < end; k++ {
			r.reflect(k, k-first)
		}
		if end < dim {
			r.apply(factors, end)
		}
	}
	return r
}

// before returns the sum, over the v and w of the first n reflections of the band, of each of them times what the
// other has in weights: weights[2i] belongs to v, weights[2i+1] to w.
func (r *reduction) before(weights *[2 * band]float64, n int) []float64 {
	var swapped [2 * band]float64
	for i := range 2 * n {
		swapped[i] = weights[i^1]
	}
	simd.Dots(r.other, swapped[:], 1, r.across[:2*n*r.stride])
	return r.other
}

// reflect finds the reflection H_k, of which n of the same band have been found before.
func (r *reduction) reflect(k, n int) {
	row := r.a[k*r.stride:][:r.stride]
	var weights [2 * band]float64
	if n > 0 {
		for i := range 2 * n {
			weights[i] = r.across[i*r.stride+k]
		}
		for j, v := range r.before(&weights, n)[:r.dim] {
			if j >= k {
				row[j] -= v
			}
		}
	}
	r.d[k] = row[k]
	if k == r.dim-1 {
		return
	}
	r.e[k], r.tau[k] = reflection(row[k+1 : r.dim])
	v, w := r.across[2*n*r.stride:][:r.stride], r.across[(2*n+1)*r.stride:][:r.stride]
	copy(v[k+1:r.dim], row[k+1:r.dim])
	r.multiply(w, v, k+1)
	if n > 0 {
		for i := 0; i < 2*n; i += 4 {
			four := simd.Sides(r.vector, r.across[i*r.stride:], r.stride, v, [4]float64{})
			copy(weights[i:], four[:])
		}
		vector.Add(w, -1, r.before(&weights, n)[:r.dim])
	}
	tau, product := r.tau[k], 0.0
	for j := k + 1; j < r.dim; j++ {
		w[j] = float64(tau * w[j])
		product = math.FMA(w[j], v[j], product)
	}
	clear(w[:k+1])
	half := float64(tau*product) / 2
	for j := k + 1; j < r.dim; j++ {
		w[j] = math.FMA(-half, v[j], w[j])
	}
}

// multiply sets w to the product of the matrix and v, both from row first on, where v is zero. Each entry above the
// diagonal is read once, for its row and for its column. Entries of w before first have no meaning.
func (r *reduction) multiply(w, v []float64, first int) {
	clear(w)
	for i := first &^ 7; i < r.dim; i += 8 {
		for j := max(i, first); j < i+8; j++ {
			row := r.a[j*r.stride:][:i+8]
			sum := math.FMA(row[j], v[j], w[j])
			for k := j + 1; k < i+8; k++ {
				sum = math.FMA(row[k], v[k], sum)
				w[k] = math.FMA(row[k], v[j], w[k])
			}
			w[j] = sum
		}
		for j := i; j < i+8; j += 4 {
			four := simd.Sides(w[i+8:], r.a[j*r.stride+i+8:], r.stride, v[i+8:], [4]float64(v[j:]))
			for k, s := range four {
				w[j+k] += s
			}
		}
	}
}

// apply applies the band's reflections to the rows from first on. factors is scratch.
func (r *reduction) apply(factors []float64, first int) {
	for i := first; i < r.dim; i++ {
		for k := range 2 * band {
			factors[i*2*band+k] = -r.across[(k^1)*r.stride+i]
		}
	}
	for from := first; from < r.rows; from += band {
		for i := first; i < from+band; i += 4 {
			simd.AddProducts(r.a[i*r.stride+from:], r.stride, factors[i*2*band:], 2*band, r.across[from:], r.stride, 2*band)
		}
	}
}

// reflection replaces the vector x by v with v_0 = 1, and returns beta and tau, so that (I - tau v v') x is beta in the
// first place and zero in all others.
func reflection(x []float64) (beta, tau float64) {
	var big, square float64
	for _, v := range x[1:] {
		big = max(big, math.Abs(v))
	}
	first := x[0]
	x[0] = 1
	if big == 0 {
		return first, 0
	}
	big = max(big, math.Abs(first))
	for _, v := range x[1:] {
		v /= big
		square = math.FMA(v, v, square)
	}
	beta = -math.Copysign(big*math.Sqrt(math.FMA(first/big, first/big, square)), first)
	for j := range x[1:] {
		x[j+1] /= first - beta
	}
	return beta, (beta - first) / beta
}

// product returns Q with its columns in panels: entry j of row i is panels[j/band][i*band+j%band]. The reflections of
// each band, the last first, are I - V S V' for a triangular matrix S (Schreiber and Van Loan, "A storage-efficient WY
// representation for products of Householder transformations", 1989).
func (r *reduction) product() (panels [][]float64) {
	for from := 0; from < r.rows; from += band {
		p := make([]float64, r.rows*band)
		for j := range band {
			p[(from+j)*band+j] = 1
		}
		panels = append(panels, p)
	}
	v, turned := make([]float64, band*r.stride), make([]float64, r.rows*band)
	for first := (r.dim - 1) / band * band; first >= 0; first -= band {
		clear(v)
		for k := first; k < min(first+band, r.dim-1); k++ {
			row := v[(k-first)*r.stride:][:r.dim]
			copy(row[k+1:], r.a[k*r.stride+k+1:])
			for j := first; j < r.dim; j++ {
				turned[j*band+k-first] = row[j]
			}
		}
		s := r.triangle(v, first)
		for at := first; at < r.rows; at += band {
			p := panels[at/band]
			var across, sums [band * band]float64
			for from := first; from < r.rows; from += deep {
				for k := 0; k < band; k += 4 {
					simd.AddProducts(across[k*band:], band, v[k*r.stride+from:], r.stride, p[from*band:], band, min(deep, r.rows-from))
				}
			}
			for k := 0; k < band; k += 4 {
				simd.AddProducts(sums[k*band:], band, s[k*band:], band, across[:], band, band)
			}
			for i := first; i < r.rows; i += 4 {
				simd.AddProducts(p[i*band:], band, turned[i*band:], band, sums[:], band, band)
			}
		}
	}
	return panels
}

// triangle returns -S for the band of reflections from first on, whose vectors are the rows of v.
func (r *reduction) triangle(v []float64, first int) *[band * band]float64 {
	s := new([band * band]float64)
	for k := range min(band, r.dim-1-first) {
		tau := r.tau[first+k]
		var products [band]float64
		for i := 0; i < k; i += 4 {
			four := simd.Sides(r.other, v[i*r.stride:], r.stride, v[k*r.stride:][:r.stride], [4]float64{})
			copy(products[i:], four[:])
		}
		for i := range k {
			sum := 0.0
			for j := i; j < k; j++ {
				sum = math.FMA(s[i*band+j], products[j], sum)
			}
			s[i*band+k] = -float64(tau * sum)
		}
		s[k*band+k] = -tau
	}
	return s
}
