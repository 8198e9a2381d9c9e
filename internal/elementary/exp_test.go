package loss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp is e^x to about 200 bits: Taylor series of x/2^s squared s times.
func bigExp(x float64) *big.Float {
	const prec, squarings, terms = 320, 16, 40
	r := new(big.Float).SetPrec(prec).SetFloat64(x)
	r.SetMantExp(r, -squarings)
	sum := new(big.Float).SetPrec(prec).SetInt64(1)
	term := new(big.Float).SetPrec(prec).SetInt64(1)
	for k := int64(1); k <= terms; k++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(k))
		sum.Add(sum, term)
	}
	for range squarings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulps is |got - want| in units of the spacing of floats at want.
func ulps(got float64, want *big.Float) float64 {
	near, _ := want.Float64()
	spacing := math.Nextafter(near, math.Inf(1)) - near
	diff := new(big.Float).SetPrec(320).SetFloat64(got)
	diff.Sub(diff, want)
	d, _ := diff.Quo(diff, new(big.Float).SetFloat64(spacing)).Float64()
	return math.Abs(d)
}

func TestExpWithinOneUlp(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 500
	}
	rng := rand.New(rand.NewPCG(1, 2))
	worst, at := 0.0, 0.0
	check := func(x float64) {
		if u := ulps(exp(x), bigExp(x)); u > worst {
			worst, at = u, x
		}
	}
	for range n {
		check(rng.Float64()*2 - 1)
		check(rng.Float64()*80 - 40)
		check(rng.Float64()*1417 - 708)
		check(-708 - rng.Float64()*37) // subnormal results
		check(math.Ldexp(rng.Float64()-.5, -rng.IntN(70)))
		// Near the seams of the range reduction.
		check((math.Floor(rng.Float64()*2000-1000) + .5) * math.Ln2 * .7)
	}
	t.Logf("worst error %.3f ulp at %v", worst, at)
	if worst > 1 {
		t.Errorf("exp(%v) is off by %.3f ulp: want at most 1", at, worst)
	}
}

func TestExpAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ x, want float64 }{
		{0, 1}, {math.Copysign(0, -1), 1},
		{inf, inf}, {710, inf}, {1e300, inf}, {800, inf}, {801, inf},
		{-inf, 0}, {-746, 0}, {-1e300, 0}, {-800, 0}, {-801, 0},
		{-745, 5e-324}, {709, 8.218407461554972e307},
		{5e-324, 1}, {-5e-324, 1},
	} {
		if got := exp(c.x); got != c.want {
			t.Errorf("exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	for _, x := range []float64{math.NaN(), -math.NaN(), math.Float64frombits(0x7ff0000000000001), math.Float64frombits(0xffffffffffffffff)} {
		if got := exp(x); !math.IsNaN(got) {
			t.Errorf("exp(NaN) = %v, want NaN", got)
		}
	}
}

func TestOneMinusExp(t *testing.T) {
	one := new(big.Float).SetInt64(1)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		u := math.Ldexp(rng.Float64(), 2-rng.IntN(60))
		want := bigExp(-u)
		want.Sub(one, want)
		if off := ulps(oneMinusExp(u), want); off > 4 {
			t.Errorf("oneMinusExp(%v) is off by %.2f ulp: want at most 4", u, off)
		}
	}
	if oneMinusExp(0) != 0 || oneMinusExp(1e4) != 1 || !math.IsNaN(oneMinusExp(math.NaN())) {
		t.Error("oneMinusExp at 0, 1e4, NaN: want 0, 1, NaN")
	}
}

// Decreasing somewhere would make curvatures of the wrong sign.
func TestExpMonotoneAcrossSeams(t *testing.T) {
	for k := -1070; k < 1023; k++ {
		x := (float64(k) + .5) * math.Ln2
		for range 40 {
			x = math.Nextafter(x, math.Inf(-1))
		}
		last := 0.0
		for range 80 {
			e := exp(x)
			if e < last {
				t.Fatalf("exp(%v) = %v is below exp of the float before it, %v", x, e, last)
			}
			last, x = e, math.Nextafter(x, math.Inf(1))
		}
	}
}

func BenchmarkExp(b *testing.B) {
	z := make([]float64, 1024)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range z {
		z[i] = rng.NormFloat64() * 3
	}
	for b.Loop() {
		for i := range z {
			z[i] = exp(z[i]) * 1e-9
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(z)), "ns/row")
}
