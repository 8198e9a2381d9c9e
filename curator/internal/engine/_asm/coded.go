package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// codes describes how the codes of one-hot groups are stored. The type of a code has the given number
// of bytes.
type codes struct {
	name  string
	of    string
	bytes int
}

var narrow, wide = codes{"Narrow", "uint16", 2}, codes{"Wide", "uint32", 4}

// dotsAtCodes writes the function that adds to margins the numbers of a vector at rows' codes.
func dotsAtCodes(k codes) {
	text := "dots" + k.name + "AVX2"
	TEXT(text, NOSPLIT, "func(z *float64, step int, w *float64, levels *float32, codes *"+k.of+", groups, rows int)")
	Doc(text+" adds to z[i*step] the level of row i times the sum of w at the row's codes, in the order of",
		"the function sumAt. rows is at least 1.")
	Pragma("noescape")
	z, step, w := parameter("z"), doubles("step"), parameter("w")
	levels, at, groups, rows := parameter("levels"), parameter("codes"), divide(parameter("groups")), parameter("rows")
	Label("rows")
	var sums []reg.VecVirtual
	for range 4 {
		s := XMM()
		VXORPD(s, s, s)
		sums = append(sums, s)
	}
	k.each(at, groups, func(i int, code reg.GPVirtual) {
		VADDSD(Mem{Base: w, Index: code, Scale: 8}, sums[i], sums[i])
	})
	VADDSD(sums[2], sums[0], sums[0])
	VADDSD(sums[3], sums[1], sums[1])
	VADDSD(sums[1], sums[0], sums[0])
	VFMADD213SD(Mem{Base: z}, level(levels), sums[0])
	VMOVSD(sums[0], Mem{Base: z})
	ADDQ(step, z)
	ADDQ(U8(4), levels)
	DECQ(rows)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// addAtCodes writes the function that adds a row's steps to the sums at its codes.
func addAtCodes(k codes) {
	text := "add" + k.name + "AVX2"
	TEXT(text, NOSPLIT, "func(acc *int64, c *float64, step int, levels *float32, codes *"+k.of+", groups, rows int)")
	Doc(text+" adds c[i*step] times the level of row i, rounded, to acc at the codes of row i.",
		"rows is at least 1.")
	Pragma("noescape")
	acc, c, step := parameter("acc"), parameter("c"), doubles("step")
	levels, at, groups, rows := parameter("levels"), parameter("codes"), divide(parameter("groups")), parameter("rows")
	bits, m := GP64(), XMM()
	MOVQ(U64(magic), bits)
	VMOVQ(bits, m)
	Label("rows")
	v, steps := level(levels), GP64()
	VFMADD132SD(Mem{Base: c}, m, v)
	VMOVQ(v, steps)
	SUBQ(bits, steps)
	k.each(at, groups, func(_ int, code reg.GPVirtual) {
		ADDQ(steps, Mem{Base: acc, Index: code, Scale: 8})
	})
	ADDQ(step, c)
	ADDQ(U8(4), levels)
	DECQ(rows)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// level loads a row's level as a float64. The register is zeroed first, since the conversion keeps a part
// of its second source and would wait for it.
func level(levels reg.GPVirtual) reg.VecVirtual {
	v, zero := XMM(), XMM()
	VXORPD(zero, zero, zero)
	VCVTSS2SD(Mem{Base: levels}, zero, v)
	return v
}

// division is the number of groups, divided by four, and what remains.
type division struct{ fours, rest reg.GPVirtual }

func divide(groups reg.GPVirtual) division {
	d := division{groups, GP64()}
	MOVQ(groups, d.rest)
	ANDQ(U8(3), d.rest)
	SHRQ(U8(2), d.fours)
	return d
}

// each writes body for each of a row's codes in their order, numbered modulo four, and leaves at at the next
// row's codes. Four codes are loaded with two instructions.
func (k codes) each(at reg.GPVirtual, groups division, body func(i int, code reg.GPVirtual)) {
	left := GP64()
	MOVQ(groups.fours, left)
	TESTQ(left, left)
	JZ(LabelRef("rest"))
	Label("four")
	for i := 0; i < 4; i += 2 {
		low, high := GP64(), GP64()
		if k == narrow {
			MOVL(Mem{Base: at, Disp: k.bytes * i}, high.As32())
			MOVWLZX(high.As16(), low.As32())
			SHRL(U8(16), high.As32())
		} else {
			MOVQ(Mem{Base: at, Disp: k.bytes * i}, high)
			MOVL(high.As32(), low.As32())
			SHRQ(U8(32), high)
		}
		body(i, low)
		body(i+1, high)
	}
	ADDQ(U8(4*k.bytes), at)
	DECQ(left)
	JNZ(LabelRef("four"))
	Label("rest")
	TESTQ(groups.rest, groups.rest)
	JZ(LabelRef("row"))
	for i := range 3 {
		code := GP64()
		if k == narrow {
			MOVWLZX(Mem{Base: at}, code.As32())
		} else {
			MOVL(Mem{Base: at}, code.As32())
		}
		body(i, code)
		ADDQ(U8(k.bytes), at)
		CMPQ(groups.rest, U8(i+1))
		JE(LabelRef("row"))
	}
	Label("row")
}

// codesWithin writes the function that compares codes with the largest allowed one.
func codesWithin(k codes) {
	text := "within" + k.name + "AVX2"
	TEXT(text, NOSPLIT, "func(codes *"+k.of+", n int, most "+k.of+") bool")
	lanes := 32 / k.bytes
	Doc(text+" reports whether the first n codes are at most most. n is a multiple of", "the number of codes in 32 bytes.")
	Pragma("noescape")
	at, n := parameter("codes"), parameter("n")
	limit, sound := YMM(), YMM()
	most, low := GP32(), XMM()
	Load(Param("most"), most)
	VMOVD(most, low)
	if k == narrow {
		VPBROADCASTW(low, limit)
	} else {
		VPBROADCASTD(low, limit)
	}
	VPCMPEQD(sound, sound, sound)
	Label("again")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	least, equal := YMM(), YMM()
	if k == narrow {
		VPMINUW(Mem{Base: at}, limit, least)
		VPCMPEQW(Mem{Base: at}, least, equal)
	} else {
		VPMINUD(Mem{Base: at}, limit, least)
		VPCMPEQD(Mem{Base: at}, least, equal)
	}
	VPAND(equal, sound, sound)
	ADDQ(U8(32), at)
	SUBQ(U8(lanes), n)
	JMP(LabelRef("again"))
	Label("end")
	bits := GP32()
	VPMOVMSKB(sound, bits)
	CMPL(bits, I8(-1))
	all := GP8()
	SETEQ(all)
	Store(all, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
