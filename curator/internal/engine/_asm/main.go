// Command asm writes the assembly of the engine's kernels, which multiply and add rows of numbers.
// ../kernel.go says what they compute.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

// together is the largest number of vectors, or of sums, that are processed at a time.
const together = 5

// lane is the number of coordinates processed at a time.
const lane = 8

// wideRow is the number of bytes above which a row is wide. A tile of wide rows has only a few rows.
const wideRow = 2048

func main() {
	ConstraintExpr("amd64")
	dots512()
	for n := 2; n <= together; n++ {
		dotsOf512(n)
	}
	add512()
	for n := 2; n <= together; n++ {
		addOf512(n)
	}
	pairs512()
	weigh("weighAVX512", 4, 64, ZMM)
	coefficients("logisticAVX512", exp.Whole, logistic)
	coefficients("residualAVX512", exp.Whole, residual)
	dots256()
	add256()
	pairs256()
	weigh("weighAVX2", 2, 32, YMM)
	coefficients("logisticAVX2", exp.Half, logistic)
	coefficients("residualAVX2", exp.Half, residual)
	for _, k := range []codes{narrow, wide} {
		dotsAtCodes(k)
		addAtCodes(k)
		codesWithin(k)
	}
	for _, n := range []int{1, 2, 4} {
		dotsAtEdges(n)
		addAtEdges(n)
	}
	Generate()
}

// arguments are the arguments x, stride and rows, which the kernels for dot products and sums of rows
// share. The function load puts them in registers, the stride as a number of bytes.
type arguments struct{ x, stride, rows reg.GPVirtual }

func load() arguments {
	a := arguments{Load(Param("x"), GP64()).(reg.GPVirtual), Load(Param("stride"), GP64()).(reg.GPVirtual),
		Load(Param("rows"), GP64()).(reg.GPVirtual)}
	SHLQ(U8(2), a.stride)
	return a
}

func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// doubles loads a length that is counted in float64s, as a number of bytes.
func doubles(name string) reg.GPVirtual {
	r := parameter(name)
	SHLQ(U8(3), r)
	return r
}

// rowsFrom returns registers with pointers to n consecutive rows.
func rowsFrom(a arguments, n int) (p []reg.GPVirtual) {
	for i := range n {
		r := GP64()
		if i == 0 {
			MOVQ(a.x, r)
		} else {
			LEAQ(Mem{Base: p[i-1], Index: a.stride, Scale: 1}, r)
		}
		p = append(p, r)
	}
	return p
}

// over writes a loop over the lanes of a row. j is the offset of the current lane in the row, in
// bytes.
func over(label string, a arguments, body func(j reg.GPVirtual)) {
	j := GP64()
	XORQ(j, j)
	Label(label)
	body(j)
	ADDQ(U8(4*lane), j)
	CMPQ(j, a.stride)
	JB(LabelRef(label))
}

// fold256 adds up the four numbers of v and leaves their sum ((v0+v2) + (v1+v3)) in the lowest
// element of v.
func fold256(v reg.VecVirtual) {
	t := XMM()
	VEXTRACTF128(U8(1), v, t)
	VADDPD(t, v.AsX(), v.AsX())
	VUNPCKHPD(v.AsX(), v.AsX(), t)
	VADDSD(t, v.AsX(), v.AsX())
}

// fold512 adds up the eight numbers of v: first the halves, then the quarters, then neighbours.
// Each element of v then holds the sum.
func fold512(v reg.VecVirtual) {
	t := ZMM()
	VSHUFF64X2(U8(0x4e), v, v, t)
	VADDPD(t, v, v)
	VSHUFF64X2(U8(0xb1), v, v, t)
	VADDPD(t, v, v)
	VPERMILPD(U8(0x55), v, t)
	VADDPD(t, v, v)
}

func zero512(n int) (v []reg.VecVirtual) {
	for range n {
		z := ZMM()
		VPXORQ(z, z, z)
		v = append(v, z)
	}
	return v
}

func dots512() {
	TEXT("dotsAVX512", NOSPLIT, "func(z *float64, step int, w *float64, x *float32, stride, rows int)")
	Doc("dotsAVX512 sets z[i*step] to the dot product of w and row i.")
	Pragma("noescape")
	z, step, w, a := parameter("z"), doubles("step"), parameter("w"), load()
	eight512(z, step, w, a)
	Label("rows")
	TESTQ(a.rows, a.rows)
	JZ(LabelRef("end"))
	sum := zero512(1)[0]
	over("lanes", a, func(j reg.GPVirtual) {
		v, t := ZMM(), ZMM()
		VMOVUPD(Mem{Base: w, Index: j, Scale: 2}, v)
		VCVTPS2PD(Mem{Base: a.x, Index: j, Scale: 1}, t)
		VFMADD231PD(v, t, sum)
	})
	fold512(sum)
	VMOVSD(sum.AsX(), Mem{Base: z})
	ADDQ(step, z)
	ADDQ(a.stride, a.x)
	DECQ(a.rows)
	JMP(LabelRef("rows"))
	Label("end")
	VZEROUPPER()
	RET()
}

