package audit_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/lab/audit"
)

// certain is the confidence of the lower bounds on epsilon that tests compare with a claimed
// epsilon. With new seeds, a test of a mechanism that is as private as claimed would fail with
// probability at most 1e-6. Seeds are fixed, so that a test always gives the same result.
const certain = 1 - 1e-6

const auditDelta = 1e-5

func collect(t testing.TB, runs int, s audit.Statistic) audit.Runs {
	t.Helper()
	r, err := audit.Collect(runs, 1, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func lowerEpsilon(t testing.TB, r audit.Runs, delta, confidence float64) audit.Lower {
	t.Helper()
	l, err := audit.LowerEpsilon(r, delta, confidence)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func lowerGaussian(t testing.TB, r audit.Runs, delta, confidence float64) audit.Lower {
	t.Helper()
	l, err := audit.LowerGaussian(r, delta, confidence)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// normals is the Gaussian mechanism that is exactly mu-GDP, computed in floats.
func normals(mu float64) audit.Statistic {
	return func(seed uint64, second bool) (float64, error) {
		z := rand.New(rand.NewPCG(seed, 7)).NormFloat64()
		if second {
			z += mu
		}
		return z, nil
	}
}

// liar returns a mechanism that releases which table it ran on, and is wrong with the probability
// that makes it epsilon-DP (randomized response).
func liar(epsilon float64) audit.Statistic {
	return func(seed uint64, second bool) (float64, error) {
		truth := rand.New(rand.NewPCG(seed, 8)).Float64() < accuracy(epsilon)
		if truth == second {
			return 1, nil
		}
		return 0, nil
	}
}

// TestLowerBoundsHold repeats small audits of mechanisms with known epsilon at confidence .9. A lower bound
// may exceed the true epsilon with probability at most a tenth. The test fails if more than 267 of 2000
// bounds exceed it. The probability of this, P(Bin(2000, .1) > 267), is below 1e-6.
func TestLowerBoundsHold(t *testing.T) {
	const audits, confidence, allowed = 2000, .9, 267
	const mu = 1.
	gaussian, err := mechanism.GaussianEpsilon(mu, .01)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		statistic audit.Statistic
		bound     func(testing.TB, audit.Runs, float64, float64) audit.Lower
		delta     float64
		truth     float64
	}{
		"randomized response": {liar(1), lowerEpsilon, 0, 1},
		"Gaussian, general":   {normals(mu), lowerEpsilon, .01, gaussian},
		"Gaussian, tuned":     {normals(mu), lowerGaussian, .01, gaussian},
	} {
		const runs = 60
		exceeds, positive := 0, 0
		for i := range audits {
			r, err := audit.Collect(runs, uint64(2*runs*i), c.statistic)
			if err != nil {
				t.Fatal(err)
			}
			l := c.bound(t, r, c.delta, confidence)
			if l.Epsilon > c.truth {
				exceeds++
			}
			if l.Epsilon > 0 {
				positive++
			}
		}
		if exceeds > allowed {
			t.Errorf("%s: %d of %d bounds exceed the truth, %v", name, exceeds, audits, c.truth)
		}
		if positive < audits/20 {
			t.Errorf("%s: %d of %d bounds are positive: the test shows nothing", name, positive, audits)
		}
		t.Logf("%s: %d exceed, %d positive", name, exceeds, positive)
	}
}

// TestLowerFromTheInequality compares LowerEpsilon with its definition: the chosen test's error
// rates on the last three quarters of the runs, Clopper-Pearson bounds on them at half the failure
// probability each, and, by bisection, the smallest epsilon that allows them.
func TestLowerFromTheInequality(t *testing.T) {
	const confidence, delta = .99, .001
	r := collect(t, 4000, normals(1))
	for name, bound := range map[string]func(testing.TB, audit.Runs, float64,
		float64) audit.Lower{"general": lowerEpsilon, "tuned": lowerGaussian} {
		l := bound(t, r, delta, confidence)
		var wrong [2]int
		for i := 1000; i < 4000; i++ {
			if l.Threshold.Second(r.First[i]) {
				wrong[0]++
			}
			if !l.Threshold.Second(r.Second[i]) {
				wrong[1]++
			}
		}
		var rate [2]float64
		for i, k := range wrong {
			var err error
			if rate[i], err = audit.UpperRate(k, 3000, (1-confidence)/2); err != nil {
				t.Fatal(err)
			}
		}
		if rate[0] != l.FalsePositive || rate[1] != l.FalseNegative || l.Runs != 3000 {
			t.Errorf("%s: rates %v, %v of %d runs: want %v of 3000", name, l.FalsePositive, l.FalseNegative, l.Runs, rate)
		}
		lo, hi := 0., 50.
		for range 60 {
			mid := (lo + hi) / 2
			allowed := 1-delta <= rate[1]+math.Exp(mid)*rate[0] && 1-delta <= rate[0]+math.Exp(mid)*rate[1]
			if name == "tuned" {
				// This is the trade-off function for mu = mid at the false positive rate, computed with erfc.
				z := math.Sqrt2 * math.Erfinv(1-2*rate[0])
				allowed = math.Erfc((mid-z)/math.Sqrt2)/2 <= rate[1]
			}
			if allowed {
				hi = mid
			} else {
				lo = mid
			}
		}
		got := l.Epsilon
		if name == "tuned" {
			got = l.Mu
			e, err := mechanism.GaussianEpsilon(l.Mu, delta)
			if err != nil {
				t.Fatal(err)
			}
			if !(l.Epsilon <= e && l.Epsilon > e*(1-1e-12)) {
				t.Errorf("epsilon %v: want that of mu, %v", l.Epsilon, e)
			}
		}
		if !(got <= hi && got > hi-1e-9) || !(hi > .3) {
			t.Errorf("%s: bound %v: want %v", name, got, hi)
		}
	}
}

// TestLowerFindsEitherDirection tests that a statistic and its negative give the same bound, and that two
// tables are distinguished if the statistic differs only in its probability of NaN.
func TestLowerFindsEitherDirection(t *testing.T) {
	up := collect(t, 2000, normals(1))
	down := audit.Runs{First: up.Second, Second: up.First}
	if a, b := lowerGaussian(t, up, auditDelta, .99), lowerGaussian(t, down, auditDelta, .99); !a.Threshold.Above ||
		b.Threshold.Above || math.Abs(a.Mu-b.Mu) > .1 || a.Mu < .7 {
		t.Errorf("bounds %+v and %+v: want about the same, in opposite directions", a, b)
	}
	numbers := make([]float64, 2000)
	nan := make([]float64, 2000)
	for i := range nan {
		nan[i] = math.NaN()
	}
	for _, r := range []audit.Runs{{nan, numbers}, {numbers, nan}} {
		if l := lowerEpsilon(t, r, 0, .99); l.Epsilon < 5 {
			t.Errorf("NaN on one table only: %+v: want a bound above 5", l)
		}
	}
	if l := lowerEpsilon(t, audit.Runs{First: nan, Second: nan}, 0, .99); l.Epsilon != 0 {
		t.Errorf("NaN on both tables: %+v: want 0", l)
	}
}

func TestLowerRefusals(t *testing.T) {
	r := collect(t, 10, normals(1))
	for _, c := range []struct {
		r                 audit.Runs
		delta, confidence float64
	}{
		{audit.Runs{}, .1, .9}, {audit.Runs{First: r.First[:7], Second: r.Second}, .1, .9},
		{r, -1, .9}, {r, 1, .9}, {r, math.NaN(), .9}, {r, .1, 0}, {r, .1, 1}, {r, .1, math.NaN()},
	} {
		if _, err := audit.LowerEpsilon(c.r, c.delta, c.confidence); err == nil {
			t.Errorf("%d runs, delta %v, confidence %v: want an error", len(c.r.First), c.delta, c.confidence)
		}
		if _, err := audit.LowerGaussian(c.r, c.delta, c.confidence); err == nil {
			t.Errorf("Gaussian: %d runs, delta %v, confidence %v: want an error", len(c.r.First), c.delta, c.confidence)
		}
	}
	if _, err := audit.LowerGaussian(r, 0, .9); err == nil {
		t.Error("Gaussian bound with delta 0: want an error")
	}
	if _, err := audit.Collect(0, 1, normals(1)); err == nil {
		t.Error("no runs: want an error")
	}
	broken := errors.New("broken")
	for _, table := range []bool{false, true} {
		_, err := audit.Collect(3, 1, func(_ uint64, second bool) (float64, error) {
			if second == table {
				return 0, broken
			}
			return 0, nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("error of a run: %v: want it passed on", err)
		}
	}
}
