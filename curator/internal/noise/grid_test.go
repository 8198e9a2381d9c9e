package noise

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// kolmogorov returns the largest distance between the empirical distribution of x, which it sorts,
// and the standard normal distribution.
func kolmogorov(x []float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		c := math.Erfc(-v/math.Sqrt2) / 2
		d = max(d, c-float64(i)/n, float64(i+1)/n-c)
	}
	return d
}

// TestGridsRoundTheSameNormals tests that a key gives the same sequence of normals on every grid: on
// the grid with 2^k steps in a standard deviation, the values are those with k = MaxBits, rounded to
// nearest again. Rounding twice differs from rounding once only if the finer value is a tie.
func TestGridsRoundTheSameNormals(t *testing.T) {
	finest := make([]int64, chunk+1000)
	Normals(finest, MaxBits, coin.Simulated(seed(41)), 1)
	coarse := make([]int64, len(finest))
	for k := range MaxBits {
		Normals(coarse, k, coin.Simulated(seed(41)), 1)
		half := int64(1) << (MaxBits - k - 1)
		for i, m := range finest {
			magnitude := max(m, -m)
			rest := magnitude & (2*half - 1)
			if rest == half {
				continue
			}
			want := magnitude / (2 * half)
			if rest > half {
				want++
			}
			if m < 0 {
				want = -want
			}
			if coarse[i] != want {
				t.Fatalf("k = %d, element %d: %d, want %d from %d", k, i, coarse[i], want, m)
			}
		}
	}
}

func TestNormalsRefusesOtherGrids(t *testing.T) {
	for _, k := range []int{-1, MaxBits + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("k = %d: no panic", k)
				}
			}()
			Normals(nil, k, coin.Simulated(seed(0)), 1)
		}()
	}
}

func TestNormalsDoesNotAllocateForCoordinates(t *testing.T) {
	s := coin.Simulated(seed(51))
	dst := make([]int64, 10_000)
	if got := testing.AllocsPerRun(20, func() { Normals(dst, 32, s, 1) }); got > 1 {
		t.Errorf("%v allocations for %d coordinates, want at most 1", got, len(dst))
	}
}

// TestChunksHaveTheirOwnCoins tests that the values do not depend on the number of workers, and that
// no chunk repeats the random bits of another chunk or of the parent stream.
func TestChunksHaveTheirOwnCoins(t *testing.T) {
	draw := func(workers int) ([]int64, uint64) {
		s := coin.Simulated(seed(52))
		dst := make([]int64, 3*chunk+5)
		Normals(dst, 32, s, workers)
		return dst, s.Uint64()
	}
	want, next := draw(1)
	for _, workers := range []int{2, 3, 9} {
		if got, after := draw(workers); !slices.Equal(got, want) || after != next {
			t.Errorf("%d workers draw other noise than one", workers)
		}
	}
	// Two of these values are equal by chance with probability below 2^-3. One equal pair is
	// allowed, and three equal pairs in a row are not.
	place := map[int64]int{}
	for i, m := range want {
		if j, ok := place[m]; ok && i+2 < len(want) && want[j+1] == want[i+1] && want[j+2] == want[i+2] {
			t.Fatalf("coordinates %d and %d begin the same noise", j, i)
		}
		place[m] = i
	}
	first := make([]int64, chunk)
	Normals(first, 32, coin.Simulated(seed(52)), 1)
	if slices.Equal(first[:3], want[:3]) {
		t.Error("the first chunk has its parent's coins")
	}
}
