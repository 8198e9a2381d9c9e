package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

// softmax emits the slopes of softmax, or the parts of its values, for a register of records at a time, by the steps of
// Softmaxes and SoftmaxParts in ../softmax.go.
func softmax(w exp.Width, values bool) {
	name, of := fmt.Sprint("softmaxes", 64*w.Lanes), "Softmaxes"
	arguments := "func(z, class *float64, k, n, records int)"
	if values {
		name, of = fmt.Sprint("softmaxParts", 64*w.Lanes), "SoftmaxParts"
		arguments = "func(gap, rest, z, class *float64, k, n, records int)"
	}
	TEXT(name, NOSPLIT, arguments)
	Pragma("noescape")
	Doc(fmt.Sprintf("%s is %s for the first n of records, a positive multiple of %d, and k classes.", name, of, w.Lanes))
	l := logarithms{w}
	z, class, n := Load(Param("z"), GP64()), Load(Param("class"), GP64()), Load(Param("n"), GP64())
	stride := Load(Param("records"), GP64())
	var gap, rest Register
	if values {
		gap, rest = Load(Param("gap"), GP64()), Load(Param("rest"), GP64())
	}
	SHLQ(Imm(3), stride)
	at, left := GP64(), GP64()
	y, top, place, own, others := w.Register(), w.Register(), w.Register(), w.Register(), w.Register()
	one, zero := w.Register(), w.Register()
	xor(w, zero, zero, zero)
	each := func(label string, body func(v VecVirtual)) {
		MOVQ(z, at)
		Load(Param("k"), left)
		xor(w, place, place, place)
		Label(label)
		v := w.Register()
		VMOVUPD(Mem{Base: at}, v)
		body(v)
		VADDPD(one, place, place)
		ADDQ(stride, at)
		DECQ(left)
		JNZ(LabelRef(label))
	}
	VMOVUPD(exp.Float(1), one)
	Label("again")
	VMOVUPD(Mem{Base: class}, y)
	VMOVUPD(Mem{Base: z}, top)
	xor(w, others, others, others)
	xor(w, own, own, own)
	if !values {
		each("top", func(v VecVirtual) { VMAXPD(top, v, top) })
		each("exponentials", func(v VecVirtual) {
			VSUBPD(top, v, v)
			exp.Of(w, v)
			VADDPD(l.where(equal, place, y, zero, v), others, others)
			VMOVAPD(l.where(equal, place, y, v, own), own)
			VMOVUPD(v, Mem{Base: at})
		})
		sum := l.do(VADDPD, own, others)
		xor(w, exp.Wide(1<<63), others, others)
		each("quotients", func(v VecVirtual) {
			v = l.where(equal, place, y, others, v)
			VDIVPD(sum, v, v)
			VMOVUPD(v, Mem{Base: at})
		})
	} else {
		first := w.Register()
		xor(w, first, first, first)
		each("top", func(v VecVirtual) {
			VMOVAPD(l.where(above, v, top, place, first), first)
			VMOVAPD(l.where(above, v, top, v, top), top)
			VMOVAPD(l.where(equal, place, y, v, own), own)
		})
		each("exponentials", func(v VecVirtual) {
			VSUBPD(top, v, v)
			exp.Of(w, v)
			VADDPD(l.where(equal, place, first, zero, v), others, others)
		})
		VSUBPD(own, top, own)
		VMOVUPD(own, Mem{Base: gap})
		VMOVUPD(others, Mem{Base: rest})
		ADDQ(Imm(uint64(8*w.Lanes)), gap)
		ADDQ(Imm(uint64(8*w.Lanes)), rest)
	}
	ADDQ(Imm(uint64(8*w.Lanes)), z)
	ADDQ(Imm(uint64(8*w.Lanes)), class)
	SUBQ(Imm(uint64(w.Lanes)), n)
	JNZ(LabelRef("again"))
	VZEROUPPER()
	RET()
}
