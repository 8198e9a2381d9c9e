package account

import "math"

// The functions below round single operations in a stated direction: the exact result of a*b, a+b
// or a/b is not beyond the returned float64. The residual of each operation is computed exactly, by
// a fused multiply-add or Knuth's two-sum.

func up(x float64) float64   { return math.Nextafter(x, math.Inf(1)) }
func down(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// tiny bounds the products and dividends whose residual may underflow.
const tiny = 0x1p-960

func mulDown(a, b float64) float64 {
	p := float64(a * b)
	if math.Abs(p) < tiny || math.FMA(a, b, -p) < 0 {
		return down(p)
	}
	return p
}

func mulUp(a, b float64) float64 { return -mulDown(-a, b) }

func addUp(a, b float64) float64 {
	s := float64(a + b)
	bb := float64(s - a)
	if float64(a-float64(s-bb))+float64(b-bb) > 0 {
		return up(s)
	}
	return s
}

func divUp(a, b float64) float64 {
	q := float64(a / b)
	if math.Abs(a) < tiny {
		return up(q)
	}
	// q*b < a (for b > 0) means q lies below the quotient.
	if r := math.FMA(q, b, -a); (r < 0) == (b > 0) && r != 0 {
		return up(q)
	}
	return q
}
