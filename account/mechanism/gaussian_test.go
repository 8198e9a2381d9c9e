package mechanism

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func mustGaussian(t testing.TB, f func(x, y float64) (float64, error), x, y float64) float64 {
	t.Helper()
	v, err := f(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var long = flag.Bool("long", false, "repeat random trials four times as often as by default")

// trials returns the number of times that a test repeats a random trial: n with -long, n/4 by
// default, n/32 with -short, and at least 1. Seeds are fixed, so that shorter modes run the first
// of the same trials.
func trials(n int) int {
	switch {
	case *long:
		return n
	case testing.Short():
		return max(1, n/32)
	}
	return max(1, n/4)
}

func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return math.Exp(math.Log(lo) + r.Float64()*math.Log(hi/lo))
}

func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

func bigCompare(x *big.Float, y float64) int { return x.Cmp(bigFloat(y)) }

// TestGaussianGoldens compares results with two other implementations, to the printed digits:
// dp_accounting's tests of privacy-loss distributions (mu = 1) and of its noise calibration (sigma
// = 4.530877117).
func TestGaussianGoldens(t *testing.T) {
	for _, c := range []struct {
		f                 func(x, y float64) (float64, error)
		x, y, want, digit float64
	}{
		{GaussianDelta, 1, 0, 0.38292492, 1e-8},
		{GaussianDelta, 1, 1, 0.12693674, 1e-8},
		{GaussianDelta, 1, 2, 0.02092364, 1e-8},
		{GaussianEpsilon, 1 / 4.530877117, 1e-6, 0.927392338, 1e-9},
		{GaussianMu, 0.927392338, 1e-6, 1 / 4.530877117, 1e-9},
	} {
		if got := mustGaussian(t, c.f, c.x, c.y); !(math.Abs(got-c.want) <= c.digit) {
			t.Errorf("f(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// checkDelta compares the result of GaussianDelta with the reference: it must be the least float64
// that is at least delta. The code adds 2^-80 of delta before rounding, so that the test fails
// wrongly only if delta is less than 2^-80 below a float64, which has probability 2^-27 in each
// case.
func checkDelta(t *testing.T, mu, epsilon float64) {
	t.Helper()
	got, want := mustGaussian(t, GaussianDelta, mu, epsilon), bigDelta(t, mu, epsilon)
	if bigCompare(want, got) > 0 {
		t.Errorf("GaussianDelta(%v, %v) = %v is below %v", mu, epsilon, got, bigText(want))
	}
	if bigCompare(want, below(got)) <= 0 && got > math.SmallestNonzeroFloat64 {
		t.Errorf("GaussianDelta(%v, %v) = %v is not tight: %v", mu, epsilon, got, bigText(want))
	}
}

func TestGaussianDeltaReference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	for range trials(200) {
		// epsilon is computed from a uniform a = epsilon/mu - mu/2, so that delta covers [2^-1074,
		// 1] evenly in the root of its exponent.
		mu := logUniform(r, 1e-4, 50)
		epsilon := mu * (mu/2 - 9.5 + 48*r.Float64())
		if epsilon < 1e-4 || epsilon > 100 {
			epsilon = logUniform(r, 1e-4, 100)
			mu = min(50, epsilon/30+logUniform(r, 1e-2, 10))
		}
		checkDelta(t, mu, epsilon)
	}
	for range trials(100) {
		checkDelta(t, logUniform(r, 1e-4, 50), logUniform(r, 1e-4, 100))
	}
}

func TestGaussianDeltaEdges(t *testing.T) {
	edges := []struct{ mu, epsilon float64 }{
		{gaussianSmall, 0}, {above(gaussianSmall), 0}, {below(gaussianSmall), .5},
		{gaussianSmall, .3}, {above(gaussianSmall), .3},
		{1, .5}, {1, above(.5)}, {1, below(.5)}, // a = 0
		{1.1, 1.1 * 1.1 / 2}, {math.Sqrt2, 1},
		{50, 1250}, {50, above(1250)}, {50, below(1250)}, {1000, 5e5}, {1000, 5e5 + 1e4},
		{1, 40.5}, {1, above(40.5)}, {1, below(40.5)}, {1, 38.9}, {1, 39.2}, // delta underflows
		{18, 0}, {18.001, 0}, {17.999, 0}, {16, 0}, // delta rounds to 1
		{1, 13.07}, {1, 12.066}, {1, 4 * math.Pi}, // a or b = 4 pi
		{1e-4, 0}, {1e-4, 1e-8}, {1e-4, 3e-3}, {1e-8, 1e-8}, {1e-20, 3e-19}, {1e-150, 1e-150}, {1e-300, 1e-300},
		{1e-4, 1e-4}, {50, 1e-4}, {50, 100}, {1e-4, 100},
		{4e-301, 1e-299}, {5e-324, 0}, {5e-324, 5e-324}, {1e-310, 3e-309},
	}
	for _, c := range edges {
		checkDelta(t, c.mu, c.epsilon)
	}
	// Here epsilon is rounded down to a grid of about 2^-75 mu, which adds at most 2^-73 of delta.
	for _, epsilon := range []float64{1e-7, 1e-10, 1e-30, 5e-324} {
		got, want := mustGaussian(t, GaussianDelta, 1, epsilon), bigDelta(t, 1, epsilon)
		if bigCompare(want, got) > 0 || bigRelative(bigFloat(got), want) > 0x1p-52 {
			t.Errorf("GaussianDelta(1, %v) = %v, want %v", epsilon, got, bigText(want))
		}
	}
	for _, c := range []struct{ mu, epsilon, want float64 }{
		{0, 0, 0}, {0, 1, 0}, {0, math.MaxFloat64, 0},
		{math.MaxFloat64, 0, 1}, {math.MaxFloat64, math.MaxFloat64, 1}, {1e200, 1e300, 1}, {1e-3, 1e308, 5e-324},
		{1, math.MaxFloat64, 5e-324}, {5e-324, math.MaxFloat64, 5e-324}, {1e150, 1e308, 5e-324}, {100, 0, 1},
	} {
		if got := mustGaussian(t, GaussianDelta, c.mu, c.epsilon); got != c.want {
			t.Errorf("GaussianDelta(%v, %v) = %v, want %v", c.mu, c.epsilon, got, c.want)
		}
	}
}

// TestGaussianDeltaLargeMu tests large mu for which epsilon and mu^2/2 cancel. With a = epsilon/mu -
// mu/2, b = epsilon/mu + mu/2 and the Mills ratio M, delta is Phi(-a) - phi(a) M(b) with b about mu:
// 0.5 - 1/(sqrt(2 pi) mu) at a = 0.
func TestGaussianDeltaLargeMu(t *testing.T) {
	for _, k := range []int{20, 100, 300, 500} {
		mu, epsilon := math.Ldexp(1, k), math.Ldexp(1, 2*k-1)
		want := bigSub(bigFloat(.5), bigQuo(bigInvRootTwoPi, bigFloat(mu)))
		got := mustGaussian(t, GaussianDelta, mu, epsilon)
		// The next term of M(b) is phi(0)/mu^3.
		if bigCompare(want, got) > 0 && k > 20 || bigRelative(bigFloat(got), want) > 0x1.01p-52 {
			t.Errorf("mu = 2^%d: got %v, want %v", k, got, bigText(want))
		}
	}
}

// TestGaussianDeltaTextbook compares delta with the two-term formula in float64, which is precise
// to 1e-13 of its larger term.
func TestGaussianDeltaTextbook(t *testing.T) {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	r := rand.New(rand.NewPCG(13, 14))
	for range 5000 {
		mu, epsilon := logUniform(r, .1, 10), logUniform(r, 1e-4, 20)
		first := tail(epsilon/mu - mu/2)
		want := first - math.Exp(epsilon)*tail(epsilon/mu+mu/2)
		if got := mustGaussian(t, GaussianDelta, mu,
			epsilon); !(math.Abs(got-want) <= 1e-13*(1+epsilon/mu*epsilon/mu)*first+1e-300) {
			t.Fatalf("GaussianDelta(%v, %v) = %v, textbook %v", mu, epsilon, got, want)
		}
	}
}

func TestGaussianDeltaMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	ladder := func(x float64) []float64 {
		return []float64{x, above(x), above(above(x)), x * (1 + 0x1p-50), x * (1 + 0x1p-40), x * (1 + 0x1p-20), x * 1.5}
	}
	check := func(mu, epsilon float64) {
		last := 2.0
		for _, e := range ladder(epsilon) {
			d := gaussianDelta(mu, e)
			if d > last || !(d > 0 && d <= 1) {
				t.Fatalf("mu = %v: delta(%v) = %v after %v", mu, e, d, last)
			}
			last = d
		}
		last = 0
		for _, m := range ladder(mu) {
			d := gaussianDelta(m, epsilon)
			if d < last {
				t.Fatalf("epsilon = %v: delta(mu = %v) = %v after %v", epsilon, m, d, last)
			}
			last = d
		}
	}
	for range trials(12000) {
		mu := logUniform(r, 1e-6, 50)
		check(mu, max(0, mu*(mu/2-9.2+50*r.Float64())))
		check(mu, logUniform(r, 1e-40, 1)*mu)
		check(logUniform(r, 1e-320, 1e300), logUniform(r, 1e-320, 1e300))
	}
	for range trials(800) {
		check(gaussianSmall*(1-0x1p-51), r.Float64()/2)
		mu := logUniform(r, 1e-3, 40)
		check(mu, mu*mu/2*(1-0x1p-51)) // a about 0
		check(mu, mu*(4*math.Pi+mu/2)*(1-0x1p-51))
	}
}

// TestGaussianDeltaMonotoneAtSteps tests that delta does not increase at tiny epsilon, where the
// deltas of neighbouring epsilons differ by less than the rounding errors of delta. Without the
// grid on epsilon some of these sequences would increase.
func TestGaussianDeltaMonotoneAtSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range trials(160) {
		mu := logUniform(r, 1e-3, 4)
		delta := below(below(gaussianDelta(mu, 0)))
		epsilon := mustGaussian(t, GaussianEpsilon, mu, delta)
		bits, last := math.Float64bits(epsilon), 2.0
		for k := bits - 60; k < bits+60; k++ {
			e := math.Float64frombits(k)
			d := gaussianDelta(mu, e)
			if d > last {
				t.Fatalf("mu = %v: delta(%v) = %v after %v", mu, e, d, last)
			}
			last = d
		}
	}
}

// checkEpsilon compares the result of GaussianEpsilon with the reference: it must be the least
// float64 at which delta is small enough. Where GaussianDelta rounds epsilon to a grid, it may
// exceed this float64 by less than 2^-73 mu.
func checkEpsilon(t *testing.T, mu, delta float64) {
	t.Helper()
	epsilon := mustGaussian(t, GaussianEpsilon, mu, delta)
	if bigCompare(bigDelta(t, mu, epsilon), delta) > 0 {
		t.Errorf("GaussianEpsilon(%v, %v) = %v is too small", mu, delta, epsilon)
	}
	less := below(epsilon)
	if epsilon < mu*0x1p-21 {
		less = max(0, epsilon-mu*0x1p-73)
	}
	if epsilon > 0 && bigCompare(bigDelta(t, mu, less), delta) <= 0 {
		t.Errorf("GaussianEpsilon(%v, %v) = %v is not the least", mu, delta, epsilon)
	}
}

func TestGaussianEpsilonReference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 18))
	for range trials(60) {
		checkEpsilon(t, logUniform(r, 1e-4, 50), logUniform(r, 1e-300, .5))
		checkEpsilon(t, logUniform(r, 1e-4, 50), logUniform(r, 1e-12, .5))
	}
	// Small epsilon, where delta is close to its value at 0.
	for range trials(30) {
		epsilon := logUniform(r, 1e-4, 1e-2)
		mu := logUniform(r, max(1e-4, epsilon/5), 1.3)
		checkEpsilon(t, mu, gaussianDelta(mu, epsilon))
		checkEpsilon(t, mu, below(gaussianDelta(mu, epsilon)))
	}
	for _, mu := range []float64{1e-4, gaussianSmall, above(gaussianSmall), 1, 1.3, 5, 15} {
		zero := gaussianDelta(mu, 0)
		if got := mustGaussian(t, GaussianEpsilon, mu, zero); got != 0 {
			t.Errorf("mu = %v: epsilon of delta(0) is %v", mu, got)
		}
		if got := mustGaussian(t, GaussianEpsilon, mu, below(below(zero))); !(got > 0 && got < 1e-14*max(1, 1/(1-zero))) {
			t.Errorf("mu = %v: epsilon of just below delta(0) is %v", mu, got)
		}
		checkEpsilon(t, mu, zero*(1-1e-12))
	}
	checkEpsilon(t, 50, 1-0x1p-53)
	checkEpsilon(t, 50, .5)
	checkEpsilon(t, 1e-4, 1e-300)
	checkEpsilon(t, 50, 1e-300)
	checkEpsilon(t, 1, 5e-324)
	checkEpsilon(t, 1e-100, 1e-101)
}