// eight512 writes the products of w with eight rows at a time. Fewer than eight rows are left.
func eight512(z, step, w reg.GPVirtual, a arguments) {
	strides, next := multiples(a.stride), GP64()
	MOVQ(a.stride, next)
	IMULQ(a.rows, next)
	ADDQ(a.x, next)
	Label("eight")
	CMPQ(a.rows, U8(8))
	JB(LabelRef("less"))
	sum := products512(w, a, strides, next)
	LEAQ(Mem{Base: a.x, Index: a.stride, Scale: 8}, a.x)
	SUBQ(U8(8), a.rows)
	CMPQ(step, U8(8))
	JNE(LabelRef("apart"))
	VMOVUPD(sum, Mem{Base: z})
	ADDQ(U8(8*lane), z)
	JMP(LabelRef("eight"))
	Label("apart")
	for range 8 {
		VMOVSD(sum.AsX(), Mem{Base: z})
		ADDQ(step, z)
		VALIGNQ(U8(1), sum, sum, sum)
	}
	JMP(LabelRef("eight"))
	Label("less")
}

// strided holds a stride and its multiples by three, five and seven.
type strided struct{ one, three, five, seven reg.GPVirtual }

func multiples(stride reg.GPVirtual) strided {
	s := strided{stride, GP64(), GP64(), GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, s.three)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 4}, s.five)
	LEAQ(Mem{Base: s.three, Index: stride, Scale: 4}, s.seven)
	return s
}

// eight returns the addresses of eight rows of which the first is at x. An address holds one, two or four
// times an index.
func (s strided) eight(x reg.GPVirtual) [8]Mem {
	return [8]Mem{{Base: x}, {Base: x, Index: s.one, Scale: 1}, {Base: x, Index: s.one, Scale: 2},
		{Base: x, Index: s.three, Scale: 1}, {Base: x, Index: s.one, Scale: 4}, {Base: x, Index: s.five, Scale: 1},
		{Base: x, Index: s.three, Scale: 2}, {Base: x, Index: s.seven, Scale: 1}}
}

// products512 writes the products of w with the eight rows at a.x. While it multiplies, the processor fetches
// half as many bytes from next on, which it leaves behind them, unless rows are wide.
func products512(w reg.GPVirtual, a arguments, strides strided, next reg.GPVirtual) reg.VecVirtual {
	x, at, left, sums := GP64(), GP64(), GP64(), zero512(8)
	MOVQ(a.x, x)
	MOVQ(w, at)
	MOVQ(a.stride, left)
	Label("lanes8")
	v := ZMM()
	VMOVUPD(Mem{Base: at}, v)
	for i, row := range strides.eight(x) {
		t := ZMM()
		VCVTPS2PD(row, t)
		VFMADD231PD(v, t, sums[i])
	}
	CMPQ(a.stride, U32(wideRow))
	JA(LabelRef("wide"))
	PREFETCHT1(Mem{Base: next})
	PREFETCHT1(Mem{Base: next, Disp: 64})
	SUBQ(I8(-128), next)
	Label("wide")
	ADDQ(U8(4*lane), x)
	ADDQ(U8(8*lane), at)
	SUBQ(U8(4*lane), left)
	JNZ(LabelRef("lanes8"))
	return foldEight512(sums)
}

// foldEight512 returns the sums of eight registers, in their order. It adds up each register in the order of
// fold512, and takes halves, quarters and neighbours of several registers together.
func foldEight512(v []reg.VecVirtual) reg.VecVirtual {
	fold := func(a, b reg.VecVirtual, low, high func(a, b, to reg.VecVirtual)) reg.VecVirtual {
		s, t := ZMM(), ZMM()
		low(a, b, s)
		high(a, b, t)
		VADDPD(t, s, s)
		return s
	}
	parts := func(which int) func(a, b, to reg.VecVirtual) {
		return func(a, b, to reg.VecVirtual) { VSHUFF64X2(U8(which), b, a, to) }
	}
	halves := func(a, b int) reg.VecVirtual { return fold(v[a], v[b], parts(0x44), parts(0xee)) }
	quarters := func(a, b reg.VecVirtual) reg.VecVirtual { return fold(a, b, parts(0x88), parts(0xdd)) }
	return fold(quarters(halves(0, 2), halves(4, 6)), quarters(halves(1, 3), halves(5, 7)),
		func(a, b, to reg.VecVirtual) { VUNPCKLPD(b, a, to) }, func(a, b, to reg.VecVirtual) { VUNPCKHPD(b, a, to) })
}

