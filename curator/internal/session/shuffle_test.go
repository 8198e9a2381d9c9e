package session

import (
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// TestShuffleIsThePermutation tests that cohorts are consecutive parts of the permutation that Perm
// draws from the same random bits, whichever records have moved and in either form of storage.
func TestShuffleIsThePermutation(t *testing.T) {
	for _, n := range []int{1, 2, 9, 40, 300, 1000} {
		for seed := range 20 {
			const repeat = 2
			want := coin.Simulated([32]byte{6, byte(seed)}).Perm(n)
			coins := coin.Simulated([32]byte{6, byte(seed)})
			c := cohorts{records: n, repeat: repeat}
			for size := 1; c.used() < n; size = 2*size + 1 {
				c.draw(min(size, n-c.used()), coins)
				if c.used() < n/16 && c.left.all != nil {
					t.Fatalf("n = %d: %d records are drawn, and all have a number", n, c.used())
				}
			}
			for i := range want {
				want[i] /= repeat
			}
			got := make([]int, 0, n)
			for _, row := range c.order {
				got = append(got, int(row))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("n = %d: %v, want %v", n, got, want)
			}
		}
	}
}

// TestEveryRecordJoins tests that with probability 1 every record joins once, in the order of the
// table, including the records at the end of a word of bits.
func TestEveryRecordJoins(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200} {
		c := cohorts{records: n, repeat: 1, unjoined: float64(n)}
		coins := coin.Simulated([32]byte{7})
		c.join(.5, coins)
		first := slices.Clone(c.order)
		c.join(1, coins)
		c.join(1, coins)
		all := slices.Sorted(slices.Values(c.order))
		if !slices.IsSorted(first) || !slices.Equal(all, numbers(n)) || c.ends[1] != c.ends[2] {
			t.Errorf("%d records: %v joined", n, c.order)
		}
	}
}
