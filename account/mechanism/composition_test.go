package mechanism

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestCompositionGoldens compares brackets with published values. The values of dp_accounting's
// tests were computed on grids and are upper bounds, to the stated digits. Where lo and hi differ,
// the value was computed again by its authors' method, with error bounds.
func TestCompositionGoldens(t *testing.T) {
	sampledAdd := func(z, q float64, n int) []Composed {
		return []Composed{{sampled(t, z, q, AddOrRemove), n}}
	}
	for _, c := range []struct {
		name    string
		events  []Composed
		delta   bool // the value is delta at the given epsilon
		at      float64
		lo, hi  float64 // the true value is in this interval
		origin  string
		isSlack float64
	}{
		{"remove q=.8", sampledAdd(1, .8, 1), true, 1, .0816951786585355, .0816951786585355, "dp_accounting", 1e-9},
		{"replace q=.8", []Composed{{sampled(t, 2, .8, ReplaceOne), 1}}, true, 1, .05808665654484252, .05808665654484252,
			"dp_accounting", 1e-9},
		{"q=.2 T=3", sampledAdd(.5, .2, 3), true, 1, .155935, .155945, "dp_accounting", 0},
		{"q=.01 T=120", sampledAdd(.7, .01, 120), false, 1e-5, 2.46101, 2.46147, "TensorFlow Privacy, recomputed", 0},
		{"q=.04 T=2250", sampledAdd(1.5, .04, 2250), false, 1e-5, 6.758, 6.7795, "Opacus, recomputed", 0},
		{"q=.05 T=1000", sampledAdd(3, .05, 1000), false, 1e-6, 2.5127, 2.5222, "Opacus, recomputed", 0},
		// The source calls these values replace-one. Its pair of distributions is (1-q) N(0, s^2) +
		// q N(1, s^2) and N(0, s^2), which is the pair for add-or-remove. Replace-one would give
		// about twice as much.
		{"q=.01 T=1e4", sampledAdd(2, .01, 10000), false, 1e-6, 2.446734047, 2.446734047, "PLD-Accountant", 1e-6},
		{"q=.01 T=1e4", sampledAdd(2, .01, 10000), false, 1e-5, 2.162704603, 2.162704603, "PLD-Accountant", 1e-6},
		{"gaussian", []Composed{{gaussianMechanism{1, 1}, 1}}, true, 1, .126936735, .126936745, "dp_accounting", 0},
		{"gaussian", []Composed{{gaussianMechanism{1, 1}, 1}}, true, 2, .020923635, .020923645, "dp_accounting", 0},
		{"gaussian", []Composed{{gaussianMechanism{1, 1}, 1}}, true, 0, .382924915, .382924925, "dp_accounting", 0},
		{"gaussian", []Composed{{gaussianMechanism{4.530877117, 1}, 1}}, false, 1e-6, .9273923375, .9273923385, "recomputed",
			0},
	} {
		comp := compose(t, 1e-3, c.events...)
		var b Bracket
		var err error
		if c.delta {
			b, err = comp.Delta(t.Context(), c.at)
		} else {
			b, err = comp.Epsilon(t.Context(), c.at)
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Lower > c.hi*(1+c.isSlack) || b.Upper < c.lo*(1-c.isSlack) || b.width() > 1e-3 {
			t.Errorf("%s (%s): %v, want [%v, %v]", c.name, c.origin, b, c.lo, c.hi)
		}
	}
}

// TestDirectionGoldens compares the deltas of the two directions of add-or-remove, which differ,
// with the values in dp_accounting's tests.
func TestDirectionGoldens(t *testing.T) {
	d := compose(t, 1e-4, Composed{sampled(t, 1, .8, AddOrRemove), 1}).directions()
	for k, want := range []float64{.0816951786585355, .0231362104090899} {
		b, err := d[k].delta(newEffort(t.Context(), effortMost), 1, 1e-4, false, func(Bracket) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, []string{"remove", "add"}[k], b, want, 1e-9)
	}
}

// TestGridAgainstExactGaussian composes Gaussian mechanisms on the grid, which the public functions
// never do, and compares the result with the exact formula, for any count and far into the tail.
func TestGridAgainstExactGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 1))
	for range trials(16) {
		mu, n := logUniform(r, .05, 4), float64(logUniformInt(r, 1, 100000))
		d := direction{laws: []lossLaw{gaussianLaw(mu / math.Sqrt(n))}, counts: []float64{n}}
		if err := d.draw(newEffort(t.Context(), effortMost), sketchTail); err != nil {
			t.Fatal(err)
		}
		delta := logUniform(r, 1e-200, .01)
		if r.IntN(2) == 0 {
			delta = logUniform(r, 1e-12, .01)
		}
		want := mustGaussian(t, GaussianEpsilon, mu, delta)
		b, err := d.epsilon(newEffort(t.Context(), effortMost), delta, 1e-3, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, "gaussian", b, want, 1e-12)
		if b.width() > 1e-3 && want > 1e-3 {
			t.Errorf("mu %v, n %v, delta %v: width %v", mu, n, delta, b.width())
		}
		epsilon := want
		bd, err := d.delta(newEffort(t.Context(), effortMost), epsilon, 1e-3, false, func(Bracket) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, "gaussian delta", bd, mustGaussian(t, GaussianDelta, mu, epsilon), 1e-12)
	}
}

