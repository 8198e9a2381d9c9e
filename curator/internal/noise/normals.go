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
// A magnitude of 2^63 or more, which has probability less than exp(-2^20), is reduced modulo 2^64. The int64 sum to
// which the noise is added is reduced modulo 2^64, too, so that it is still a function of the ideal result.
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

// fraction is a uniform number in (0, 1) of which only the leading digits are stored. A digit is drawn when it is first
// read, and then kept, so a fraction behaves as a number with infinitely many digits.
type fraction struct {
	head uint64   // first digit, in base 2^width
	tail []uint64 // later digits; with 64-bit digits almost always none
}

// fraction returns a new uniform number in (0, 1), of which only the first digit is drawn.
func (f *randomBits) fraction() fraction { return fraction{head: f.digit()} }

// digitOf returns digit i of x, counted from 0.
func (f *randomBits) digitOf(x *fraction, i uint) uint64 {
	if i == 0 {
		return x.head
	}
	for uint(len(x.tail)) < i {
		x.tail = append(x.tail, f.digit())
	}
	return x.tail[i-1]
}

// below returns true with probability x. It returns the bit of x at a random place, which is 1 with
// probability x (see oneIn). No further uniform number is compared with x.
func (f *randomBits) below(x *fraction) bool {
	i := f.place()
	d := x.head
	if i >= f.width {
		d = f.digitOf(x, i/f.width)
		i %= f.width
	}
	return d>>((f.width-1-i)%64)&1 != 0
}

// leading returns the first n bits of x as an integer, floor(2^n x), for 0 < n <= 64.
func (f *randomBits) leading(x *fraction, n uint) uint64 {
	if n <= f.width {
		return x.head >> (f.width - n)
	}
	var bits uint64
	for i := uint(0); n > 0; i++ {
		take := min(f.width, n)
		bits = bits<<take | f.digitOf(x, i)>>(f.width-take)
		n -= take
	}
	return bits
}

// Exact normals: algorithm N of Karney, "Sampling exactly from the normal distribution", ACM Transactions on
// Mathematical Software 42 (2016), on a lattice of step 2^-s. N1 to N6 are the steps of his algorithm.
//
// With j a non-negative integer and x in (0, 1), the magnitude (j + x)/2^s of a standard normal has density
// proportional to
//
//	exp(-(j+x)^2 a) = exp(-j^2 a) exp(-x(2j+x) a),  a = 2^-(2s+1).
//
// Karney has s = 0. His steps N1 and N2 draw j with probability proportional to the first factor, and N4
// accepts x with the second factor as probability.
//
// Deviations: j is drawn by inversion (cells), which rejects nothing. With s = 6, step N4 rejects one trial
// in a hundred. Karney's algorithm B measures the length of decreasing runs x > u1 > u2 > ... of uniforms
// (von Neumann 1951), and draws digits of the uniforms as comparisons need them. Only the length of a run
// matters, not the uniforms: i uniforms are all below x and in order with probability x^i/i!, so that a run
// of length i-1 continues with probability x/i. Here this is decided by two Bernoulli draws, with
// probabilities x and 1/i. Only x is stored as a number, and no two uniforms are compared.

// accept is step N4 of Karney's algorithm N (2016): it returns true with probability exp(-x(2j+x) a), a = 2^-(2s+1). It
// makes m independent runs, each of which succeeds with probability exp(-p), p = x(2j+x) a/m, and returns true if all
// succeed. m is the smallest integer with (2j+x) a < m for all x in (0, 1); it is 1 for j below 2^(2s).
func (f *randomBits) accept(j uint64, x *fraction) bool {
	m := 1 + j>>(2*f.cells.s)
	for range m {
		if !f.run(j, m, x) {
			return false
		}
	}
	return true
}

// run is algorithm B of Karney (2016): it returns true with probability exp(-p), p = x(2j+x) a/m, for the cell's number
// j, the place x in the cell, a = 2^-(2s+1), and the number m of runs that the function accept makes. A run continues
// from length i-1 to i with probability p/i, and so reaches length i with probability p^i/i!. The probability that its
// final length is even is the alternating sum of these probabilities,
//
//	1 - p + p^2/2! - ... = exp(-p).
//
// In this case run returns true.
func (f *randomBits) run(j, m uint64, x *fraction) bool {
	i := uint64(1)
	for f.slope(j, m, x) && f.below(x) && (i == 1 || f.oneIn(i)) {
		i++
	}
	return i%2 == 1
}

// slope returns true with probability (2j+x) a/m, a = 2^-(2s+1). It draws a uniform integer below m/a
// and returns true if the integer is below 2j, or if it is 2j and a Bernoulli draw with probability x
// is true. It replaces the selector C(2n+2) of Karney (2016).
func (f *randomBits) slope(j, m uint64, x *fraction) bool {
	v := f.upTo(m, 2*f.cells.s+1)
	return v <= 2*j && (v < 2*j || f.below(x))
}

// trial makes one attempt at drawing the magnitude (j + x)/2^s of a standard normal, and reports
// whether the rejection method accepts it.
func (f *randomBits) trial() (j uint64, x fraction, ok bool) {
	j = f.cell()     // N1, N2
	x = f.fraction() // N3
	ok = f.accept(j, &x)
	return j, x, ok
}

// round rounds an accepted magnitude (j + x)/2^s to the nearest multiple of 2^-k, counted in units of
// 2^-k, and gives it a random sign, 0 <= k <= MaxBits. The bits of x that the trial has read are used
// again; further bits of x are drawn.
func (f *randomBits) round(j uint64, x *fraction, k uint) int64 {
	var m uint64 // N5: floor((floor(2 M) + 1)/2) for the magnitude M in units of 2^-k
	if s := f.cells.s; k >= s {
		m = j<<(k-s) + (f.leading(x, k+1-s)+1)>>1
	} else {
		m = (j>>(s-k-1) + 1) >> 1
	}
	sign := -int64(f.few(1)) // N6: 0 or -1
	return int64(m) ^ sign - sign
}

// normal returns a standard normal times 2^k, rounded to the nearest integer, 0 <= k <= MaxBits.
func (f *randomBits) normal(k uint) int64 {
	for {
		if j, x, ok := f.trial(); ok {
			return f.round(j, &x, k)
		}
	}
}
