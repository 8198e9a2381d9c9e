package coin

import (
	"crypto/rand"
	"io"
	"testing"
)

// constant is a reader that returns one byte value forever.
type constant byte

func (c constant) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(c)
	}
	return len(b), nil
}

// TestKeysDoNotComeFromRandReader tests that a program that replaces rand.Reader learns no key. Two
// keys are equal by chance, or a key has eight equal bytes in a row, with probability below 2^-50.
func TestKeysDoNotComeFromRandReader(t *testing.T) {
	old := rand.Reader
	defer func() { rand.Reader = old }()
	seen := map[uint64]bool{}
	for _, r := range []io.Reader{old, constant(0), constant(0), constant(255), constant(255), nil} {
		rand.Reader = r
		s, err := NewSecret()
		if err != nil {
			t.Fatal(err)
		}
		p, err := PublicSeed()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []uint64{s.Uint64(), p, s.Fork().Uint64()} {
			if seen[v] {
				t.Errorf("reader %v: a key was drawn before", r)
			}
			seen[v] = true
		}
	}
}

// TestKeysAreWhole tests that every bit takes both values among 400 keys. A given bit does not by
// chance with probability 2^-399.
func TestKeysAreWhole(t *testing.T) {
	var ones, zeros [32]byte
	for range 400 {
		key, err := freshKey()
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range key {
			ones[i] |= b
			zeros[i] |= ^b
		}
	}
	for i := range ones {
		if ones[i] != 255 || zeros[i] != 255 {
			t.Errorf("byte %d: some bits are fixed: %08b, %08b", i, ones[i], zeros[i])
		}
	}
}
