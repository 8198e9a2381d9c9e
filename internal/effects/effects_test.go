package effects

import (
	"math"
	"testing"
)

// TestFrequencies: frequencies must have mean 0, standard deviation Deviation and the fourth moment of a normal
// number, be uncorrelated, and depend on the seed. The seeds are fixed, so that the test cannot fail by chance. The
// tolerances are six standard deviations.
func TestFrequencies(t *testing.T) {
	const n = 1 << 16
	omega := Frequencies(1, n/4, 4)
	var sum, square, fourth, neighbours float64
	for i, v := range omega {
		v /= Deviation
		sum += v
		square += v * v
		fourth += v * v * v * v
		neighbours += v * omega[(i+1)%n] / Deviation
	}
	root := math.Sqrt(n)
	for name, x := range map[string]float64{"mean": sum / root, "variance": (square - n) / root / math.Sqrt(2),
		"fourth moment": (fourth - 3*n) / root / math.Sqrt(96), "neighbours": neighbours / root} {
		if !(math.Abs(x) < 6) {
			t.Errorf("%s: off by %v standard deviations", name, x)
		}
	}
	if other := Frequencies(2, n/4, 4); other[0] == omega[0] || other[n-1] == omega[n-1] {
		t.Error("another seed gives the same frequencies")
	}
	// Of three deviations each is that of a third of the pairs, in their order.
	for i, v := range Frequencies(1, n/4, 4, 8, 4, 1) {
		pair := i / 4
		if want := omega[i] / Deviation * []float64{8, 4, 1}[pair*3/(n/4)]; !(math.Abs(v-want) <= 1e-15*math.Abs(want)) {
			t.Fatalf("frequency %d is %v: want %v", i, v, want)
		}
	}
}

// TestFrequenciesGolden: models store the seed alone, so that frequencies must never change. The values come from
// this package, in 2026.
func TestFrequenciesGolden(t *testing.T) {
	omega := Frequencies(0x1234567890abcdef, 2, 2)
	want := []uint64{0x40017eb2bae29166, 0xc008b6265c68c8b2, 0xbfe5ef4a0dc2bcf3, 0xbffa514033abf8be}
	for i, v := range omega {
		if got := math.Float64bits(v); got != want[i] {
			t.Errorf("frequency %d is %#x: want %#x", i, got, want[i])
		}
	}
}

// TestFill compares features with their definition, computed with package math, and their norm with the amplitude.
func TestFill(t *testing.T) {
	centres := []float64{.3, -1, 2}
	const scale, amplitude, features = .7, .25, 40
	b := New(9, features, centres, scale, amplitude)
	if b.Columns() != 3 || b.Features() != features || b.Amplitude() != amplitude {
		t.Fatal(b.Columns(), b.Features(), b.Amplitude())
	}
	omega := Frequencies(9, features/2, 3)
	for _, f := range [][]float64{{0, 0, 0}, {.3, -1, 2}, {1, 2, 3}, {-1e3, 40, 0}} {
		dst := make([]float32, features)
		b.Fill(dst, features, append([]float64(nil), f...))
		norm := 0.
		for k := range features / 2 {
			angle, again := 0., 0.
			factors, offset := b.Angles(k)
			for j, v := range f {
				angle += omega[3*k+j] * (v - centres[j]) / scale
				again += factors[j] * v
			}
			if !(math.Abs(angle-again-offset) <= 1e-9*max(1, math.Abs(angle))) {
				t.Errorf("angle %d of %v is %v: want %v", k, f, again+offset, angle)
			}
			for i, want := range []float64{math.Cos(angle), math.Sin(angle)} {
				if !(math.Abs(float64(dst[2*k+i])-amplitude*want) <= 1e-7) {
					t.Errorf("feature %d of %v is %v: want %v", 2*k+i, f, dst[2*k+i], amplitude*want)
				}
			}
			norm += float64(dst[2*k])*float64(dst[2*k]) + float64(dst[2*k+1])*float64(dst[2*k+1])
		}
		if want := features / 2 * amplitude * amplitude; !(math.Abs(norm-want) <= 1e-7*want) {
			t.Errorf("squared norm %v: want %v", norm, want)
		}
	}
	dst := make([]float32, features)
	b.Fill(dst, features, []float64{1e99, 0, -1e99})
	for _, v := range dst {
		if v != v || !(math.Abs(float64(v)) <= amplitude*(1+1e-7)) {
			t.Errorf("feature of a huge effect: %v", v)
		}
	}
}
