// Package round computes a*b, a+b and a/b in float64, rounded up or down. A result rounded up is at
// least the exact result. A result rounded down is at most the exact result. A fused multiply-add
// or Knuth's two-sum gives the sign of the rounding error of each operation.
package round

import "math"

// Up returns the next float64 above x.
func Up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// Down returns the next float64 below x.
func Down(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// tiny is a threshold for the absolute value of a product or a dividend. Below it the rounding error may be too small
// for a float64. The result is then moved by one float64 in the direction of rounding without a look at the error.
const tiny = 0x1p-960

// MulDown returns a*b rounded down: a float64 that is at most the exact product.
func MulDown(a, b float64) float64 {
	p := float64(a * b)
	if math.Abs(p) < tiny || math.FMA(a, b, -p) < 0 {
		return Down(p)
	}
	return p
}

// MulUp returns a*b rounded up: a float64 that is at least the exact product.
func MulUp(a, b float64) float64 { return -MulDown(-a, b) }

// AddUp returns a+b rounded up: a float64 that is at least the exact sum.
func AddUp(a, b float64) float64 {
	s := float64(a + b)
	bb := float64(s - a)
	if float64(a-float64(s-bb))+float64(b-bb) > 0 {
		return Up(s)
	}
	return s
}

// DivUp returns a/b rounded up: a float64 that is at least the exact quotient.
func DivUp(a, b float64) float64 {
	q := float64(a / b)
	if math.Abs(a) < tiny {
		return Up(q)
	}
	// q*b < a, for b > 0, means that q is below the exact quotient a/b.
	if r := math.FMA(q, b, -a); (r < 0) == (b > 0) && r != 0 {
		return Up(q)
	}
	return q
}
