package query

import "github.com/stillpoint-dp/stillpoint/internal/simd"

// limb is the number of bits of the parts into which blocked takes integers apart, and limbs the number of parts. An
// entry of a metric is at most 2^20 steps and a row has at most MaxPairs entries, so that a sum of their products with
// parts is below 2^53, and is exact in float64.
const limb, limbs = 22, 3

// together is the number of vectors that are multiplied together at least. A single one is not worth the memory of the
// matrix's other half.
const together = 2

// blocks reports whether vectors, n numbers in all, are multiplied together.
func (m *metric) blocks(n int) bool {
	return m != nil && !m.diagonal && n >= together*m.dim && simd.AtOnce()
}

// blocked sets out to (R/Step) v for each of the vectors in v, as times does. It is for several vectors, and a
// metric that is not diagonal. Entries of v are taken apart into parts of few bits, whose products with
// the matrix are exact in float64.
func (m *metric) blocked(out, v []int64) {
	d := m.dim
	parts := make([]float64, quadruple(len(v)/d*limbs)*d)
	for i, x := range v {
		at := parts[i/d*limbs*d+i%d:]
		at[0], at[d], at[2*d] = float64(x&(1<<limb-1)), float64(x>>limb&(1<<limb-1)), float64(x>>(2*limb))
	}
	m.products(simd.AddProducts, parts, func(from, n int, sums []float64) {
		for k := 0; k*d < len(v); k++ {
			low, middle, high := sums[k*limbs*simd.Columns:], sums[(k*limbs+1)*simd.Columns:], sums[(k*limbs+2)*simd.Columns:]
			for j := range out[k*d+from:][:n] {
				out[k*d+from+j] = int64(low[j]) + int64(middle[j])<<limb + int64(high[j])<<(2*limb)
			}
		}
	})
}

// blockedFloats is blocked for float64, with the roundings and the order of additions of times.
func (m *metric) blockedFloats(out, v []float64) {
	d := m.dim
	rows := make([]float64, quadruple(len(v)/d)*d)
	copy(rows, v)
	m.products(simd.AddRoundedProducts, rows, func(from, n int, sums []float64) {
		for k := 0; k*d < len(v); k++ {
			copy(out[k*d+from:][:n], sums[k*simd.Columns:])
		}
	})
}

// quadruple returns n rounded up to a multiple of four.
func quadruple(n int) int { return (n + 3) / 4 * 4 }

// products multiplies rows, as many as a multiple of four, by some columns of the matrix together, and hands on the
// products with the n columns from one on: that of row k and column from + j is sums[k*simd.Columns+j].
func (m *metric) products(add func(c []float64, cs int, l []float64, ls int, b []float64, bs, m int), rows []float64,
	each func(from, n int, sums []float64)) {
	m.once.Do(m.write)
	d, stride := m.dim, m.stride()
	sums := make([]float64, len(rows)/d*simd.Columns)
	for from := 0; from < d; from += simd.Columns {
		clear(sums)
		for r := 0; r*d < len(rows); r += 4 {
			add(sums[r*simd.Columns:], simd.Columns, rows[r*d:], d, m.full[from:], stride, d)
		}
		each(from, min(simd.Columns, d-from), sums)
	}
}

// stride returns the distance of rows in full. It is an odd multiple of eight numbers, since caches hold few lines
// whose addresses differ by a power of two.
func (m *metric) stride() int { return (m.dim+simd.Columns-1)/simd.Columns*simd.Columns + 8 }

// write sets full to all entries of the matrix, as multiples of the rounding unit, row after row, with zeros beside
// them.
func (m *metric) write() {
	d, stride, upper := m.dim, m.stride(), m.upper
	m.full = make([]float64, d*stride)
	for j := range d {
		for k, v := range upper[:d-j] {
			m.full[j*stride+j+k], m.full[(j+k)*stride+j] = float64(v), float64(v)
		}
		upper = upper[d-j:]
	}
}