// dotsOf512 writes products of rows with n vectors, four rows at a time.
func dotsOf512(n int) {
	name := label("dots", n) + "AVX512"
	TEXT(name, NOSPLIT, "func(z *float64, step int, w *float64, width int, x *float32, stride, rows int)")
	Doc(name+" sets z[i*step+k] to the dot product of row i and the vector that is k widths behind w,",
		label("for k below ", n)+". rows is a multiple of 4.")
	Pragma("noescape")
	z, step, width := parameter("z"), doubles("step"), doubles("width")
	var w []reg.GPVirtual
	w = append(w, parameter("w"))
	for k := 1; k < n; k++ {
		p := GP64()
		LEAQ(Mem{Base: w[k-1], Index: width, Scale: 1}, p)
		w = append(w, p)
	}
	a := load()
	Label("rows")
	CMPQ(a.rows, U8(4))
	JB(LabelRef("end"))
	// Two registers point to four rows, since there are not enough registers for four pointers: low points
	// to the first row and high to the third. The second and the fourth row follow one stride later.
	low, high := GP64(), GP64()
	MOVQ(a.x, low)
	LEAQ(Mem{Base: a.x, Index: a.stride, Scale: 2}, high)
	sums := zero512(4 * n)
	j := GP64()
	XORQ(j, j)
	Label("lanes")
	var x []reg.VecVirtual
	for _, m := range []Mem{{Base: low}, {Base: low, Index: a.stride, Scale: 1}, {Base: high},
		{Base: high, Index: a.stride, Scale: 1}} {
		t := ZMM()
		VCVTPS2PD(m, t)
		x = append(x, t)
	}
	for k := range n {
		v := ZMM()
		VMOVUPD(Mem{Base: w[k], Index: j, Scale: 2}, v)
		for i := range 4 {
			VFMADD231PD(v, x[i], sums[n*i+k])
		}
	}
	ADDQ(U8(4*lane), low)
	ADDQ(U8(4*lane), high)
	ADDQ(U8(4*lane), j)
	CMPQ(j, a.stride)
	JB(LabelRef("lanes"))
	for i := range 4 {
		for k := range n {
			fold512(sums[n*i+k])
			VMOVSD(sums[n*i+k].AsX(), Mem{Base: z, Disp: 8 * k})
		}
		ADDQ(step, z)
	}
	LEAQ(Mem{Base: a.x, Index: a.stride, Scale: 4}, a.x)
	SUBQ(U8(4), a.rows)
	JMP(LabelRef("rows"))
	Label("end")
	VZEROUPPER()
	RET()
}

func label(name string, n int) string { return name + string(rune('0'+n)) }

// magic is the bit pattern of 1.5*2^52, which kernels add to a number to round it to an integer.
const magic = 0x4338000000000000

func magic512() reg.VecVirtual {
	r, m := GP64(), ZMM()
	MOVQ(U64(magic), r)
	VPBROADCASTQ(r, m)
	return m
}

func add512() {
	TEXT("addAVX512", NOSPLIT, "func(acc *int64, c *float64, step int, x *float32, stride, rows int, bias uint64)")
	Doc("addAVX512 adds the bits of c[i*step] * row i + magic, over all rows, less bias, to acc.")
	Pragma("noescape")
	acc, c, step, a, bias := parameter("acc"), parameter("c"), doubles("step"), load(), ZMM()
	b := parameter("bias")
	VPBROADCASTQ(b, bias)
	m := magic512()
	left, next, half, ahead := GP64(), GP64(), GP64(), GP64()
	MOVQ(a.stride, left)
	MOVQ(a.stride, ahead)
	IMULQ(a.rows, ahead)
	CMPQ(a.stride, U32(wideRow))
	JA(LabelRef("wide"))
	MOVQ(ahead, half)
	SHRQ(U8(1), half)
	LEAQ(Mem{Base: a.x, Index: ahead, Scale: 1}, next)
	ADDQ(half, next)
	// While these loops add, the processor fetches rows of the next call, which follow these rows in memory: their
	// second half, since it fetches the first half while it forms products. Of wide rows it fetches all, in the
	// order in which they are read here.
	blocks("", acc, c, step, left, a, bias, m, func(n int, _ reg.GPVirtual) {
		PREFETCHT1(Mem{Base: next})
		ADDQ(U8(2*lane*n), next)
	})
	Label("wide")
	blocks("wide", acc, c, step, left, a, bias, m, func(n int, x reg.GPVirtual) {
		PREFETCHT0(Mem{Base: x, Index: ahead, Scale: 1})
		if n > 1 {
			PREFETCHT0(Mem{Base: x, Index: ahead, Scale: 1, Disp: 64})
		}
	})
}

