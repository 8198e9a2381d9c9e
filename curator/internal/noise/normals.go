package noise

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// MaxBits is the largest k that Normals accepts.
const MaxBits = 52

// Normals sets the elements of dst to independent values of 2^k N rounded to
// the nearest integer, N standard normal, with exact probabilities: in units
// of the grid, noise of standard deviation 2^k. It panics unless
// 0 <= k <= MaxBits.
//
// A magnitude of 2^63 or more, of probability less than exp(-2^20), is
// reduced modulo 2^64. So is the int64 sum that it is added to, hence that
// too is a function of the ideal result.
//
// Normals takes a few more words from s than it uses. It does not allocate
// for coordinates.
func Normals(dst []int64, k int, s *coin.Secret) {
	if k < 0 || k > MaxBits {
		panic(fmt.Sprintf("noise: Normals: k = %d: must be in [0, %d]", k, MaxBits))
	}
	f := newFlips(s, 64, batch)
	for i := range dst {
		dst[i] = f.normal(uint(k))
	}
}
