package coin

import (
	"crypto/mlkem"
	"encoding/binary"
	"fmt"
)

// A Secret is a stream of coins for noise and membership.
//
// It is made by [NewSecret], [Secret.Fork] or, in simulations, [Simulated];
// the zero Secret has no stream and panics when drawn from. It shows nothing
// of itself: fmt, encoding and slog print a fixed text, also where a Secret is
// part of another value (behind an unexported field fmt bypasses all methods
// and prints an address).
//
// A Secret is not safe for concurrent use: fork one for each goroutine. It
// must not be copied, and vet reports a copy; a copy would share the stream
// rather than repeat it, so no noise is ever issued twice.
type Secret struct {
	redacted
	_ noCopy

	// open returns the stream. It is a closure because behind unexported
	// fields fmt asks no methods, and given a verb that does not fit, such as
	// %s, it follows a pointer; nothing follows a closure.
	open      func() *stream
	simulated bool
}

func newSecret(key [32]byte, simulated bool) *Secret {
	s := newStream(key)
	return &Secret{open: func() *stream { return s }, simulated: simulated}
}

// NewSecret returns a Secret with a fresh 256-bit key from the operating system.
func NewSecret() (*Secret, error) {
	key, err := freshKey()
	if err != nil {
		return nil, err
	}
	return newSecret(key, false), nil
}

// Simulated returns the Secret of a given seed, for which
// [Secret.Simulated] is true, and so it is for all its forks.
//
// Noise that can be recomputed protects nobody: only simulated sessions over
// generated or declared-public data, and tests, may call it.
func Simulated(seed [32]byte) *Secret {
	return newSecret(seed, true)
}

// Simulated tells whether the coins descend from a seed that somebody chose.
func (s *Secret) Simulated() bool { return s.simulated }

// Fork returns a Secret of its own, keyed with the next 256 bits of s.
// Its coins and the later ones of s are independent.
func (s *Secret) Fork() *Secret {
	return newSecret(s.key(), s.simulated)
}

// key returns the next 256 bits of s.
func (s *Secret) key() (key [32]byte) {
	parent := s.open()
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], parent.cha.Uint64())
	}
	return key
}

// Uint64 returns 64 fair bits.
func (s *Secret) Uint64() uint64 { return s.open().cha.Uint64() }

// Fill sets every element of dst to 64 fair bits: the words that as many
// calls of Uint64 would return.
func (s *Secret) Fill(dst []uint64) { s.open().fill(dst) }

// IntN returns an exactly uniform integer in [0, n). It panics if n <= 0.
func (s *Secret) IntN(n int) int { return s.open().intN(n) }

// Perm returns an exactly uniform permutation of 0, ..., n-1; its first m
// entries are a uniform sample of m without replacement. It panics if n < 0.
func (s *Secret) Perm(n int) []int { return s.open().perm(n) }

// Bernoulli returns true with probability exactly p: membership by an
// independent coin. It panics unless 0 <= p <= 1.
func (s *Secret) Bernoulli(p float64) bool { return s.open().bernoulli(p) }

// freshKey draws a key from the operating system. crypto/rand would draw it from
// rand.Reader, which any package of the program can replace. The seed of a key
// pair of ML-KEM, of which nothing else is used, is 64 bytes from where the
// original rand.Reader has its own, and takes no reader; its two halves are drawn
// independently (FIPS 203, algorithm 19), and the first is the key.
func freshKey() (key [32]byte, err error) {
	pair, err := mlkem.GenerateKey768()
	if err != nil {
		return [32]byte{}, fmt.Errorf("coin: key from the operating system: %w", err)
	}
	copy(key[:], pair.Bytes())
	return key, nil
}

// noCopy makes vet's copylocks check report copies of what holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
