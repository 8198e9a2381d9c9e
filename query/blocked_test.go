package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBlockedProductsAreExact tests products of several vectors of integers with a metric's matrix against sums over
// the columns, modulo 2^64, of numbers of any size and of the largest. It fails if a part of a number is lost, or a sum
// is rounded.
func TestBlockedProductsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 58))
	for _, d := range []int{1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 97, 130, MaxPairs} {
		p := symmetric(r, d, 1)
		if d == MaxPairs {
			for i := range p {
				p[i] = 0x1.ffffep0 // the largest odd entry, and the largest sums
			}
		}
		m, err := NewMetric(d, p)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 11; n += 1 + d/500*5 {
			v := make([]int64, n*d)
			for i := range v {
				switch r.IntN(4) {
				case 0:
					v[i] = r.Int64N(1<<20) - 1<<19
				case 1:
					v[i] = []int64{math.MaxInt64, math.MinInt64, -1, 1<<limb - 1, 1<<(2*limb) - 1}[r.IntN(5)]
				default:
					v[i] = int64(r.Uint64())
				}
				if d == MaxPairs {
					v[i] = -1
				}
			}
			got, want := make([]int64, len(v)), make([]int64, len(v))
			m.m.blocked(got, v)
			row := make([]int64, d)
			for j := range d {
				m.Row(row, j)
				for at := 0; at < len(v); at += d {
					for k, entry := range row {
						want[at+j] += entry * v[at+k]
					}
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(m.TimesIntegers(v), want) {
				t.Fatalf("d = %d, %d vectors: products differ", d, n)
			}
		}
	}
}
