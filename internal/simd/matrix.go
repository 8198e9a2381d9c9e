package simd

import (
	"fmt"
	"math"
)

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
