package repromath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp computes e^x to about 200 bits: the Taylor series at x/2^s, squared s times.
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

// ulps returns |got - want| in units of the spacing of floats at want.
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
		if u := ulps(Exp(x), bigExp(x)); u > worst {
			worst, at = u, x
		}
	}
	for range n {
		check(rng.Float64()*2 - 1)
		check(rng.Float64()*80 - 40)
		check(rng.Float64()*1417 - 708)
		check(-708 - rng.Float64()*37) // subnormal results
		check(math.Ldexp(rng.Float64()-.5, -rng.IntN(70)))
		// Near the boundaries of the range reduction.
		check((math.Floor(rng.Float64()*2000-1000) + .5) * math.Ln2 * .7)
	}
	t.Logf("worst error %.3f ulp at %v", worst, at)
	if worst > 1 {
		t.Errorf("Exp(%v) is off by %.3f ulp: want at most 1", at, worst)
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
		if got := Exp(c.x); got != c.want {
			t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	for _, x := range []float64{math.NaN(), -math.NaN(), math.Float64frombits(0x7ff0000000000001),
		math.Float64frombits(0xffffffffffffffff)} {
		if got := Exp(x); !math.IsNaN(got) {
			t.Errorf("Exp(NaN) = %v, want NaN", got)
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
		if off := ulps(OneMinusExp(u), want); off > 4 {
			t.Errorf("OneMinusExp(%v) is off by %.2f ulp: want at most 4", u, off)
		}
	}
	if OneMinusExp(0) != 0 || OneMinusExp(1e4) != 1 || !math.IsNaN(OneMinusExp(math.NaN())) {
		t.Error("OneMinusExp at 0, 1e4, NaN: want 0, 1, NaN")
	}
}

// TestExpMonotoneAcrossSeams tests that Exp is monotone. A decrease would give curvatures of the
// wrong sign.
func TestExpMonotoneAcrossSeams(t *testing.T) {
	for k := -1070; k < 1023; k++ {
		x := (float64(k) + .5) * math.Ln2
		for range 40 {
			x = math.Nextafter(x, math.Inf(-1))
		}
		last := 0.0
		for range 80 {
			e := Exp(x)
			if e < last {
				t.Fatalf("Exp(%v) = %v is below exp of the float before it, %v", x, e, last)
			}
			last, x = e, math.Nextafter(x, math.Inf(1))
		}
	}
}

func BenchmarkExp(b *testing.B) {
	z, e := make([]float64, 1024), make([]float64, 1024)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range z {
		z[i] = rng.NormFloat64() * 3
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(z)), "ns/number")
		})
	}
	run("one by one", func() {
		for i, v := range z {
			e[i] = Exp(v)
		}
	})
	run("at once", func() { Exps(e, z) })
	run("math", func() {
		for i, v := range z {
			e[i] = math.Exp(v)
		}
	})
}

// everyKind calls f once for each implementation of Exps that this machine can run.
func everyKind(t *testing.T, f func(t *testing.T)) {
	t.Run("as chosen", f)
	for _, restrict := range restrictions {
		restore := restrict.by()
		t.Run(restrict.name, f)
		restore()
	}
}

