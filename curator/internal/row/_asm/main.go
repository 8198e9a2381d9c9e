// Command asm writes the assembly that decodes rows of the private file (../unpack.go).
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// kind is a form of a row's codes: the bytes of a code, the type of the numbers, and the instructions by which
// eight codes are checked. of is nil for rows without codes.
type kind struct {
	name, of         string
	size             int
	vector           func() reg.VecVirtual
	sub, least, same func(a, b, c Op)
	set              uint32 // what VPMOVMSKB gives if all bytes are set
}

func main() {
	ConstraintExpr("amd64")
	unpack(kind{name: "Numbers"})
	unpack(kind{"Narrow", "uint16", 2, XMM, func(a, b, c Op) { VPSUBW(a, b, c) }, func(a, b, c Op) { VPMINUW(a, b, c) },
		func(a, b, c Op) { VPCMPEQW(a, b, c) }, 0xffff})
	unpack(kind{"Wide", "uint32", 4, YMM, func(a, b, c Op) { VPSUBD(a, b, c) }, func(a, b, c Op) { VPMINUD(a, b, c) },
		func(a, b, c Op) { VPCMPEQD(a, b, c) }, 0xffffffff})
	Generate()
}

func unpack(k kind) {
	name, coded := "unpack"+k.name+"AVX2", k.of != ""
	arguments, what := "x *float32, targets *float64, bytes *byte, mask *int32, dense, size, rows int, most float64", "numbers"
	if coded {
		arguments += ", levels *float32, codes, bounds *" + k.of + ", groups int, many float64"
		what = "numbers, a level and codes"
	}
	TEXT(name, NOSPLIT, "func("+arguments+") (done int)")
	Doc(name+" decodes rows of "+what+", one every size bytes, and returns the number of rows",
		"before the first one that is not valid. See the method several.")
	Pragma("noescape")
	parameter := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	x, targets, bytes, mask := parameter("x"), parameter("targets"), parameter("bytes"), parameter("mask")
	dense, size, rows, done := parameter("dense"), parameter("size"), parameter("rows"), GP64()
	most := Load(Param("most"), XMM())
	tail := YMM()
	VMOVUPS(Mem{Base: mask}, tail)
	whole := GP64()
	MOVQ(dense, whole)
	ANDQ(I8(-8), whole)
	CMPQ(dense, whole)
	more := mask // its register: not zero if numbers are left behind the last eight
	SETNE(more.As8())
	MOVBQZX(more.As8(), more)
	SHLQ(U8(2), whole)
	SHLQ(U8(2), dense) // bytes
	var levels, codes, bounds, groups reg.GPVirtual
	var many reg.VecVirtual
	if coded {
		levels, codes, bounds, groups = parameter("levels"), parameter("codes"), parameter("bounds"), parameter("groups")
		SHLQ(U8(uint8(k.size/2)), groups) // bytes
		many = Load(Param("many"), XMM()).(reg.VecVirtual)
	}
	XORQ(done, done)

	Label("row")
	CMPQ(done, rows)
	JE(LabelRef("end"))
	y := XMM()
	VMOVSD(Mem{Base: bytes}, y)
	VMOVSD(y, Mem{Base: targets})
	sum, j := YMM(), GP64()
	VXORPD(sum, sum, sum)
	XORQ(j, j)
	CMPQ(j, whole)
	JE(LabelRef("tail"))
	Label("numbers")
	v := YMM()
	VMOVUPS(Mem{Base: bytes, Index: j, Scale: 1, Disp: 8}, v)
	VMOVUPS(v, Mem{Base: x, Index: j, Scale: 1})
	for h := range 2 {
		d := YMM()
		VCVTPS2PD(Mem{Base: bytes, Index: j, Scale: 1, Disp: 8 + 16*h}, d)
		VFMADD231PD(d, d, sum)
	}
	ADDQ(U8(32), j)
	CMPQ(j, whole)
	JB(LabelRef("numbers"))
	Label("tail")
	TESTQ(more, more)
	JZ(LabelRef("sum"))
	last, high, low := YMM(), XMM(), YMM()
	VMASKMOVPS(Mem{Base: bytes, Index: j, Scale: 1, Disp: 8}, tail, last)
	VMOVUPS(last, Mem{Base: x, Index: j, Scale: 1})
	VEXTRACTF128(U8(1), last, high)
	VCVTPS2PD(last.AsX(), low)
	VFMADD231PD(low, low, sum)
	VCVTPS2PD(high, last)
	VFMADD231PD(last, last, sum)
	ADDQ(U8(32), j)
	Label("sum")
	ADDQ(j, x)
	half := XMM()
	VHADDPD(sum, sum, sum)
	VEXTRACTF128(U8(1), sum, half)
	VADDSD(half, sum.AsX(), sum.AsX())
	if coded {
		level, square := XMM(), XMM()
		VMOVSS(Mem{Base: bytes, Index: dense, Scale: 1, Disp: 8}, level)
		VMOVSS(level, Mem{Base: levels})
		VCVTSS2SD(level, level, square)
		VMULSD(square, square, square)
		VMULSD(many, square, square)
		VADDSD(square, sum.AsX(), sum.AsX())
		within, in := k.vector(), GP64()
		k.same(within, within, within)
		LEAQ(Mem{Base: bytes, Index: dense, Scale: 1, Disp: 12}, in)
		XORQ(j, j)
		Label("codes")
		code, least := k.vector(), k.vector()
		VMOVDQU(Mem{Base: in, Index: j, Scale: 1}, code)
		VMOVDQU(code, Mem{Base: codes, Index: j, Scale: 1})
		k.sub(Mem{Base: bounds, Index: j, Scale: 2}, code, code)
		k.least(Mem{Base: bounds, Index: j, Scale: 2, Disp: 8 * k.size}, code, least)
		k.same(least, code, code)
		VPAND(code, within, within)
		ADDQ(U8(uint8(8*k.size)), j)
		CMPQ(j, groups)
		JB(LabelRef("codes"))
		set := GP32()
		VPMOVMSKB(within, set)
		CMPL(set, U32(k.set))
		JNE(LabelRef("end"))
		ADDQ(U8(4), levels)
		ADDQ(groups, codes)
	}
	VSUBSD(y, y, y) // 0, or NaN if the target is not finite
	VADDSD(y, sum.AsX(), sum.AsX())
	VUCOMISD(sum.AsX(), most)
	JB(LabelRef("end")) // most is less, or the sum is NaN
	ADDQ(U8(8), targets)
	ADDQ(size, bytes)
	INCQ(done)
	JMP(LabelRef("row"))
	Label("end")
	VZEROUPPER()
	Store(done, ReturnIndex(0))
	RET()
}
