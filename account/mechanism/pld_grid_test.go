package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

// hockeyOf returns the hockey-stick divergence H(e^epsilon) of a grid law whose losses are shifted,
// plus the mass infinite at an infinite loss.
func hockeyOf(g gridLaw, epsilon, shift, infinite float64) float64 {
	sum := infinite
	for i, m := range g.mass {
		if l := g.on(i) + shift; l > epsilon {
			sum -= m * math.Expm1(epsilon-l)
		}
	}
	return sum
}

type lawCase struct {
	name  string
	law   lossLaw
	truth func(epsilon float64) float64
	// lo and hi are the smallest and the largest loss to test.
	lo, hi float64
}

func randomLaw(r *rand.Rand) lawCase {
	mix := func(name string, l mixtureLaw) lawCase {
		lo, hi := l.span(1e-3, 1e-9)
		return lawCase{name, l, func(e float64) float64 { return refHockey(l, e) }, lo, hi}
	}
	switch r.IntN(7) {
	case 0:
		return mix("gaussian", gaussianLaw(logUniform(r, .05, 4)).(mixtureLaw))
	case 1:
		return mix("remove", refSampled(logUniform(r, .4, 8), logUniform(r, 1e-3, .99), AddOrRemove)[0])
	case 2:
		return mix("add", refSampled(logUniform(r, .4, 8), logUniform(r, 1e-3, .99), AddOrRemove)[1])
	case 3:
		return mix("replace", refSampled(logUniform(r, .4, 8), logUniform(r, 1e-3, .99), ReplaceOne)[0])
	case 4:
		e := logUniform(r, .05, 3)
		return lawCase{"laplace", laplaceLaw(e), func(x float64) float64 {
			if x <= -e {
				return -math.Expm1(x)
			}
			return refLaplace(e, x)
		}, -e, e}
	case 5:
		e := logUniform(r, .05, 3)
		return lawCase{"response", responseLaw(e), func(x float64) float64 {
			if x <= -e {
				return -math.Expm1(x)
			}
			return refResponses(1, e, x)
		}, -e, e}
	default:
		e := logUniform(r, .05, 3)
		return lawCase{"bounded range", boundedRangeLaw(e), func(x float64) float64 {
			if x <= -e {
				return -math.Expm1(x)
			}
			if x >= e {
				return 0
			}
			s := math.Exp(e/2) - math.Exp(x/2)
			return s * s / math.Expm1(e)
		}, -e, e}
	}
}

// TestDiscretiseDominates tests the two bounds of a law for every epsilon, also between grid points.
// The hockey-stick curve H of the upper law must not be smaller and the H of the lower law not larger
// than the law's, and the gap must be of second order in the width. All brackets depend on this.
func TestDiscretiseDominates(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	for range trials(240) {
		c := randomLaw(r)
		width := (c.hi - c.lo) * logUniform(r, 1e-3, 4) // narrower and wider than the law
		below, above := logUniform(r, 1e-12, 1e-3), logUniform(r, 1e-15, 1e-5)
		g, err := discretise(newEffort(t.Context(), effortMost), c.law, width, below, above)
		if err != nil {
			t.Fatal(err)
		}
		for _, mass := range [][]float64{g.upper.mass, g.lower.mass} {
			for i, m := range mass {
				if !(m >= 0) {
					t.Fatalf("%s: mass[%d] = %v", c.name, i, m)
				}
			}
		}
		for range 60 {
			epsilon := c.lo + (c.hi-c.lo)*(1.2*r.Float64()-.1)
			if r.IntN(3) == 0 {
				epsilon = g.upper.on(r.IntN(len(g.upper.mass)))
			}
			want := c.truth(epsilon)
			const erfc = 1e-14 // error of the reference
			if up := hockeyOf(g.upper, epsilon, g.shift, g.infinite); up < want-erfc {
				t.Errorf("%s, width %v: upper H(%v) = %v, below %v by %v", c.name, width, epsilon, up, want, want-up)
			}
			if low := hockeyOf(g.lower, epsilon, -g.shift, 0); low > want+erfc {
				t.Errorf("%s, width %v: lower H(%v) = %v, above %v by %v", c.name, width, epsilon, low, want, low-want)
			}
		}
	}
}

// TestDiscretiseIsTight tests that both bounds together add a variance of at most width^2/4. The area
// between their hockey-stick curves H(u), which is half the variance of e^L under Q, is therefore
// small.
func TestDiscretiseIsTight(t *testing.T) {
	l := refSampled(1, .2, AddOrRemove)[0]
	for _, width := range []float64{.03, .01, .003} {
		g, err := discretise(newEffort(t.Context(), effortMost), l, width, 1e-15, 1e-15)
		if err != nil {
			t.Fatal(err)
		}
		second := func(g gridLaw) float64 {
			var sum float64
			for i, m := range g.mass {
				sum += m * g.on(i) * g.on(i)
			}
			return sum
		}
		if gap := second(g.upper) - second(g.lower); !(gap > 0 && gap < .33*width*width) {
			t.Errorf("width %v: second moments differ by %v", width, gap)
		}
	}
}

