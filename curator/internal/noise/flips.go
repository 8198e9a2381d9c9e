package noise

import "math/bits"

// source supplies independent fair bits, 64 to a word.
type source interface{ Fill(dst []uint64) }

// batch is the most words asked of a source at a time.
const batch = 64

// flips deals out the bits of a source, each at most once.
type flips struct {
	pool  uint64        // unused bits below a 1 that marks their end; never 0
	words [batch]uint64 // words[next:] are unused
	next  uint
	ask   uint // words asked of src at a time, 1 to batch
	width uint // bits of a digit, 1 to 64: the top bits of a word
	src   source
}

// newFlips returns the flips of a source. Width and ask do not change the law
// of anything drawn; 64 and batch are fast.
func newFlips(src source, width, ask uint) *flips {
	return &flips{pool: 1, next: batch, ask: ask, width: width, src: src}
}

// digit returns a uniform digit in base 2^width.
func (f *flips) digit() uint64 {
	if f.next == batch {
		f.next = batch - f.ask
		f.src.Fill(f.words[f.next:])
	}
	w := f.words[f.next%batch]
	f.next++
	return w >> ((64 - f.width) % 64)
}

// refill replaces an empty pool. The mark takes one bit of a full word.
func (f *flips) refill() {
	n := min(f.width, 63)
	f.pool = 1<<n | f.digit()>>(f.width-n)
}

// fair returns true with probability 1/2.
func (f *flips) fair() bool {
	if f.pool == 1 {
		f.refill()
	}
	b := f.pool&1 != 0
	f.pool >>= 1
	return b
}

// place returns i = 0, 1, ... with probability 2^-(i+1): the number of zeros
// before the first one.
func (f *flips) place() uint {
	i := uint(bits.TrailingZeros64(f.pool))
	f.pool = f.pool >> (i % 64) >> 1
	if f.pool == 0 { // the one was the mark
		f.refill()
		return i + f.place()
	}
	return i
}

// oneIn returns true with probability 1/m, m > 0.
//
// Bit i of p in [0, 1], counted from 0 behind the binary point, has weight
// 2^-(i+1), which is the probability of place i. Hence the bit at a random
// place is 1 with probability p, exactly.
func (f *flips) oneIn(m uint64) bool {
	i := f.place()
	if m < uint64(len(reciprocals)) && i < 64 {
		return reciprocals[m]<<i>>63 != 0
	}
	return reciprocalBit(m, i)
}

// reciprocals[m] holds the first 64 bits of 1/m, m > 0, as reciprocalBit
// gives them.
var reciprocals = func() (r [32]uint64) {
	r[1] = 1<<64 - 1
	for m := 2; m < len(r); m++ {
		r[m], _ = bits.Div64(1, 0, uint64(m))
	}
	return r
}()

// reciprocalBit returns bit i of 1/m by long division, 0 < m <= 2^63.
// It takes 1/1 as 0.111... .
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
