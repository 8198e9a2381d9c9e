// Package simd computes the same sums and products for several records at a time.
//
// A block holds m numbers for each of n records, number by number: number j of record i is at [j*n+i].
// The numbers of n records at one place j are a row of the block.
//
// Every record is computed as if it were alone: its numbers are added in their order, and every operation is
// rounded exactly. The results are therefore the same bits for any n and on every machine. With AVX-512
// or AVX2 the functions work on eight or four records at a time. A NaN may have other bits.
package simd

import (
	"fmt"
	"math"
)

// rows returns the number of rows of n numbers in x. It panics unless n divides len(x).
func rows(x []float64, n int) int {
	if n == 0 && len(x) == 0 {
		return 0
	}
	if n == 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("lanes: a block of %d numbers: must be a multiple of %d", len(x), n))
	}
	return len(x) / n
}

func same(a, b []float64) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("lanes: %d numbers and %d: must be equally many", len(a), len(b)))
	}
}

// Dots sets dst[i] to the sum over the rows j of the block x of w[j*step] times number j of record i, by fused
// multiplications and additions in the order of j. len(dst) is the number of records. It panics unless w has
// a number for every row.
func Dots(dst, w []float64, step int, x []float64) {
	n := len(dst)
	m := rows(x, n)
	if m == 0 {
		clear(dst)
		return
	}
	_ = w[(m-1)*step]
	for i := dotsAtOnce(dst, w, step, x, m); i < n; i++ {
		sum := 0.0
		for j := range m {
			sum = math.FMA(w[j*step], x[j*n+i], sum)
		}
		dst[i] = sum
	}
}

// Squares sets dst[i] to the sum of the squares of record i's numbers in the block x. Each square is rounded
// before it is added. len(dst) is the number of records.
func Squares(dst, x []float64) {
	n := len(dst)
	m := rows(x, n)
	for i := squaresAtOnce(dst, x, m); i < n; i++ {
		sum := 0.0
		for j := range m {
			sum += float64(x[j*n+i] * x[j*n+i])
		}
		dst[i] = sum
	}
}

// FusedSquares is Squares by fused multiplications and additions.
func FusedSquares(dst, x []float64) {
	n := len(dst)
	m := rows(x, n)
	for i := fusedSquaresAtOnce(dst, x, m); i < n; i++ {
		sum := 0.0
		for j := range m {
			sum = math.FMA(x[j*n+i], x[j*n+i], sum)
		}
		dst[i] = sum
	}
}

// Largest sets dst[i] to the largest absolute value of record i's numbers in the block x, and to NaN if one
// of them is NaN. len(dst) is the number of records.
func Largest(dst, x []float64) {
	n := len(dst)
	m := rows(x, n)
	for i := largestAtOnce(dst, x, m); i < n; i++ {
		// Without its sign the representation of a float grows with the float, and that of a NaN is above all
		// others.
		var big uint64
		for j := range m {
			big = max(big, math.Float64bits(x[j*n+i])&^(1<<63))
		}
		dst[i] = math.Float64frombits(big)
	}
}

// Times sets dst to the block x with all numbers of record i multiplied by f[i]. len(f) is the number of
// records. dst may be x.
func Times(dst, x, f []float64) {
	n := len(f)
	same(dst, x)
	m := rows(x, n)
	for i := timesAtOnce(dst, x, f, m); i < n; i++ {
		for j := range m {
			dst[j*n+i] = float64(x[j*n+i] * f[i])
		}
	}
}

// Add adds a times x to dst, number by number. Each product is rounded before it is added.
func Add(dst []float64, a float64, x []float64) {
	same(dst, x)
	for i := addAtOnce(dst, a, x); i < len(dst); i++ {
		dst[i] += float64(a * x[i])
	}
}

// The bits of 1.5*2^52 plus a number p, |p| <= 2^51, are those of 1.5*2^52 plus the integer nearest to p,
// ties to even.
const (
	magic     = 0x1.8p52
	magicBits = 0x4338000000000000
)

// Rounded returns the sum of the integers nearest to the numbers of x, ties to even. They must be at most
// 2^51 in absolute value; of other numbers the result has no meaning.
func Rounded(x []float64) int64 {
	sum, i := roundedAtOnce(x)
	for ; i < len(x); i++ {
		sum += int64(math.Float64bits(x[i]+magic) - magicBits)
	}
	return sum
}

// RoundedDot returns the sum of the integers nearest to the exact products x[i]*y[i], ties to even. The products
// must be at most 2^51 in absolute value; of others the result has no meaning.
func RoundedDot(x, y []float64) int64 {
	same(x, y)
	sum, i := roundedDotAtOnce(x, y)
	for ; i < len(x); i++ {
		sum += int64(math.Float64bits(math.FMA(x[i], y[i], magic)) - magicBits)
	}
	return sum
}