// blocks writes the loops of add512 over blocks of lanes and rows, and the end of the function. It writes what
// beside writes once for each row at x of a block of n lanes.
func blocks(name string, acc, c, step, left reg.GPVirtual, a arguments, bias, m reg.VecVirtual,
	beside func(n int, x reg.GPVirtual)) {
	for _, n := range []int{4, 3, 2, 1} { // n lanes in each iteration
		again, rows, end := label(name+"block", n), label(name+"rows", n), label(name+"end", n)
		Label(again)
		CMPQ(left, U32(4*lane*n))
		JB(LabelRef(end))
		var sums []reg.VecVirtual
		for i := range n {
			s := ZMM()
			VMOVDQU64(Mem{Base: acc, Disp: 8 * lane * i}, s)
			VPSUBQ(bias, s, s)
			sums = append(sums, s)
		}
		x, p, r := GP64(), GP64(), GP64()
		MOVQ(a.x, x)
		MOVQ(c, p)
		MOVQ(a.rows, r)
		Label(rows)
		v := ZMM()
		VBROADCASTSD(Mem{Base: p}, v)
		beside(n, x)
		for i := range n {
			t := ZMM()
			VCVTPS2PD(Mem{Base: x, Disp: 4 * lane * i}, t)
			VFMADD213PD(m, v, t)
			VPADDQ(t, sums[i], sums[i])
		}
		ADDQ(a.stride, x)
		ADDQ(step, p)
		DECQ(r)
		JNZ(LabelRef(rows))
		for i := range n {
			VMOVDQU64(sums[i], Mem{Base: acc, Disp: 8 * lane * i})
		}
		ADDQ(U32(8*lane*n), acc)
		ADDQ(U32(4*lane*n), a.x)
		SUBQ(U32(4*lane*n), left)
		JMP(LabelRef(again))
		Label(end)
	}
	VZEROUPPER()
	RET()
}

// addOf512 writes n sums of rows.
func addOf512(n int) {
	name := label("add", n) + "AVX512"
	TEXT(name, NOSPLIT,
		"func(acc *int64, width int, c *float64, step int, x *float32, stride, rows int, bias uint64)")
	Doc(name + label(" is addAVX512 with c+k for the sums that are k widths behind acc, for k below ", n) + ".")
	Pragma("noescape")
	width := doubles("width")
	accs := []reg.GPVirtual{parameter("acc")}
	for k := 1; k < n; k++ {
		p := GP64()
		LEAQ(Mem{Base: accs[k-1], Index: width, Scale: 1}, p)
		accs = append(accs, p)
	}
	c, step, a, bias := parameter("c"), doubles("step"), load(), ZMM()
	b := parameter("bias")
	VPBROADCASTQ(b, bias)
	m := magic512()
	left := GP64()
	MOVQ(a.stride, left)
	for _, lanes := range []int{2, 1} {
		again, rows, end := label("block", lanes), label("rows", lanes), label("end", lanes)
		Label(again)
		CMPQ(left, U32(4*lane*lanes))
		JB(LabelRef(end))
		var sums []reg.VecVirtual
		for k := range n {
			for i := range lanes {
				s := ZMM()
				VMOVDQU64(Mem{Base: accs[k], Disp: 8 * lane * i}, s)
				VPSUBQ(bias, s, s)
				sums = append(sums, s)
			}
		}
		x, p, r := GP64(), GP64(), GP64()
		MOVQ(a.x, x)
		MOVQ(c, p)
		MOVQ(a.rows, r)
		Label(rows)
		var features []reg.VecVirtual
		for i := range lanes {
			t := ZMM()
			VCVTPS2PD(Mem{Base: x, Disp: 4 * lane * i}, t)
			features = append(features, t)
		}
		for k := range n {
			for i := range lanes {
				t := ZMM()
				VMOVAPD(m, t)
				VFMADD231PD_BCST(Mem{Base: p, Disp: 8 * k}, features[i], t)
				VPADDQ(t, sums[k*lanes+i], sums[k*lanes+i])
			}
		}
		ADDQ(a.stride, x)
		ADDQ(step, p)
		DECQ(r)
		JNZ(LabelRef(rows))
		for k := range n {
			for i := range lanes {
				VMOVDQU64(sums[k*lanes+i], Mem{Base: accs[k], Disp: 8 * lane * i})
			}
			ADDQ(U32(8*lane*lanes), accs[k])
		}
		ADDQ(U32(4*lane*lanes), a.x)
		SUBQ(U32(4*lane*lanes), left)
		JMP(LabelRef(again))
		Label(end)
	}
	VZEROUPPER()
	RET()
}