// TestTruncationIsCounted tests that the truncated mass is added to the upper bound and missing
// from the lower bound.
func TestTruncationIsCounted(t *testing.T) {
	l := gaussianLaw(1).(mixtureLaw)
	g, err := discretise(newEffort(t.Context(), effortMost), l, .01, .01, .02)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := l.reach(.01, .02)
	if p := refNormal(lo - 1); p > .01 || p < .001 {
		t.Errorf("mass below %v is %v", lo, p)
	}
	if p := refNormal(1 - hi); p > .02 || p < .002 {
		t.Errorf("mass above %v is %v", hi, p)
	}
	for _, epsilon := range []float64{-3, -1, 0, 1, 2, 2.5, 3, 4} {
		want := refHockey(l, epsilon)
		if up := hockeyOf(g.upper, epsilon, 0, g.infinite); up < want || up > want+.031 {
			t.Errorf("upper H(%v) = %v, want %v", epsilon, up, want)
		}
		if low := hockeyOf(g.lower, epsilon, 0, 0); low > want || low < want-.031 {
			t.Errorf("lower H(%v) = %v, want %v", epsilon, low, want)
		}
	}
}

// TestDiscretiseAtTinyWidths tests widths at which the second-order gap vanishes: there only the
// error terms keep the bracket valid.
func TestDiscretiseAtTinyWidths(t *testing.T) {
	t.Parallel()
	l := gaussianLaw(.3).(mixtureLaw)
	g, err := discretise(newEffort(t.Context(), effortMost), l, 2e-5, 1e-9, 1e-13)
	if err != nil {
		t.Fatal(err)
	}
	for _, epsilon := range []float64{0, .5, 1} {
		want := mustGaussian(t, GaussianDelta, .3, epsilon)
		up, low := hockeyOf(g.upper, epsilon, g.shift, g.infinite), hockeyOf(g.lower, epsilon, -g.shift, 0)
		if !(low <= want && want <= up) || up-low > 1e-9 {
			t.Errorf("H(%v) = %v, not in [%v, %v]", epsilon, want, low, up)
		}
	}
}

// TestMinorant tests that the minorant is nowhere above the larger of 0 and the hockey-stick curve of
// the signed masses.
func TestMinorant(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 2))
	for range 200 {
		n := 3 + r.IntN(30)
		mass, err := make([]float64, n), make([]float64, n)
		for i := range mass {
			mass[i] = r.Float64() - .25
		}
		width := logUniform(r, .01, 1)
		before := gridLaw{lattice{width: width}, append([]float64(nil), mass...)}
		minorant(mass, err, width)
		after := gridLaw{before.lattice, mass}
		for i, m := range mass {
			if !(m >= 0) {
				t.Fatalf("mass[%d] = %v", i, m)
			}
		}
		for range 50 {
			epsilon := width * float64(n) * (1.2*r.Float64() - .1)
			if a, b := hockeyOf(after, epsilon, 0, 0), hockeyOf(before, epsilon, 0, 0); a > max(0, b)+1e-12 {
				t.Fatalf("H(%v) rose from %v to %v", epsilon, b, a)
			}
		}
	}
}

// TestNarrowLaw tests a law whose losses span much less than the width of the lattice (the grid of
// losses). The upper bound must add at most a variance of a quarter of width times span, and the
// lower bound must keep almost all of the mass.
func TestNarrowLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 3))
	for range 40 {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		for _, l := range refSampled(logUniform(r, 1e3, 1e6), logUniform(r, .01, .5), relation) {
			lo, hi := l.span(1e-6, 1e-12)
			width := (hi - lo) * logUniform(r, 3, 1000)
			g, err := discretise(newEffort(t.Context(), effortMost), l, width, 1e-6, 1e-12)
			if err != nil {
				t.Fatal(err)
			}
			var up, low float64
			for i := range g.upper.mass {
				up += g.upper.mass[i]
				low += g.lower.mass[i]
			}
			if up < 1-1e-12 || up > 1+2e-6 || low < 1-1e-5 || low > 1 {
				t.Errorf("masses %v and %v", up, low)
			}
			for range 20 {
				epsilon := lo + (hi-lo)*r.Float64()
				want := refHockey(l, epsilon)
				if low := hockeyOf(g.lower, epsilon, -g.shift, 0); low > want+1e-13 {
					t.Errorf("lower H(%v) = %v, above %v", epsilon, low, want)
				}
			}
		}
	}
}

// TestTruncationOfEveryUse tests that the mass that each use of a law may leave out is counted once
// for every use.
func TestTruncationOfEveryUse(t *testing.T) {
	const mu, n, epsilon = 2., 400., 12.
	d := direction{laws: []lossLaw{gaussianLaw(mu / math.Sqrt(n))}, counts: []float64{n}}
	e := newEffort(t.Context(), effortMost)
	if err := d.draw(e, 1e-40); err != nil {
		t.Fatal(err)
	}
	want := mustGaussian(t, GaussianDelta, mu, epsilon)
	l := d.profile.lay(d.profile.forEpsilon(epsilon), 1e-3, want/1e3, d.laws)
	for _, above := range []float64{want, want / 10, want / 100} {
		l.above = above
		v, err := d.curve(e, l)
		if err != nil {
			t.Fatal(err)
		}
		if up := v.upperDelta(epsilon); up < want+.9*n*above || up > want*1.01+1.01*n*above {
			t.Errorf("upper delta %v with %v left out of each use, want %v", up, above, want)
		}
	}
}
