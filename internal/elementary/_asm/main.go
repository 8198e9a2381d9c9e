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

// kind describes one width of registers: the name of the assembly function, the number of float64s in a
// register, the registers, and the instructions that depend on the width.
type kind struct {
	name  string
	lanes int
	reg   func() VecVirtual
	half  func(...Op) // shifts each signed 64-bit number below 2^31 right by 1
}

func main() {
	ConstraintExpr("amd64")
	exps(kind{"exps256", 4, YMM, VPSRAD})
	exps(kind{"exps512", 8, ZMM, VPSRAQ})
	Generate()
}

// exps emits the instructions that compute e^x for a register of numbers, by the steps of Exp in
// exp.go.
func exps(k kind) {
	TEXT(k.name, NOSPLIT, "func(dst, x *float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets dst[i] to Exp(x[i]) for 0 <= i < n; n is a multiple of %d.", k.name, k.lanes))
	dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())

	Label("loop")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	// Clamp to [-800, 800]. If an operand is NaN, the instruction returns its second source, here
	// x.
	v := k.reg()
	VMOVUPD(Mem{Base: x}, v)
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
	VMOVUPD(v, Mem{Base: dst})
	ADDQ(Imm(uint64(8*k.lanes)), x)
	ADDQ(Imm(uint64(8*k.lanes)), dst)
	SUBQ(Imm(uint64(k.lanes)), n)
	JMP(LabelRef("loop"))

	Label("done")
	VZEROUPPER()
	RET()
}