// checkMu compares the result of GaussianMu with the reference: it must be the greatest float64 for
// which the mechanism is still (epsilon, delta)-DP.
func checkMu(t *testing.T, epsilon, delta float64) {
	t.Helper()
	mu := mustGaussian(t, GaussianMu, epsilon, delta)
	if bigCompare(bigDelta(t, mu, epsilon), delta) > 0 {
		t.Errorf("GaussianMu(%v, %v) = %v is too large", epsilon, delta, mu)
	}
	if bigCompare(bigDelta(t, above(mu), epsilon), delta) <= 0 {
		t.Errorf("GaussianMu(%v, %v) = %v is not the greatest", epsilon, delta, mu)
	}
}

func TestGaussianMuReference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 20))
	for range trials(60) {
		checkMu(t, logUniform(r, 1e-4, 100), logUniform(r, 1e-300, .5))
		checkMu(t, logUniform(r, 1e-4, 100), logUniform(r, 1e-12, .5))
	}
	for _, c := range []struct{ epsilon, delta float64 }{
		{1e-4, .5}, {1e-4, 1e-300}, {100, .5}, {100, 1e-300}, {1, below(1)}, {1e-3, .999},
		{1, 5e-324}, {1e-50, 1e-50}, {1e-50, .5}, {1e-300, 1e-300}, {5e-324, .25}, {1000, 1e-9},
	} {
		checkMu(t, c.epsilon, c.delta)
	}
}

