package account

import (
	"fmt"
	"math"
)

// Group returns what a mechanism is to a group of k records that are changed
// together, such as the rows of one person: a mechanism for neighbours that
// differ in one record, seen by neighbours that differ in k.
//
//   - Gaussian: k times the sensitivity.
//   - Sampled Gaussian under add-or-remove: the members that join a sample are
//     binomial, and each adds up to a contribution.
//   - Pure and bounded-range: k times epsilon.
//
// Others are refused: no bound as tight is implemented.
func Group(m Mechanism, k int) (Mechanism, error) {
	if k < 1 || k > groupMost {
		return nil, fmt.Errorf("account: group = %d: must be between 1 and %d", k, groupMost)
	}
	if k == 1 {
		return m, nil
	}
	switch m := m.(type) {
	case gaussianMechanism:
		return gaussianMechanism{m.multiplier, m.sensitivity * float64(k)}, nil
	case boundGaussian:
		m.sensitivity *= float64(k)
		return m, nil
	case sampledGaussian:
		if m.under != AddOrRemove {
			break
		}
		weights, offsets := make([]float64, k+1), make([]float64, k+1)
		for j := range weights {
			weights[j] = binomial(k, j, m.sampling)
			offsets[j] = float64(j)
		}
		return newBinomialMixture(m.multiplier, weights, offsets)
	case boundedMechanism:
		if m.rangeOnly {
			return NewBoundedRange(m.epsilon * float64(k))
		}
		return NewPure(m.epsilon * float64(k))
	}
	return nil, fmt.Errorf("account: %v: no bound for groups of %d records is implemented", m, k)
}

// groupMost bounds the size of a group.
const groupMost = 64

// binomial returns the probability that j of k join.
func binomial(k, j int, q float64) float64 {
	choose, _ := math.Lgamma(float64(k + 1))
	a, _ := math.Lgamma(float64(j + 1))
	b, _ := math.Lgamma(float64(k - j + 1))
	return math.Exp(choose - a - b + float64(j)*math.Log(q) + float64(k-j)*math.Log1p(-q))
}

// newBinomialMixture moves the mass that float64 cannot resolve, and the
// rounding of the rest, to the largest offset: to the private side.
func newBinomialMixture(multiplier float64, weights, offsets []float64) (Mechanism, error) {
	var w, o []float64
	var sum float64
	last := len(weights) - 1
	for j := range last {
		// Rounded down a little, so that what is missing is at the top.
		if v := weights[j] * (1 - 0x1p-40); v > 0 {
			w, o = append(w, v), append(o, offsets[j])
			sum += v
		}
	}
	w, o = append(w, max(1-sum, math.SmallestNonzeroFloat64)), append(o, offsets[last])
	return NewGaussianMixture(multiplier, w, o)
}
