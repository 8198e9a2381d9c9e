package audit

import (
	"fmt"
	"math"
)

// LowerEpsilon bounds epsilon from below for the given delta, for any mechanism. It chooses a
// threshold test on the first quarter of the runs and evaluates it on the others. If the mechanism
// is (epsilon, delta)-DP, the test's error rates p and q satisfy
//
//	1 - delta <= q + e^epsilon p  and  1 - delta <= p + e^epsilon q
//
// (Kairouz, Oh and Viswanath 2015). Both rates are replaced by upper confidence bounds, each of which fails
// with probability (1 - confidence)/2 (Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis
// 2023). LowerEpsilon returns an error for fewer than 8 runs on a table and for an argument out of range.
func LowerEpsilon(r Runs, delta, confidence float64) (Lower, error) {
	l, err := lower(r, delta, confidence, func(p, q float64) float64 { return epsilonOfRates(p, q, delta) })
	if err != nil {
		return Lower{}, err
	}
	l.Epsilon = epsilonOfRates(l.FalsePositive, l.FalseNegative, delta)
	return l, nil
}

// epsilonOfRates returns the smallest epsilon for which (epsilon, delta)-DP allows a test with
// error rates p, q > 0. It subtracts 2^-40 to cover rounding errors.
func epsilonOfRates(p, q, delta float64) float64 {
	ratio := max((1-delta-q)/p, (1-delta-p)/q)
	if !(ratio > 1) {
		return 0
	}
	return max(0, math.Log(ratio)-0x1p-40)
}

// UpperRate returns an upper confidence bound on the probability of an event. successes is how often the
// event occurred in independent trials, and trials is their number. With probability at most failure, the
// bound is below the true probability. It is the one-sided bound of Clopper and Pearson (1934), the p with
// P(Bin(trials, p) <= successes) = failure, rounded up. UpperRate returns an error if an argument is out of
// range.
func UpperRate(successes, trials int, failure float64) (float64, error) {
	if err := checkRate(successes, trials, failure); err != nil {
		return 0, err
	}
	return upperRate(successes, trials, failure), nil
}

// LowerRate returns the lower confidence bound that corresponds to [UpperRate]. It exceeds the true
// probability with probability at most failure.
func LowerRate(successes, trials int, failure float64) (float64, error) {
	if err := checkRate(successes, trials, failure); err != nil {
		return 0, err
	}
	return 1 - upperRate(trials-successes, trials, failure), nil
}

func checkRate(successes, trials int, failure float64) error {
	switch {
	case trials < 1:
		return fmt.Errorf("audit: rate: trials = %d: must be >= 1", trials)
	case successes < 0 || successes > trials:
		return fmt.Errorf("audit: rate: successes = %d: must be between 0 and the %d trials", successes, trials)
	case !(failure > 0 && failure < 1):
		return fmt.Errorf("audit: rate: failure = %v: must be > 0 and < 1", failure)
	}
	return nil
}
