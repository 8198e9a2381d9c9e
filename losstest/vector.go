package losstest

import (
	"math"
	"math/rand/v2"
)

func normals(rng *rand.Rand, d int) []float64 {
	v := make([]float64, d)
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	return v
}

func dot(a, b []float64) float64 {
	s := 0.0
	for j := range a {
		s += a[j] * b[j]
	}
	return s
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

// rescale multiplies v by a number so that it has the given length. Entries become NaN if v is zero.
func rescale(v []float64, length float64) {
	n := norm(v)
	for j := range v {
		v[j] *= length / n
	}
}

// shift returns w + t v.
func shift(w []float64, t float64, v []float64) []float64 {
	moved := make([]float64, len(w))
	for j := range w {
		moved[j] = w[j] + t*v[j]
	}
	return moved
}
