package account

import (
	"fmt"
	"math/bits"
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

// binomial returns the probability that j of k <= groupMost join, to a relative
// error of 2^-45: products of exact integers and of powers that each round at
// most k times.
func binomial(k, j int, q float64) float64 {
	choose := uint64(1) // at most (64 choose 32) < 2^61
	for i := range j {
		hi, lo := bits.Mul64(choose, uint64(k-i))
		choose, _ = bits.Div64(hi, lo, uint64(i+1))
	}
	p := float64(choose)
	// Taken in turn, so that no factor underflows before the product does.
	for a, b := j, k-j; a > 0 || b > 0; {
		if a > 0 && (p > 1 || b == 0) {
			p, a = p*q, a-1
		} else if b > 0 {
			p, b = p*(1-q), b-1
		} else {
			p, a = p*q, a-1
		}
	}
	return p
}

// newBinomialMixture moves the mass that float64 cannot resolve to the largest
// offset: to the private side.
func newBinomialMixture(multiplier float64, weights, offsets []float64) (Mechanism, error) {
	var w, o []float64
	var lost float64
	last := len(weights) - 1
	for j := range last {
		if weights[j] < weightLeast {
			lost += weights[j]
			continue
		}
		w, o = append(w, weights[j]), append(o, offsets[j])
	}
	w, o = append(w, max(weights[last]+lost, weightLeast)), append(o, offsets[last])
	return NewGaussianMixture(multiplier, w, o)
}
