package coin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Keyed is a function of texts that nobody can tell from a random one who does not know
// its key: HMAC with SHA-256 (FIPS 198-1), cut to 64 bits. It puts records' rows in an
// order that depends on nothing but what they hold. Like a Secret it shows nothing of
// itself, and is not safe for concurrent use.
type Keyed struct {
	redacted
	_ noCopy

	open func() hash.Hash
}

// Keyed returns the function of the next 256 bits of s.
func (s *Secret) Keyed() *Keyed {
	key := s.key()
	mac := hmac.New(sha256.New, key[:])
	return &Keyed{open: func() hash.Hash { return mac }}
}

// Sum is the value at a list of texts. Each is written with its length before it, so that
// no two lists are alike.
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
