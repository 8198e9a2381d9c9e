package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Statistic runs a mechanism once, with random bits that seed determines, on the second of two neighbouring
// tables if second is true and else on the first. It returns a number computed from the released values.
// The attacker is free to choose how the number is computed: every choice gives a valid lower bound on
// epsilon, and a good choice gives a high bound.
type Statistic func(seed uint64, second bool) (float64, error)

// Runs holds the statistics of independent runs on two neighbouring tables.
type Runs struct{ First, Second []float64 }

// Collect runs a statistic the given number of times on each table. Each run has its own seed: seed,
// seed+2, ... on the first table and seed+1, seed+3, ... on the second. Collect stops at the first error
// and returns it.
func Collect(runs int, seed uint64, s Statistic) (Runs, error) {
	if runs < 1 {
		return Runs{}, fmt.Errorf("audit: runs = %d: must be >= 1", runs)
	}
	r := Runs{First: make([]float64, runs), Second: make([]float64, runs)}
	for i := range runs {
		var err error
		if r.First[i], err = s(seed+uint64(2*i), false); err != nil {
			return Runs{}, err
		}
		if r.Second[i], err = s(seed+uint64(2*i+1), true); err != nil {
			return Runs{}, err
		}
	}
	return r, nil
}

// Threshold is a test that guesses from a statistic which of two neighbouring tables was used. If Above is
// true, the test guesses the second table when the statistic is at least At. If Above is false, it does
// when the statistic is at most At. NaN counts as less than every number.
type Threshold struct {
	At    float64
	Above bool
}

// Second reports whether the test guesses the second table.
func (t Threshold) Second(statistic float64) bool {
	if t.Above {
		return cmp.Compare(statistic, t.At) >= 0
	}
	return cmp.Compare(statistic, t.At) <= 0
}

// Lower is a lower bound on epsilon from a threshold test: at the stated confidence, the mechanism
// is not (e, Delta)-DP for any e below Epsilon. An Epsilon of 0 contains no information.
type Lower struct {
	Epsilon, Delta, Confidence float64
	// Mu is the lower bound on the mu of Gaussian differential privacy. It is 0 if only epsilon is
	// bounded.
	Mu float64
	// Threshold is the test. It was chosen on a quarter of the runs and evaluated on the others.
	Threshold Threshold
	// Runs is the number of runs on each table on which Threshold was evaluated.
	Runs int
	// FalsePositive and FalseNegative are upper confidence bounds on the test's error rates: how often it
	// guesses the second table on the first, and the first table on the second.
	FalsePositive, FalseNegative float64
}

// LowerGaussian bounds epsilon from below for the given delta. It chooses a threshold test on the first quarter of
// the runs and evaluates it on the others. Both error rates are replaced by upper confidence bounds, each of which
// fails with probability (1 - confidence)/2 (Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis
// 2023). It is for mechanisms that are known to be exactly as private as some Gaussian mechanism: their trade-off
// function is
//
//	Phi(Phi^-1(1-p) - mu)    for some mu.
//
// It needs far fewer runs, because a single test then determines the whole function: mu >= Phi^-1(1-p) -
// Phi^-1(q) for the error rates p and q of any test (Nasr et al. 2023). Mu is a valid lower bound on the mu
// of mu-GDP for every mechanism. Epsilon is valid only for mechanisms that are exactly as private as a
// Gaussian mechanism. Another mechanism with the same lower bound Mu may have a smaller epsilon.
// LowerGaussian returns an error if delta is not > 0, if a table has fewer than 8 runs, and if an argument
// is out of range.
func LowerGaussian(r Runs, delta, confidence float64) (Lower, error) {
	if !(delta > 0) {
		return Lower{}, fmt.Errorf("audit: delta = %v: must be > 0 for a Gaussian bound", delta)
	}
	l, err := lower(r, delta, confidence, muOfRates)
	if err != nil {
		return Lower{}, err
	}
	if l.Mu = muOfRates(l.FalsePositive, l.FalseNegative); l.Mu > 0 {
		l.Epsilon, err = mechanism.GaussianEpsilon(l.Mu, delta)
		l.Epsilon *= 1 - 0x1p-50 // GaussianEpsilon rounds up, a lower bound must round down
	}
	return l, err
}

// muOfRates returns the smallest mu for which mu-GDP allows a test with error rates p, q > 0. It
// subtracts 2^-40 to cover rounding errors.
func muOfRates(p, q float64) float64 {
	if !(p+q < 1) {
		return 0
	}
	return max(0, -distuv.UnitNormal.Quantile(p)-distuv.UnitNormal.Quantile(q)-0x1p-40)
}

