package noise

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// MaxBits is the largest k that Normals accepts.
const MaxBits = 52

// Normals fills dst with independent normals of standard deviation 2^k, each rounded to the nearest
// integer, with exact probabilities. On a grid, this is noise with a standard deviation of 2^k grid
// steps. Normals panics unless 0 <= k <= MaxBits and workers >= 1.
//
// A magnitude of 2^63 or more, which has probability less than exp(-2^20), is reduced modulo 2^64.
// The int64 sum to which the noise is added is reduced modulo 2^64, too, so that it is still a
// function of the ideal result.
//
// A dst of up to chunk elements is drawn from s itself. A longer dst is drawn in chunks, each with
// coins of its own that are forked from s in order. The values therefore do not depend on workers,
// the number of goroutines that draw them.
//
// Normals takes more words from s than it uses. Normals does not allocate memory for each element.
func Normals(dst []int64, k int, s *coin.Secret, workers int) {
	if k < 0 || k > MaxBits {
		panic(fmt.Sprintf("noise: Normals: k = %d: must be in [0, %d]", k, MaxBits))
	}
	if workers < 1 {
		panic(fmt.Sprintf("noise: Normals: workers = %d: must be >= 1", workers)) // no goroutine would draw
	}
	if len(dst) <= chunk {
		normals(dst, uint(k), s)
		return
	}
	forks := make([]*coin.Secret, (len(dst)+chunk-1)/chunk)
	for i := range forks {
		forks[i] = s.Fork()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(forks)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(forks); i = int(next.Add(1)) - 1 {
				normals(dst[i*chunk:min((i+1)*chunk, len(dst))], uint(k), forks[i])
			}
		})
	}
	wg.Wait()
}

// chunk is the number of elements that are drawn with coins of their own. Drawing a chunk takes about half a
// millisecond.
const chunk = 1 << 14

func normals(dst []int64, k uint, s *coin.Secret) {
	f := newFlips(s, fine(), batch)
	for i := range dst {
		dst[i] = f.normal(k)
	}
}