func TestBoundedAgainstClosedForms(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 2))
	for range trials(60) {
		e0 := logUniform(r, .02, 2)
		n := logUniformInt(r, 1, 60)
		epsilon := e0 * float64(n) * r.Float64() * r.Float64()
		check := func(name string, m Mechanism, err error, n int, want float64) {
			t.Helper()
			if want < 1e-12 {
				return
			}
			b, err := compose(t, 1e-3, Composed{mustMechanism(t, m, err), n}).Delta(t.Context(), epsilon)
			if err != nil {
				t.Fatal(err)
			}
			checkBracket(t, name, b, want, 1e-8)
			// Near the largest loss the requested width cannot be reached.
			if b.width() > 1e-3 && want > 1e-5 {
				t.Errorf("%s: epsilon0 %v, n %d, epsilon %v: width %v", name, e0, n, epsilon, b.width())
			}
		}
		m, err := newPure(e0)
		check("pure", m, err, n, refResponses(n, e0, epsilon))
		m, err = newRandomizedResponse(1 / (1 + math.Exp(e0)))
		check("response", m, err, n, refResponses(n, e0, epsilon))
		epsilon = e0 * r.Float64()
		m, err = newLaplace(1 / e0)
		check("laplace", m, err, 1, refLaplace(e0, epsilon))
		m, err = newBoundedRange(e0)
		check("bounded range", m, err, 1, refBoundedRange(e0, epsilon))
	}
}

// TestGaussianPartsAreExact tests that the squared mu of Gaussian parts add, also in a composition
// with other parts.
func TestGaussianPartsAreExact(t *testing.T) {
	g1, _ := NewGaussian(3)
	g2, _ := NewGaussian(4)
	g, _ := NewGaussian(2.4) // 1/9 + 1/16 = 1/2.4^2
	a, err := compose(t, 1e-3, Composed{g1, 1}, Composed{g2, 1}).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	checkBracket(t, "two gaussians", a, mustGaussian(t, GaussianEpsilon, 1/2.4, 1e-6), 1e-14)
	if a.width() > 1e-13 {
		t.Errorf("width %v", a.width())
	}
	s := Composed{sampled(t, 1.2, .03, AddOrRemove), 300}
	x, err := compose(t, 1e-3, s, Composed{g1, 1}, Composed{g2, 1}).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	y, err := compose(t, 1e-3, s, Composed{g, 1}).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if x.Lower > y.Upper || y.Lower > x.Upper {
		t.Errorf("%v and %v do not meet", x, y)
	}
	// A record that is always sampled moves the sum by twice its norm under replace-one.
	one, err := compose(t, 1e-3, Composed{sampled(t, 4, 1, ReplaceOne), 9}).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	checkBracket(t, "q = 1, replace-one", one, mustGaussian(t, GaussianEpsilon, 2*3/4., 1e-6), 1e-14)
	all, err := compose(t, 1e-3, Composed{sampled(t, 4, 1-1e-9, ReplaceOne), 9}).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	checkBracket(t, "q to 1, replace-one", all, one.Upper, 1e-6)
}

// TestMixtureIsSampledGaussian tests that a mixture with one nonzero offset is a sampled Gaussian.
func TestMixtureIsSampledGaussian(t *testing.T) {
	m, err := newGaussianMixture(3, []float64{.9, .1}, []float64{0, 2})
	a, err2 := compose(t, 1e-3, Composed{mustMechanism(t, m, err), 50}).Epsilon(t.Context(), 1e-5)
	b, err3 := compose(t, 1e-3, Composed{sampled(t, 1.5, .1, AddOrRemove), 50}).Epsilon(t.Context(), 1e-5)
	if err2 != nil || err3 != nil {
		t.Fatal(err2, err3)
	}
	if a.Lower > b.Upper || b.Lower > a.Upper {
		t.Errorf("%v and %v do not meet", a, b)
	}
}

