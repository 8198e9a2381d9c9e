package noise

import (
	"math"
	"testing"
)

// Every statistical test of this package fails on a correct sampler with probability at most 1e-6.
// The seeds are fixed, so that a test always gives the same result.

// z is exceeded in absolute value by a standard normal with probability 5.7e-7. The rest of the 1e-6
// allows for the skewness of the tested means.
const z = 5

// chiSquareLimit returns an upper bound for the 1 - 1e-6 quantile of a chi-square distribution: P(X
// >= d + 2 sqrt(d t) + 2 t) <= exp(-t) for d degrees of freedom (Laurent and Massart 2000, lemma
// 1).
func chiSquareLimit(degrees int) float64 {
	d, t := float64(degrees), math.Log(1e6)
	return d + 2*math.Sqrt(d*t) + 2*t
}

// chiSquare returns Pearson's statistic and its degrees of freedom. Cells in the tails are pooled
// until each expects at least 200.
func chiSquare(counts []int, p []float64) (statistic float64, degrees int) {
	total := 0
	for _, c := range counts {
		total += c
	}
	n := float64(total)
	i, j := 0, len(p)-1
	observedLow, expectedLow := float64(counts[i]), n*p[i]
	for expectedLow < 200 {
		i++
		observedLow, expectedLow = observedLow+float64(counts[i]), expectedLow+n*p[i]
	}
	observedHigh, expectedHigh := float64(counts[j]), n*p[j]
	for expectedHigh < 200 {
		j--
		observedHigh, expectedHigh = observedHigh+float64(counts[j]), expectedHigh+n*p[j]
	}
	add := func(observed, expected float64) {
		statistic += (observed - expected) * (observed - expected) / expected
		degrees++
	}
	add(observedLow, expectedLow)
	add(observedHigh, expectedHigh)
	for c := i + 1; c < j; c++ {
		add(float64(counts[c]), n*p[c])
	}
	return statistic, degrees - 1
}

func checkLaw(t *testing.T, name string, counts []int, p []float64) {
	t.Helper()
	x, d := chiSquare(counts, p)
	if limit := chiSquareLimit(d); x > limit {
		t.Errorf("%s: chi-square %.1f on %d degrees, limit %.1f", name, x, d, limit)
	}
}

// tally counts n draws in the cells -reach, ..., reach. The two ends include the tails.
func tally(n, reach int, draw func() int64) []int {
	counts := make([]int, 2*reach+1)
	for range n {
		m := max(-int64(reach), min(int64(reach), draw()))
		counts[m+int64(reach)]++
	}
	return counts
}

// checkSame compares two samples by the two-sample chi-square statistic, on the cells with at least
// 400 draws of both together.
func checkSame(t *testing.T, name string, a, b []int) {
	t.Helper()
	var na, nb, x float64
	for i := range a {
		na += float64(a[i])
		nb += float64(b[i])
	}
	degrees := -1
	for i := range a {
		ca, cb := float64(a[i]), float64(b[i])
		if ca+cb < 400 {
			continue
		}
		d := ca*math.Sqrt(nb/na) - cb*math.Sqrt(na/nb)
		x += d * d / (ca + cb)
		degrees++
	}
	if limit := chiSquareLimit(degrees); x > limit {
		t.Errorf("%s: chi-square %.1f on %d degrees, limit %.1f", name, x, degrees, limit)
	}
}
