package audit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Guesses is the outcome of an audit with canaries in one run (Steinke, Nasr and Jagielski 2023). Canaries
// is the number of records that were each decided, before the run, by a fair coin of its own. Made is the
// number of coins that the auditor guessed from the released values. Made must be fixed before the run.
// Correct is the number of right guesses.
//
// Under add-or-remove the coin decides whether the canary takes part. Under replace-one the coin decides
// which of two records stands in the canary's place. The other outcome of the coin then replaces one
// record. The bound of [Guesses.PValue] therefore holds under replace-one without doubling.
type Guesses struct{ Canaries, Made, Correct int }

// Guess turns an auditor's scores, one for each canary, into guesses of the canaries' coins, and returns
// how many guesses are right. Guess guesses true for the coins with the highest scores, and false for the
// coins with the lowest scores. in is the number of guesses true, and out the number of guesses false. A
// higher score should therefore mean that a true coin is more likely. in and out must not depend on the
// scores. Guess returns an error for a NaN score, for unequal numbers of scores and coins, and if in or out
// is negative or in + out exceeds the number of coins.
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

// PValue bounds the probability of at least Correct right guesses for a mechanism that is (epsilon,
// delta)-DP. With v = Correct, m = Canaries, and W binomial with Made trials and success
// probability e^epsilon/(1 + e^epsilon), the bound is
//
//	P(W >= v) + 2 m delta max over i = 1..m of P(v > W >= v-i)/i
//
// (Steinke, Nasr and Jagielski 2023, main theorem). PValue returns an error if the counts, epsilon
// or delta are out of range.
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
			break // no later mean is larger, since a sum is at most 1
		}
	}
	return min(1, tail+2*float64(g.Canaries)*delta*slope)
}

// correct returns the probability that exactly k of r guesses are right if each is right with
// probability e^epsilon/(1 + e^epsilon), independently.
func correct(k, r int, epsilon float64) float64 {
	a, _ := math.Lgamma(float64(r + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(r - k + 1))
	// k log q + (r-k) log(1-q), with 1-q = e^-epsilon q
	return math.Exp(a - b - c - float64(r-k)*epsilon - float64(r)*math.Log1p(math.Exp(-epsilon)))
}

// LowerEpsilon returns a lower bound on epsilon for the given delta. The bound exceeds the true
// epsilon with probability at most 1 - confidence over the coins and the run. A bound of 0 contains
// no information.
//
// The result is an epsilon that is rejected: its p-value is below 1 - confidence. The bound is valid even
// if PValue is not monotone in epsilon. For a proof, suppose that the bound exceeds the true epsilon. Then
// the number of right guesses rejects some epsilon above the true one. Let v be the smallest number of
// right guesses that rejects an epsilon above the true one. The mechanism is also private at this rejected
// epsilon. The p-value of v there, which is below 1 - confidence, therefore bounds the probability of v or
// more right guesses.
func (g Guesses) LowerEpsilon(delta, confidence float64) (float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, fmt.Errorf("audit: confidence = %v: must be > 0 and < 1", confidence)
	}
	if _, err := g.PValue(0, delta); err != nil {
		return 0, err
	}
	// A share 2^-26 of the failure probability is kept back for rounding errors of the p-value.
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