// Rotate applies len(c) plane rotations to neighbouring numbers of every record of the block x of n records, one after
// the other. Rotation k turns numbers j = first + k step and j + step, with step 1 or -1: it replaces them by
//
//	c[k] x_j + s[k] x_(j+step) and c[k] x_(j+step) - s[k] x_j.
//
// Products with x_(j+step) are rounded, those with x_j are fused with the sum.
// It panics unless len(s) = len(c) and the block has these numbers.
func Rotate(x []float64, n, first, step int, c, s []float64) {
	same(c, s)
	last := first + len(c)*step
	if m := rows(x, n); step*step != 1 || min(first, last) < 0 || max(first, last) >= m {
		panic(fmt.Sprintf("lanes: rotations from row %d to %d of %d", first, last, m))
	}
	if len(c) == 0 {
		return
	}
	for i := rotateAtOnce(x, n, first, step, c, s); i < n; i++ {
		held := x[first*n+i]
		for k, cosine := range c {
			j := first + k*step
			next := x[(j+step)*n+i]
			x[j*n+i] = math.FMA(cosine, held, float64(s[k]*next))
			held = math.FMA(-s[k], held, float64(cosine*next))
		}
		x[last*n+i] = held
	}
}

// Turn sets dst to the block x of n records, record by record: number j of record i, of m, is at [i*m+j]. With
// m in place of n it turns such numbers into a block. dst must not overlap x.
func Turn(dst, x []float64, n int) {
	same(dst, x)
	m := rows(x, n)
	for j := range m {
		for i, v := range x[j*n : (j+1)*n] {
			dst[i*m+j] = v
		}
	}
}

// Columns is the number of columns that AddProducts computes.
const Columns = 32

// AddProducts adds the product of a matrix of four rows and m columns, l, and one of m rows and Columns columns, b, to
// c. The rows of c, l and b start cs, ls and bs numbers after each other. The terms of a sum are added by fused
// multiplications and additions, in the order of l's columns. c must not overlap l or b. It panics if a row is missing.
func AddProducts(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) {
	if m == 0 {
		return
	}
	fitting(c, cs, l, ls, b, bs, m)
	if productsAtOnce(c, cs, l, ls, b, bs, m) {
		return
	}
	for i := range 4 {
		sums := (*[Columns]float64)(c[i*cs:])
		for k, f := range l[i*ls:][:m] {
			for j, v := range (*[Columns]float64)(b[k*bs:]) {
				sums[j] = math.FMA(f, v, sums[j])
			}
		}
	}
}

// AddRoundedProducts is AddProducts, with each product rounded before it is added.
func AddRoundedProducts(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) {
	if m == 0 {
		return
	}
	fitting(c, cs, l, ls, b, bs, m)
	if roundedProductsAtOnce(c, cs, l, ls, b, bs, m) {
		return
	}
	for i := range 4 {
		sums := (*[Columns]float64)(c[i*cs:])
		for k, f := range l[i*ls:][:m] {
			for j, v := range (*[Columns]float64)(b[k*bs:]) {
				sums[j] += float64(f * v)
			}
		}
	}
}

// fitting panics if a row of a product of matrices is missing. m is at least 1.
func fitting(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) {
	if cs < Columns || ls < m || bs < Columns || len(c) < 3*cs+Columns || len(l) < 3*ls+m || len(b) < (m-1)*bs+Columns {
		panic(fmt.Sprintf("lanes: products of rows of %d numbers, in %d, %d and %d", m, len(c), len(l), len(b)))
	}
}

// Sides multiplies four rows of a matrix, which start stride numbers after each other at a, from both sides. It returns
// the product of each row and the vector v, and adds u[i] times row i to y, in the order of the rows. The product is
// eight interleaved sums that are folded in a fixed tree. All operations are fused multiplications and additions. The
// rows, v and y have the same length. It panics unless that is a multiple of 8.
func Sides(y, a []float64, stride int, v []float64, u [4]float64) (s [4]float64) {
	n := len(v)
	same(y, v)
	if n == 0 {
		return s
	}
	if n%8 != 0 || stride < n || len(a) < 3*stride+n {
		panic(fmt.Sprintf("lanes: four rows of %d numbers in %d", n, len(a)))
	}
	if sidesAtOnce(&s, y, a, stride, v, &u) {
		return s
	}
	for i, f := range u {
		var sums [8]float64
		for j, x := range a[i*stride:][:n] {
			y[j] = math.FMA(x, f, y[j])
			sums[j%8] = math.FMA(x, v[j], sums[j%8])
		}
		s[i] = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
	}
	return s
}
