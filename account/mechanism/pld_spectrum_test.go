package mechanism

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// TestTransformErrorBound measures the error of a transform against a direct sum with exact angles.
// It must be at most the stated bound.
func TestTransformErrorBound(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	for _, n := range []int{512, 2048} {
		sequence := make([]float64, n)
		var sum float64
		for i := range sequence {
			sequence[i] = math.Exp(-20 * r.Float64())
			sum += sequence[i]
		}
		got := fourier.NewFFT(n).Coefficients(nil, sequence)
		bound := fftBound * math.Log2(float64(n)) * sum
		var worst float64
		for k := range got {
			var want complex128
			for i, x := range sequence {
				want += cmplx.Rect(x, -2*math.Pi*float64(i*k%n)/float64(n))
			}
			worst = max(worst, cmplx.Abs(got[k]-want))
		}
		if worst > bound {
			t.Errorf("n = %d: error %v, bound %v", n, worst, bound)
		}
	}
}

func TestPower(t *testing.T) {
	x := complex(.6, -.7)
	want := complex(1, 0)
	for n := range 40 {
		if got := power(x, n); !(cmplx.Abs(got-want) <= 1e-13) {
			t.Errorf("power(%v, %d) = %v, want %v", x, n, got, want)
		}
		want *= x
	}
}

func randomGrid(r *rand.Rand, width float64) gridLaw {
	g := gridLaw{lattice{r.NormFloat64() * width, width, -r.IntN(20)}, make([]float64, 5+r.IntN(30))}
	for i := range g.mass {
		g.mass[i] = r.Float64() / 20
	}
	return g
}

// direct returns the convolution of laws by the definition, as a map from the lattice's index of a
// loss to its mass.
func direct(laws []weighted) map[int]float64 {
	out := map[int]float64{0: 1}
	for _, w := range laws {
		for range int(w.count) {
			next := map[int]float64{}
			for at, p := range out {
				for i, m := range w.law.mass {
					next[at+w.law.first+i] += p * m
				}
			}
			out = next
		}
	}
	return out
}

// TestConvolveAgainstDefinition tests that a convolution's entries are within their stated errors,
// also if the window is too small for the sum, and that the Chernoff bounds cover the mass outside.
func TestConvolveAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 2))
	for range 60 {
		width := logUniform(r, .01, .3)
		laws := []weighted{{randomGrid(r, width), float64(1 + r.IntN(4))}, {randomGrid(r, width), float64(1 + r.IntN(3))}}
		theta := logUniform(r, .1, 5)
		want := direct(laws)
		var offset float64
		for _, w := range laws {
			offset += w.count * w.law.offset
		}
		var middle, total float64
		for i, p := range want {
			e := p * math.Exp(theta*(offset+float64(i)*width))
			middle += e * float64(i)
			total += e
		}
		n := 1 << (4 + r.IntN(5))
		l := layout{saddle: saddle{theta: theta}, width: width, n: n, high: 1 + 4*r.Float64(), low: 1 + 4*r.Float64()}
		l.bottom = offset + (middle/total-float64(n)/2)*width
		c := mustConvolve(t, laws, l)
		var beyond, outside float64
		for i, p := range want {
			e := p * math.Exp(theta*(offset+float64(i)*width)-c.logScale)
			if i >= c.first+n {
				beyond += e
			}
			if i < c.first || i >= c.first+n {
				outside += e
			}
		}
		if beyond > c.beyond*(1+1e-9) || outside > c.outside*(1+1e-9) {
			t.Errorf("left out: %v above, %v in all; bounds %v, %v", beyond, outside, c.beyond, c.outside)
		}
		if c.slack > 1e-11 || c.spread > 1e-10 {
			t.Errorf("slack %v, spread %v", c.slack, c.spread)
		}
		for j, got := range c.mass {
			p := want[c.first+j] * math.Exp(theta*c.on(j)-c.logScale)
			if low := p*math.Exp(-c.spread) - c.slack; got < low {
				t.Fatalf("entry %d = %v, below %v", j, got, low)
			}
			if high := p*math.Exp(c.spread) + c.slack + outside; got > high {
				t.Fatalf("entry %d = %v, above %v", j, got, high)
			}
		}
	}
}

// TestCurveAgainstDefinition tests that a curve's ends bracket the hockey-stick divergence of the
// convolution that is computed by definition, wherever the window is.
func TestCurveAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 3))
	for range 80 {
		width := logUniform(r, .01, .3)
		laws := []weighted{{randomGrid(r, width), float64(1 + r.IntN(4))}, {randomGrid(r, width), 1}}
		want := direct(laws)
		var offset, top float64
		for _, w := range laws {
			offset += w.count * w.law.offset
			top += w.count * w.law.on(len(w.law.mass)-1)
		}
		truth := func(epsilon float64) float64 {
			var sum float64
			for i, p := range want {
				if s := offset + float64(i)*width; s > epsilon {
					sum -= p * math.Expm1(epsilon-s)
				}
			}
			return sum
		}
		l := layout{saddle: saddle{theta: logUniform(r, .1, 20)}, width: width, n: 1 << (5 + r.IntN(4)), high: 2, low: 2}
		l.bottom = top * (r.Float64() - .5)
		const infinite = 1e-3
		c := newCurve(mustConvolve(t, laws, l), mustConvolve(t, laws, l), l.bottom+float64(l.n)*width/3, infinite, 0)
		for range 40 {
			epsilon := top * (2*r.Float64() - .7)
			want := truth(epsilon)
			if up := c.upperDelta(epsilon); up < min(1, want+infinite) {
				t.Errorf("upper delta(%v) = %v, truth %v", epsilon, up, want+infinite)
			}
			if low := c.lowerDelta(epsilon); low > want*(1+1e-13) {
				t.Errorf("lower delta(%v) = %v, truth %v", epsilon, low, want)
			}
			delta := infinite + want*(1+.1*r.Float64())
			if e := c.upperEpsilon(delta); e < 50 && truth(e)+infinite > delta*(1+1e-12) {
				t.Errorf("upper epsilon(%v) = %v, where delta is %v", delta, e, truth(e)+infinite)
			}
			if e := c.lowerEpsilon(want); e > 0 && truth(e) < want*(1-1e-12) {
				t.Errorf("lower epsilon(%v) = %v, where delta is %v", want, e, truth(e))
			}
		}
	}
}

// TestPowersOfErrors tests that the stated error of a convolution covers up to 2^24 uses of a law,
// for which the transform is raised to that power. The law has a single loss, so the exact result
// is known.
func TestPowersOfErrors(t *testing.T) {
	for _, n := range []int{16, 64, 256} {
		for _, count := range []float64{1, 1000, 99999, 1 << 24} {
			g := gridLaw{lattice{width: 1, first: 3}, []float64{1}}
			l := layout{width: 1, n: n, bottom: 3*count - float64(n)/2, high: 1, low: 1}
			c := mustConvolve(t, []weighted{{g, count}}, l)
			var worst float64
			for j, m := range c.mass {
				if c.first+j == int(3*count) {
					m--
				}
				worst = max(worst, math.Abs(m))
			}
			if worst > c.slack || c.slack > 1e-6 {
				t.Errorf("n %d, count %v: error %v, bound %v", n, count, worst, c.slack)
			}
		}
	}
}

func mustConvolve(t *testing.T, laws []weighted, l layout) convolution {
	t.Helper()
	c, err := convolve(newEffort(t.Context(), effortMost), laws, l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
