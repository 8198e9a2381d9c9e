package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

// Predicates of VCMPPD that are false for NaN.
const equal, less, atMost, atLeast, above = 0, 0x11, 0x12, 0x1d, 0x1e

// logs emits a loop that computes one logarithm for a register of numbers: body replaces the numbers of v by their
// logarithms. The loop ends before a register with a number beyond [least, most], or one that body refuses in fits.
func logs(name, of string, least, most float64, body func(l logarithms, v VecVirtual)) {
	for _, w := range []exp.Width{exp.Half, exp.Whole} {
		TEXT(fmt.Sprint(name, 64*w.Lanes), NOSPLIT, "func(dst, x *float64, n int) (left int)")
		Pragma("noescape")
		Doc(fmt.Sprintf("%s%d sets dst[i] to %s(x[i]) for 0 <= i < n, a multiple of %d, up to a register with a number that the",
			name, 64*w.Lanes, of, w.Lanes), "vector instructions do not compute, and returns how many numbers are left.")
		dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
		Label("loop")
		TESTQ(n, n)
		JZ(LabelRef("done"))
		v := w.Register()
		VMOVUPD(Mem{Base: x}, v)
		l := logarithms{w}
		l.within(v, least, most)
		body(l, v)
		VMOVUPD(v, Mem{Base: dst})
		ADDQ(Imm(uint64(8*w.Lanes)), x)
		ADDQ(Imm(uint64(8*w.Lanes)), dst)
		SUBQ(Imm(uint64(w.Lanes)), n)
		JMP(LabelRef("loop"))
		Label("done")
		VZEROUPPER()
		Store(n, ReturnIndex(0))
		RET()
	}
}

type logarithms struct{ exp.Width }

// within ends the loop unless all numbers of v are in [least, most].
func (l logarithms) within(v VecVirtual, least, most float64) {
	bits := GP32()
	if l.Lanes == 8 {
		a, b := K(), K()
		VCMPPD(Imm(atLeast), exp.Float(least), v, a)
		VCMPPD(Imm(atMost), exp.Float(most), v, b)
		KANDW(a, b, a)
		KMOVW(a, bits)
	} else {
		a, b := YMM(), YMM()
		VCMPPD(Imm(atLeast), exp.Float(least), v, a)
		VCMPPD(Imm(atMost), exp.Float(most), v, b)
		VPAND(a, b, a)
		VMOVMSKPD(a, bits)
	}
	CMPL(bits, Imm(uint64(1<<l.Lanes-1)))
	JNE(LabelRef("done"))
}

// where returns yes where a and b compare as the predicate says, and no elsewhere.
func (l logarithms) where(predicate uint64, a, b Op, yes, no VecVirtual) VecVirtual {
	to := l.Register()
	if l.Lanes == 8 {
		k := K()
		VCMPPD(Imm(predicate), b, a, k)
		VBLENDMPD(yes, no, k, to)
	} else {
		VCMPPD(Imm(predicate), b, a, to)
		VBLENDVPD(to, yes, no, to)
	}
	return to
}

// do emits an instruction with two operands and a new register for its result.
func (l logarithms) do(instruction func(...Op), a, b Op) VecVirtual {
	to := l.Register()
	instruction(a, b, to)
	return to
}

func (l logarithms) number(v float64) VecVirtual {
	to := l.Register()
	VMOVUPD(exp.Float(v), to)
	return to
}

// split returns the numbers m in [1/2, 1) and k with v = 2^k m. The exponents become numbers by their places in 3 2^51 + k.
func (l logarithms) split(v VecVirtual) (m, k VecVirtual) {
	m, k = l.Register(), l.Register()
	and(l.Width, exp.Wide(1<<52-1), v, m)
	or(l.Width, exp.Wide(1022<<52), m, m)
	VPSRLQ(Imm(52), v, k)
	VPADDQ(exp.Wide(math.Float64bits(shift)-1022), k, k)
	VSUBPD(exp.Float(shift), k, k)
	return m, k
}

// log is the body for Log in ../log.go.
func (l logarithms) log(v VecVirtual) {
	m, k := l.split(v)
	VADDPD(m, m, m)
	s := l.do(VDIVPD, l.do(VADDPD, exp.Float(1), m), l.do(VSUBPD, exp.Float(1), m))
	square := times(l.Width, s, s)
	series := l.number(1. / 37)
	for i := 35.; i >= 1; i -= 2 {
		VFMADD213PD(exp.Float(1/i), square, series)
	}
	VADDPD(s, s, s)
	VMULPD(series, s, v)
	VSUBPD(exp.Float(1), k, k)
	VFMADD231PD(exp.Float(math.Ln2), k, v)
}

