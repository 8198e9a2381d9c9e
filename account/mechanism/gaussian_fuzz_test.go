package mechanism

import (
	"math"
	"testing"
)

// FuzzGaussian tests arguments of arbitrary bits. Errors are allowed where documented. It fails on
// a panic, a NaN, a negative result, a violation of monotonicity, or a round trip whose result is
// less private than its argument.
func FuzzGaussian(f *testing.F) {
	for _, c := range [][3]float64{
		{1, 1, 1e-6}, {gaussianSmall, .3, 1e-9}, {1e-4, 100, 1e-300}, {50, 1e-4, .5},
		{1e155, 1e308, .5}, {5e-324, 5e-324, 5e-324}, {1e-20, 0, 1e-21}, {18, 160, 1 - 0x1p-53},
		{math.NaN(), math.Inf(1), -1}, {0, 0, 0},
	} {
		f.Add(c[0], c[1], c[2])
	}
	f.Fuzz(func(t *testing.T, mu, epsilon, delta float64) {
		d, err := GaussianDelta(mu, epsilon)
		if valid := mu >= 0 && mu <= math.MaxFloat64 && epsilon >= 0 && epsilon <= math.MaxFloat64; valid != (err == nil) {
			t.Fatalf("GaussianDelta(%v, %v): %v", mu, epsilon, err)
		}
		if !(d >= 0 && d <= 1) {
			t.Fatalf("GaussianDelta(%v, %v) = %v", mu, epsilon, d)
		}
		if err == nil {
			if next, err := GaussianDelta(mu, above(epsilon)); err == nil && next > d {
				t.Fatalf("GaussianDelta(%v, above %v) = %v > %v", mu, epsilon, next, d)
			}
			if next, err := GaussianDelta(above(mu), epsilon); err == nil && next < d {
				t.Fatalf("GaussianDelta(above %v, %v) = %v < %v", mu, epsilon, next, d)
			}
		}

		e, err := GaussianEpsilon(mu, delta)
		if !(e >= 0 && e <= math.MaxFloat64) {
			t.Fatalf("GaussianEpsilon(%v, %v) = %v", mu, delta, e)
		}
		if err == nil {
			if back := gaussianDelta(mu, e); !(back <= delta) {
				t.Fatalf("GaussianEpsilon(%v, %v) = %v has delta %v", mu, delta, e, back)
			}
			if e > 0 && gaussianDelta(mu, below(e)) <= delta {
				t.Fatalf("GaussianEpsilon(%v, %v) = %v is not the least", mu, delta, e)
			}
		}

		m, err := GaussianMu(epsilon, delta)
		if !(m >= 0 && m <= math.MaxFloat64) {
			t.Fatalf("GaussianMu(%v, %v) = %v", epsilon, delta, m)
		}
		if err == nil {
			if back := gaussianDelta(m, epsilon); !(back <= delta) {
				t.Fatalf("GaussianMu(%v, %v) = %v has delta %v", epsilon, delta, m, back)
			}
			if m < math.MaxFloat64 && gaussianDelta(above(m), epsilon) <= delta {
				t.Fatalf("GaussianMu(%v, %v) = %v is not the greatest", epsilon, delta, m)
			}
		}
	})
}
