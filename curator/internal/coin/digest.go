package coin

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

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
