package audit

import "gonum.org/v1/gonum/mathext"

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
func below(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
