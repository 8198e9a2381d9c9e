package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

// abreast is the number of registers of angles that waves holds at a time.
const abreast = 4

// Constants of SinCos in sincos.go.
const (
	shift    = 0x1.8p52
	halfPiHi = 0x1.921fb54442d18p+0
)

var (
	sines = []float64{1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
		-1.0 / 5040, 1.0 / 120, -1.0 / 6}
	cosines = []float64{1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
		-1.0 / 720, 1.0 / 24}
)

// waves emits Waves in waves.go. The frequencies of some pairs stay in the first-level cache for all rows.
func waves(name string, w exp.Width) {
	TEXT(name, NOSPLIT, "func(dst *float32, by *float64, pairs int, effects *float64, columns, lanes, rows, stride int, "+
		"amplitude float64)")
	Pragma("noescape")
	lanes, bytes := abreast*w.Lanes, 8*w.Lanes
	Doc(fmt.Sprintf("%s is Waves for the first pairs of each row, lanes of them, and at least one column and one row; "+
		"lanes is a positive multiple of %d.", name, lanes))
	dst, by, next := Load(Param("dst"), GP64()), Load(Param("by"), GP64()), Load(Param("pairs"), GP64())
	columns, left, stride := Load(Param("columns"), GP64()), Load(Param("lanes"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(3), next)
	SHLQ(Imm(2), stride)
	effects, row, to, at, index := GP64(), GP64(), GP64(), GP64(), GP64()
	Label("again")
	Load(Param("effects"), effects)
	Load(Param("rows"), row)
	MOVQ(dst, to)
	Label("row")
	MOVQ(by, at)
	XORQ(index, index)
	var angles []VecVirtual
	for range abreast {
		a := w.Register()
		xor(w, a, a, a)
		angles = append(angles, a)
	}
	Label("column")
	effect := w.Register()
	VBROADCASTSD(Mem{Base: effects}, effect)
	for i, a := range angles {
		VFMADD231PD(Mem{Base: at, Disp: i * bytes}, effect, a)
	}
	ADDQ(next, at)
	ADDQ(Imm(8), effects)
	INCQ(index)
	CMPQ(index, columns)
	JB(LabelRef("column"))
	for i, a := range angles {
		// The first operand of a maximum or a minimum is the result if it is NaN.
		limit, amplitude := w.Register(), w.Register()
		VMOVUPD(exp.Float(-1<<20), limit)
		VMAXPD(a, limit, a)
		VMOVUPD(exp.Float(1<<20), limit)
		VMINPD(a, limit, a)
		s, c := sinCos(w, a)
		VBROADCASTSD(NewParamAddr("amplitude", 64), amplitude)
		VMULPD(amplitude, s, s)
		VMULPD(amplitude, c, c)
		byTurns(w, c, s, Mem{Base: to, Disp: i * bytes})
	}
	ADDQ(stride, to)
	DECQ(row)
	JNZ(LabelRef("row"))
	ADDQ(U32(abreast*bytes), by)
	ADDQ(U32(abreast*bytes), dst)
	SUBQ(U32(lanes), left)
	JNZ(LabelRef("again"))
	VZEROUPPER()
	RET()
}

// sinCos emits SinCos of the numbers of x, which it changes.
func sinCos(w exp.Width, x VecVirtual) (s, c VecVirtual) {
	turns, bits := w.Register(), w.Register()
	VMOVUPD(exp.Float(shift), turns)
	VFMADD231PD(exp.Float(2/math.Pi), x, turns)
	VMOVAPD(turns, bits)
	VSUBPD(exp.Float(shift), turns, turns)
	VFNMADD231PD(exp.Float(halfPiHi), turns, x)
	VFNMADD231PD(exp.Float(math.Pi/2-halfPiHi), turns, x)
	z := times(w, x, x)
	series := func(terms []float64) VecVirtual {
		p := w.Register()
		VMOVUPD(exp.Float(terms[0]), p)
		for _, t := range terms[1:] {
			VFMADD213PD(exp.Float(t), z, p)
		}
		return p
	}
	p := series(sines)
	VFMADD231PD(times(w, x, z), p, x)
	q, half, one, lost := series(cosines), w.Register(), w.Register(), w.Register()
	VMULPD(exp.Float(.5), z, half)
	VMOVUPD(exp.Float(1), one)
	c = w.Register()
	VSUBPD(half, one, c)
	VSUBPD(c, one, lost)
	VSUBPD(half, lost, lost)
	VFMADD231PD(times(w, z, z), q, lost)
	VADDPD(lost, c, c)
	// Where the number of quarter turns is odd, all bits of odd are 1, and sine and cosine change places.
	odd, change, sign := w.Register(), w.Register(), w.Register()
	and(w, exp.Wide(1), bits, change)
	xor(w, odd, odd, odd)
	VPSUBQ(change, odd, odd)
	xor(w, x, c, change)
	and(w, odd, change, change)
	xor(w, change, x, x)
	xor(w, change, c, c)
	// Bit 1 of bits is the sign of the sine, and that of bits+1 the sign of the cosine.
	for _, v := range []VecVirtual{x, c} {
		VPSLLQ(Imm(62), bits, sign)
		and(w, exp.Wide(1<<63), sign, sign)
		xor(w, sign, v, v)
		VPADDQ(exp.Wide(1), bits, bits)
	}
	return x, c
}

// byTurns stores the numbers of c and s by turns, rounded to float32s.
func byTurns(w exp.Width, c, s VecVirtual, to Mem) {
	half := map[int]func() VecVirtual{4: XMM, 8: YMM}[w.Lanes]
	first, second, low, high := half(), half(), half(), half()
	if w.Lanes == 4 {
		VCVTPD2PSY(c, first)
		VCVTPD2PSY(s, second)
	} else {
		VCVTPD2PS(c, first)
		VCVTPD2PS(s, second)
	}
	VUNPCKLPS(second, first, low)
	VUNPCKHPS(second, first, high)
	if w.Lanes == 8 {
		VPERM2F128(Imm(0x20), high, low, first)
		VPERM2F128(Imm(0x31), high, low, second)
		low, high = first, second
	}
	VMOVUPS(low, to)
	VMOVUPS(high, to.Offset(4*w.Lanes))
}

func times(w exp.Width, a, b Op) VecVirtual {
	v := w.Register()
	VMULPD(a, b, v)
	return v
}

func xor(w exp.Width, a, b, to Op) {
	if w.Lanes == 8 {
		VPXORQ(a, b, to)
	} else {
		VPXOR(a, b, to)
	}
}

func and(w exp.Width, a, b, to Op) {
	if w.Lanes == 8 {
		VPANDQ(a, b, to)
	} else {
		VPAND(a, b, to)
	}
}
