package mechanism

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestBigReference(t *testing.T) {
	// At epsilon 0 the delta of a mu-GDP Gaussian mechanism is erf(mu/(2 sqrt 2)), by the Maclaurin
	// series erf(z) = 2/sqrt(pi) sum (-1)^n z^(2n+1)/(n! (2n+1)).
	for _, mu := range []float64{1e-9, 1e-4, .5, 1, 3, 6} {
		square := bigScale(bigMul(bigFloat(mu), bigFloat(mu)), -3)
		term, sum := bigFloat(mu), bigNew()
		for n := 0; n < 200; n++ {
			sum.Add(sum, bigQuo(term, bigFloat(float64(2*n+1))))
			term = bigNew().Neg(bigQuo(bigMul(term, square), bigFloat(float64(n+1))))
		}
		want := bigMul(sum, bigInvRootTwoPi)
		if r := bigRelative(bigDelta(t, mu, 0), want); r > 0x1p-95 {
			t.Errorf("mu = %v: the quadrature differs from the series by %v", mu, r)
		}
	}
	// M(0) = sqrt(pi/2).
	if r := bigRelative(bigMills(t, bigNew()), bigScale(bigRootTwoPi, -1)); r > 0x1p-95 {
		t.Errorf("M(0) is off by %v", r)
	}
	// e, ln 10: OEIS A001113, A002392.
	for _, c := range []struct {
		got    *big.Float
		digits string
	}{
		{bigExp(bigFloat(1)), "2.71828182845904523536028747135266249775724709369995"},
		{bigLog(bigFloat(10)), "2.30258509299404568401799145468436420760110148862877"},
	} {
		if r := bigRelative(c.got, bigDigits(c.digits)); r > 0x1p-155 {
			t.Errorf("got %v, want %v", c.got, c.digits)
		}
	}
}

// randomDD returns a random normalised double-double number (dd) of either sign, with exponents from
// -exponents to exponents.
func randomDD(r *rand.Rand, exponents int) dd {
	hi := math.Ldexp(1+r.Float64(), r.IntN(2*exponents+1)-exponents)
	if r.IntN(2) == 0 {
		hi = -hi
	}
	return ddFastSum(hi, hi*(r.Float64()-.5)*0x1p-52)
}

func TestDDArithmetic(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		x, y := randomDD(r, 60), randomDD(r, 60)
		if r.IntN(4) == 0 { // nearly cancelling
			y = x.neg().add(dd{x.hi * math.Ldexp(1, -r.IntN(90)), 0})
		}
		for _, c := range []struct {
			name  string
			got   dd
			want  *big.Float
			bound float64
		}{
			{"add", x.add(y), bigAdd(bigOf(x), bigOf(y)), 0x1p-104},
			{"sub", x.sub(y), bigSub(bigOf(x), bigOf(y)), 0x1p-104},
			{"mul", x.mul(y), bigMul(bigOf(x), bigOf(y)), 0x1p-103},
			{"mulFloat", x.mulFloat(y.hi), bigMul(bigOf(x), bigFloat(y.hi)), 0x1p-104},
			{"div", x.div(y), bigQuo(bigOf(x), bigOf(y)), 0x1p-102},
		} {
			if e := bigRelative(bigOf(c.got), c.want); e > c.bound {
				t.Fatalf("%v %s %v: relative error 2^%.1f", x, c.name, y, math.Log2(e))
			}
			if c.got.hi != c.got.hi+c.got.lo {
				t.Fatalf("%v %s %v = %v is not normalised", x, c.name, y, c.got)
			}
		}
	}
}

func TestDDConstants(t *testing.T) {
	for _, c := range []struct {
		got  dd
		want *big.Float
	}{
		{ddLn2, bigLn2},
		{dd4Pi, bigScale(bigDigits(bigPiDigits), 2)},
		{ddSqrt2Pi, bigRootTwoPi},
	} {
		if e := bigRelative(bigOf(c.got), c.want); e > 0x1p-106 {
			t.Errorf("%v: relative error 2^%.1f", c.got, math.Log2(e))
		}
	}
}

func TestDDExp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		y := randomDD(r, 9)
		v, k := ddExp(y)
		if e := bigRelative(bigScale(bigOf(v), k), bigExp(bigOf(y))); e > 0x1p-98+math.Abs(y.hi)*0x1p-103 {
			t.Fatalf("exp(%v): relative error 2^%.1f", y, math.Log2(e))
		}
	}
}

