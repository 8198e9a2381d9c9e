// Command asm writes the assembly of the function unpack of package row, which copies rows from a
// file's bytes and computes their squared norms (../inplace.go).
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64")
	TEXT("unpackAVX2", NOSPLIT, "func(x *float32, squares *float64, bytes *byte, stride, size, rows int)")
	Doc("unpackAVX2 copies rows of stride numbers, one every size bytes, and sets squares to their squared norms.",
		"stride is a multiple of 8.")
	Pragma("noescape")
	parameter := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	x, squares, bytes := parameter("x"), parameter("squares"), parameter("bytes")
	stride, size, rows := parameter("stride"), parameter("size"), parameter("rows")
	SHLQ(U8(2), stride)
	Label("row")
	TESTQ(rows, rows)
	JZ(LabelRef("end"))
	sum, j := YMM(), GP64()
	VXORPD(sum, sum, sum)
	XORQ(j, j)
	Label("numbers")
	for h := range 2 {
		v, d := XMM(), YMM()
		VMOVUPS(Mem{Base: bytes, Index: j, Scale: 1, Disp: 16 * h}, v)
		VMOVUPS(v, Mem{Base: x, Index: j, Scale: 1, Disp: 16 * h})
		VCVTPS2PD(v, d)
		VMULPD(d, d, d)
		VADDPD(d, sum, sum)
	}
	ADDQ(U8(32), j)
	CMPQ(j, stride)
	JB(LabelRef("numbers"))
	high := XMM()
	VHADDPD(sum, sum, sum)
	VEXTRACTF128(U8(1), sum, high)
	VADDSD(high, sum.AsX(), sum.AsX())
	VMOVSD(sum.AsX(), Mem{Base: squares})
	ADDQ(U8(8), squares)
	ADDQ(stride, x)
	ADDQ(size, bytes)
	DECQ(rows)
	JMP(LabelRef("row"))
	Label("end")
	VZEROUPPER()
	RET()
	Generate()
}