// TestExpsAreExp tests that Exps has the bits of Exp for every length and position, for any
// numbers, and in place.
func TestExpsAreExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	special := []float64{
		0, math.Copysign(0, -1), 5e-324, -5e-324, 0x1p-1022, 1, -1, 700, 709.78, 709.79, 710, -708, -708.5, -740, -745.1,
		-745.2, -746,
		800, -800, 801, -801, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(),
		math.Float64frombits(0x7ff0000000000001),
		math.MaxFloat64, -math.MaxFloat64,
	}
	everyKind(t, func(t *testing.T) {
		for n := range 70 {
			for shape := range 4 {
				x := make([]float64, n+3)
				for i := range x {
					switch shape {
					case 0:
						x[i] = rng.NormFloat64() * 3
					case 1:
						x[i] = rng.Float64()*1700 - 850
					case 2:
						x[i] = math.Float64frombits(rng.Uint64())
					case 3:
						x[i] = special[rng.IntN(len(special))]
					}
				}
				want := append([]float64(nil), x...)
				at := shape % 3
				for i := range n {
					want[at+i] = Exp(x[at+i])
				}
				dst := make([]float64, n)
				Exps(dst, x[at:at+n])
				Exps(x[at:at+n], x[at:at+n])
				for i := range x {
					if math.Float64bits(x[i]) != math.Float64bits(want[i]) && !(math.IsNaN(x[i]) && math.IsNaN(want[i])) {
						t.Fatalf("n = %d: number %d: %v, want %v", n, i-at, x[i], want[i])
					}
				}
				for i, v := range dst {
					if math.Float64bits(v) != math.Float64bits(x[at+i]) && v == v {
						t.Fatalf("n = %d: number %d: %v, in place %v", n, i, v, x[at+i])
					}
				}
			}
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("lengths that differ are taken")
		}
	}()
	Exps(make([]float64, 8), make([]float64, 9))
}

// FuzzExps searches for a number on which the implementations differ.
func FuzzExps(f *testing.F) {
	f.Add(uint64(0x3ff0000000000000))
	f.Add(uint64(0xc0874910d52d3051))
	f.Add(uint64(0x40862e42fefa39ef))
	f.Fuzz(func(t *testing.T, bits uint64) {
		everyKind(t, func(t *testing.T) {
			x := math.Float64frombits(bits)
			z := []float64{x, -x, x / 2, x * 0x1p-40, x, x, x, math.Nextafter(x, 0)}
			e := make([]float64, len(z))
			Exps(e, z)
			for i, v := range z {
				if want := Exp(v); math.Float64bits(e[i]) != math.Float64bits(want) && !(math.IsNaN(want) && math.IsNaN(e[i])) {
					t.Errorf("Exps(%v) = %v, want %v", v, e[i], want)
				}
			}
		})
	})
}

// TestTanhsAreTanh compares Tanhs with math.Tanh at ordinary and extreme numbers. It tests that the results have the
// same bits for every length and position, as numbers one by one have, and in place.
func TestTanhsAreTanh(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 30, -30, 354, -354, 355, -355, 1e308, -1e308,
		math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	everyKind(t, func(t *testing.T) {
		for n := range 40 {
			u, scale := make([]float64, n), math.Exp(rng.NormFloat64())
			for i := range u {
				if u[i] = rng.NormFloat64() * 2; rng.IntN(4) == 0 {
					u[i] = special[rng.IntN(len(special))]
				}
			}
			dst, slopes := make([]float64, n), make([]float64, n)
			Tanhs(dst, slopes, u, scale)
			for i, x := range u {
				var one, slope [1]float64
				Tanhs(one[:], slope[:], u[i:i+1], scale)
				if !alike(dst[i], one[0]) || !alike(slopes[i], slope[0]) {
					t.Fatalf("tanh(%v) of %d numbers: %v, %v: want %v, %v", x, n, dst[i], slopes[i], one[0], slope[0])
				}
				tanh := math.Tanh(x)
				curvature := 1 / math.Cosh(x) / math.Cosh(x)
				if !near(dst[i]/scale, tanh, 0x1p-51) || !near(slopes[i]/scale, curvature, 0x1p-40*curvature+5e-324) {
					t.Fatalf("tanh(%v): %v, %v: want %v, %v", x, dst[i]/scale, slopes[i]/scale, tanh, curvature)
				}
			}
			again := append([]float64(nil), u...)
			out := make([]float64, n)
			Tanhs(out, again, again, scale)
			for i := range u {
				if !alike(out[i], dst[i]) || !alike(again[i], slopes[i]) {
					t.Fatalf("tanh(%v) in place: %v, %v: want %v, %v", u[i], out[i], again[i], dst[i], slopes[i])
				}
			}
		}
	})
}

// alike reports whether a and b have the same bits, or are both NaN.
func alike(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// near reports whether a and b differ by at most the tolerance, or are both NaN.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance || math.IsNaN(a) && math.IsNaN(b)
}
