package repromath

import "math"

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
