package noise

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// kolmogorov returns the largest distance between the empirical distribution
// of x, which it sorts, and the standard normal's.
func kolmogorov(x []float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		c := math.Erfc(-v/math.Sqrt2) / 2
		d = max(d, c-float64(i)/n, float64(i+1)/n-c)
	}
	return d
}

// One key gives one sequence of normals whatever the grid: the values at k are
// those at MaxBits rounded to nearest again. Rounding twice differs from
// rounding once only if the finer value is a tie.
func TestGridsRoundTheSameNormals(t *testing.T) {
	fine := make([]int64, 10_000)
	Normals(fine, MaxBits, coin.Simulated(seed(41)))
	coarse := make([]int64, len(fine))
	for k := range MaxBits {
		Normals(coarse, k, coin.Simulated(seed(41)))
		half := int64(1) << (MaxBits - k - 1)
		for i, m := range fine {
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
			Normals(nil, k, coin.Simulated(seed(0)))
		}()
	}
}

func TestNormalsDoesNotAllocateForCoordinates(t *testing.T) {
	s := coin.Simulated(seed(51))
	dst := make([]int64, 10_000)
	if got := testing.AllocsPerRun(20, func() { Normals(dst, 32, s) }); got > 1 {
		t.Errorf("%v allocations for %d coordinates, want at most 1", got, len(dst))
	}
}
