package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// The kernels of this file fix the order of every floating-point operation, so that their results
// are the same bits on every machine. What is said to be fused is one operation, rounded once (math.FMA);
// float64(a*b) forbids to fuse what is not. A dot product is eight interleaved sums of fused
// multiplications and additions, which are folded in a fixed tree.

// magic is 1.5*2^52. For |p| <= 2^51, the low bits of the representation of p + magic hold p rounded to the nearest
// integer (ties to even), so bits(p + magic) - bits(magic) is that integer. The kernels add the bits as integers and
// subtract bits(magic) once for each row at the end. An exact sum is therefore as fast as a sum of floats.
const magic = 0x1.8p52

var magicBits = math.Float64bits(magic)

// dots sets z to the dot products of rows with vectors, for the portable kernel (see kernel.dots).
func dots(z, w []float64, x []float32, stride, width int) {
	for len(z) > 0 {
		for v := w; len(v) > 0; v = v[width:] {
			z[0] = dot(v[:stride], x[:stride])
			z = z[1:]
		}
		x = x[stride:]
	}
}

// dot returns <w, x>. The lengths of x and w are equal and a multiple of row.Lane.
func dot(w []float64, x []float32) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	w = w[:len(x)]
	for j := 0; j <= len(x)-row.Lane; j += row.Lane {
		a, b := (*[row.Lane]float32)(x[j:]), (*[row.Lane]float64)(w[j:])
		s0 = math.FMA(float64(a[0]), b[0], s0)
		s1 = math.FMA(float64(a[1]), b[1], s1)
		s2 = math.FMA(float64(a[2]), b[2], s2)
		s3 = math.FMA(float64(a[3]), b[3], s3)
		s4 = math.FMA(float64(a[4]), b[4], s4)
		s5 = math.FMA(float64(a[5]), b[5], s5)
		s6 = math.FMA(float64(a[6]), b[6], s6)
		s7 = math.FMA(float64(a[7]), b[7], s7)
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// addRounded adds rounded multiples of rows to sums, for the portable kernel (see kernel.add).
func addRounded(acc []int64, width int, c []float64, x []float32, stride int) {
	for each := len(acc) / width; len(acc) > 0; acc, c = acc[width:], c[min(1, len(c)):] {
		addMargin(acc[:stride], c, each, x)
	}
}

// addMargin adds round(c[i*each] * row i) to acc for all rows i, coordinate by coordinate. Rows have len(acc)
// numbers.
func addMargin(acc []int64, c []float64, each int, x []float32) {
	d, i := len(acc), 0
	rows := (len(c) + each - 1) / each
	for ; i <= rows-4; i += 4 {
		r, f := x[i*d:], c[i*each:]
		addRounded4(acc, &[4]float64{f[0], f[each], f[2*each], f[3*each]}, r[:d], r[d:2*d], r[2*d:3*d], r[3*d:4*d])
	}
	for ; i < rows; i++ {
		f := c[i*each]
		for j, v := range x[i*d : (i+1)*d] {
			acc[j] += roundProduct(f, float64(v))
		}
	}
}

func addRounded4(acc []int64, c *[4]float64, x0, x1, x2, x3 []float32) {
	x0, x1, x2, x3 = x0[:len(acc)], x1[:len(acc)], x2[:len(acc)], x3[:len(acc)]
	c0, c1, c2, c3, m4 := c[0], c[1], c[2], c[3], 4*magicBits
	for j := range acc {
		b0 := math.Float64bits(math.FMA(c0, float64(x0[j]), magic))
		b1 := math.Float64bits(math.FMA(c1, float64(x1[j]), magic))
		b2 := math.Float64bits(math.FMA(c2, float64(x2[j]), magic))
		b3 := math.Float64bits(math.FMA(c3, float64(x3[j]), magic))
		acc[j] += int64((b0 + b1) + (b2 + b3) - m4)
	}
}

// round rounds p to the nearest integer as the kernels do. |p| must be at most mostSteps, 2^51. For
// any other p, including NaN, the result has no meaning.
func round(p float64) int64 { return int64(math.Float64bits(p+magic) - magicBits) }

// roundProduct rounds the exact product a*b to the nearest integer, in one fused operation. The product is
// bounded as for the function round.
func roundProduct(a, b float64) int64 {
	return int64(math.Float64bits(math.FMA(a, b, magic)) - magicBits)
}

// mostSteps is the largest absolute value that the function round rounds correctly.
const mostSteps = 0x1p51

// Round rounds p to the nearest integer and, if the variable Unrounded is set, checks that p is small
// enough to be rounded correctly. It is used everywhere except in the innermost loops.
func Round(p float64) int64 {
	if Unrounded != nil && !(math.Abs(p) <= mostSteps) {
		Unrounded(p)
	}
	return round(p)
}

// Unrounded, if not nil, is called with each number to be rounded whose absolute value exceeds
// mostSteps, or that is NaN, before the number is rounded. docs/explanation/exactness.md proves that
// no such number occurs. Tests set Unrounded so that they fail if one occurs. If Unrounded is set,
// the products that kernels round are also checked one by one.
var Unrounded func(p float64)

// rounded checks the products of rows and coefficients that the method addRows rounds next, if
// Unrounded is set.
func (p *pass) rounded(count int, c []float64, b row.Block) {
	if Unrounded == nil {
		return
	}
	stride, groups := p.layout.Stride(), p.layout.Groups()
	for i, v := range c {
		at := i / count
		for _, x := range b.Rows[at*stride : (at+1)*stride] {
			Round(float64(v * float64(x)))
		}
		if groups > 0 {
			Round(float64(v * float64(b.Levels[at])))
		}
		if edges := p.layout.Edges(); edges > 0 {
			for _, x := range b.Edges.By[2*at*edges : 2*(at+1)*edges] {
				Round(float64(v * float64(x)))
			}
		}
	}
}
