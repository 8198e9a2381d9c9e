// Package exp writes the instructions of exponentials into the assembly of other generators. It is used by
// the generators of internal/repromath and of the engine's kernels.
package exp

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

// Wide returns the address of eight copies of a constant.
func Wide(v uint64) Mem {
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

// Float returns the address of eight copies of a float64.
func Float(v float64) Mem { return Wide(math.Float64bits(v)) }

// Width describes one width of registers: the number of float64s in a register, the registers, and
// the instructions that depend on the width.
type Width struct {
	Lanes    int
	Register func() VecVirtual
	half     func(...Op) // shifts each signed 64-bit number below 2^31 right by 1
}

// Half and Whole are the registers of AVX2 and of AVX-512.
var (
	Half  = Width{4, YMM, VPSRAD}
	Whole = Width{8, ZMM, VPSRAQ}
)

// Of replaces the numbers x in v by e^x, by the steps of Exp in internal/repromath.
func Of(w Width, v VecVirtual) {
	// Clamp to [-800, 800]. If an operand is NaN, the instruction returns its second source, here
	// x.
	low, high := w.Register(), w.Register()
	VMOVUPD(Float(-800), low)
	VMAXPD(v, low, v)
	VMOVUPD(Float(800), high)
	VMINPD(v, high, v)

	kd, power := w.Register(), w.Register()
	VMOVUPD(Float(0x1.8p52), kd)
	VFMADD231PD(Float(1/math.Ln2), v, kd)
	VPSUBQ(Float(0x1.8p52), kd, power)
	VSUBPD(Float(0x1.8p52), kd, kd)
	VFNMADD231PD(Float(0x1.62e42fefa39efp-1), kd, v)
	VFNMADD231PD(Float(math.Ln2-0x1.62e42fefa39efp-1), kd, v)

	r2, r4, r8 := w.Register(), w.Register(), w.Register()
	VMULPD(v, v, r2)
	VMULPD(r2, r2, r4)
	VMULPD(r4, r4, r8)
	line := func(slope, at float64) VecVirtual {
		q := w.Register()
		VMOVUPD(Float(at), q)
		VFMADD231PD(Float(slope), v, q)
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
	VADDPD(Float(1), v, v)

	first := w.Register()
	w.half(Imm(1), power, first)
	VPSUBQ(first, power, power)
	for _, factor := range []VecVirtual{first, power} {
		VPADDQ(Wide(1023), factor, factor)
		VPSLLQ(Imm(52), factor, factor)
		VMULPD(factor, v, v)
	}
}
