package repromath

import "math"

// Log returns ln x for a normal x > 0, with the same bits on every machine. Its error is at
// most 2^-51 max(1, |ln x|). With x = 2^e m and s = (m-1)/(m+1) <= 1/3,
//
//	ln x = e ln 2 + 2(s + s^3/3 + s^5/5 + ...)
//
// and the first omitted term is below 2^-65.
func Log(x float64) float64 {
	m, e := math.Frexp(x)
	s := (2*m - 1) / (2*m + 1)
	series := 0.0
	for i := 37.0; i >= 1; i -= 2 {
		series = math.FMA(float64(s*s), series, 1/i)
	}
	return math.FMA(float64(e-1), math.Ln2, float64(2*s*series))
}

// logarithm is a function of this package with vector instructions.
type logarithm int

const (
	log logarithm = iota
	log1p
	commonLog1p
)

// Logs sets dst[i] to Log(x[i]) for every i, with the same bits. It panics unless the lengths are equal. dst may be x
// itself. Otherwise dst and x must not overlap.
func Logs(dst, x []float64) { each(dst, x, log, Log) }

// Log1ps is Logs for Log1p.
func Log1ps(dst, x []float64) { each(dst, x, log1p, Log1p) }

// CommonLog1ps is Logs for math.Log1p.
func CommonLog1ps(dst, x []float64) { each(dst, x, commonLog1p, math.Log1p) }

// each computes a logarithm of every number, several at a time, and those of a register one by one if vector instructions
// do not compute all of them.
func each(dst, x []float64, of logarithm, one func(float64) float64) {
	if len(x) != len(dst) {
		panic("elementary: logarithms: len(x) != len(dst)")
	}
	for len(x) > 0 {
		n := logsAtOnce(dst, x, of)
		end := min(n+8, len(x))
		for i, v := range x[n:end] {
			dst[n+i] = one(v)
		}
		dst, x = dst[end:], x[end:]
	}
}

// ln2High is log 2 cut to 42 bits, so that its product with an integer |k| <= 1024 is exact.
const (
	ln2High = 0x1.62e42fefa38p-1
	ln2Low  = math.Ln2 - ln2High
)

// Log1p returns log(1+x) for finite x > -1, within two units in the last place and with the same bits
// on every machine.
//
// Let v be the rounded sum 1+x, and c = (1+x) - v. Then log(1+x) = log v + log(1 + c/v), and log(1 + c/v) is
// c/v up to much less than a rounding error. With v = 2^k m, m in [1/sqrt 2, sqrt 2), and s = (m-1)/(m+1),
//
//	log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...)
//
// Since s^2 < 0.0295, terms beyond s^23/23 are below 2^-60 of the sum.
func Log1p(x float64) float64 {
	v := 1 + x
	c := x - (v - 1)      // exact for v <= 2^53; for larger v, c/v is below 2^-52 and has no effect
	m, k := math.Frexp(v) // m in [1/2, 1)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	tail := 0.0
	for i := 23; i >= 3; i -= 2 {
		tail = float64((tail + 1/float64(i)) * s2)
	}
	// Small terms are added first, to lose fewer bits.
	low := float64(float64(k)*ln2Low) + float64(2*s*tail) + c/v
	return float64(float64(k)*ln2High) + (float64(2*s) + low)
}
