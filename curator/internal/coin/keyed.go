package coin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Keyed is a pseudorandom function of lists of texts: HMAC with SHA-256 (FIPS 198-1), truncated to
// 64 bits. Without the key nobody can distinguish it from a random function. It is used to order a
// unit's rows in an order that depends only on their contents. Like a Secret it cannot be printed,
// and it is not safe for concurrent use.
type Keyed struct {
	redacted
	_ noCopy

	open func() hash.Hash
}

// Keyed returns the function whose key is the next 256 bits of s.
func (s *Secret) Keyed() *Keyed {
	key := s.key()
	mac := hmac.New(sha256.New, key[:])
	return &Keyed{open: func() hash.Hash { return mac }}
}

// Sum returns the value of the function at a list of texts. Each text is preceded by its length, so
// that different lists have different encodings.
func (k *Keyed) Sum(texts []string) uint64 {
	mac := k.open()
	mac.Reset()
	var size [8]byte
	for _, t := range texts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(t)))
		mac.Write(size[:])
		mac.Write([]byte(t))
	}
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}
