package mechanism

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// refDiscrete returns the probabilities of the integers from -reach to reach under discrete Gaussian
// noise, normalised by a sum in big.Float.
func refDiscrete(sigma float64, reach int) []float64 {
	total := new(big.Float).SetPrec(200)
	p := make([]float64, 2*reach+1)
	for y := -reach; y <= reach; y++ {
		p[y+reach] = math.Exp(-float64(y) * float64(y) / (2 * sigma * sigma))
		total.Add(total, big.NewFloat(p[y+reach]))
	}
	z, _ := total.Float64()
	for i := range p {
		p[i] /= z
	}
	return p
}

// refShift returns the delta at epsilon, by the definition, of noise with the probabilities p, if
// the outputs of neighbouring tables differ by k.
func refShift(p []float64, k int, epsilon float64) float64 {
	at := func(i int) float64 {
		if i < 0 || i >= len(p) {
			return 0
		}
		return p[i]
	}
	var sum float64
	for i := range len(p) + k {
		sum += max(0, at(i-k)-math.Exp(epsilon)*at(i))
	}
	return sum
}

func discrete(t testing.TB, sigma float64, sensitivity int) Mechanism {
	t.Helper()
	m, err := newDiscreteGaussian(sigma, sensitivity)
	return mustMechanism(t, m, err)
}

func TestDiscreteGaussianOneUse(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 1))
	for range trials(60) {
		k := 1 + r.IntN(5)
		sigma := float64(k) * logUniform(r, .15, 30)
		p := refDiscrete(sigma, int(12*sigma)+12+k)
		epsilon := logUniform(r, 1e-3, 3)
		want := refShift(p, k, epsilon)
		if want < 1e-12 { // beyond the reach of the sum
			continue
		}
		b, err := compose(t, 1e-3, Composed{discrete(t, sigma, k), 1}).Delta(t.Context(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, discrete(t, sigma, k).String(), b, want, 1e-9)
		if b.width() > 1e-3 {
			t.Errorf("sigma %v, sensitivity %d: width %v", sigma, k, b.width())
		}
		for j := 1; j < k; j++ { // smaller shifts have a smaller delta
			if d := refShift(p, j, epsilon); d > b.Upper*(1+1e-12) {
				t.Errorf("sigma %v: a shift by %d costs %v, by %d at most %v", sigma, j, d, k, b.Upper)
			}
		}
	}
}

// TestDiscreteGaussianTwoUses compares the delta of two uses of discrete Gaussian noise with the sum
// over pairs of outputs.
func TestDiscreteGaussianTwoUses(t *testing.T) {
	for _, c := range []struct {
		s1, s2, epsilon float64
		k1, k2          int
	}{{1, 1, 1, 1, 1}, {.4, 3, .5, 1, 2}, {7, 2.5, .2, 3, 1}, {9, 11, .05, 1, 1}} {
		p, q := refDiscrete(c.s1, int(12*c.s1)+8), refDiscrete(c.s2, int(12*c.s2)+8)
		var want float64
		for i := range len(p) + c.k1 {
			for j := range len(q) + c.k2 {
				var with, without float64 = 1, 1
				for _, x := range []struct {
					p    []float64
					i, k int
				}{{p, i, c.k1}, {q, j, c.k2}} {
					if x.i-x.k < 0 {
						with = 0
					} else {
						with *= x.p[x.i-x.k]
					}
					if x.i >= len(x.p) {
						without = 0
					} else {
						without *= x.p[x.i]
					}
				}
				want += max(0, with-math.Exp(c.epsilon)*without)
			}
		}
		b, err := compose(t, 1e-3, Composed{discrete(t, c.s1, c.k1), 1},
			Composed{discrete(t, c.s2, c.k2), 1}).Delta(t.Context(), c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, "two discrete gaussians", b, want, 1e-9)
		if b.width() > 1e-3 {
			t.Errorf("%+v: width %v", c, b.width())
		}
	}
}

// TestDiscreteGaussianLarge tests that a hundred uses with a large sigma have about the epsilon of
// the Gaussian mechanism, that a group of k records has k times the sensitivity, and that the Renyi
// and zCDP bounds are not below the true values.
func TestDiscreteGaussianLarge(t *testing.T) {
	b := epsilonOf(t, discrete(t, 200, 10), 100, 1e-5)
	if want := mustGaussian(t, GaussianEpsilon, .5, 1e-5); !(math.Abs(b.Upper/want-1) <= 2e-3) {
		t.Errorf("100 of sigma 200, sensitivity 10: %v, want about %v", b, want)
	}
	g, err := Group(discrete(t, 6, 2), 3)
	if err != nil || g != discrete(t, 6, 6) {
		t.Errorf("three of 2: %v, %v", g, err)
	}
	for _, m := range []Mechanism{discrete(t, .7, 1), discrete(t, 3, 2), discrete(t, 40, 1)} {
		events := []Composed{{m, 5}}
		b := epsilonOf(t, m, 5, 1e-6)
		a, err := ComposeRenyi(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		renyi, err := a.Epsilon(t.Context(), 1e-6)
		if err != nil || renyi < b.Lower {
			t.Errorf("%v: Renyi %v, %v; below %v", m, renyi, err, b)
		}
		rho, err := ZCDP(t.Context(), events)
		d := m.(discreteGaussian)
		if want := 5 * math.Pow(float64(d.sensitivity)/d.sigma, 2) / 2; err != nil || rho < want || rho > want*(1+1e-12) {
			t.Errorf("%v: rho %v, %v; want %v", m, rho, err, want)
		}
	}
}

func TestDiscreteGaussianLimits(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		k     int
		want  string
	}{
		{0, 1, "sigma = 0: must be"}, {math.NaN(), 1, "sigma = NaN"}, {math.Inf(1), 1, "sigma = +Inf"},
		{40000, 1, "sigma = 40000: must be"},
		{1, 0, "sensitivity = 0: must be a whole number"}, {1, -3, "sensitivity = -3"}, {1, 1 << 21, "sensitivity = 2097152"},
		{1, 100, "sigma over sensitivity = 0.01"},
	} {
		_, err := newDiscreteGaussian(c.sigma, c.k)
		wantError(t, err, c.want)
	}
	// The two series of the function discreteNormaliser, the sum of exp(-y^2/(2 sigma^2)) over the
	// integers y, must agree with a plain sum, also near sigma = 1, where the code changes from one
	// to the other.
	for _, sigma := range []float64{.02, .3, .999999, 1, 1.5, 30} {
		sum := 1.0
		for y := 1.0; y < 40*sigma+3; y++ {
			sum += 2 * math.Exp(-y*y/(2*sigma*sigma))
		}
		if z := discreteNormaliser(sigma); !(math.Abs(z/sum-1) <= 1e-14) {
			t.Errorf("sigma %v: normaliser %v, want %v", sigma, z, sum)
		}
	}
}