func TestGaussianExtremesAreFinite(t *testing.T) {
	values := []float64{5e-324, 1e-310, 0x1p-1022, 1e-200, 1e-100, 1e-16, 1, 1e16, 1e100, 1e154, 1e155, 1e200,
		math.MaxFloat64}
	deltas := []float64{5e-324, 1e-300, 1e-16, .5, below(1)}
	for _, x := range values {
		for _, d := range deltas {
			mu := mustGaussian(t, GaussianMu, x, d)
			if !(mu >= 0) || math.IsInf(mu, 0) || mustGaussian(t, GaussianDelta, mu, x) > d {
				t.Errorf("GaussianMu(%v, %v) = %v", x, d, mu)
			}
			epsilon, err := GaussianEpsilon(x, d)
			if err != nil {
				if x < 1e150 || epsilon != 0 {
					t.Errorf("GaussianEpsilon(%v, %v) = %v, %v", x, d, epsilon, err)
				}
				continue
			}
			if !(epsilon >= 0) || math.IsInf(epsilon, 0) || mustGaussian(t, GaussianDelta, x, epsilon) > d {
				t.Errorf("GaussianEpsilon(%v, %v) = %v", x, d, epsilon)
			}
		}
	}
}

func TestGaussianRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		f    func(x, y float64) (float64, error)
		x, y float64
		want string
	}{
		"delta mu NaN":           {GaussianDelta, nan, 1, "account: mu = NaN: must be finite and >= 0"},
		"delta mu negative":      {GaussianDelta, -1, 1, "account: mu = -1: must be finite and >= 0"},
		"delta mu Inf":           {GaussianDelta, inf, 1, "account: mu = +Inf: must be finite and >= 0"},
		"delta epsilon NaN":      {GaussianDelta, 1, nan, "account: epsilon = NaN: must be finite and >= 0"},
		"delta epsilon negative": {GaussianDelta, 1, -1, "account: epsilon = -1: must be finite and >= 0"},
		"delta epsilon Inf":      {GaussianDelta, 0, inf, "account: epsilon = +Inf: must be finite and >= 0"},
		"epsilon mu":             {GaussianEpsilon, -1, .5, "account: mu = -1: must be finite and >= 0"},
		"epsilon delta 0":        {GaussianEpsilon, 1, 0, "account: delta = 0: must be > 0 and < 1"},
		"epsilon delta 1":        {GaussianEpsilon, 1, 1, "account: delta = 1: must be > 0 and < 1"},
		"epsilon delta NaN":      {GaussianEpsilon, 1, nan, "account: delta = NaN: must be > 0 and < 1"},
		"epsilon overflow": {GaussianEpsilon, 1e155, .5,
			"account: mu = 1e+155: must be small enough for a finite epsilon at delta = 0.5"},
		"mu epsilon 0":      {GaussianMu, 0, .5, "account: epsilon = 0: must be finite and > 0"},
		"mu epsilon NaN":    {GaussianMu, nan, .5, "account: epsilon = NaN: must be finite and > 0"},
		"mu epsilon Inf":    {GaussianMu, inf, .5, "account: epsilon = +Inf: must be finite and > 0"},
		"mu delta 1":        {GaussianMu, 1, 1, "account: delta = 1: must be > 0 and < 1"},
		"mu delta negative": {GaussianMu, 1, -.1, "account: delta = -0.1: must be > 0 and < 1"},
	} {
		got, err := c.f(c.x, c.y)
		if err == nil || err.Error() != c.want || got != 0 {
			t.Errorf("%s: got %v, %v; want %q", name, got, err, c.want)
		}
	}
}

func BenchmarkGaussianDelta(b *testing.B) {
	for b.Loop() {
		gaussianDelta(1, .3)
	}
}

func BenchmarkGaussianMu(b *testing.B) {
	for b.Loop() {
		mustGaussian(b, GaussianMu, 1, 1e-6)
	}
}
