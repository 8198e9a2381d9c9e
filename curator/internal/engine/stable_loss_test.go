package engine

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// proven lists, for each proven loss, the names of the losses to test.
var proven = map[string][]string{
	"huber":          {"huber(1e-06)", "huber(0.3)", "huber(1e+06)"},
	"logistic":       {"logistic"},
	"smoothed-hinge": {"smoothed-hinge(1e-06)", "smoothed-hinge(0.5)", "smoothed-hinge(1e+06)"},
	"squared":        {"squared(0.3)", "squared(20)"},
}

func rankOne(t testing.TB, name string) loss.RankOne {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l.(loss.RankOne)
}

const precision = 300

func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func bigs(v []float64) []*big.Float {
	out := make([]*big.Float, len(v))
	for j := range v {
		out[j] = exact(v[j])
	}
	return out
}

func op() *big.Float { return new(big.Float).SetPrec(precision) }

// bigSlope returns the loss's slope by its formula, independently of package loss.
func bigSlope(name string, z *big.Float, y float64) *big.Float {
	base, parameter, _ := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	var c float64
	fmt.Sscan(parameter, &c)
	limit := func(v *big.Float, lo, hi float64) *big.Float {
		if v.Cmp(exact(lo)) < 0 {
			return exact(lo)
		}
		if v.Cmp(exact(hi)) > 0 {
			return exact(hi)
		}
		return v
	}
	m := op().Mul(exact(y), z)
	switch base {
	case "logistic":
		return op().Quo(exact(-y), op().Add(exact(1), bigExp(m)))
	case "smoothed-hinge":
		q := limit(op().Quo(op().Sub(exact(1), m), exact(c)), 0, 1)
		return op().Mul(exact(-y), q)
	}
	return limit(op().Sub(z, exact(y)), -c, c)
}

// bigExp returns e^x, from the Taylor series of x/2^s squared s times. Beyond |x| = 2000 it returns
// 0 or 2^3000.
func bigExp(x *big.Float) *big.Float {
	if x.Cmp(exact(-2000)) < 0 {
		return exact(0)
	}
	if x.Cmp(exact(2000)) > 0 {
		return op().SetMantExp(exact(1), 3000)
	}
	const squarings = 24
	r := op().SetMantExp(x, -squarings)
	sum, term := exact(1), exact(1)
	for k := 1.; k <= 30; k++ {
		term = op().Quo(op().Mul(term, r), exact(k))
		sum.Add(sum, term)
	}
	for range squarings {
		sum = op().Mul(sum, sum)
	}
	return sum
}

// TestProvenSlopes tests the losses that passes of SGD rely on, at many margins. Slopes are never
// NaN and within SlopeError of their formula, whose derivative in the margin is between 0 and the
// declared curvature. The margins are dense where the losses curvature and reach the ends of the float64
// range.
func TestProvenSlopes(t *testing.T) {
	if len(proven) != len(provenLosses) {
		t.Errorf("%d losses are tested, %d proven", len(proven), len(provenLosses))
	}
	r := rand.New(rand.NewPCG(2, 7))
	n := 1000
	if testing.Short() {
		n = 300
	}
	for _, base := range provenLosses {
		for _, name := range proven[base] {
			l := rankOne(t, name)
			k := l.Constants()
			ys := []float64{-1, 1}
			if l.Target() == loss.Real {
				ys = append(ys, 0, .3, -1e-9, 5e-324)
			}
			width := k.Lipschitz / k.Curvature.Hi
			zs := []float64{0, math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324, 1, -1, math.Inf(1), math.Inf(-1)}
			for i := range n {
				zs = append(zs, 6*width*(2*float64(i)/float64(n)-1), r.NormFloat64(), 1+width*r.NormFloat64(),
					-1+width*r.NormFloat64(),
					math.Ldexp(r.Float64()-.5, r.IntN(2000)-1000), 700*r.NormFloat64())
			}
			worst := 0.
			slope := []float64{0}
			for _, y := range ys {
				var lastZ, lastExact *big.Float
				for i, z := range zs {
					l.Slopes(slope, []float64{z}, []float64{y})
					if s := slope[0]; !(math.Abs(s) <= k.Lipschitz) {
						t.Fatalf("%s: slope %v at %v, %v: must be within %v", name, s, z, y, k.Lipschitz)
					}
					if math.IsInf(z, 0) {
						continue
					}
					want := bigSlope(name, exact(z), y)
					off, _ := op().Sub(exact(slope[0]), want).Float64()
					worst = max(worst, math.Abs(off)/k.Lipschitz)
					if i > 0 && lastZ != nil && lastZ.Cmp(exact(z)) != 0 {
						rate, _ := op().Quo(op().Sub(want, lastExact), op().Sub(exact(z), lastZ)).Float64()
						if !(rate >= 0 && rate <= k.Curvature.Hi*(1+1e-15)) {
							t.Fatalf("%s: slope rises by %v between %v and %v, y = %v: must be between 0 and %v", name, rate, lastZ, z, y,
								k.Curvature.Hi)
						}
					}
					lastZ, lastExact = exact(z), want
				}
			}
			t.Logf("%s: slopes are off by up to %.3f of the bound", name, worst/SlopeError)
			if worst > SlopeError {
				t.Errorf("%s: slopes are off by %v of the Lipschitz constant: must be at most %v", name, worst, SlopeError)
			}
		}
	}
}

type named struct{ loss.RankOne }

// TestUnprovenLossesAreRefused tests that Proven refuses losses with negative curvature, losses
// that are not listed, and other losses with a proven name.
func TestUnprovenLossesAreRefused(t *testing.T) {
	for _, name := range loss.Names() {
		if _, ok := proven[name]; ok {
			continue
		}
		for _, full := range []string{name, name + "(0.5)"} {
			if l, err := loss.Parse(full); err == nil && Proven(l) == nil {
				t.Errorf("%s: taken, but not tested", full)
			}
		}
	}
	if err := Proven(rankOne(t, "tanh")); err == nil || !strings.Contains(err.Error(), "curvature in [-") {
		t.Errorf("tanh: %v", err)
	}
	if err := Proven(named{rankOne(t, "logistic")}); err == nil || !strings.Contains(err.Error(), "not proven") {
		t.Errorf("a wrapper: %v", err)
	}
	for _, names := range proven {
		for _, name := range names {
			if err := Proven(rankOne(t, name)); err != nil {
				t.Error(err)
			}
		}
	}
}