func TestDDLog1p(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		s := randomDD(r, 60)
		if s.hi <= -.5 {
			s = s.neg()
		}
		// The reference itself loses 60 of its 192 bits at s = 2^-60.
		if e := bigRelative(bigOf(ddLog1p(s)), bigLog(bigAdd(bigFloat(1), bigOf(s)))); e > 0x1p-96 {
			t.Fatalf("log1p(%v): relative error 2^%.1f", s, math.Log2(e))
		}
	}
	for _, x := range []float64{1e100, 1e300, math.MaxFloat64} {
		if e := bigRelative(bigOf(ddLog1p(dd{x, 0})), bigLog(bigFloat(x))); e > 0x1p-96 {
			t.Errorf("log1p(%v): relative error 2^%.1f", x, math.Log2(e))
		}
	}
	for _, x := range []float64{1e-100, 1e-300} {
		if got := ddLog1p(dd{x, 0}); got.hi != x {
			t.Errorf("log1p(%v) = %v", x, got)
		}
	}
}

func TestMills(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	xs := []dd{{}, {1e-300, 0}, {1e-20, 0}, dd4Pi, {math.Nextafter(dd4Pi.hi, 0), 0}, {41, 0}, {1e5, 0}, {1e8, 0}}
	for range 150 {
		hi := 41 * r.Float64()
		xs = append(xs, dd{hi, hi * (r.Float64() - .5) * 0x1p-53})
	}
	for _, x := range xs {
		want := bigMills(t, bigOf(x))
		if e := bigRelative(bigOf(mills(x)), want); e > 0x1p-95 {
			t.Errorf("M(%v): relative error 2^%.1f", x, math.Log2(e))
		}
	}
	// M(x) = 1/x - 1/x^3 + 3/x^5 - ...
	for _, x := range []float64{1e19, 0x1p60, 0x1.8p61, 1e100, 1e170, 1e200} {
		inverse := bigQuo(bigFloat(1), bigFloat(x))
		want := bigSub(inverse, bigMul(inverse, bigMul(inverse, inverse)))
		if e := bigRelative(bigOf(mills(dd{x, 0})), want); e > 0x1p-95 {
			t.Errorf("M(%v): relative error 2^%.1f", x, math.Log2(e))
		}
	}
}

func TestNormalRoundUp(t *testing.T) {
	const least = math.SmallestNonzeroFloat64
	for _, c := range []struct {
		v    dd
		k    int
		want float64
	}{
		{dd{1, 0}, 0, 1},
		{dd{1, 0x1p-80}, 0, 1 + 0x1p-52},
		{dd{1, -0x1p-80}, 0, 1},
		{dd{1, 0}, -1074, least},
		{dd{1, 0x1p-80}, -1074, 2 * least},
		{dd{1.5, 0}, -1074, 2 * least},
		{dd{1.25, 0}, -1074, 2 * least},
		{dd{1, 0}, -1080, least},
		{dd{1, 0}, -5000, least},
		{dd{1, 0}, 1024, math.Inf(1)},
	} {
		if got := normalRoundUp(c.v, c.k); got != c.want {
			t.Errorf("%v 2^%d: got %v, want %v", c.v, c.k, got, c.want)
		}
	}
	if got := normalCeil(dd{1, -0x1p-81}, 0); got != 1+0x1p-52 {
		t.Errorf("normalCeil leaves no room for the error bound: got %v", got)
	}
}

func TestNormalSearch(t *testing.T) {
	for _, want := range []float64{math.SmallestNonzeroFloat64, 1e-310, .1, 1, math.Pi, 1e300, math.MaxFloat64} {
		if got, ok := normalLeast(func(x float64) bool { return x >= want }); !ok || got != want {
			t.Errorf("least: got %v %v, want %v", got, ok, want)
		}
		if got := normalGreatest(func(x float64) bool { return x <= want }); got != want {
			t.Errorf("greatest: got %v, want %v", got, want)
		}
	}
	if _, ok := normalLeast(func(float64) bool { return false }); ok {
		t.Error("least: found where there is none")
	}
	if got := normalGreatest(func(float64) bool { return false }); got != 0 {
		t.Errorf("greatest: got %v, want 0", got)
	}
}
