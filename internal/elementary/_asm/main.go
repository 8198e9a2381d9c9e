// Command gen writes the assembly of package elementary, and its Go declarations. It is a separate module, so
// that Stillpoint's module does not depend on the packages that this command imports.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// constants holds eight copies of each constant, one for each float64 of a 512-bit register. Code
// for 256-bit registers uses the first four copies.
var constants = map[string]Mem{}

// wide returns the address of eight copies of a constant.
func wide(v uint64) Mem {
	name := fmt.Sprintf("c%016x", v)
	if _, ok := constants[name]; !ok {
		m := GLOBL(name, RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, U64(v))
		}
		constants[name] = m
	}
	return constants[name]
}

func float(v float64) Mem { return wide(math.Float64bits(v)) }

// kind describes one width of registers: the end of the functions' names, the number of float64s in a
// register, the registers, and the instructions that depend on the width.
type kind struct {
	name  string
	lanes int
	reg   func() VecVirtual
	half  func(...Op) // shifts each signed 64-bit number below 2^31 right by 1
}

func main() {
	ConstraintExpr("amd64")
	narrow, wide := kind{"256", 4, YMM, VPSRAD}, kind{"512", 8, ZMM, VPSRAQ}
	exps(narrow)
	exps(wide)
	tanhs(narrow)
	tanhs(wide)
	Generate()
}

// exps emits a loop that computes e^x for a register of numbers.
func exps(k kind) {
	TEXT("exps"+k.name, NOSPLIT, "func(dst, x *float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("exps%s sets dst[i] to Exp(x[i]) for 0 <= i < n; n is a multiple of %d.", k.name, k.lanes))
	dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	loop(k, n, []Register{x, dst}, func() {
		v := k.reg()
		VMOVUPD(Mem{Base: x}, v)
		exp(k, v)
		VMOVUPD(v, Mem{Base: dst})
	})
}

// loop emits a loop over n numbers, a register of them at a time. pointers are moved on by a register.
func loop(k kind, n Register, pointers []Register, body func()) {
	Label("loop")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	body()
	for _, p := range pointers {
		ADDQ(Imm(uint64(8*k.lanes)), p)
	}
	SUBQ(Imm(uint64(k.lanes)), n)
	JMP(LabelRef("loop"))

	Label("done")
	VZEROUPPER()
	RET()
}

// exp emits the instructions that replace a register v of numbers x by e^x, by the steps of Exp in exp.go.
func exp(k kind, v VecVirtual) {
	// Clamp to [-800, 800]. If an operand is NaN, the instruction returns its second source, here
	// x.
	low, high := k.reg(), k.reg()
	VMOVUPD(float(-800), low)
	VMAXPD(v, low, v)
	VMOVUPD(float(800), high)
	VMINPD(v, high, v)

	kd, power := k.reg(), k.reg()
	VMOVUPD(float(0x1.8p52), kd)
	VFMADD231PD(float(1/math.Ln2), v, kd)
	VPSUBQ(float(0x1.8p52), kd, power)
	VSUBPD(float(0x1.8p52), kd, kd)
	VFNMADD231PD(float(0x1.62e42fefa39efp-1), kd, v)
	VFNMADD231PD(float(math.Ln2-0x1.62e42fefa39efp-1), kd, v)

	r2, r4, r8 := k.reg(), k.reg(), k.reg()
	VMULPD(v, v, r2)
	VMULPD(r2, r2, r4)
	VMULPD(r4, r4, r8)
	line := func(slope, at float64) VecVirtual {
		q := k.reg()
		VMOVUPD(float(at), q)
		VFMADD231PD(float(slope), v, q)
		return q
	}
	q01, q23 := line(1.0/6, 1.0/2), line(1.0/120, 1.0/24)
	q45, q67 := line(1.0/5040, 1.0/720), line(1.0/362880, 1.0/40320)
	q89, qab := line(1.0/39916800, 1.0/3628800), line(1.0/6227020800, 1.0/479001600)
	VFMADD231PD(qab, r2, q89)
	VFMADD231PD(q67, r2, q45)
	VFMADD231PD(q23, r2, q01)
	VFMADD231PD(q45, r4, q01)
	VFMADD231PD(q89, r8, q01)
	VFMADD231PD(q01, r2, v)
	VADDPD(float(1), v, v)

	first := k.reg()
	k.half(Imm(1), power, first)
	VPSUBQ(first, power, power)
	for _, factor := range []VecVirtual{first, power} {
		VPADDQ(wide(1023), factor, factor)
		VPSLLQ(Imm(52), factor, factor)
		VMULPD(factor, v, v)
	}
}

// tanhs emits a loop that computes scaled tanh(u) and its derivative for a register of numbers, by the steps of
// Tanhs in tanh.go.
func tanhs(k kind) {
	TEXT("tanhs"+k.name, NOSPLIT, "func(dst, slopes, u *float64, scale float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("tanhs%s is Tanhs for the first n numbers; n is a multiple of %d.", k.name, k.lanes))
	dst, slopes, u := Load(Param("dst"), GP64()), Load(Param("slopes"), GP64()), Load(Param("u"), GP64())
	scale, low, n := k.reg(), XMM(), GP64()
	Load(Param("scale"), low)
	VBROADCASTSD(low, scale)
	Load(Param("n"), n)
	loop(k, n, []Register{u, dst, slopes}, func() {
		v, one := k.reg(), k.reg()
		VMOVUPD(Mem{Base: u}, v)
		VADDPD(v, v, v)
		VMOVUPD(float(1), one)

		e := k.reg() // first e^-|2u| for the slope, then e^2u
		VMOVUPD(wide(1<<63), e)
		if k.lanes == 8 {
			VPORQ(v, e, e)
		} else {
			VPOR(v, e, e)
		}
		exp(k, e)
		d := k.reg()
		VADDPD(one, e, d)
		VMULPD(d, d, d)
		VDIVPD(d, e, e)
		VMULPD(float(4), e, e)
		VMULPD(scale, e, e)
		VMOVUPD(e, Mem{Base: slopes})

		exp(k, v)
		VADDPD(one, v, v)
		two := k.reg()
		VMOVUPD(float(2), two)
		VDIVPD(v, two, v)
		VSUBPD(v, one, v)
		VMULPD(scale, v, v)
		VMOVUPD(v, Mem{Base: dst})
	})
}
