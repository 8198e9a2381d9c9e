package audit

import (
	"math"
	"math/rand/v2"
)

func dot(a, b []float64) float64 {
	var s float64
	for j := range a {
		s += a[j] * b[j]
	}
	return s
}

func scaled(v []float64, f float64) []float64 {
	out := make([]float64, len(v))
	for j := range v {
		out[j] = f * v[j]
	}
	return out
}

func plus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for j := range a {
		out[j] = a[j] + b[j]
	}
	return out
}

func minus(a, b []float64) []float64 { return plus(a, scaled(b, -1)) }

// unit returns v scaled to length 1, and the length of v. A zero vector stays zero.
func unit(v []float64) ([]float64, float64) {
	var length float64
	for _, x := range v {
		length = math.Hypot(length, x)
	}
	if !(length > 0) {
		return make([]float64, len(v)), 0
	}
	return scaled(v, 1/length), length
}

// direction returns a random point, uniformly distributed on the unit sphere.
func direction(r *rand.Rand, dim int) []float64 {
	v := make([]float64, dim)
	for j := range v {
		v[j] = r.NormFloat64()
	}
	u, _ := unit(v)
	return u
}

// across returns a random unit vector orthogonal to the unit vector u, or zero in one dimension.
func across(r *rand.Rand, u []float64) []float64 {
	v := direction(r, len(u))
	out, rest := unit(minus(v, scaled(u, dot(u, v))))
	if rest < 1e-9 {
		return make([]float64, len(u))
	}
	return out
}

// narrow rounds a row of features to float32. A row longer than 1 is first scaled to length 1 - 2^-24.
func narrow(v []float64) []float32 {
	if _, length := unit(v); length > 1 {
		v = scaled(v, (1-0x1p-24)/length)
	}
	return float32s(v)
}

func float32s(v []float64) []float32 {
	x := make([]float32, len(v))
	for j := range v {
		x[j] = float32(v[j])
	}
	return x
}
