package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// TestReciprocals compares the first bits of 1/m with big.Int.
func TestReciprocals(t *testing.T) {
	for _, m := range []uint64{1, 2, 3, 7, 16, 30, 31, 32, 33, 1<<32 + 1, 1<<62 + 3, 1 << 63} {
		for i := range uint(200) {
			want := m == 1
			if !want {
				q := new(big.Int).Lsh(big.NewInt(1), i+1)
				want = q.Div(q, new(big.Int).SetUint64(m)).Bit(0) == 1
			}
			if got := reciprocalBit(m, i); got != want {
				t.Fatalf("bit %d of 1/%d: %v", i, m, got)
			}
		}
	}
}

// model stores every bit separately. It does bit by bit what randomBits does with shifts and an end
// mark, and draws words from the same source in the same order.
type model struct {
	src   source
	width int
	pool  []bool
}

func (m *model) digit() []bool {
	var w [1]uint64
	m.src.Fill(w[:])
	d := make([]bool, m.width)
	for i := range d {
		d[i] = w[0]>>(63-i)&1 != 0
	}
	return d
}

func (m *model) fair() bool {
	if len(m.pool) == 0 {
		m.refill()
	}
	b := m.pool[0]
	m.pool = m.pool[1:]
	return b
}

func (m *model) refill() {
	d := m.digit()
	if len(d) == 64 {
		d = d[:63] // in a full digit the end mark replaces the last bit
	}
	m.pool = nil
	for i := range d {
		m.pool = append(m.pool, d[len(d)-1-i])
	}
}

// few returns n random bits. If the current digit has fewer bits left but could have held n, it
// discards them.
func (m *model) few(n int) (v uint64) {
	if least := min(m.width, 63); len(m.pool) < n && least >= n {
		m.refill()
	} else if len(m.pool) < n {
		for range n {
			v = v<<1 | m.few(1)
		}
		return v
	}
	for i := range n {
		if m.fair() {
			v |= 1 << i
		}
	}
	return v
}

func (m *model) place() (i int) {
	for !m.fair() {
		i++
	}
	return i
}

// bit returns bit i of *x and draws the digits up to it.
func (m *model) bit(x *[]bool, i int) bool {
	for len(*x) <= i {
		*x = append(*x, m.digit()...)
	}
	return (*x)[i]
}

// sparse deals words whose bits are zero with probability 7/8, so that places are often beyond the
// first digit.
type sparse struct{ s *coin.Secret }

func (p sparse) Fill(dst []uint64) {
	for i := range dst {
		dst[i] = math.MaxUint64
		for range 3 {
			dst[i] &= p.s.Uint64()
		}
	}
}

func FuzzFlips(f *testing.F) {
	f.Add([]byte("few place below leading"), uint64(1))
	for width := range uint64(64) {
		program := make([]byte, 256)
		for i := range program {
			program[i] = byte(uint64(i) * (2*width + 1) >> 1)
		}
		f.Add(program, width)
	}
	f.Fuzz(func(t *testing.T, program []byte, key uint64) {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], key)
		width := 1 + int(key%64)
		got := newFlips(sparse{coin.Simulated(seed)}, &cells{width: uint(width)}, 1)
		want := &model{src: sparse{coin.Simulated(seed)}, width: width}
		x := got.fraction()
		y := want.digit()
		for step, op := range program {
			switch op % 4 {
			case 0:
				n := op / 4 % 32
				if g, w := got.few(uint(n)), want.few(int(n)); g != w {
					t.Fatalf("step %d: few(%d): %v, want %v", step, n, g, w)
				}
			case 1:
				if g, w := got.place(), want.place(); g != uint(w) {
					t.Fatalf("step %d: place: %d, want %d", step, g, w)
				}
			case 2:
				if g, w := got.below(&x), want.bit(&y, want.place()); g != w {
					t.Fatalf("step %d: below: %v, want %v", step, g, w)
				}
			case 3:
				n := 1 + int(op/4) // 1 to 64
				var w uint64
				for i := range n {
					w <<= 1
					if want.bit(&y, i) {
						w++
					}
				}
				if g := got.leading(&x, uint(n)); g != w {
					t.Fatalf("step %d: leading %d: %#x, want %#x", step, n, g, w)
				}
			}
		}
	})
}
