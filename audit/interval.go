package audit

import (
	"fmt"

	"gonum.org/v1/gonum/mathext"
)

// UpperRate returns an upper confidence bound on the probability of an event
// that occurred in successes of trials independent trials: it falls below the
// truth with probability at most failure. It is the one-sided bound of Clopper
// and Pearson (1934), the p with P(Bin(trials, p) <= successes) = failure,
// rounded up.
func UpperRate(successes, trials int, failure float64) (float64, error) {
	if err := checkRate(successes, trials, failure); err != nil {
		return 0, err
	}
	return upperRate(successes, trials, failure), nil
}

// LowerRate is the lower bound that goes with [UpperRate]: it exceeds the truth
// with probability at most failure.
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

// upperRate brackets the root. 2^-26 of the rate, or of the rate of failures if
// that is smaller, pays for the beta function's own error of about 1e-11.
func upperRate(k, n int, failure float64) float64 {
	if k == n {
		return 1
	}
	lo, hi := float64(k)/float64(n), 1.0
	_, hi = bisect(lo, hi, 60, func(p float64) bool { return below(k, n, p) > failure })
	return min(1, hi+min(hi, 1-hi)*0x1p-26)
}

// bisect halves [lo, hi] so many times, keeping low true at lo and false at hi,
// for low that is true and then false.
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

// below returns P(Bin(n, p) <= k), 0 <= k < n.
func below(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
