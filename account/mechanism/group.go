package mechanism

import (
	"fmt"
	"math/bits"
)

// Group returns the mechanism m for a group of k records that change together, such as the rows of
// one person. The guarantee of m is for tables that differ in one record. The guarantee of the
// result is for tables that differ in k records. k must be in [1, 64].
//
//   - Gaussian, prefix sums, discrete Gaussian, Laplace: the mechanism with k times the
//     sensitivity. These bounds are tight.
//   - Gaussian on a Poisson sample: the number of members in a sample is binomial, and each member
//     adds or exchanges one contribution. The bound is tight under both relations (see
//     newReplacedMixture).
//   - Gaussian on a sample of fixed size: the same, but the number of members is hypergeometric.
//     The bound is derived at newFixedSample. It is tight for k = 1.
//   - Pure and bounded-range: the mechanism with k times epsilon.
//   - Repeat-and-select: the same law of repetitions, applied to the group's bound for one run.
//
// It is an error for Gaussian mixtures, because the joint law of the members' offsets is not known.
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
	case prefixGaussian:
		m.sensitivity *= float64(k)
		m.name += fmt.Sprintf(", groups of %d", k)
		return m, nil
	case sampledGaussian:
		weights, offsets := make([]float64, k+1), make([]float64, k+1)
		for j := range weights {
			weights[j] = binomial(k, j, m.sampling)
			offsets[j] = float64(j)
		}
		if m.under == ReplaceOne {
			return newReplacedMixture(m.multiplier, weights, offsets)
		}
		return newBinomialMixture(m.multiplier, weights, offsets)
	case boundedMechanism:
		m.epsilon *= float64(k)
		if m.name != "laplace" && !m.rangeOnly {
			return newPure(m.epsilon)
		}
		return m.checked()
	case interface {
		grouped(k int) (Mechanism, error)
	}:
		return m.grouped(k)
	}
	return nil, fmt.Errorf("account: %v: no bound for groups of %d records is implemented", m, k)
}

// groupMost is the largest number of records that may change together in Group.
const groupMost = 64

// binomial returns the probability that exactly j of k <= groupMost records join a sample, each with probability q. The
// binomial coefficient is computed exactly in integers. The result is this coefficient multiplied by k factors q or
// 1-q, each with one rounding. Its relative error is therefore at most 2^-45.
func binomial(k, j int, q float64) float64 {
	choose := uint64(1) // at most (64 choose 32) < 2^61
	for i := range j {
		hi, lo := bits.Mul64(choose, uint64(k-i))
		choose, _ = bits.Div64(hi, lo, uint64(i+1))
	}
	p := float64(choose)
	// The factors q and 1-q are multiplied alternately, so that no partial product underflows
	// unless the result does.
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

// newBinomialMixture returns the mechanism of a sum over a Poisson sample for a group of records that join or leave the
// table together. weights[j] is the probability that offsets[j] records of the group are in the sample.
func newBinomialMixture(multiplier float64, weights, offsets []float64) (Mechanism, error) {
	w, o := towardsLargest(weights, offsets)
	return newGaussianMixture(multiplier, w, o)
}

// towardsLargest drops the weights that are too small for float64 and adds their mass to the weight of the largest
// offset. The result dominates the mechanism: its guarantee is never better than the mechanism's.
func towardsLargest(weights, offsets []float64) (w, o []float64) {
	var lost float64
	last := len(weights) - 1
	for j := range last {
		if weights[j] < weightLeast {
			lost += weights[j]
			continue
		}
		w, o = append(w, weights[j]), append(o, offsets[j])
	}
	return append(w, max(weights[last]+lost, weightLeast)), append(o, offsets[last])
}

// newReplacedMixture returns the mechanism of a sum over a Poisson sample for a group of records that are exchanged for
// others. With probability weights[j] the sample contains offsets[j] records of the group. This number is the same
// before and after the exchange. The pair is
//
//	sum of weights[j] N(offsets[j], z^2)   against   sum of weights[j] N(-offsets[j], z^2)
//
// z is the noise multiplier. This pair dominates, and a table whose records lie on one line attains
// it.
//
// Proof. Given the rest of the sample, let S be the members of the group that join it. The members in S move the sum by
// d_S before the exchange and by d'_S after it. The lengths of d_S and d'_S are at most |S|, in units of the largest
// norm of one contribution. Let a test accept with probability Phi(-t) under N(0, z^2). By Neyman and Pearson the test
// accepts with probability at most Phi(|S|/z - t) under N(d_S, z^2) and at least Phi(-|S|/z - t) under N(d'_S, z^2).
// For any u >= 0, consider the acceptance probability before the exchange minus u times the acceptance probability
// after it. For the given test this difference is at most the difference for the test x > t z on the pair's two
// distributions. The difference for the test x > t z is at most the pair's hockey stick at u.
func newReplacedMixture(multiplier float64, weights, offsets []float64) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	w, o := towardsLargest(weights, offsets)
	return gaussianMixture{multiplier, w, o, ReplaceOne}, nil
}