func dots256() {
	TEXT("dotsAVX2", NOSPLIT, "func(z *float64, step int, w *float64, x *float32, stride, rows int)")
	Doc("dotsAVX2 sets z[i*step] to the dot product of w and row i.")
	Pragma("noescape")
	z, step, w, a := parameter("z"), doubles("step"), parameter("w"), load()
	for _, n := range []int{4, 1} {
		again, lanes, end := label("rows", n), label("lanes", n), label("end", n)
		Label(again)
		CMPQ(a.rows, U8(n))
		JB(LabelRef(end))
		x := rowsFrom(a, n)
		var sums []reg.VecVirtual
		for range 2 * n {
			s := YMM()
			VXORPD(s, s, s)
			sums = append(sums, s)
		}
		over(lanes, a, func(j reg.GPVirtual) {
			for h := range 2 {
				v := YMM()
				VMOVUPD(Mem{Base: w, Index: j, Scale: 2, Disp: 32 * h}, v)
				for i := range x {
					t := YMM()
					VCVTPS2PD(Mem{Base: x[i], Index: j, Scale: 1, Disp: 16 * h}, t)
					VFMADD231PD(v, t, sums[2*i+h])
				}
			}
		})
		for i := range n {
			VADDPD(sums[2*i+1], sums[2*i], sums[2*i])
			fold256(sums[2*i])
			VMOVSD(sums[2*i].AsX(), Mem{Base: z})
			ADDQ(step, z)
			ADDQ(a.stride, a.x)
		}
		SUBQ(U8(n), a.rows)
		JMP(LabelRef(again))
		Label(end)
	}
	VZEROUPPER()
	RET()
}

func add256() {
	TEXT("addAVX2", NOSPLIT, "func(acc *int64, c *float64, step int, x *float32, stride, rows int, bias uint64)")
	Doc("addAVX2 adds the bits of c[i*step] * row i + magic, over all rows, less bias, to acc.")
	Pragma("noescape")
	acc, c, step, a, bias, m := parameter("acc"), parameter("c"), doubles("step"), load(), YMM(), YMM()
	b, r64, low := parameter("bias"), GP64(), XMM()
	VMOVQ(b, low)
	VPBROADCASTQ(low, bias)
	MOVQ(U64(magic), r64)
	low = XMM()
	VMOVQ(r64, low)
	VPBROADCASTQ(low, m)
	left := GP64()
	MOVQ(a.stride, left)
	for _, n := range []int{4, 1} { // n lanes in each iteration
		again, rows, end := label("block", n), label("rows", n), label("end", n)
		Label(again)
		CMPQ(left, U32(4*lane*n))
		JB(LabelRef(end))
		var sums []reg.VecVirtual
		for i := range 2 * n {
			s := YMM()
			VMOVDQU(Mem{Base: acc, Disp: 32 * i}, s)
			VPSUBQ(bias, s, s)
			sums = append(sums, s)
		}
		x, p, r := GP64(), GP64(), GP64()
		MOVQ(a.x, x)
		MOVQ(c, p)
		MOVQ(a.rows, r)
		Label(rows)
		v := YMM()
		VBROADCASTSD(Mem{Base: p}, v)
		for i := range 2 * n {
			t := YMM()
			VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, t)
			VFMADD213PD(m, v, t)
			VPADDQ(t, sums[i], sums[i])
		}
		ADDQ(a.stride, x)
		ADDQ(step, p)
		DECQ(r)
		JNZ(LabelRef(rows))
		for i := range 2 * n {
			VMOVDQU(sums[i], Mem{Base: acc, Disp: 32 * i})
		}
		ADDQ(U32(8*lane*n), acc)
		ADDQ(U32(4*lane*n), a.x)
		SUBQ(U32(4*lane*n), left)
		JMP(LabelRef(again))
		Label(end)
	}
	VZEROUPPER()
	RET()
}
