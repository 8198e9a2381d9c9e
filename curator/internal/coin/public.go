package coin

import (
	"encoding/hex"
	"log/slog"
)

// Public is a stream of public coins, for directions and permutations. [PublicFrom] with the key of
// a Public repeats the stream from its start.
//
// The zero Public has no stream and panics when drawn from. A Public is not safe for concurrent
// use. A copy shares the stream of its original.
type Public struct {
	key    [32]byte
	stream *stream
}

// NewPublic returns a Public with a fresh key from the operating system.
func NewPublic() (*Public, error) {
	key, err := freshKey()
	if err != nil {
		return nil, err
	}
	return PublicFrom(key), nil
}

// PublicFrom returns the Public of the given key, at its start.
func PublicFrom(key [32]byte) *Public { return &Public{key: key, stream: newStream(key)} }

// Key returns the key, which determines all past and future coins of p.
func (p *Public) Key() [32]byte { return p.key }

// String returns the key in hexadecimal.
func (p *Public) String() string { return hex.EncodeToString(p.key[:]) }

// LogValue returns the key in hexadecimal.
func (p *Public) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Uint64 returns 64 uniform bits.
func (p *Public) Uint64() uint64 { return p.stream.cha.Uint64() }

// Fill sets every element of dst to 64 uniform bits, the same words as len(dst) calls of Uint64.
func (p *Public) Fill(dst []uint64) { p.stream.fill(dst) }

// IntN returns an exactly uniform integer in [0, n). It panics if n <= 0.
func (p *Public) IntN(n int) int { return p.stream.intN(n) }

// Perm returns an exactly uniform permutation of 0, ..., n-1.
// It panics if n < 0.
func (p *Public) Perm(n int) []int { return p.stream.perm(n) }
