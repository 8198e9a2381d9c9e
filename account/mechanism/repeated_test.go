package mechanism

import (
	"math"
	"testing"
)

func repeat(t testing.TB, times Repetitions, events ...Composed) Mechanism {
	t.Helper()
	m, err := newRepeatAndSelect(t.Context(), times, events)
	return mustMechanism(t, m, err)
}

// refSlope computes the probabilities of K, the random number of runs, from the definition. It
// returns the derivative of their generating function, and the probability none of K = 0.
func refSlope(times Repetitions, gamma float64) (slope func(q float64) float64, none float64) {
	const most = 4000
	p := make([]float64, most)
	var sum float64
	for k := range p {
		a, _ := math.Lgamma(float64(k) + 1)
		switch {
		case times.Poisson:
			p[k] = math.Exp(float64(k)*math.Log(times.Mean) - times.Mean - a)
		case k == 0:
		case times.Shape == 0:
			p[k] = math.Pow(1-gamma, float64(k)) / float64(k)
		default:
			b, _ := math.Lgamma(float64(k) + times.Shape)
			p[k] = math.Exp(b - a + float64(k)*math.Log1p(-gamma))
		}
		sum += p[k]
	}
	var mean float64
	for k := range p {
		p[k] /= sum
		mean += float64(k) * p[k]
	}
	return func(q float64) float64 {
		var s float64
		power := 1.0
		for k := 1; k < most && (power > 1e-18 || k < 3); k++ {
			s += float64(k) * p[k] * power
			power *= q
		}
		return s
	}, p[0]
}

