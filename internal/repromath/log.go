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