// log1p is the body for Log1p in ../log1p.go.
func (l logarithms) log1p(x VecVirtual) {
	const ln2High = 0x1.62e42fefa38p-1
	one := l.number(1)
	v := l.do(VADDPD, one, x)
	c := l.do(VSUBPD, l.do(VSUBPD, one, v), x)
	VDIVPD(v, c, c)
	m, k := l.split(v)
	small := exp.Float(math.Sqrt2 / 2)
	k = l.where(less, m, small, l.do(VSUBPD, one, k), k)
	m = l.where(less, m, small, l.do(VADDPD, m, m), m)
	s := l.do(VDIVPD, l.do(VADDPD, one, m), l.do(VSUBPD, one, m))
	square := times(l.Width, s, s)
	tail := times(l.Width, exp.Float(1./23), square)
	for i := 21.; i >= 3; i -= 2 {
		VADDPD(exp.Float(1/i), tail, tail)
		VMULPD(square, tail, tail)
	}
	VADDPD(s, s, s)
	VMULPD(s, tail, tail)
	low := times(l.Width, exp.Float(math.Ln2-ln2High), k)
	VADDPD(tail, low, low)
	VADDPD(c, low, low)
	VADDPD(low, s, s)
	VADDPD(s, times(l.Width, exp.Float(ln2High), k), x)
}

// common is the body for math.Log1p, without numbers that are near 0 and those whose f is 0 or nearly so.
func (l logarithms) common(x VecVirtual) {
	one := l.number(1)
	u := l.do(VADDPD, one, x)
	away := l.do(VSUBPD, l.do(VSUBPD, x, u), one)
	near := l.do(VSUBPD, l.do(VSUBPD, one, u), x)
	c := l.where(less, u, exp.Float(2), near, away)
	VDIVPD(u, c, c)
	m, k := l.split(u)
	below := exp.Wide(1022<<52 | commonHalf)
	k = l.where(less, m, below, l.do(VSUBPD, one, k), k)
	m = l.where(less, m, below, l.do(VADDPD, m, m), m)
	f := l.where(less, x, exp.Float(commonSmall), x, l.do(VSUBPD, one, m))
	zero := l.do(VSUBPD, one, one)
	k = l.where(less, x, exp.Float(commonSmall), zero, k)
	size := l.Register()
	and(l.Width, exp.Wide(1<<63-1), f, size)
	l.within(size, 0x1p-51, 1)

	half := times(l.Width, f, times(l.Width, exp.Float(.5), f))
	s := l.do(VDIVPD, l.do(VADDPD, exp.Float(2), f), f)
	z := times(l.Width, s, s)
	r := times(l.Width, exp.Float(commonTerms[len(commonTerms)-1]), z)
	for i := len(commonTerms) - 2; i >= 0; i-- {
		VADDPD(exp.Float(commonTerms[i]), r, r)
		VMULPD(z, r, r)
	}
	VADDPD(half, r, r)
	VMULPD(s, r, r)
	// Without a power of 2, the result is f - (half - r); otherwise k is a part of both of its ends.
	plain := l.do(VSUBPD, l.do(VSUBPD, r, half), f)
	rest := times(l.Width, exp.Float(commonLow), k)
	VADDPD(c, rest, rest)
	VADDPD(rest, r, r)
	VSUBPD(r, half, r)
	VSUBPD(f, r, r)
	moved := l.do(VSUBPD, r, times(l.Width, exp.Float(commonHigh), k))
	VMOVAPD(l.where(above, k, zero, moved, plain), x)
}

// Constants of math.Log1p.
const (
	commonSmall           = 4.142135623730950488017e-01
	commonHalf            = 0x6a09e667f3bcd
	commonHigh, commonLow = 6.93147180369123816490e-01, 1.90821492927058770002e-10
)

var commonTerms = []float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
	2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}

func or(w exp.Width, a, b, to Op) {
	if w.Lanes == 8 {
		VPORQ(a, b, to)
	} else {
		VPOR(a, b, to)
	}
}
