package mechanism

import (
	"math"
	"testing"
)

// agreeWork is an amount of work that is enough for a useful bracket, but not for the narrowest
// bracket.
const agreeWork = 1 << 24

// TestExtremesAgree tests that the brackets of epsilon and of delta of one mechanism are consistent,
// for extreme parameters. It brackets epsilon at a delta, and then delta at both ends of this
// bracket. At the upper epsilon, the lower end of delta must not exceed the given delta. Below the
// lower epsilon, the upper end of delta must not be less than the given delta. The test fails if an
// upper end loses mass.
func TestExtremesAgree(t *testing.T) {
	t.Parallel()
	fixed := func(z float64, n, batch, k int) Mechanism {
		m, err := newFixedSample(z, n, batch, k)
		return mustMechanism(t, m, err)
	}
	group := func(m Mechanism, k int) Mechanism {
		g, err := Group(m, k)
		return mustMechanism(t, g, err)
	}
	for _, c := range []struct {
		m     Mechanism
		count int
		delta float64
	}{
		{fixed(2, 1000, 900, 1), 1000, 1e-2}, {fixed(.02, 3, 1, 1), 3, 1e-3}, {fixed(1, 1<<40, 1, 1), 1, 1e-14},
		{fixed(.5, 1000, 1, 8), 1, 1e-6}, {discrete(t, .05, 1), 10, 1e-6}, {discrete(t, 1, 2), 50, .1},
		{discrete(t, .3, 1), 1, 1e-5}, {group(sampled(t, 3, .999, ReplaceOne), 4), 10, 1e-12},
	} {
		comp := compose(t, 1e-2, Composed{c.m, c.count})
		b, err := comp.epsilon(newEffort(t.Context(), agreeWork), c.delta)
		if err != nil || !(b.Lower <= b.Upper) || math.IsInf(b.Upper, 0) {
			t.Errorf("%v x %d, delta %v: %v, %v", c.m, c.count, c.delta, b, err)
			continue
		}
		for _, epsilon := range []float64{b.Lower * .999, b.Upper} {
			d, err := comp.delta(newEffort(t.Context(), agreeWork), epsilon)
			if err != nil {
				t.Errorf("%v x %d, epsilon %v: %v", c.m, c.count, epsilon, err)
			} else if epsilon == b.Upper && d.Lower > c.delta*1.000001 || epsilon < b.Lower && d.Upper < c.delta {
				t.Errorf("%v x %d: epsilon %v at delta %v, but delta %v at epsilon %v", c.m, c.count, b, c.delta, d, epsilon)
			}
		}
	}
	// A lattice with masses outside the range of float64 is an error.
	l := fixed(2, 1000, 900, 1).laws()[0]
	if g, err := discretise(newEffort(t.Context(), effortMost), l, 2000, 1e-9, 1e-9); err == nil {
		t.Errorf("a width of 2000: masses %v", g.upper.mass)
	}
}
