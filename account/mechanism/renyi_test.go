package mechanism

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func renyiAt(t testing.TB, order float64, events ...Composed) float64 {
	t.Helper()
	a, err := ComposeRenyi(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	v, err := a.divergence(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRenyiGoldens(t *testing.T) {
	br, _ := newBoundedRange(1)
	for _, c := range []struct {
		event     Composed
		order     float64
		want      float64
		tolerance float64
		origin    string
	}{
		{Composed{sampled(t, 2.5, .01, AddOrRemove), 50}, 5, 2.18075656e-03, 5e-9, "dp_accounting"},
		{Composed{sampled(t, 2.5, .01, AddOrRemove), 50}, 50, 2.38460375e-02, 5e-9, "dp_accounting"},
		{Composed{sampled(t, 1, .01, AddOrRemove), 1}, 2, 0.00017181342207453428, 2e-11, "autodp"},
		{Composed{sampled(t, 1, .01, AddOrRemove), 1}, 10, 0.03827041889494864, 2e-11, "autodp"},
		{Composed{br, 1}, 1 + 1e-6, 0.123301561, 3e-6, "dp_accounting, order 1"},
	} {
		if got := renyiAt(t, c.order, c.event); !(math.Abs(got/c.want-1) <= c.tolerance) {
			t.Errorf("%v, order %v: %v, want %v (%s)", c.event, c.order, got, c.want, c.origin)
		}
	}
	a, err := ComposeRenyi(t.Context(), []Composed{{sampled(t, .7, .01, AddOrRemove), 120}})
	if err != nil {
		t.Fatal(err)
	}
	// TensorFlow Privacy gives 3.2392676 from a list of orders.
	if e, err := a.Epsilon(t.Context(), 1e-5); err != nil || e > 3.2392676 || e < 3.23 {
		t.Errorf("epsilon %v, %v", e, err)
	}
}

// refRenyi returns the Renyi divergence of the mixture p from the mixture q by a trapezoidal sum over
// x.
func refRenyi(p, q []component, order float64) float64 {
	l := mixtureLaw{p, q}
	var sum float64
	const step = 1. / 64
	for x := -30.0; x < 80; x += step {
		if d := refDensity(p, x); d > 0 {
			sum += math.Exp(math.Log(d)+(order-1)*refLoss(l, x)) * step
		}
	}
	return math.Log(sum) / (order - 1)
}

func TestSampledRenyi(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 1))
	for range trials(80) {
		z, q := logUniform(r, .6, 5), logUniform(r, 1e-2, .9)
		order := 1 + logUniform(r, .05, 12)
		if r.IntN(2) == 0 {
			order = 2 + float64(r.IntN(12))
		}
		m := sampled(t, z, q, AddOrRemove)
		got := renyiAt(t, order, Composed{m, 1})
		laws := refSampled(z, q, AddOrRemove)
		want := refRenyi(laws[0].p, laws[0].q, order)
		if !(math.Abs(got-want) <= 1e-9*want+1e-14/(order-1)) {
			t.Errorf("z %v, q %v, order %v: %v, want %v", z, q, order, got, want)
		}
		if other := refRenyi(laws[1].p, laws[1].q, order); other > got*(1+1e-9) {
			t.Errorf("z %v, q %v, order %v: the other direction has %v > %v", z, q, order, other, got)
		}
	}
	// The integral and the exact sum for integer orders must agree, for parameters over a wide
	// range.
	for range trials(400) {
		s := sampledGaussian{logUniform(r, .3, 100), logUniform(r, 1e-8, .99), AddOrRemove}
		order := 2 + r.IntN(200)
		if a, b := s.integerMoment(order), s.moment(float64(order)); !(math.Abs(a-b) < 1e-9*max(1, math.Abs(a))) {
			t.Errorf("%v, order %d: %v and %v", s, order, a, b)
		}
	}
}

func TestBoundedRenyi(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 2))
	sum := func(order float64, atoms ...[2]float64) float64 { // (p, loss)
		var s float64
		for _, a := range atoms {
			s += a[0] * math.Exp((order-1)*a[1])
		}
		return math.Log(s) / (order - 1)
	}
	for range trials(400) {
		e, order := logUniform(r, .05, 5), 1+logUniform(r, .05, 30)
		p := 1 / (1 + math.Exp(-e))
		if got, want := responseRenyi(order, e),
			sum(order, [2]float64{p, e}, [2]float64{1 - p, -e}); !(math.Abs(got/want-1) <= 1e-8) {
			t.Errorf("response(%v, %v) = %v, want %v", order, e, got, want)
		}
		want := 0.0
		for k := range 4000 {
			x := e * float64(k) / 4000
			p := (math.Exp(e) - math.Exp(x)) / math.Expm1(e)
			want = max(want, sum(order, [2]float64{p, x}, [2]float64{1 - p, x - e}))
		}
		if got := boundedRangeRenyi(order, e); got < want*(1-1e-12) || got > want*(1+1e-4) {
			t.Errorf("boundedRange(%v, %v) = %v, want %v", order, e, got, want)
		}
		const n = 4000 // Laplace: atoms, and the middle by the midpoint rule
		atoms := [][2]float64{{.5, e}, {math.Exp(-e) / 2, -e}}
		for k := range n {
			x := (float64(k) + .5) / n
			atoms = append(atoms, [2]float64{e / 2 * math.Exp(-e*x) / n, e * (1 - 2*x)})
		}
		if got, want := laplaceRenyi(order, e), min(e, sum(order, atoms...)); !(math.Abs(got/want-1) <= 1e-3) {
			t.Errorf("laplace(%v, %v) = %v, want %v", order, e, got, want)
		}
	}
	// The functions must not jump where they change from one formula to another.
	for _, order := range []float64{1.5, 3, 40} {
		for name, f := range map[string]func(order,
			e float64) float64{"response": responseRenyi, "laplace": laplaceRenyi, "bounded range": boundedRangeRenyi} {
			for _, at := range []float64{1e-2 / order, 300 / (order - 1), 600 / order} {
				if a, b := f(order, at*(1-1e-9)), f(order, at*(1+1e-9)); !(math.Abs(a/b-1) <= 1e-4) {
					t.Errorf("%s(%v, %v): %v and %v", name, order, at, a, b)
				}
			}
		}
	}
}

