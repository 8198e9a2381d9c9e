package coin

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// stream makes exact draws from the words of one ChaCha8 key.
type stream struct{ cha rand.ChaCha8 }

func newStream(key [32]byte) *stream {
	s := new(stream)
	s.cha.Seed(key)
	return s
}

func (s *stream) fill(dst []uint64) {
	for i := range dst {
		dst[i] = s.cha.Uint64()
	}
}

// below returns a uniform integer in [0, n), n > 0, by the multiply-and-reject method of Lemire (2019). Each value
// comes from floor(2^64/n) of the 2^64 random words. The remaining 2^64 mod n words are rejected.
func (s *stream) below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.cha.Uint64(), n)
	if lo < n {
		for excess := -n % n; lo < excess; {
			hi, lo = bits.Mul64(s.cha.Uint64(), n)
		}
	}
	return hi
}

func (s *stream) intN(n int) int {
	if n <= 0 {
		panic(fmt.Sprintf("coin: IntN(%d): n must be > 0", n))
	}
	return int(s.below(uint64(n)))
}

// perm returns a uniform permutation. It shuffles 0, ..., n-1 from the front (Fisher and Yates), so
// that its first m entries are a uniform ordered sample without replacement.
func (s *stream) perm(n int) []int {
	if n < 0 {
		panic(fmt.Sprintf("coin: Perm(%d): n must be >= 0", n))
	}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := range p {
		j := i + s.intN(n-i)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// heads returns min(n, 64) coins, in the lowest bits of a word, each 1 with probability exactly p and
// independent of the others. It compares as many uniform numbers with p at a time, digit by digit in base 2:
// a random word is a digit of each. After a few words each number differs from p in some digit. A float64
// is a finite binary fraction, so every step is exact and p has finitely many digits.
func (s *stream) heads(p float64, n int) (below uint64) {
	if !(p >= 0 && p <= 1) || n < 0 { // the first is also false for NaN
		panic(fmt.Sprintf("coin: Heads(%v, %d): p must be in [0, 1] and n >= 0", p, n))
	}
	equal := ^uint64(0) // the numbers whose digits so far are those of p
	if n < 64 {
		equal = 1<<n - 1
	}
	if p == 1 {
		return equal
	}
	for p > 0 && equal != 0 {
		digits := s.cha.Uint64()
		if p *= 2; p < 1 {
			equal &^= digits
			continue
		}
		p--
		below |= equal &^ digits
		equal &= digits
	}
	return below
}
