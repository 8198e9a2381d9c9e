package session

import (
	"math"
	"math/bits"
)

// toeplitz is the square-root mechanism (Fichtenberger, Henzinger and Upadhyay 2023). The matrix A
// that sums items is the square of E, the lower triangular Toeplitz matrix with binom(2k, k)/4^k on
// diagonal k. For items x the noisy state is z = E x + noise, and the prefix sums are A E^-1 z.
//
// E is rounded to multiples of 2^-q, so that z is an integer in units of 2^-q. From then on E means the
// rounded matrix. The charge follows from the largest norm of a column of the rounded matrix, and A E^-1 is
// computed from the rounded matrix. The rounding therefore adds a little noise and has no other effect.
type toeplitz struct {
	q int
	// coef[k] is the integer on diagonal k of 2^q E, for the rounded E.
	coef []int64
	// square is the sum of the squares of coef.
	square uint64
	// back holds the first column of A E^-1, the matrix from noisy states to prefix sums. It has only
	// the entries that the prefix sums so far have needed.
	back []float64
	// variance is the sum of the squares of back.
	variance float64
	// past holds the items.
	past [][]int64
	// noisy holds the noisy state after each item, in grid steps.
	noisy [][]float64
}

func newToeplitz(items int) *toeplitz {
	m := &toeplitz{q: max(16, bits.Len(uint(items-1))+4), coef: make([]int64, items)}
	for k, e := 0, 1.0; k < items; k++ {
		m.coef[k] = int64(math.Round(math.Ldexp(e, m.q)))
		m.square += uint64(m.coef[k] * m.coef[k])
		e *= float64(2*k+1) / float64(2*k+2)
	}
	return m
}

func (m *toeplitz) law() (q int, square uint64) { return m.q, m.square }

func (m *toeplitz) items() int { return len(m.past) }

func (m *toeplitz) add(item []int64, normals func() []int64) (prefix []float64, deviation float64) {
	m.past = append(m.past, item)
	t := len(m.past)
	z := normals()
	for s, x := range m.past {
		c := m.coef[t-1-s]
		for j, v := range x {
			z[j] += c * v
		}
	}
	state := make([]float64, len(z))
	for j, v := range z {
		state[j] = math.Ldexp(float64(v), -m.q)
	}
	m.noisy = append(m.noisy, state)
	m.extend()
	// From here on, the function reads only the noisy state.
	prefix = make([]float64, len(z))
	for s, state := range m.noisy {
		b := m.back[t-1-s]
		for j, v := range state {
			prefix[j] += float64(b * v)
		}
	}
	return prefix, math.Sqrt(m.variance)
}

// extend computes the next entry of b and adds its square to the variance. b is the first column of the
// matrix A E^-1, where A is the matrix of prefix sums and E is its rounded square root, with the entry
// E_i on the whole i-th diagonal. The product of b and E is a column of ones, which gives the recursion
// b_k = 1 - sum_{i=1..k} E_i b_{k-i}. A rounding error in one entry of b reaches the later entries
// multiplied by coefficients of E^-1, whose absolute values have a sum below 2.
func (m *toeplitz) extend() {
	b := 1.0
	for i := len(m.back); i > 0; i-- {
		b -= float64(math.Ldexp(float64(m.coef[i]), -m.q) * m.back[len(m.back)-i])
	}
	m.back = append(m.back, b)
	m.variance += float64(b * b)
}
