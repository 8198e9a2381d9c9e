package repromath

import "math"

// MostAngle is the largest absolute value of the arguments of SinCos.
const MostAngle = 1 << 20

const (
	halfPiHi = 0x1.921fb54442d18p+0 // pi/2 rounded to 53 bits
	halfPiLo = math.Pi/2 - halfPiHi // the next 53 bits of pi/2
)

// SinCos returns the sine and the cosine of x with the same bits on every machine. The error is at most 2 ulp or
// 2^-80, whichever is larger. SinCos returns NaN for NaN and for |x| above MostAngle. The squares of the two
// results add up to 1 up to 2^-51.
//
// The argument is split as x = k pi/2 + r with an integer k and |r| <= pi/4. Two fused multiply-adds subtract k
// times the leading and the trailing 53 bits of pi/2. Where r is near 0, the first difference may be longer than r
// and is at most 2^-34, so that its rounding moves r by less than 2^-86. The sine and the cosine of r come from
// their Taylor series up to r^17 and r^16. The first omitted terms are below 8.4e-20 and 2.1e-18. The series
// are evaluated in a fixed order (Horner).
func SinCos(x float64) (sin, cos float64) {
	if !(math.Abs(x) <= MostAngle) {
		return math.NaN(), math.NaN()
	}
	kd := math.FMA(x, 2/math.Pi, shift)
	k := math.Float64bits(kd)
	kd -= shift
	r := math.FMA(-kd, halfPiLo, math.FMA(-kd, halfPiHi, x))

	z := float64(r * r)
	p := math.FMA(z, 1.0/355687428096000, -1.0/1307674368000)
	p = math.FMA(z, p, 1.0/6227020800)
	p = math.FMA(z, p, -1.0/39916800)
	p = math.FMA(z, p, 1.0/362880)
	p = math.FMA(z, p, -1.0/5040)
	p = math.FMA(z, p, 1.0/120)
	p = math.FMA(z, p, -1.0/6)
	s := math.FMA(float64(r*z), p, r)

	q := math.FMA(z, 1.0/20922789888000, -1.0/87178291200)
	q = math.FMA(z, q, 1.0/479001600)
	q = math.FMA(z, q, -1.0/3628800)
	q = math.FMA(z, q, 1.0/40320)
	q = math.FMA(z, q, -1.0/720)
	q = math.FMA(z, q, 1.0/24)
	// 1 - z/2 is rounded, and what rounding lost is added with the small terms.
	half := float64(.5 * z)
	one := 1 - half
	c := one + math.FMA(float64(z*z), q, (1-one)-half)

	if k&1 != 0 {
		s, c = c, s
	}
	// The quadrant's signs: the sine changes its sign for k = 2 and 3 modulo 4, the cosine for 1 and 2.
	s = math.Float64frombits(math.Float64bits(s) ^ k&2<<62)
	c = math.Float64frombits(math.Float64bits(c) ^ (k+1)&2<<62)
	return s, c
}
