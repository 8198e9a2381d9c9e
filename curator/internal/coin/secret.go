package coin

import (
	"crypto/mlkem"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a stream of secret coins, for noise and for the choice of the records in a cohort.
//
// A Secret is made by [NewSecret], [Secret.Fork] or, in simulations, [Simulated]. The zero Secret has
// no stream and panics when drawn from. The state of a Secret cannot be printed: fmt, encoding and
// slog print a fixed text, also if the Secret is part of another value. (If it is in an unexported
// field, fmt calls none of its methods and prints an address.)
//
// A Secret is not safe for concurrent use: fork one for each goroutine. A Secret must not be copied, and vet reports
// copies. A copy would share the stream and not repeat it, so no noise would be drawn twice.
type Secret struct {
	redacted
	_ noCopy

	// open returns the stream. It is a closure, because fmt calls no methods of the value of an unexported field. For a
	// verb that does not fit the type, such as %s, fmt follows a pointer there, but never a closure.
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

// Simulated returns the Secret of a given seed. [Secret.Simulated] is true for it and for all its
// forks.
//
// Noise that can be recomputed protects nobody. Only tests and simulated sessions over generated or
// declared-public data may call this function.
func Simulated(seed [32]byte) *Secret { return newSecret(seed, true) }

// Simulated reports whether the coins come from a chosen seed.
func (s *Secret) Simulated() bool { return s.simulated }

// Fork returns a new Secret whose key is the next 256 bits of s. Its coins are independent of the
// later coins of s.
func (s *Secret) Fork() *Secret { return newSecret(s.key(), s.simulated) }

// key returns the next 256 bits of the stream s, as a key.
func (s *Secret) key() (key [32]byte) {
	parent := s.open()
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], parent.cha.Uint64())
	}
	return key
}

// Uint64 returns 64 uniform bits.
func (s *Secret) Uint64() uint64 { return s.open().cha.Uint64() }

// Fill sets every element of dst to 64 uniform bits, the same words as len(dst) calls of Uint64.
func (s *Secret) Fill(dst []uint64) { s.open().fill(dst) }

// IntN returns an exactly uniform integer in [0, n). It panics if n <= 0.
func (s *Secret) IntN(n int) int { return s.open().intN(n) }

// Perm returns an exactly uniform permutation of 0, ..., n-1; its first m
// entries are a uniform sample of m without replacement. It panics if n < 0.
func (s *Secret) Perm(n int) []int { return s.open().perm(n) }

// Heads returns min(n, 64) coins, in the lowest bits of a word, each 1 with probability exactly p and
// independent of the others. It panics unless p is in [0, 1] and n >= 0.
func (s *Secret) Heads(p float64, n int) uint64 { return s.open().heads(p, n) }

// freshKey draws a key from the operating system. It does not use the variable rand.Reader of
// package crypto/rand, which any package of the program can replace. freshKey generates an ML-KEM
// key pair and uses only the pair's 64-byte seed. The seed comes from the same source as the bytes
// of the original rand.Reader, and its generation takes no reader as argument. The two halves of
// the seed are drawn independently (FIPS 203, algorithm 19). The first half is the key.
func freshKey() (key [32]byte, err error) {
	pair, err := mlkem.GenerateKey768()
	if err != nil {
		return [32]byte{}, fmt.Errorf("coin: key from the operating system: %w", err)
	}
	copy(key[:], pair.Bytes())
	return key, nil
}

// PublicSeed returns 64 fresh public coins, of a key of their own.
func PublicSeed() (uint64, error) {
	key, err := freshKey()
	return binary.LittleEndian.Uint64(key[:]), err
}

// noCopy makes vet's copylocks check report copies of a type that contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

const redaction = "coin.Secret{redacted}"

// redacted, embedded in a type, gives it methods that print a fixed text. Its receivers are values,
// so that the methods exist on a Secret as well as on a *Secret.
type redacted struct{}

var (
	_ fmt.Formatter  = Secret{}
	_ slog.LogValuer = Secret{}
)

// Format writes a fixed text for every verb and flag.
func (redacted) Format(f fmt.State, _ rune) { io.WriteString(f, redaction) }

// String returns a fixed text.
func (redacted) String() string { return redaction }

// GoString returns a fixed text.
func (redacted) GoString() string { return redaction }

// LogValue returns a fixed text.
func (redacted) LogValue() slog.Value { return slog.StringValue(redaction) }

// MarshalText returns a fixed text.
func (redacted) MarshalText() ([]byte, error) { return []byte(redaction), nil }

// MarshalJSON returns a fixed text as a JSON string.
func (redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redaction + `"`), nil }
