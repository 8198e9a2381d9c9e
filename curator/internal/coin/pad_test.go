package coin

import "testing"

// TestPad tests that a pad that is added and subtracted leaves a vector as it was, and that the words of keys and of
// pieces differ: among words that are drawn at random, two are equal with a probability below 1e-12.
func TestPad(t *testing.T) {
	const n = 300
	seen := map[int64]bool{}
	for _, key := range [][32]byte{{1}, {2}, {31: 1}} {
		for piece := range 3 {
			v := make([]int64, n)
			for j := range v {
				v[j] = int64(j)
			}
			Pad(key, piece, v, 1)
			for j := range v {
				if word := v[j] - int64(j); seen[word] {
					t.Fatalf("key %x, piece %d: a word comes twice", key[0], piece)
				} else {
					seen[word] = true
				}
			}
			Pad(key, piece, v, -1)
			for j := range v {
				if v[j] != int64(j) {
					t.Fatalf("key %x, piece %d: %d: must be %d again", key[0], piece, v[j], j)
				}
			}
		}
	}
}

func BenchmarkPad(b *testing.B) {
	v := make([]int64, 1<<15)
	b.SetBytes(8 << 15)
	for b.Loop() {
		Pad([32]byte{1}, 0, v, 1)
	}
}
