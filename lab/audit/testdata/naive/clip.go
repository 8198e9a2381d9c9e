package naive

import "math"

// Clip scales the vector v to norm at most c. The fault: squares overflow and underflow, and a
// comparison with NaN is false, so that some vectors pass unchanged.
func Clip(v []float64, c float64) []float64 {
	var squares float64
	for _, x := range v {
		squares += float64(x * x)
	}
	out := append([]float64(nil), v...)
	if norm := math.Sqrt(squares); norm > c {
		for j := range out {
			out[j] *= c / norm
		}
	}
	return out
}
