package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestConstantsAtExtremalPoints evaluates each loss at its extremal points, which were found by
// calculus. There it must attain its declared constants exactly.
func TestConstantsAtExtremalPoints(t *testing.T) {
	const c = .7
	ln := math.Log
	atanh := math.Atanh
	for _, e := range []struct {
		l                loss1
		steepest, lowest float64 // z with y = 1 for binary targets and 0 for real ones
		highest          float64
	}{
		// s(1-s)(1-2s) is extremal at s = (1 +- 1/sqrt 3)/2.
		{loss1{Logistic(), 1}, -800, 800, 0},
		{loss1{Sigmoid(), 1}, 0, -ln(2 + sqrt3), ln(2 + sqrt3)},
		{loss1{Tanh(), 1}, 0, -atanh(1 / sqrt3), atanh(1 / sqrt3)},
		{loss1{must(SmoothedHinge(c)), 1}, 1 - 2*c, 2, 1 - c/2},
		{loss1{must(Huber(c)), 0}, 2 * c, 2 * c, 0},
		{loss1{must(Squared(c)), 0}, 2 * c, 2 * c, 0},
		{loss1{must(Welsch(c)), 0}, c / math.Sqrt2, c * math.Sqrt(1.5), 0},
		{loss1{must(GemanMcClure(c)), 0}, c / sqrt3, c, 0},
		{loss1{must(Tukey(c)), 0}, c / sqrt5, c * math.Sqrt(.6), 0},
	} {
		k := e.l.Constants()
		for _, v := range []struct {
			what      string
			got, want float64
		}{
			{"largest |slope|", math.Abs(e.l.at(e.l.Slopes, e.steepest)), k.Lipschitz},
			{"lowest curvature", e.l.at(e.l.Curvatures, e.lowest), k.Curvature.Lo},
			{"highest curvature", e.l.at(e.l.Curvatures, e.highest), k.Curvature.Hi},
		} {
			if !(math.Abs(v.got-v.want) <= 1e-14) {
				t.Errorf("%s: %s is %v at the extremal point, declared %v", e.l.Name(), v.what, v.got, v.want)
			}
		}
	}
}

// loss1 is a loss of one margin with a fixed target, as a function of the margin.
type loss1 struct {
	RankOne
	y float64
}

func (l loss1) at(f func(dst, z, y []float64), z float64) float64 {
	dst := make([]float64, 1)
	f(dst, []float64{z}, []float64{l.y})
	return dst[0]
}

// TestAgainstTextbook compares the losses with their textbook formulas, computed by package math,
// at points where the formulas do not cancel.
func TestAgainstTextbook(t *testing.T) {
	const c = .7
	type formula = func(m float64) float64
	sig := func(m float64) float64 { return 1 / (1 + math.Exp(m)) }
	inside := func(r, in, out float64) float64 {
		if math.Abs(r) <= c {
			return in
		}
		return out
	}
	for _, e := range []struct {
		l                       loss1
		value, slope, curvature formula // of m = y z, or r = z - y
	}{
		{loss1{Logistic(), 1},
			func(m float64) float64 { return math.Log(1 + math.Exp(-m)) },
			func(m float64) float64 { return -sig(m) },
			func(m float64) float64 { return sig(m) * sig(-m) }},
		{loss1{Sigmoid(), 1},
			sig,
			func(m float64) float64 { return -sig(m) * sig(-m) },
			func(m float64) float64 { return sig(m) * sig(-m) * (1 - 2*sig(m)) }},
		{loss1{Tanh(), 1},
			func(m float64) float64 { return 1 - math.Tanh(m) },
			func(m float64) float64 { return -1 / math.Pow(math.Cosh(m), 2) },
			func(m float64) float64 { return 2 * math.Tanh(m) / math.Pow(math.Cosh(m), 2) }},
		{loss1{must(SmoothedHinge(c)), 1},
			func(m float64) float64 {
				if m < 1-c {
					return 1 - m - c/2
				}
				return math.Pow(max(0, 1-m), 2) / (2 * c)
			},
			func(m float64) float64 { return -min(1, max(0, 1-m)/c) },
			func(m float64) float64 {
				if m > 1 || m < 1-c {
					return 0
				}
				return 1 / c
			}},
		{loss1{must(Huber(c)), .3},
			func(r float64) float64 { return inside(r, r*r/2, c*(math.Abs(r)-c/2)) },
			func(r float64) float64 { return inside(r, r, math.Copysign(c, r)) },
			func(r float64) float64 { return inside(r, 1, 0) }},
		{loss1{must(Squared(c)), .3},
			func(r float64) float64 { return r * r / 2 },
			func(r float64) float64 { return inside(r, r, math.Copysign(c, r)) },
			func(r float64) float64 { return inside(r, 1, 0) }},
		{loss1{must(Welsch(c)), .3},
			func(r float64) float64 { return c * c / 2 * (1 - math.Exp(-r*r/c/c)) },
			func(r float64) float64 { return r * math.Exp(-r*r/c/c) },
			func(r float64) float64 { return (1 - 2*r*r/c/c) * math.Exp(-r*r/c/c) }},
		{loss1{must(GemanMcClure(c)), .3},
			func(r float64) float64 { return r * r / 2 / (1 + r*r/c/c) },
			func(r float64) float64 { return r / math.Pow(1+r*r/c/c, 2) },
			func(r float64) float64 { return (1 - 3*r*r/c/c) / math.Pow(1+r*r/c/c, 3) }},
		{loss1{must(Tukey(c)), .3},
			func(r float64) float64 { return inside(r, c*c/6*(1-math.Pow(1-r*r/c/c, 3)), c*c/6) },
			func(r float64) float64 { return inside(r, r*math.Pow(1-r*r/c/c, 2), 0) },
			func(r float64) float64 { return inside(r, (1-r*r/c/c)*(1-5*r*r/c/c), 0) }},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		for range 2000 {
			z := rng.NormFloat64() * 3
			m := z
			if e.l.Target() == Real {
				m = z - e.l.y
			}
			for _, v := range []struct {
				what      string
				got, want float64
			}{
				{"value", e.l.at(e.l.Values, z), e.value(m)},
				{"slope", e.l.at(e.l.Slopes, z), e.slope(m)},
				{"curvature", e.l.at(e.l.Curvatures, z), e.curvature(m)},
			} {
				if !(math.Abs(v.got-v.want) <= 1e-14*(1+math.Abs(v.want))) {
					t.Fatalf("%s: %s is %v at z = %v, y = %v: the textbook has %v", e.l.Name(), v.what, v.got, z, e.l.y, v.want)
				}
			}
		}
	}
}