// lower chooses the threshold test with the largest gain on the first quarter of the runs, where gain is a
// function of the test's two error rates. It then bounds the error rates of this test from above, on the
// other runs.
func lower(r Runs, delta, confidence float64, gain func(p, q float64) float64) (Lower, error) {
	n := min(len(r.First), len(r.Second))
	switch {
	case n < 8:
		return Lower{}, fmt.Errorf("audit: runs = %d: must be >= 8 on each table", n)
	case !(delta >= 0 && delta < 1):
		return Lower{}, fmt.Errorf("audit: delta = %v: must be >= 0 and < 1", delta)
	case !(confidence > 0 && confidence < 1):
		return Lower{}, fmt.Errorf("audit: confidence = %v: must be > 0 and < 1", confidence)
	}
	failure := (1 - confidence) / 2
	quarter := n / 4
	l := Lower{Delta: delta, Confidence: confidence, Runs: n - quarter}
	// For the choice, error rates on the first quarter are replaced by upper bounds of high confidence.
	// Extreme thresholds that are good by chance are then not chosen.
	z := max(5, -distuv.UnitNormal.Quantile(failure))
	best := math.Inf(-1)
	for _, t := range thresholds(r.First[:quarter], r.Second[:quarter]) {
		p := wilson(t.count(r.First[:quarter]), quarter, z)
		q := wilson(quarter-t.count(r.Second[:quarter]), quarter, z)
		// Among thresholds without gain the smallest sum of error rates wins.
		if score := gain(p, q) - 1e-9*(p+q); score > best {
			best, l.Threshold = score, t
		}
	}
	l.FalsePositive = upperRate(l.Threshold.count(r.First[quarter:n]), l.Runs, failure)
	l.FalseNegative = upperRate(l.Runs-l.Threshold.count(r.Second[quarter:n]), l.Runs, failure)
	return l, nil
}

// wilson approximates [upperRate] by the score interval of Wilson (1927) with normal quantile z. It is
// fast, and is used only to choose a threshold. The reported bounds use upperRate.
func wilson(successes, trials int, z float64) float64 {
	k, n := float64(successes), float64(trials)
	return (k + z*z/2 + z*math.Sqrt(k*(n-k)/n+z*z/4)) / (n + z*z)
}

// count returns for how many of the statistics the test guesses the second table.
func (t Threshold) count(statistics []float64) (n int) {
	for _, v := range statistics {
		if t.Second(v) {
			n++
		}
	}
	return n
}

// thresholds returns the tests among which [lower] chooses. For each value At there are two tests: one
// guesses the second table above At, the other below At. The values are quantiles of both samples together.
// They are denser towards the ends, where ratios of error rates are large.
func thresholds(first, second []float64) (list []Threshold) {
	pool := slices.Concat(first, second)
	slices.Sort(pool)
	last := len(pool) - 1
	for rank := 0; rank <= last; rank += 1 + rank/8 {
		for _, v := range []float64{pool[rank], pool[last-rank]} {
			list = append(list, Threshold{v, true}, Threshold{v, false})
		}
	}
	return list
}

// upperRate returns an upper confidence bound on the probability of an event that occurred k times in n
// independent trials. With probability at most failure, the bound is below the true probability. It is the
// one-sided bound of Clopper and Pearson (1934), the p with P(Bin(n, p) <= k) = failure, found by bisection and
// rounded up: upperRate adds 2^-26 of the rate, or of 1 minus the rate if that is smaller, to cover the error of the
// computed beta function, which is about 1e-11.
func upperRate(k, n int, failure float64) float64 {
	if k == n {
		return 1
	}
	lo, hi := float64(k)/float64(n), 1.0
	_, hi = bisect(lo, hi, 60, func(p float64) bool { return below(k, n, p) > failure })
	return min(1, hi+min(hi, 1-hi)*0x1p-26)
}

// bisect finds where a condition changes: it halves the interval [lo, hi] the given number of times and
// returns the last interval. low must be true at lo, false at hi, and change only once between lo and hi.
// In the returned interval, low changes between the two ends.
func bisect(lo, hi float64, times int, low func(float64) bool) (float64, float64) {
	for range times {
		if mid := lo + (hi-lo)/2; low(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// below returns P(Bin(n, p) <= k), the probability of at most k successes in n trials, for 0 <= k <
// n.
func below(k, n int, p float64) float64 { return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p) }
