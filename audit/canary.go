package audit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Guesses is the outcome of a game played on one run (Steinke, Nasr and
// Jagielski 2023). Each of Canaries records was settled by a fair coin of its
// own before the run; from what was released, Made coins were guessed, a number
// fixed before the run, and Correct of the guesses were right.
//
// Under add-or-remove a coin decides whether its canary takes part. Under
// replace-one it decides which of two records stands at the canary's place, so
// that turning a coin replaces one record, and the bound is one under
// replace-one directly: nothing is doubled.
type Guesses struct{ Canaries, Made, Correct int }

// Guess guesses coins from scores that are higher where the coin is true: true
// for the in highest scores, false for the out lowest. in and out must not
// depend on the scores.
func Guess(scores []float64, coins []bool, in, out int) (Guesses, error) {
	m := len(scores)
	switch {
	case m != len(coins):
		return Guesses{}, fmt.Errorf("audit: %d scores: must be as many as coins, %d", m, len(coins))
	case in < 0 || out < 0 || in > m-out:
		return Guesses{}, fmt.Errorf("audit: in, out = %d, %d: must be >= 0 and at most %d together", in, out, m)
	}
	if slices.ContainsFunc(scores, math.IsNaN) {
		return Guesses{}, fmt.Errorf("audit: scores: must not be NaN")
	}
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case scores[i] < scores[j]:
			return -1
		case scores[i] > scores[j]:
			return 1
		}
		return 0
	})
	g := Guesses{Canaries: m, Made: in + out}
	for _, i := range order[:out] {
		if !coins[i] {
			g.Correct++
		}
	}
	for _, i := range order[m-in:] {
		if coins[i] {
			g.Correct++
		}
	}
	return g, nil
}

// PValue returns a bound on the probability of at least as many correct
// guesses, were the mechanism (epsilon, delta)-DP: with W binomial with Made
// trials and success probability e^epsilon/(1 + e^epsilon),
//
//	P(W >= v) + 2 m delta max over i = 1..m of P(v > W >= v-i)/i,
//
// for v = Correct and m = Canaries: the main theorem of Steinke, Nasr and
// Jagielski (2023).
func (g Guesses) PValue(epsilon, delta float64) (float64, error) {
	switch {
	case g.Canaries < 1 || g.Made < 0 || g.Made > g.Canaries || g.Correct < 0 || g.Correct > g.Made:
		return 0, fmt.Errorf("audit: guesses = %+v: must be 0 <= Correct <= Made <= Canaries, Canaries >= 1", g)
	case !(epsilon >= 0):
		return 0, fmt.Errorf("audit: epsilon = %v: must be >= 0", epsilon)
	case !(delta >= 0 && delta <= 1):
		return 0, fmt.Errorf("audit: delta = %v: must be between 0 and 1", delta)
	}
	return g.pValue(epsilon, delta), nil
}

func (g Guesses) pValue(epsilon, delta float64) float64 {
	v, r := g.Correct, g.Made
	tail := 1.0
	if v > 0 {
		tail = mathext.RegIncBeta(float64(v), float64(r-v+1), 1/(1+math.Exp(-epsilon)))
	}
	if delta == 0 || v == 0 {
		return tail
	}
	var sum, slope float64
	for i := 1; i <= v; i++ {
		sum += correct(v-i, r, epsilon)
		slope = max(slope, sum/float64(i))
		if slope >= 1/float64(i+1) {
			break // sums are at most 1
		}
	}
	return min(1, tail+2*float64(g.Canaries)*delta*slope)
}

// correct returns P(W = k).
func correct(k, r int, epsilon float64) float64 {
	a, _ := math.Lgamma(float64(r + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(r - k + 1))
	// k log q + (r-k) log(1-q)
	return math.Exp(a - b - c - float64(r-k)*epsilon - float64(r)*math.Log1p(math.Exp(-epsilon)))
}

// LowerEpsilon bounds epsilon from below for the given delta: it exceeds the
// truth with probability at most 1 - confidence over the coins and the run. 0
// says nothing.
//
// It is an epsilon that PValue rejects, and valid at any such, whether or not
// PValue is monotone: the least number of correct guesses that rejects some
// epsilon above the truth is reached with at most the p-value's probability
// there, since the mechanism is that private, too.
func (g Guesses) LowerEpsilon(delta, confidence float64) (float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, fmt.Errorf("audit: confidence = %v: must be > 0 and < 1", confidence)
	}
	if _, err := g.PValue(0, delta); err != nil {
		return 0, err
	}
	// 2^-26 of it pays for the arithmetic of the p-value.
	failure := (1 - confidence) * (1 - 0x1p-26)
	if g.pValue(0, delta) >= failure {
		return 0, nil
	}
	lo, hi := 0.0, 1.0
	for ; g.pValue(hi, delta) < failure; hi *= 2 {
		lo = hi
	}
	lo, _ = bisect(lo, hi, 50, func(epsilon float64) bool { return g.pValue(epsilon, delta) < failure })
	return lo, nil
}
