package mechanism

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestZCDPGoldens compares ZCDPDelta and ZCDPEpsilon with the values in OpenDP's tests of the
// conversion from zCDP to approximate DP, to all printed digits but the last three.
func TestZCDPGoldens(t *testing.T) {
	for _, c := range []struct {
		f          func(x, y float64) (float64, error)
		x, y, want float64
	}{
		{ZCDPDelta, .05, .25, 8.17727531036956e-2},
		{ZCDPDelta, 1. / 32, 0, 0.1508457845622862},
		{ZCDPEpsilon, 1. / 32, 1e-3, 0.6880024554878085},
	} {
		if got := mustGaussian(t, c.f, c.x, c.y); !(math.Abs(got/c.want-1) <= 1e-13) {
			t.Errorf("f(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// bigZCDPDelta minimises exp((alpha-1)(alpha rho - epsilon))/(alpha-1)
// (1-1/alpha)^alpha by ternary search over ln(alpha-1) in [-110, 110].
func bigZCDPDelta(rho, epsilon float64) *big.Float {
	one := bigFloat(1)
	ln := func(x *big.Float) *big.Float {
		t := bigExp(x)
		alpha := bigAdd(one, t)
		first := bigMul(t, bigSub(bigMul(alpha, bigFloat(rho)), bigFloat(epsilon)))
		return bigAdd(bigSub(first, x), bigMul(alpha, bigSub(x, bigLog(alpha))))
	}
	lo, hi := bigFloat(-110), bigFloat(110)
	for range 110 {
		third := bigQuo(bigSub(hi, lo), bigFloat(3))
		if x, y := bigAdd(lo, third), bigSub(hi, third); ln(x).Cmp(ln(y)) < 0 {
			hi = y
		} else {
			lo = x
		}
	}
	return bigExp(ln(lo))
}

func checkZCDP(t *testing.T, rho, epsilon float64) {
	t.Helper()
	got, want := mustGaussian(t, ZCDPDelta, rho, epsilon), bigZCDPDelta(rho, epsilon)
	// The search ends 2^-57 from the minimum, so want is too large by at most 2^-90.
	if bigCompare(want, got) > 0 && bigRelative(bigFloat(got), want) > 0x1p-85 {
		t.Errorf("ZCDPDelta(%v, %v) = %v is below %v", rho, epsilon, got, bigText(want))
	}
	if got > math.SmallestNonzeroFloat64 && bigCompare(want, below(got)) <= 0 {
		t.Errorf("ZCDPDelta(%v, %v) = %v is not tight: %v", rho, epsilon, got, bigText(want))
	}
}

func TestZCDPDeltaReference(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range trials(64) {
		// delta is about exp(-(epsilon-rho)^2/(4 rho)).
		rho := logUniform(r, 5e-9, 1250)
		checkZCDP(t, rho, max(0, rho+2*math.Sqrt(rho*700)*r.Float64()*r.Float64()))
		checkZCDP(t, logUniform(r, 5e-9, 1250), logUniform(r, 1e-4, 100))
	}
	for _, c := range []struct{ rho, epsilon float64 }{
		{5e-9, 0}, {5e-9, 1e-4}, {1, 0}, {1, 1}, {10, 10}, {1250, 1250}, {1e-12, 1e-6}, {1e12, 1e12}, {1e12, 1e12 + 1e7},
		{.5, 38},
	} {
		checkZCDP(t, c.rho, c.epsilon)
	}
}

// TestZCDPEpsilonReference compares ZCDPEpsilon with the bound that its authors solved for epsilon:
// the minimum over alpha of alpha rho + ln(1-1/alpha) + (ln(1/delta) - ln alpha)/(alpha-1).
func TestZCDPEpsilonReference(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	one := bigFloat(1)
	for range trials(64) {
		rho, delta := logUniform(r, 5e-9, 1250), logUniform(r, 1e-300, .5)
		logDelta := bigLog(bigFloat(delta))
		epsilonAt := func(x *big.Float) *big.Float {
			t := bigExp(x)
			alpha := bigAdd(one, t)
			logAlpha := bigLog(alpha)
			last := bigQuo(bigNew().Neg(bigAdd(logDelta, logAlpha)), t)
			return bigAdd(bigAdd(bigMul(alpha, bigFloat(rho)), bigSub(x, logAlpha)), last)
		}
		lo, hi := bigFloat(-40), bigFloat(40)
		for range 110 {
			third := bigQuo(bigSub(hi, lo), bigFloat(3))
			if x, y := bigAdd(lo, third), bigSub(hi, third); epsilonAt(x).Cmp(epsilonAt(y)) < 0 {
				hi = y
			} else {
				lo = x
			}
		}
		want := epsilonAt(lo)
		got := mustGaussian(t, ZCDPEpsilon, rho, delta)
		if want.Sign() <= 0 {
			if got != 0 {
				t.Errorf("ZCDPEpsilon(%v, %v) = %v, want 0", rho, delta, got)
			}
			continue
		}
		if bigCompare(want, got) > 0 && bigRelative(bigFloat(got), want) > 0x1p-85 {
			t.Errorf("ZCDPEpsilon(%v, %v) = %v is below %v", rho, delta, got, bigText(want))
		}
		if bigCompare(want, below(got)) <= 0 {
			t.Errorf("ZCDPEpsilon(%v, %v) = %v is not the least: %v", rho, delta, got, bigText(want))
		}
	}
}

// TestZCDPCoversGaussian tests that the bound for every rho-zCDP mechanism is above the exact delta
// of the Gaussian mechanism.
func TestZCDPCoversGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range trials(4000) {
		mu := logUniform(r, 1e-4, 50)
		rho, err := RhoOfMu(mu)
		if err != nil {
			t.Fatal(err)
		}
		epsilon := max(0, mu*(mu/2-3+45*r.Float64()))
		if z, g := zcdpDelta(rho, epsilon), gaussianDelta(mu, epsilon); z < g {
			t.Fatalf("mu = %v, epsilon = %v: zCDP delta %v < Gaussian delta %v", mu, epsilon, z, g)
		}
	}
}

func TestZCDPMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for range trials(8000) {
		rho := logUniform(r, 1e-9, 1e4)
		epsilon := max(1e-9, rho+2*math.Sqrt(rho*700)*(r.Float64()-.2))
		last := 2.0
		for _, e := range []float64{epsilon, epsilon * (1 + 0x1p-40), epsilon * (1 + 0x1p-20), 1.5 * epsilon} {
			d := zcdpDelta(rho, e)
			if d > last || !(d > 0) {
				t.Fatalf("rho = %v: delta(%v) = %v after %v", rho, e, d, last)
			}
			last = d
		}
	}
}

func TestRhoOfMu(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	values := []float64{5e-324, 1e-310, 1e-200, 1e-162, 1e-154, 1, math.Sqrt2, 2, 1e100, 1.8961503816218352e154}
	for range 3000 {
		values = append(values, logUniform(r, 1e-4, 1e3), logUniform(r, 1e-150, 1e150))
	}
	for _, mu := range values {
		got, err := RhoOfMu(mu)
		if err != nil {
			t.Fatal(err)
		}
		want := bigScale(bigMul(bigFloat(mu), bigFloat(mu)), -1)
		if bigCompare(want, got) > 0 || bigCompare(want, below(got)) <= 0 {
			t.Errorf("RhoOfMu(%v) = %v, want %v", mu, got, bigText(want))
		}
	}
	if got, err := RhoOfMu(0); got != 0 || err != nil {
		t.Errorf("RhoOfMu(0) = %v, %v", got, err)
	}
}

func TestZCDPExtremesAreFinite(t *testing.T) {
	values := []float64{5e-324, 1e-310, 1e-200, 1e-100, 1e-16, 1, 1e16, 1e100, 1e200, 1e308, math.MaxFloat64}
	for _, rho := range values {
		for _, epsilon := range append(values, 0) {
			if d := mustGaussian(t, ZCDPDelta, rho, epsilon); !(d > 0 && d <= 1) {
				t.Errorf("ZCDPDelta(%v, %v) = %v", rho, epsilon, d)
			}
		}
		for _, delta := range []float64{5e-324, 1e-300, 1e-16, .5, below(1)} {
			epsilon, err := ZCDPEpsilon(rho, delta)
			if err != nil {
				if rho < 1e150 {
					t.Errorf("ZCDPEpsilon(%v, %v): %v", rho, delta, err)
				}
				continue
			}
			if !(epsilon >= 0) || math.IsInf(epsilon, 0) || mustGaussian(t, ZCDPDelta, rho, epsilon) > delta {
				t.Errorf("ZCDPEpsilon(%v, %v) = %v", rho, delta, epsilon)
			}
		}
	}
	for _, c := range []struct{ rho, epsilon, want float64 }{
		{0, 0, 0}, {0, 1, 0}, {1e300, 0, 1}, {1e-300, 1e300, 5e-324}, {1, 1e300, 5e-324},
	} {
		if got := mustGaussian(t, ZCDPDelta, c.rho, c.epsilon); got != c.want {
			t.Errorf("ZCDPDelta(%v, %v) = %v, want %v", c.rho, c.epsilon, got, c.want)
		}
	}
}

func TestZCDPRefuses(t *testing.T) {
	one := func(f func(float64) (float64, error)) func(x, _ float64) (float64, error) {
		return func(x, _ float64) (float64, error) { return f(x) }
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		f    func(x, y float64) (float64, error)
		x, y float64
		want string
	}{
		"rho of mu NaN": {one(RhoOfMu), nan, 0, "account: mu = NaN: must be finite and >= 0"},
		"rho of mu overflow": {one(RhoOfMu), 1.9e154, 0,
			"account: mu = 1.9e+154: must be small enough for a finite rho = mu^2/2"},
		"delta rho":       {ZCDPDelta, -1, 1, "account: rho = -1: must be finite and >= 0"},
		"delta epsilon":   {ZCDPDelta, 1, nan, "account: epsilon = NaN: must be finite and >= 0"},
		"epsilon rho":     {ZCDPEpsilon, nan, .5, "account: rho = NaN: must be finite and >= 0"},
		"epsilon delta 0": {ZCDPEpsilon, 1, 0, "account: delta = 0: must be > 0 and < 1"},
		"epsilon delta 1": {ZCDPEpsilon, 1, 1, "account: delta = 1: must be > 0 and < 1"},
	} {
		got, err := c.f(c.x, c.y)
		if err == nil || err.Error() != c.want || got != 0 {
			t.Errorf("%s: got %v, %v; want %q", name, got, err, c.want)
		}
	}
}
