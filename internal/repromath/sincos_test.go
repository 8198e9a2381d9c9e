package repromath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigSinCos computes the sine and the cosine of x to about 200 bits: the Taylor series at x/2^s, whose angle is
// then doubled s times.
func bigSinCos(x float64) (sin, cos *big.Float) {
	const prec, terms = 640, 40
	doublings := 8 + max(math.Ilogb(x), 0)
	number := func(v int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(v) }
	r := new(big.Float).SetPrec(prec).SetFloat64(x)
	r.SetMantExp(r, -doublings)
	sin, cos = number(0), number(0)
	term := number(1)
	for k := range int64(terms) {
		of := cos
		if k%2 == 1 {
			of = sin
		}
		if k%4 < 2 {
			of.Add(of, term)
		} else {
			of.Sub(of, term)
		}
		term.Mul(term, r)
		term.Quo(term, number(k+1))
	}
	for range doublings {
		s := new(big.Float).SetPrec(prec).Mul(sin, cos)
		s.Mul(s, number(2))
		c := new(big.Float).SetPrec(prec).Mul(sin, sin)
		c.Mul(c, number(-2))
		sin, cos = s, c.Add(c, number(1))
	}
	return sin, cos
}

// TestSinCosWithinTwoUlp: SinCos must be within 2 ulp or 2^-80 of the sine and the cosine, near multiples of pi/2, for
// small and for the largest arguments, and its squares must add up to 1.
func TestSinCosWithinTwoUlp(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 300
	}
	rng := rand.New(rand.NewPCG(1, 2))
	worst, at, off := 0.0, 0.0, 0.0
	check := func(x float64) {
		s, c := SinCos(x)
		sin, cos := bigSinCos(x)
		for i, want := range []*big.Float{sin, cos} {
			got := []float64{s, c}[i]
			near, _ := want.Float64()
			u := ulps(got, want)
			if u > 2 && math.Abs(got-near) < 0x1p-80 {
				continue
			}
			if u > worst {
				worst, at = u, x
			}
		}
		off = max(off, math.Abs(math.FMA(s, s, c*c)-1))
	}
	for range n {
		check(rng.Float64()*2 - 1)
		check(rng.Float64()*40 - 20)
		check(math.Ldexp(rng.Float64()*2-1, 20))
		check(math.Ldexp(rng.Float64()-.5, -rng.IntN(70)))
		// Near the multiples of pi/2 and near the boundaries of the range reduction.
		k := float64(rng.IntN(1<<21) - 1<<20)
		check(k / 2 * math.Pi / 2)
		check((math.Floor(k/4) + .5) * math.Pi / 2)
	}
	for _, x := range []float64{MostAngle, -MostAngle, math.Pi, math.Pi / 2, -math.Pi / 4, 1e-300} {
		check(x)
	}
	t.Logf("worst error %.3f ulp at %v; squares off by %.2g", worst, at, off)
	if worst > 2 || off > 0x1p-51 {
		t.Errorf("error %v ulp at %v: must be at most 2; squares add up to 1 within %v: must be within 2^-51", worst, at, off)
	}
}

// TestSinCosGolden compares the bits with values computed by this package on amd64 in 2026, so that another
// machine, compiler or order of operations is seen. Beyond MostAngle, and for NaN, the results must be NaN.
func TestSinCosGolden(t *testing.T) {
	var hash uint64
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10000 {
		s, c := SinCos(math.Ldexp(rng.Float64()*2-1, rng.IntN(30)-9))
		for _, v := range []float64{s, c} {
			hash = (hash ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
			hash ^= hash >> 29
		}
	}
	const golden uint64 = 0x58a849da90bd2050
	if hash != golden {
		t.Errorf("hash of results %#x: want %#x", hash, golden)
	}
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Nextafter(MostAngle, math.Inf(1))} {
		if s, c := SinCos(x); s == s || c == c {
			t.Errorf("SinCos(%v) = %v, %v: want NaN", x, s, c)
		}
	}
	if s, c := SinCos(math.Copysign(0, -1)); s != 0 || c != 1 {
		t.Errorf("SinCos(-0) = %v, %v", s, c)
	}
}

func BenchmarkSinCos(b *testing.B) {
	x, sum := .1, 0.
	for b.Loop() {
		s, c := SinCos(x)
		sum += s + c
		x += .7
		if x > 100 {
			x -= 200
		}
	}
	if sum == 1 {
		b.Log(sum)
	}
}
