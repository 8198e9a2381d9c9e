package coin

import "fmt"

// Pad adds sign times words of a key's pad to a piece of a vector, modulo 2^64. The piece with each number has words
// of its own. With a pad of a fresh key added, a vector reveals nothing to those who do not have the key. A key must
// pad one vector alone.
func Pad(key [32]byte, piece int, vector []int64, sign int64) {
	s := newStream(Subkey(key, fmt.Sprintf("stillpoint: pad, piece %d", piece)))
	for i := range vector {
		vector[i] += sign * int64(s.cha.Uint64())
	}
}
