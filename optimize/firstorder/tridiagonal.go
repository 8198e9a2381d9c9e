package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

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
