package coin

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestKeyed tests that the values of Keyed are HMAC by its definition, over texts with their lengths,
// with the stream's next 256 bits as key. Other keys and other texts have other values, and a value
// does not depend on earlier calls.
func TestKeyed(t *testing.T) {
	seed := [32]byte{7}
	cha := rand.NewChaCha8(seed)
	inner, outer := make([]byte, 64), make([]byte, 64)
	for i := 0; i < 32; i += 8 {
		binary.LittleEndian.PutUint64(inner[i:], cha.Uint64())
	}
	copy(outer, inner)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	s := Simulated(seed)
	k := s.Keyed()
	lists := [][]string{nil, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}}
	seen := map[uint64]bool{}
	for range 2 {
		for _, list := range lists {
			text := append([]byte(nil), inner...)
			for _, v := range list {
				text = append(binary.LittleEndian.AppendUint64(text, uint64(len(v))), v...)
			}
			within := sha256.Sum256(text)
			sum := sha256.Sum256(append(append([]byte(nil), outer...), within[:]...))
			if got, want := k.Sum(list), binary.LittleEndian.Uint64(sum[:]); got != want {
				t.Errorf("%q: %x: must be %x", list, got, want)
			}
			seen[k.Sum(list)] = true
		}
	}
	next := s.Keyed()
	for _, list := range lists {
		seen[next.Sum(list)] = true
	}
	if len(seen) != 2*len(lists) {
		t.Errorf("%d values of %d lists under two keys", len(seen), len(lists))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, k); got != redaction {
			t.Errorf("%s shows %s", verb, got)
		}
	}
}
