// Command gen writes the assembly of package repromath, and its Go declarations. It is a separate module, so
// that Stillpoint's module does not depend on the packages that this command imports.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

func main() {
	ConstraintExpr("amd64")
	exps("exps256", exp.Half)
	exps("exps512", exp.Whole)
	tanhs("tanhs256", exp.Half)
	tanhs("tanhs512", exp.Whole)
	waves("waves256", exp.Half)
	waves("waves512", exp.Whole)
	for _, w := range []exp.Width{exp.Half, exp.Whole} {
		softmax(w, false)
		softmax(w, true)
	}
	logs("logs", "Log", 0x1p-1022, math.MaxFloat64, logarithms.log)
	logs("log1ps", "Log1p", -1+0x1p-53, math.MaxFloat64, logarithms.log1p)
	logs("commonLog1ps", "math.Log1p", 0x1p-29, 0x1p53-1, logarithms.common)
	Generate()
}

// exps emits a loop that computes e^x for a register of numbers.
func exps(name string, w exp.Width) {
	TEXT(name, NOSPLIT, "func(dst, x *float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets dst[i] to Exp(x[i]) for 0 <= i < n; n is a multiple of %d.", name, w.Lanes))
	dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	loop(w, n, []Register{x, dst}, func() {
		v := w.Register()
		VMOVUPD(Mem{Base: x}, v)
		exp.Of(w, v)
		VMOVUPD(v, Mem{Base: dst})
	})
}

// loop emits a loop over n numbers, a register of them at a time. pointers are moved on by a register.
func loop(w exp.Width, n Register, pointers []Register, body func()) {
	Label("loop")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	body()
	for _, p := range pointers {
		ADDQ(Imm(uint64(8*w.Lanes)), p)
	}
	SUBQ(Imm(uint64(w.Lanes)), n)
	JMP(LabelRef("loop"))

	Label("done")
	VZEROUPPER()
	RET()
}

// tanhs emits a loop that computes scaled tanh(u) and its derivative for a register of numbers, by the steps of
// Tanhs in tanh.go.
func tanhs(name string, w exp.Width) {
	TEXT(name, NOSPLIT, "func(dst, slopes, u *float64, scale float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s is Tanhs for the first n numbers; n is a multiple of %d.", name, w.Lanes))
	dst, slopes, u := Load(Param("dst"), GP64()), Load(Param("slopes"), GP64()), Load(Param("u"), GP64())
	scale, low, n := w.Register(), XMM(), GP64()
	Load(Param("scale"), low)
	VBROADCASTSD(low, scale)
	Load(Param("n"), n)
	loop(w, n, []Register{u, dst, slopes}, func() {
		v, one := w.Register(), w.Register()
		VMOVUPD(Mem{Base: u}, v)
		VADDPD(v, v, v)
		VMOVUPD(exp.Float(1), one)

		e := w.Register() // first e^-|2u| for the slope, then e^2u
		VMOVUPD(exp.Wide(1<<63), e)
		or(w, v, e, e)
		exp.Of(w, e)
		d := w.Register()
		VADDPD(one, e, d)
		VMULPD(d, d, d)
		VDIVPD(d, e, e)
		VMULPD(exp.Float(4), e, e)
		VMULPD(scale, e, e)
		VMOVUPD(e, Mem{Base: slopes})

		exp.Of(w, v)
		VADDPD(one, v, v)
		two := w.Register()
		VMOVUPD(exp.Float(2), two)
		VDIVPD(v, two, v)
		VSUBPD(v, one, v)
		VMULPD(scale, v, v)
		VMOVUPD(v, Mem{Base: dst})
	})
}
