package coin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// Keyed is a pseudorandom function of lists of texts with a secret key: HMAC with SHA-256 (FIPS 198-1), truncated to 64
// bits (Sum) or 128 bits (Tag). Without the key nobody can distinguish it from a random function. Sum determines an
// order of a unit's rows that depends only on their contents. Tag identifies a unit without its name. Like a Secret, a
// Keyed cannot be printed, and it is not safe for concurrent use.
type Keyed struct {
	redacted
	_ noCopy

	open func() hash.Hash
}

// Keyed returns the pseudorandom function whose key is the next 256 bits of s.
func (s *Secret) Keyed() *Keyed { return NewKeyed(s.key()) }

// NewKeyed returns the pseudorandom function with the given key, which another process has drawn with
// Secret.Key.
func NewKeyed(key [32]byte) *Keyed {
	mac := hmac.New(sha256.New, key[:])
	return &Keyed{open: func() hash.Hash { return mac }}
}

// Sum returns the first 64 bits of the pseudorandom function's value at a list of texts. Each text is
// preceded by its length, so that different lists have different encodings.
func (k *Keyed) Sum(texts []string) uint64 { return binary.LittleEndian.Uint64(k.whole(texts)) }

// Tag returns the first 128 bits of the pseudorandom function's value at one text. It identifies a
// unit without its name.
func (k *Keyed) Tag(text string) [2]uint64 {
	whole := k.whole([]string{text})
	return [2]uint64{binary.LittleEndian.Uint64(whole), binary.LittleEndian.Uint64(whole[8:])}
}

// whole returns all 256 bits of the pseudorandom function's value at a list of texts.
func (k *Keyed) whole(texts []string) []byte {
	mac := k.open()
	mac.Reset()
	var size [8]byte
	for _, t := range texts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(t)))
		mac.Write(size[:])
		mac.Write([]byte(t))
	}
	return mac.Sum(nil)
}

// NewDigest returns HMAC with SHA-256 (FIPS 198-1) under a key, for a digest of rows. Without the key, a
// digest reveals nothing about the rows, and nobody can find other rows with the same digest.
func NewDigest(key [32]byte) hash.Hash { return hmac.New(sha256.New, key[:]) }

// Subkey returns a key for one purpose, which the label names: HMAC of the label under a key. Subkeys of
// different labels are independent of each other, and none of them reveals the key.
func Subkey(key [32]byte, label string) (sub [32]byte) {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(label))
	mac.Sum(sub[:0])
	return sub
}

// Key returns the next 256 bits of s, as a key for another process. The later coins of s are independent of
// the key.
func (s *Secret) Key() [32]byte { return s.key() }

// Pad adds sign times words of a key's pad to a piece of a vector, modulo 2^64. The piece with each number has words
// of its own. With a pad of a fresh key added, a vector reveals nothing to those who do not have the key. A key must
// pad one vector alone.
func Pad(key [32]byte, piece int, vector []int64, sign int64) {
	s := newStream(Subkey(key, fmt.Sprintf("stillpoint: pad, piece %d", piece)))
	for i := range vector {
		vector[i] += sign * int64(s.cha.Uint64())
	}
}