// TestTails tests that the tails keep the relative accuracy that the textbook formulas lose.
func TestTails(t *testing.T) {
	for _, m := range []float64{-700, -50, -20, 20, 50, 700} {
		small := math.Exp(-math.Abs(m))
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-8*want) { // e^-20 is the next term
				t.Errorf("%s at margin %v: %v, want about %v", what, m, got, want)
			}
		}
		l := loss1{Logistic(), 1}
		near("logistic curvature", l.at(l.Curvatures, m), small)
		if m > 0 {
			near("logistic value", l.at(l.Values, m), small)
			near("logistic slope", -l.at(l.Slopes, m), small)
			s := loss1{Sigmoid(), 1}
			near("sigmoid value", s.at(s.Values, m), small)
			h := loss1{Tanh(), 1}
			near("tanh value", h.at(h.Values, m/2), 2*small)
		} else {
			near("logistic value", l.at(l.Values, m), -m)
			near("logistic slope", -l.at(l.Slopes, m), 1)
		}
		s := loss1{Sigmoid(), 1}
		near("sigmoid slope", -s.at(s.Slopes, m), small)
		near("sigmoid curvature", math.Abs(s.at(s.Curvatures, m)), small)
		h := loss1{Tanh(), 1}
		near("tanh slope", -h.at(h.Slopes, m/2), 4*small)
	}
}

func TestBlocksDoNotAllocate(t *testing.T) {
	z, y, dst := make([]float64, 64), make([]float64, 64), make([]float64, 64)
	for _, l := range []RankOne{Logistic(), Tanh(), Sigmoid(), must(SmoothedHinge(1)), must(Huber(1)), must(Squared(1)),
		must(Welsch(1)), must(GemanMcClure(1)), must(Tukey(1))} {
		if n := testing.AllocsPerRun(10, func() {
			l.Values(dst, z, y)
			l.Slopes(dst, z, y)
			l.Curvatures(dst, z, y)
		}); n != 0 {
			t.Errorf("%s allocates %v times", l.Name(), n)
		}
	}
}

func BenchmarkSlopes(b *testing.B) {
	const n = 4096
	rng := rand.New(rand.NewPCG(7, 8))
	z, y, dst := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range z {
		z[i], y[i] = 3*rng.NormFloat64(), float64(1-2*rng.IntN(2))
	}
	for _, l := range []RankOne{Logistic(), Tanh(), Sigmoid(), must(SmoothedHinge(1)), must(Huber(.1)), must(Welsch(1)),
		must(GemanMcClure(1)), must(Tukey(1))} {
		b.Run(l.Name(), func(b *testing.B) {
			for b.Loop() {
				l.Slopes(dst, z, y)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
