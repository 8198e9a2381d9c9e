// Package repromath computes elementary functions with the same bits on every machine.
package repromath

import "math"

const (
	invLn2 = 1 / math.Ln2
	ln2Hi  = 0x1.62e42fefa39efp-1 // ln 2 rounded to 53 bits
	ln2Lo  = math.Ln2 - ln2Hi     // the next 53 bits of ln 2

	// shift rounds a float of absolute value below 2^51 to an integer k: the float plus shift is rounded to
	// k + shift, and the low bits of this sum are k in two's complement.
	shift     = 0x1.8p52
	shiftBits = 0x4338000000000000 // the bits of shift as a float64

	// saturation is the bound to which Exp clamps the absolute value of its argument x. It is beyond the
	// arguments at which e^x overflows (709.8) and underflows (-745.2), and small enough that 2^(k/2) is a
	// normal number for k = x/ln 2.
	saturation = 800
)

// Exp returns e^x within 1 ulp, with the same bits on every machine: 0 below -745.2, +Inf above
// 709.8, NaN for NaN. It has no branches.
//
// The argument is split as x = k ln 2 + r with an integer k and |r| <= ln(2)/2, so e^x = 2^k e^r. e^r is
// computed as 1 + (r + r^2 q(r)), where q comes from the Taylor series of e^r up to r^13. The first omitted
// term is below 5e-18. q is evaluated in a fixed order (Estrin 1960). The bits of 2^k are computed from k.
func Exp(x float64) float64 {
	x = min(max(x, -saturation), saturation)
	kd := math.FMA(x, invLn2, shift)
	k := int64(math.Float64bits(kd)) - shiftBits
	kd -= shift
	r := math.FMA(-kd, ln2Lo, math.FMA(-kd, ln2Hi, x))

	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	r8 := float64(r4 * r4)
	q01 := math.FMA(r, 1.0/6, 1.0/2)
	q23 := math.FMA(r, 1.0/120, 1.0/24)
	q45 := math.FMA(r, 1.0/5040, 1.0/720)
	q67 := math.FMA(r, 1.0/362880, 1.0/40320)
	q89 := math.FMA(r, 1.0/39916800, 1.0/3628800)
	qab := math.FMA(r, 1.0/6227020800, 1.0/479001600)
	q := math.FMA(r8, math.FMA(r2, qab, q89),
		math.FMA(r4, math.FMA(r2, q67, q45), math.FMA(r2, q23, q01)))
	p := 1 + math.FMA(r2, q, r)

	// 2^k is applied as two factors, so that overflow and gradual underflow round only once.
	k1 := k >> 1
	k2 := k - k1
	p = float64(p * math.Float64frombits(uint64(k1+1023)<<52))
	return float64(p * math.Float64frombits(uint64(k2+1023)<<52))
}

// Exps sets dst[i] to Exp(x[i]) for every i, with the same bits. It panics unless the lengths are equal. dst
// may be x itself. Otherwise dst and x must not overlap.
//
// With AVX-512 or AVX2 it computes eight or four results at a time, by the same operations in the
// same order (exp_amd64.s). All operations are exactly rounded, so the results are the same.
func Exps(dst, x []float64) {
	if len(x) != len(dst) {
		panic("elementary: Exps: len(x) != len(dst)")
	}
	for i := expsAtOnce(dst, x); i < len(dst); i++ {
		dst[i] = Exp(x[i])
	}
}

// OneMinusExp returns 1 - e^-u for u >= 0 within a few ulp, with the same bits on every machine. It returns
// NaN for NaN.
func OneMinusExp(u float64) float64 {
	if !(u < .5) {
		return 1 - Exp(-u)
	}
	// The alternating series u - u^2/2 + u^3/6 - ... in nested form, u (1 - u/2 (1 - u/3 (...))).
	// The 15th term, which is the first omitted term, is below 2e-17 times the first term.
	s := 0.0
	for k := 14.0; k >= 1; k-- {
		s = float64(u / k * (1 - s))
	}
	return s
}

// Tanhs sets dst[i] to scale times tanh(u[i]), and slopes[i] to scale times the derivative of tanh at u[i], with
// the same bits on every machine. It panics unless the lengths are equal. slopes may be u itself. Otherwise
// no two of the slices may overlap.
//
// tanh(u) is computed as 1 - 2/(1+e^(2u)), with an error of a few 2^-53, and its derivative as 4 e/(1+e)^2
// for e = e^-|2u|, within a few ulp. With AVX-512 or AVX2 it computes eight or four results at a time, by the
// same operations in the same order.
func Tanhs(dst, slopes, u []float64, scale float64) {
	if len(dst) != len(u) || len(slopes) != len(u) {
		panic("elementary: Tanhs: lengths differ")
	}
	for i := tanhsAtOnce(dst, slopes, u, scale); i < len(u); i++ {
		twice := 2 * u[i]
		e := Exp(-math.Abs(twice))
		d := 1 + e
		dst[i] = float64((1 - 2/(1+Exp(twice))) * scale)
		slopes[i] = float64(float64(4*(e/float64(d*d))) * scale)
	}
}
