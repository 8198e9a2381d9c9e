package coin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Keyed is a pseudorandom function of lists of texts with a secret key: HMAC with SHA-256 (FIPS
// 198-1), truncated to 64 bits (Sum) or 128 bits (Tag). Without the key nobody can distinguish it
// from a random function. Sum determines an order of a unit's rows that depends only on their
// contents. Tag identifies a unit without its name. Like a Secret, a Keyed cannot be printed, and it
// is not safe for concurrent use.
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
