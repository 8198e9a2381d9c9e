package noise

import (
	"math/big"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// This file has two slow samplers of the same distribution, which share no code with the package. They exist
// as second opinions on the tests' exact masses and on the reading of the paper (TestSlowSamplersAgree).

// inversion compares a uniform number, refined 64 bits at a time, with the exact cumulative
// probabilities.
type inversion struct {
	cumulative []*big.Float // of -reach, ..., reach-1
	reach      int
}

func (v inversion) draw(s *coin.Secret) int64 {
	lo, width := newBig(0), newBig(1)
	for {
		width.Mul(width, newBig(0x1p-64))
		u := newBig(0).SetUint64(s.Uint64())
		lo.Add(lo, u.Mul(u, width))
		hi := newBig(0).Add(lo, width)
		i := v.above(lo)
		if i == v.above(hi) {
			return int64(i - v.reach)
		}
	}
}

// above returns the number of cumulative probabilities that are at most u, which is the index of the
// value that u selects.
func (v inversion) above(u *big.Float) (n int) {
	for n < len(v.cumulative) && v.cumulative[n].Cmp(u) <= 0 {
		n++
	}
	return n
}

// literal is Karney's algorithm N as printed, with its sub-algorithms H, B and C. Runs of uniforms
// decrease. The digits of the uniforms, in a small base, are drawn when a comparison needs them.
type literal struct {
	s    *coin.Secret
	base int
}

type digitString struct{ d []int }

func (l literal) digit(u *digitString, i int) int {
	for len(u.d) <= i {
		u.d = append(u.d, l.s.IntN(l.base))
	}
	return u.d[i]
}

func (l literal) less(u, v *digitString) bool {
	for i := 0; ; i++ {
		if a, b := l.digit(u, i), l.digit(v, i); a != b {
			return a < b
		}
	}
}

func (l literal) h() bool {
	u := &digitString{}
	if 2*l.digit(u, 0) >= l.base { // the base is even
		return true
	}
	for n := 1; ; n++ {
		v := &digitString{}
		if !l.less(v, u) {
			return n%2 == 0
		}
		u = v
	}
}

// c is the selector C(m) of Karney's algorithm B: it returns -1, 0 and 1 with probabilities 1/m, 1/m
// and 1-2/m.
func (l literal) c(m int) int { return min(l.s.IntN(m), 2) - 1 }

func (l literal) b(k int, x *digitString) bool {
	y := x
	for n := 0; ; n++ {
		z := &digitString{}
		if !l.less(z, y) {
			return n%2 == 0
		}
		f := l.c(2*k + 2)
		if f < 0 || f == 0 && !l.less(&digitString{}, x) {
			return n%2 == 0
		}
		y = z
	}
}

// normal returns a standard normal as its sign, its integer part and the digits after the point.
func (l literal) normal() (negative bool, k int, x *digitString) {
start:
	for k = 0; l.h(); k++ {
	}
	for range k * (k - 1) {
		if !l.h() {
			goto start
		}
	}
	x = &digitString{}
	for range k + 1 {
		if !l.b(k, x) {
			goto start
		}
	}
	return l.s.IntN(2) == 0, k, x
}

// draw returns round(b N) for a standard normal N and the base b of the digits.
func (l literal) draw() int64 {
	negative, k, x := l.normal()
	m := int64(k*l.base + l.digit(x, 0))
	if 2*l.digit(x, 1) >= l.base {
		m++
	}
	if negative {
		return -m
	}
	return m
}