// gammaOf returns the parameter gamma at which the number K of runs has the stated mean, computed
// from the probabilities.
func gammaOf(times Repetitions) float64 {
	lo, hi := 1e-3, 1-1e-9
	for range 60 {
		mid := (lo + hi) / 2
		slope, _ := refSlope(times, mid)
		if slope(1) > times.Mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

var repetitions = []Repetitions{
	{Mean: 3, Shape: 1}, {Mean: 12, Shape: 1}, {Mean: 4}, {Mean: 5, Shape: .5}, {Mean: 8, Shape: 3},
	{Mean: 1, Poisson: true}, {Mean: 6, Poisson: true}, {Mean: 20, Poisson: true},
}

// TestRepeatAndSelectAboveTheBestOfGaussians tests repeated Gaussians. The best of K outputs has
// the density n(y) f'(N(y)), where n and N are the density and distribution function of one output
// and f is the generating function of K. Its divergence, in both directions and for the largest and
// the smallest output, must be below the bound at every order.
func TestRepeatAndSelectAboveTheBestOfGaussians(t *testing.T) {
	t.Parallel()
	for _, times := range repetitions {
		slope, none := refSlope(times, gammaOf(times))
		for _, z := range []float64{.7, 2} {
			gaussian, err := NewGaussian(z)
			m := repeat(t, times, Composed{mustMechanism(t, gaussian, err), 1})
			const n = 700
			lo, hi := -9., 9+1/z
			step := (hi - lo) / n
			density := func(shift float64) []float64 {
				out := make([]float64, n)
				for i := range out {
					x := lo + (float64(i)+.5)*step - shift
					out[i] = math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) * slope(refNormal(x))
				}
				return out
			}
			with, without := density(1/z), density(0)
			for _, order := range []float64{1.05, 1.5, 2, 4.5, 10} {
				forth, back := none, none
				for i := range with {
					forth += step * math.Exp(order*math.Log(with[i])-(order-1)*math.Log(without[i]))
					back += step * math.Exp(order*math.Log(without[i])-(order-1)*math.Log(with[i]))
				}
				bound, err := m.renyi(order)
				if err != nil {
					t.Fatal(err)
				}
				if found := math.Log(max(forth, back)) / (order - 1); found > bound+1e-6 {
					t.Errorf("%v, z %v, order %v: divergence %v, bound %v", times, z, order, found, bound)
				}
			}
		}
	}
}

// TestRepeatAndSelectPure tests repeated randomized response. The exact loss of the best bit, for
// both bits and both orders, must be at most the pure bound, and a dominating pair must exist.
func TestRepeatAndSelectPure(t *testing.T) {
	for _, times := range repetitions {
		slope, _ := refSlope(times, gammaOf(times))
		for _, epsilon := range []float64{.1, 1, 3} {
			response, err := newPure(epsilon)
			m := repeat(t, times, Composed{mustMechanism(t, response, err), 1})
			pure := m.(repeated).pure
			truth := 1 / (1 + math.Exp(-epsilon))
			// The best output is the worse bit with probability f(q), where q is the probability of
			// the worse bit in one run.
			integral := func(from, to float64) (s float64) {
				const n = 400
				for i := range n {
					s += slope(from+(to-from)*(float64(i)+.5)/n) * (to - from) / n
				}
				return s
			}
			for _, q := range []float64{truth, 1 - truth} {
				a, b := integral(0, q), integral(0, 1-q)
				c, d := integral(q, 1), integral(1-q, 1)
				if loss := max(math.Abs(math.Log(a/b)), math.Abs(math.Log(c/d))); loss > pure {
					t.Errorf("%v, epsilon %v: loss %v, bound %v", times, epsilon, loss, pure)
				}
			}
			if !times.Poisson && !(math.Abs(pure-(2+times.Shape)*epsilon) <= 1e-12*pure) {
				t.Errorf("%v, epsilon %v: %v, want (2+shape) epsilon", times, epsilon, pure)
			}
			// delta of randomized response at 0 is tanh(pure/2).
			b, err := compose(t, 1e-3, Composed{m, 1}).Delta(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			checkBracket(t, m.String(), b, math.Tanh(pure/2), 1e-9)
		}
	}
}

// TestRepeatAndSelectGoldens tests the bound against Papernot & Steinke's corollary 4. For rho <=
// ln(1/gamma) the best b is real valued, and beyond the order 1+sqrt(ln(mean)/rho) the divergence
// is rho (a-1) + ln(mean)/(a-1) + 2 (1+shape) sqrt(rho ln(1/gamma)) - shape rho, as in
// dp_accounting's tests.
func TestRepeatAndSelectGoldens(t *testing.T) {
	for _, c := range []struct{ rho, gamma, shape float64 }{
		{.01, .01, 1}, {.01, .01, .5}, {.01, .01, 5}, {1, .1, .5}, {1, .1, 1}, {.3, .05, 0},
	} {
		mean := c.shape * (1 - c.gamma) / (c.gamma * (1 - math.Pow(c.gamma, c.shape)))
		if c.shape == 0 {
			mean = (1 - c.gamma) / (c.gamma * -math.Log(c.gamma))
		}
		times := Repetitions{Mean: mean, Shape: c.shape}
		if y := times.logGamma(); !(math.Abs(math.Exp(-y)/c.gamma-1) <= 1e-9) || math.Exp(-y) > c.gamma {
			t.Errorf("%+v: gamma %v", c, math.Exp(-y))
		}
		gaussian, err := NewGaussian(math.Sqrt(.5 / c.rho))
		m := repeat(t, times, Composed{mustMechanism(t, gaussian, err), 1})
		for _, order := range []float64{1 + 2*math.Sqrt(math.Log(mean)/c.rho), 50} {
			want := c.rho*(order-1) + math.Log(mean)/(order-1) + 2*(1+c.shape)*math.Sqrt(-c.rho*math.Log(c.gamma)) -
				c.shape*c.rho
			got, err := m.renyi(order)
			if err != nil || got < want*(1-1e-9) || got > want*1.01 {
				t.Errorf("%+v, order %v: %v, %v; want %v", c, order, got, err, want)
			}
		}
	}
	// Theorem 6 of Papernot & Steinke 2022 for a Poisson number of runs, with the exact delta of one
	// run. The implementation computes delta from Renyi orders, which is larger.
	for _, z := range []float64{1, 5} {
		const mean, order = 10, 6.
		gaussian, err := NewGaussian(z)
		m := repeat(t, Repetitions{Mean: mean, Poisson: true}, Composed{mustMechanism(t, gaussian, err), 1})
		delta, err := GaussianDelta(1/z, math.Log1p(1/(order-1)))
		if err != nil {
			t.Fatal(err)
		}
		want := order/(2*z*z) + mean*delta + math.Log(mean)/(order-1)
		got, err := m.renyi(order)
		if err != nil || got < want*(1-1e-9) || got > want*2 {
			t.Errorf("z %v: %v, %v; want %v or somewhat above", z, got, err, want)
		}
	}
	// If the mean of K is 1, there is exactly one run, unless K is Poisson.
	gaussian, err := NewGaussian(2)
	one := mustMechanism(t, gaussian, err)
	for _, shape := range []float64{0, .5, 1, 2} {
		m := repeat(t, Repetitions{Mean: 1, Shape: shape}, Composed{one, 3})
		got, err := m.renyi(7)
		if want := 3 * 7 / 8.; err != nil || got < want || got > want+1e-9 {
			t.Errorf("shape %v: %v, %v; want %v", shape, got, err, want)
		}
	}
}

func TestRepeatAndSelectLimits(t *testing.T) {
	gaussian, err := NewGaussian(2)
	one := Composed{mustMechanism(t, gaussian, err), 1}
	for _, c := range []struct {
		times  Repetitions
		events []Composed
		want   string
	}{
		{Repetitions{Mean: .5}, []Composed{one}, "mean = 0.5: must be within"},
		{Repetitions{Mean: math.NaN()}, []Composed{one}, "mean = NaN"},
		{Repetitions{Mean: 1e10}, []Composed{one}, "mean = 1e+10"},
		{Repetitions{Mean: 2, Shape: -.1}, []Composed{one}, "shape = -0.1: must be within"},
		{Repetitions{Mean: 2, Shape: 1, Poisson: true}, []Composed{one}, "shape = 1: must be absent"},
		{Repetitions{Mean: 2}, nil, "must be some"},
		{Repetitions{Mean: 2}, []Composed{{one.Mechanism, 0}}, "must be some"},
		{Repetitions{Mean: 2}, []Composed{{nil, 1}}, "repeated event 0: has no mechanism"},
		{Repetitions{Mean: 2}, []Composed{{repeat(t, Repetitions{Mean: 2}, one), 1}}, "must not itself be repeated"},
		{Repetitions{Mean: 2}, []Composed{{sampled(t, 2, .1, ReplaceOne), 1}}, "no Renyi bound"},
		{Repetitions{Mean: 2}, []Composed{{sampled(t, 2, .1, AddOrRemove), 1}, {sampled(t, 2, .1, ReplaceOne), 1}},
			"others are under"},
	} {
		_, err := newRepeatAndSelect(t.Context(), c.times, c.events)
		wantError(t, err, c.want)
	}
	// A mechanism without a pure bound has no known dominating pair. Compose must refuse it and
	// ComposeRenyi must accept it.
	m := repeat(t, Repetitions{Mean: 9, Shape: 1}, Composed{sampled(t, 2, .01, AddOrRemove), 100})
	_, err = Compose(t.Context(), []Composed{{m, 1}}, 1e-3)
	wantError(t, err, "no dominating pair is known")
	a, err := ComposeRenyi(t.Context(), []Composed{{m, 1}})
	if err != nil {
		t.Fatal(err)
	}
	several, err := a.Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ComposeRenyi(t.Context(), []Composed{{sampled(t, 2, .01, AddOrRemove), 100}})
	if err != nil {
		t.Fatal(err)
	}
	single, err := b.Epsilon(t.Context(), 1e-6)
	if err != nil || !(several > single && several < 4*single) {
		t.Errorf("best of 9: %v, one: %v, %v", several, single, err)
	}
	// Group must give the repetition of the runs' mechanisms for the group. Without a Renyi bound
	// for these it must fail.
	g, err := Group(m, 3)
	if err == nil {
		t.Errorf("a group of a sampled mechanism without Renyi bound: %v", g)
	}
	g, err = Group(repeat(t, Repetitions{Mean: 3}, one), 2)
	g = mustMechanism(t, g, err)
	half, err := NewGaussian(1)
	want, _ := repeat(t, Repetitions{Mean: 3}, Composed{mustMechanism(t, half, err), 1}).renyi(3)
	if got, err := g.renyi(3); err != nil || !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("group of 2: %v, %v; want %v", got, err, want)
	}
	if m.relation() != AddOrRemove {
		t.Errorf("relation %v", m.relation())
	}
}
