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
	declare()
	for _, k := range kinds {
		unpack(k)
	}
	Generate()
}

var kinds = []kind{
	{name: "Numbers"},
	{"Narrow", "uint16", 2, XMM, func(a, b, c Op) { VPSUBW(a, b, c) }, func(a, b, c Op) { VPMINUW(a, b, c) },
		func(a, b, c Op) { VPCMPEQW(a, b, c) }, 0xffff},
	{"Wide", "uint32", 4, YMM, func(a, b, c Op) { VPSUBD(a, b, c) }, func(a, b, c Op) { VPMINUD(a, b, c) },
		func(a, b, c Op) { VPCMPEQD(a, b, c) }, 0xffffffff},
}

func unpack(k kind) {
	name, coded := "unpack"+k.name+"AVX2", k.of != ""
	arguments, what := "x *float32, targets *float64, bytes *byte, dense, size, rows int, most float64", "numbers"
	if coded {
		arguments += ", levels *float32, codes, bounds *" + k.of + ", groups int, many float64"
		what = "numbers, a level and codes"
	}
	TEXT(name, NOSPLIT, "func("+arguments+") (done int)")
	Doc(name+" decodes rows of "+what+", one every size bytes, and returns the number of rows",
		"before the first one that is not valid. See the method several.")
	Pragma("noescape")
	r := row{x: parameter("x"), targets: parameter("targets"), bytes: parameter("bytes"), dense: parameter("dense"),
		size: parameter("size"), rows: parameter("rows")}
	most, done := Load(Param("most"), XMM()), GP64()
	var levels, codes, bounds, groups reg.GPVirtual
	var many reg.VecVirtual
	if coded {
		levels, codes, bounds, groups = parameter("levels"), parameter("codes"), parameter("bounds"), parameter("groups")
		SHLQ(U8(uint8(k.size/2)), groups) // bytes
		many = Load(Param("many"), XMM()).(reg.VecVirtual)
	}
	r.prepare()
	XORQ(done, done)

	Label("row")
	CMPQ(done, r.rows)
	JE(LabelRef("end"))
	y := XMM()
	VMOVSD(Mem{Base: r.bytes}, y)
	VMOVSD(y, Mem{Base: r.targets})
	j := GP64()
	sum := r.numbers(j)
	bytes, dense, targets, size := r.bytes, r.dense, r.targets, r.size
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

// row holds the registers of a row's numbers. dense is the bytes of all numbers, and whole those of the numbers
// that are processed without a mask. more is the bytes of the others with their padding.
type row struct {
	x, targets, bytes              reg.GPVirtual
	dense, size, rows, whole, more reg.GPVirtual
	mask                           reg.VecVirtual
}

// prepare sets the registers that are the same for each row. Numbers behind the last eight are loaded by a mask, so
// that the others are zeros, which are the row's padding.
func (r *row) prepare() {
	r.whole, r.more, r.mask = GP64(), GP64(), YMM()
	MOVQ(r.dense, r.whole)
	ANDQ(I8(-8), r.whole)
	MOVQ(r.dense, r.more)
	SUBQ(r.whole, r.more)
	SHLQ(U8(2), r.whole)
	SHLQ(U8(2), r.dense)
	of, number := XMM(), YMM()
	VMOVD(r.more.As32(), of)
	VPBROADCASTD(of, r.mask)
	VMOVDQU(places, number)
	VPCMPGTD(number, r.mask, r.mask)
	ADDQ(I8(7), r.more)
	ANDQ(I8(-8), r.more)
	SHLQ(U8(2), r.more)
}

// places are the numbers from 0 to 7.
var places Mem

func declare() {
	places = GLOBL("places", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(i)))
	}
}

// numbers copies the numbers of a row and returns a register with the sum of their squares in its first lane. The
// squares are exact, and are added in the order of the function square.
func (r *row) numbers(j reg.GPVirtual) reg.VecVirtual {
	at, to := Mem{Base: r.bytes, Index: j, Scale: 1, Disp: 8}, Mem{Base: r.x, Index: j, Scale: 1}
	sum := YMM()
	VXORPD(sum, sum, sum)
	add := func(from Op) {
		d := YMM()
		VCVTPS2PD(from, d)
		VFMADD231PD(d, d, sum)
	}
	XORQ(j, j)
	CMPQ(j, r.whole)
	JE(LabelRef("tail"))
	Label("numbers")
	v := YMM()
	VMOVUPS(at, v)
	VMOVUPS(v, to)
	add(at)
	add(at.Offset(16))
	ADDQ(U8(32), j)
	CMPQ(j, r.whole)
	JB(LabelRef("numbers"))
	Label("tail")
	TESTQ(r.more, r.more)
	JZ(LabelRef("sum"))
	last, high := YMM(), XMM()
	VMASKMOVPS(at, r.mask, last)
	VMOVUPS(last, to)
	add(last.AsX())
	VEXTRACTF128(U8(1), last, high)
	add(high)
	Label("sum")
	ADDQ(r.more, j)
	ADDQ(j, r.x)
	half := XMM()
	VHADDPD(sum, sum, sum)
	VEXTRACTF128(U8(1), sum, half)
	VADDSD(half, sum.AsX(), sum.AsX())
	return sum
}

func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
