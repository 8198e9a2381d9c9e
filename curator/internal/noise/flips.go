package noise

import "math/bits"

// source supplies independent uniform bits, 64 in a word.
type source interface{ Fill(dst []uint64) }

// batch is the largest number of words requested from a source at a time.
const batch = 64

// randomBits makes draws from the random bits of a source and uses each bit at most once.
type randomBits struct {
	pool  uint64        // unused bits below a 1 that marks their end; never 0
	words [batch]uint64 // words[next:] are unused
	next  uint
	ask   uint // words requested from src at a time, 1 to batch
	width uint // bits in a digit, 1 to 64: the top bits of a word
	src   source
	cells *cells
}

// newFlips returns the random bits of a source, with digits as wide as the digits of the cells c. ask is the
// number of words to request at a time. ask and the widths of digits and cells affect speed only, not the
// distribution of any draw. The fast values are batch for ask and fine for c.
func newFlips(src source, c *cells, ask uint) *randomBits {
	return &randomBits{pool: 1, next: batch, ask: ask, width: c.width, src: src, cells: c}
}

// digit returns a uniform digit in base 2^width.
func (f *randomBits) digit() uint64 {
	if f.next == batch {
		f.next = batch - f.ask
		f.src.Fill(f.words[f.next:])
	}
	w := f.words[f.next%batch]
	f.next++
	return w >> ((64 - f.width) % 64)
}

// refill refills an empty pool with one word. A 1 bit after the last random bit marks the end of the
// pool; it takes the place of one random bit of the word.
func (f *randomBits) refill() {
	n := min(f.width, 63)
	f.pool = 1<<n | f.digit()>>(f.width-n)
}

// few returns n uniform bits, n < 32. If the pool has fewer bits left, few discards them. The
// number of bits left carries no information about their values.
func (f *randomBits) few(n uint) (v uint64) {
	if f.pool>>(n%64) == 0 {
		if min(f.width, 63) < n { // the pool cannot hold n bits
			for range n {
				v = v<<1 | f.few(1)
			}
			return v
		}
		f.refill()
	}
	v = f.pool & (1<<(n%64) - 1)
	f.pool >>= n % 64
	return v
}

// upTo returns a uniform integer below m 2^n, exactly.
func (f *randomBits) upTo(m uint64, n uint) uint64 {
	v := f.few(n)
	if m == 1 {
		return v
	}
	for { // draws below a power of two until the result is below m
		if high := f.few(uint(bits.Len64(m - 1))); high < m {
			return high<<n | v
		}
	}
}

// place returns i = 0, 1, ... with probability 2^-(i+1): the number of 0 bits that it reads before the first
// 1.
func (f *randomBits) place() uint {
	i := uint(bits.TrailingZeros64(f.pool))
	f.pool = f.pool >> (i % 64) >> 1
	if f.pool == 0 { // the 1 that was read was the end mark
		f.refill()
		return i + f.place()
	}
	return i
}

// oneIn returns true with probability 1/m, 0 < m <= 2^63.
//
// For p in [0, 1], bit i after the binary point, counted from 0, has weight 2^-(i+1), which is the probability that
// place returns i. The bit of p at a random place is therefore 1 with probability exactly p.
func (f *randomBits) oneIn(m uint64) bool { return reciprocalBit(m, f.place()) }

// reciprocalBit returns bit i of the binary expansion of 1/m, counted from 0 after the point, by long
// division, 0 < m <= 2^63. For m = 1 the expansion is 0.111...
func reciprocalBit(m uint64, i uint) bool {
	if m == 1 {
		return true
	}
	rest := uint64(1) // 2^i mod m
	for ; i > 0; i-- {
		if rest *= 2; rest >= m {
			rest -= m
		}
	}
	return 2*rest >= m
}