// TestRenyiIsFinite tests that divergences are never negative or NaN, never infinite if the exact
// one is finite, and not smaller for less noise.
func TestRenyiIsFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 3))
	n := trials(100_000)
	for i := range n {
		order := 1 + logUniform(r, 1e-3, 3000)
		if i%2 == 0 {
			order = math.Ceil(order)
		}
		e := logUniform(r, 1e-7, 600)
		values := []float64{responseRenyi(order, e), laplaceRenyi(order, e), boundedRangeRenyi(order, e)}
		if i%50 == 0 {
			z, q := logUniform(r, .05, 1e4), logUniform(r, 1e-9, .999)
			a := renyiAt(t, order, Composed{sampledGaussian{z, q, AddOrRemove}, 1})
			b := renyiAt(t, order, Composed{sampledGaussian{1.1 * z, q, AddOrRemove}, 1})
			if b > a*(1+1e-9) || a > order/(2*z*z)*(1+1e-9) {
				t.Errorf("z %v, q %v, order %v: %v, then %v with more noise", z, q, order, a, b)
			}
			values = append(values, a, b)
		}
		for k, v := range values {
			if !(v >= 0) || math.IsInf(v, 0) {
				t.Fatalf("value %d at order %v, epsilon %v: %v", k, order, e, v)
			}
		}
	}
}

// TestRenyiCoversComposition tests that the Renyi bounds are above the brackets of the loss
// distributions.
func TestRenyiCoversComposition(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 4))
	for range trials(60) {
		z, q, n := logUniform(r, .6, 5), logUniform(r, 1e-3, .3), logUniformInt(r, 1, 2000)
		laplace, _ := newLaplace(logUniform(r, 5, 50))
		gaussian, _ := NewGaussian(logUniform(r, 1, 20))
		events := []Composed{{sampled(t, z, q, AddOrRemove), n}, {laplace, 3}, {gaussian, 2}}
		delta := logUniform(r, 1e-9, 1e-2)
		a, err := ComposeRenyi(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		claimed, err := a.Epsilon(t.Context(), delta)
		if err != nil {
			t.Fatal(err)
		}
		b, err := compose(t, 1e-2, events...).Epsilon(t.Context(), delta)
		if err != nil {
			t.Fatal(err)
		}
		if claimed < b.Lower || claimed > 3*b.Upper+.5 {
			t.Errorf("%v, delta %v: Renyi %v, bracket %v", events, delta, claimed, b)
		}
		if d, err := a.Delta(t.Context(), claimed); err != nil || d > delta*(1+1e-6) {
			t.Errorf("%v: delta(%v) = %v, %v; want %v", events, claimed, d, err, delta)
		}
	}
}

func TestRenyiRefuses(t *testing.T) {
	m, _ := newGaussianMixture(1, []float64{1}, []float64{1})
	for _, e := range []Composed{{sampled(t, 1, .1, ReplaceOne), 1}, {m, 1}} {
		if _, err := ComposeRenyi(t.Context(), []Composed{e}); err == nil ||
			!strings.Contains(err.Error(), "no Renyi bound") {
			t.Errorf("%v: %v", e, err)
		}
		if _, err := ZCDP(t.Context(), []Composed{e}); err == nil {
			t.Errorf("%v: no error from ZCDP", e)
		}
	}
	a, err := ComposeRenyi(t.Context(), []Composed{{sampled(t, 1, .1, AddOrRemove), 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []float64{1, .5, math.Inf(1), math.NaN()} {
		if _, err := a.divergence(t.Context(), order); err == nil {
			t.Errorf("order %v: no error", order)
		}
	}
}

func TestZCDPOfEvents(t *testing.T) {
	g, _ := NewGaussian(2)
	p, _ := newPure(.5)
	b, _ := newBoundedRange(.5)
	rho, err := ZCDP(t.Context(), []Composed{{g, 4}, {p, 2}, {b, 8}, {sampled(t, 4, 1, ReplaceOne), 2}})
	if want := 4./8 + 2*.125 + 8*.03125 + 2./8; err != nil || !(math.Abs(rho-want) <= 1e-14) || rho < want {
		t.Errorf("rho = %v, %v; want %v", rho, err, want)
	}
}