// TestCompositionOrder tests that every bracket of epsilon has Lower <= Upper, and that brackets
// are ordered: with less noise, a larger sampling probability, more steps or a smaller delta, the
// bracket of epsilon is never entirely below the original bracket.
func TestCompositionOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 3))
	for range trials(24) {
		z, q := logUniform(r, .4, 50), logUniform(r, 1e-5, 1)
		n := logUniformInt(r, 1, 20000)
		delta := logUniform(r, 1e-14, .3)
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		epsilon := func(z, q float64, n int, delta float64) Bracket {
			b, err := compose(t, 1e-2, Composed{sampled(t, z, q, relation), n}).Epsilon(t.Context(), delta)
			if err != nil {
				t.Fatalf("z %v, q %v, n %d, delta %v: %v", z, q, n, delta, err)
			}
			if !(b.Lower >= 0 && b.Lower <= b.Upper && b.Upper < 1e6) {
				t.Errorf("z %v, q %v, n %d, delta %v: %v", z, q, n, delta, b)
			}
			return b
		}
		base := epsilon(z, q, n, delta)
		f := 1 + .3*r.Float64()
		for name, worse := range map[string]Bracket{
			"delta": epsilon(z, q, n, delta/f), "noise": epsilon(z/f, q, n, delta),
			"sampling": epsilon(z, min(1, q*f), n, delta), "steps": epsilon(z, q, n+1+n/4, delta),
		} {
			if worse.Upper < base.Lower {
				t.Errorf("%s: z %v, q %v, n %d, delta %v, factor %v: %v after %v", name, z, q, n, delta, f, worse, base)
			}
		}
	}
}

func TestManyUnlikeEvents(t *testing.T) {
	t.Parallel()
	var events []Composed
	const kinds = 40
	for k := range kinds {
		events = append(events, Composed{sampled(t, 1+float64(k)/kinds, .001+.0001*float64(k), AddOrRemove), 100000 / kinds})
	}
	b, err := compose(t, 1e-3, events...).Epsilon(t.Context(), 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if !(b.width() <= 1e-3 && b.Upper > 1 && b.Upper < 5) {
		t.Errorf("%v, width %v", b, b.width())
	}
}

func TestComposeRefuses(t *testing.T) {
	add, replace := sampled(t, 1, .1, AddOrRemove), sampled(t, 1, .1, ReplaceOne)
	for name, c := range map[string]struct {
		events []Composed
		width  float64
		want   string
	}{
		"width": {nil, 0, "account: width = 0: must be within [1e-6, 0.1]"},
		"none":  {[]Composed{{nil, 1}}, .01, "account: event 0: has no mechanism"},
		"count": {[]Composed{{add, -1}}, .01, "account: event 0: count = -1: must be within [0, 2^30]"},
		"relations": {[]Composed{{add, 1}, {replace, 1}}, .01,
			"account: event 1: relation = replace-one: others are under add-or-remove"},
	} {
		if _, err := Compose(t.Context(), c.events, c.width); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	empty := compose(t, .01)
	if b, err := empty.Epsilon(t.Context(), 1e-6); b != (Bracket{}) || err != nil {
		t.Errorf("nothing composed: %v, %v", b, err)
	}
	if b, err := empty.Delta(t.Context(), 1); b != (Bracket{}) || err != nil {
		t.Errorf("nothing composed: %v, %v", b, err)
	}
	c := compose(t, .01, Composed{add, 3})
	for _, x := range []float64{0, 1, -1, math.NaN()} {
		if _, err := c.Epsilon(t.Context(), x); err == nil {
			t.Errorf("Epsilon(%v): no error", x)
		}
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := c.Delta(t.Context(), x); err == nil {
			t.Errorf("Delta(%v): no error", x)
		}
	}
}

func BenchmarkEpsilonTenThousand(b *testing.B) {
	b.ReportAllocs()
	m := sampled(b, 2, .01, AddOrRemove)
	for b.Loop() {
		if e, err := compose(b, 1e-3, Composed{m, 10000}).Epsilon(b.Context(), 1e-6); err != nil || e.width() > 1e-3 {
			b.Fatal(e, err)
		}
	}
}

// BenchmarkUnlikeKinds composes 1e5 releases of the given number of different kinds.
func BenchmarkUnlikeKinds(b *testing.B) {
	for _, kinds := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(kinds), func(b *testing.B) {
			var events []Composed
			for k := range kinds {
				part := float64(k) / float64(kinds)
				events = append(events, Composed{sampled(b, 1+part, .001+.004*part, AddOrRemove), 100000 / kinds})
			}
			for b.Loop() {
				e, err := compose(b, 1e-3, events...).Epsilon(b.Context(), 1e-6)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(e.width(), "width")
			}
		})
	}
}
