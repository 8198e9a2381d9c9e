package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

func seed(b byte) [32]byte { return [32]byte{0: b, 31: 0xa5} }

func sampler(b byte, s, width, ask uint) *randomBits {
	return newFlips(coin.Simulated(seed(b)), coarse(s, width), ask)
}

func samples(n int) int {
	if testing.Short() {
		return n / 8
	}
	return n
}

// TestMassesAgreeWithErf compares the exact probabilities of a rounded normal with math.Erf.
func TestMassesAgreeWithErf(t *testing.T) {
	for k := range 4 {
		const reach = 5
		r := reach << k
		p := masses(k, r)
		sum := 0.0
		for i, got := range p {
			sum += got
			if i == 0 || i == 2*r {
				continue
			}
			m := float64(i - r)
			scale := math.Ldexp(1, k) * math.Sqrt2
			want := (math.Erf((m+.5)/scale) - math.Erf((m-.5)/scale)) / 2
			if !(math.Abs(got-want) <= 1e-15) {
				t.Errorf("k = %d, m = %v: mass %v, erf gives %v", k, m, got, want)
			}
		}
		if !(math.Abs(sum-1) <= 1e-14) {
			t.Errorf("k = %d: masses sum to %v", k, sum)
		}
	}
}

// TestNormalsLaw compares the rounded normal with its exact distribution: all cells together by a
// chi-square test, and the cells -1, 0 and 1 one by one by a binomial test with normal quantiles.
func TestNormalsLaw(t *testing.T) {
	for k := range 4 {
		n := samples(1_000_000)
		r := 6 << k
		dst := make([]int64, n)
		Normals(dst, k, coin.Simulated(seed(byte(k))), 2)
		i := 0
		counts := tally(n, r, func() int64 { i++; return dst[i-1] })
		p := masses(k, r)
		checkLaw(t, fmt.Sprintf("k = %d", k), counts, p)
		for m := -1; m <= 1; m++ {
			want, got := p[r+m], float64(counts[r+m])/float64(n)
			if tolerance := z * math.Sqrt(want*(1-want)/float64(n)); !(math.Abs(got-want) <= tolerance) {
				t.Errorf("k = %d: P(%d) = %v, want %v +- %v", k, m, got, want, tolerance)
			}
		}
		// The same sample shows that the test can distinguish rounding to nearest from rounding
		// toward zero.
		if x, d := chiSquare(counts, truncated(k, r)); x < 10*chiSquareLimit(d) {
			t.Errorf("k = %d: chi-square %v against the truncated law: no power", k, x)
		}
	}
}

// TestLawAtEveryWidth tests the distribution with narrow digits. With these, both the acceptance step
// and the rounding draw many digits of the fraction x, which wide digits rarely need.
func TestLawAtEveryWidth(t *testing.T) {
	const k, r = 2, 6 << 2
	p := masses(k, r)
	for i, width := range []uint{1, 2, 3, 5, 8, 31, 63, 64} {
		for _, ask := range []uint{1, batch} {
			s := uint(i) % 4
			f := sampler(byte(width), s, width, ask)
			counts := tally(samples(200_000), r, func() int64 { return f.normal(k) })
			checkLaw(t, fmt.Sprintf("cells of 2^-%d, width %d, ask %d", s, width, ask), counts, p)
		}
	}
}

// TestSlowSamplersAgree compares Karney's algorithm as printed, and inversion of the exact
// distribution, with the exact masses and with Normals.
func TestSlowSamplersAgree(t *testing.T) {
	const k, r = 1, 6 << 1
	p := masses(k, r)
	n := samples(400_000)
	f := sampler(21, fineness, 64, batch)
	fast := tally(n, r, func() int64 { return f.normal(k) })
	checkLaw(t, "fast", fast, p)

	s := coin.Simulated(seed(22))
	l := literal{s: s, base: 2}
	printed := tally(n, r, l.draw)
	checkLaw(t, "as printed", printed, p)
	checkSame(t, "fast and as printed", fast, printed)

	v := inversion{cumulative: edges(k, r), reach: r}
	inverted := tally(n/2, r, func() int64 { return v.draw(s) })
	checkLaw(t, "inversion", inverted, p)
	checkSame(t, "fast and inversion", fast, inverted)
}

func TestMomentsAndDistributionAtFineGrid(t *testing.T) {
	n := samples(1_000_000)
	const k = 32
	dst := make([]int64, n)
	Normals(dst, k, coin.Simulated(seed(31)), 2)
	x := make([]float64, n)
	for i, m := range dst {
		x[i] = math.Ldexp(float64(m), -k)
	}

	// mean is E N^j, and variance is E N^(2j) - (E N^j)^2, the variance of one term.
	root := math.Sqrt(float64(n))
	for j, moment := range []struct{ mean, variance float64 }{
		1: {0, 1}, 2: {1, 2}, 3: {0, 15}, 4: {3, 96},
	} {
		if j == 0 {
			continue
		}
		sum := 0.0
		for _, v := range x {
			sum += math.Pow(v, float64(j))
		}
		got := sum / float64(n)
		if tolerance := z * math.Sqrt(moment.variance) / root; !(math.Abs(got-moment.mean) <= tolerance) {
			t.Errorf("moment %d = %v, want %v +- %v", j, got, moment.mean, tolerance)
		}
	}

	positive := 0.0
	for _, v := range x {
		if v > 0 {
			positive++
		}
	}
	if got := positive / float64(n); !(math.Abs(got-.5) <= z*.5/root) {
		t.Errorf("P(N > 0) = %v", got)
	}

	for lag := 1; lag <= 4; lag++ {
		var plain, magnitude float64
		for i := lag; i < n; i++ {
			plain += x[i] * x[i-lag]
			magnitude += (x[i]*x[i] - 1) * (x[i-lag]*x[i-lag] - 1) / 2
		}
		if got := plain / float64(n); !(math.Abs(got) <= z/root) {
			t.Errorf("lag %d: correlation %v", lag, got)
		}
		if got := magnitude / float64(n); !(math.Abs(got) <= z/root) {
			t.Errorf("lag %d: correlation of squares %v", lag, got)
		}
	}

	// P(sqrt(n) D > e) <= 2 exp(-2 e^2) (Massart 1990). The grid of 2^-32 adds less than 2^-33.
	limit := math.Sqrt(math.Log(2e6)/2)/root + 0x1p-33
	if d := kolmogorov(x); d > limit {
		t.Errorf("Kolmogorov distance %v, limit %v", d, limit)
	}

	// Within one integer the density is so flat that the last byte is uniform to within 2^-24.
	counts, flat := make([]int, 256), make([]float64, 256)
	for i, m := range dst {
		counts[m&255]++
		flat[i%256] = 1. / 256
	}
	checkLaw(t, "last byte", counts, flat)
}
