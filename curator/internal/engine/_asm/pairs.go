package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel is the number of rows whose lengths in a metric the kernel function weigh computes together.
const panel = 32

func pointers(names ...string) (p []reg.GPVirtual) {
	for _, n := range names {
		p = append(p, parameter(n))
	}
	return p
}

// pairs512 writes the inner loop of sums over pairs of features: the products of four features with
// all later features.
func pairs512() {
	TEXT("pairsAVX512", NOSPLIT,
		"func(a0, a1, a2, a3 *int64, c *float64, x *float32, stride, rows, columns int, bias uint64)")
	Doc("pairsAVX512 adds the bits of c[4*i+k] * row i + magic, over all rows, less bias, to the sums at ak, for",
		"k below 4. It reads and adds as many columns as it is told.")
	Pragma("noescape")
	acc := pointers("a0", "a1", "a2", "a3")
	c, a, left, bias := parameter("c"), load(), parameter("columns"), ZMM()
	b := parameter("bias")
	VPBROADCASTQ(b, bias)
	m := magic512()
	block := func(n int, mask reg.Register) {
		var sums []reg.VecVirtual
		for k := range 4 {
			for i := range n {
				s := ZMM()
				if mask == nil {
					VMOVDQU64(Mem{Base: acc[k], Disp: 8 * lane * i}, s)
				} else {
					VMOVDQU64_Z(Mem{Base: acc[k]}, mask, s)
				}
				VPSUBQ(bias, s, s)
				sums = append(sums, s)
			}
		}
		// While the rows are added, the processor fetches the sums of the next columns.
		for k := range 4 {
			for i := range n {
				PREFETCHT0(Mem{Base: acc[k], Disp: 8 * lane * (n + i)})
			}
		}
		x, p, r := GP64(), GP64(), GP64()
		MOVQ(a.x, x)
		MOVQ(c, p)
		MOVQ(a.rows, r)
		again := "rows" + name(n, mask)
		Label(again)
		var features []reg.VecVirtual
		for i := range n {
			t := ZMM()
			if mask == nil {
				VCVTPS2PD(Mem{Base: x, Disp: 4 * lane * i}, t)
			} else {
				VCVTPS2PD_Z(Mem{Base: x}, mask, t)
			}
			features = append(features, t)
		}
		for k := range 4 {
			for i := range n {
				t := ZMM()
				VMOVAPD(m, t)
				VFMADD231PD_BCST(Mem{Base: p, Disp: 8 * k}, features[i], t)
				VPADDQ(t, sums[k*n+i], sums[k*n+i])
			}
		}
		ADDQ(a.stride, x)
		ADDQ(U8(8*4), p)
		DECQ(r)
		JNZ(LabelRef(again))
		for k := range 4 {
			for i := range n {
				if mask == nil {
					VMOVDQU64(sums[k*n+i], Mem{Base: acc[k], Disp: 8 * lane * i})
				} else {
					VMOVDQU64(sums[k*n+i], mask, Mem{Base: acc[k]})
				}
			}
		}
	}
	for _, n := range []int{4, 1} { // n lanes in each iteration
		again, end := label("block", n), label("end", n)
		Label(again)
		CMPQ(left, U32(lane*n))
		JB(LabelRef(end))
		block(n, nil)
		for k := range 4 {
			ADDQ(U32(8*lane*n), acc[k])
		}
		ADDQ(U32(4*lane*n), a.x)
		SUBQ(U32(lane*n), left)
		JMP(LabelRef(again))
		Label(end)
	}
	TESTQ(left, left)
	JZ(LabelRef("done"))
	// The mask has as many bits set as columns are left.
	bits, one, mask := GP64(), GP64(), K()
	MOVQ(left, reg.RCX)
	MOVQ(U64(1), one)
	MOVQ(one, bits)
	SHLQ(reg.CL, bits)
	SUBQ(one, bits)
	KMOVW(bits.As32(), mask)
	block(1, mask)
	Label("done")
	VZEROUPPER()
	RET()
}

func name(n int, mask reg.Register) string {
	if mask != nil {
		return "part"
	}
	return label("", n)
}

// pairs256 writes the inner loop of sums over pairs of features, as pairs512 does, with vectors of
// four columns. The loop leaves out columns beyond a multiple of four.
func pairs256() {
	TEXT("pairsAVX2", NOSPLIT,
		"func(a0, a1, a2, a3 *int64, c *float64, x *float32, stride, rows, columns int, bias uint64)")
	Doc("pairsAVX2 is pairsAVX512. columns is a multiple of 4.")
	Pragma("noescape")
	acc := pointers("a0", "a1", "a2", "a3")
	c, a, left, bias, m := parameter("c"), load(), parameter("columns"), YMM(), YMM()
	b, r64, low := parameter("bias"), GP64(), XMM()
	VMOVQ(b, low)
	VPBROADCASTQ(low, bias)
	MOVQ(U64(magic), r64)
	low = XMM()
	VMOVQ(r64, low)
	VPBROADCASTQ(low, m)
	for _, n := range []int{2, 1} { // n times four columns in each iteration
		again, rows, end := label("block", n), label("rows", n), label("end", n)
		Label(again)
		CMPQ(left, U32(4*n))
		JB(LabelRef(end))
		var sums []reg.VecVirtual
		for k := range 4 {
			for i := range n {
				s := YMM()
				VMOVDQU(Mem{Base: acc[k], Disp: 32 * i}, s)
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
		for i := range n {
			t := YMM()
			VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, t)
			features = append(features, t)
		}
		for k := range 4 {
			v := YMM()
			VBROADCASTSD(Mem{Base: p, Disp: 8 * k}, v)
			for i := range n {
				t := YMM()
				VMOVAPD(m, t)
				VFMADD231PD(v, features[i], t)
				VPADDQ(t, sums[k*n+i], sums[k*n+i])
			}
		}
		ADDQ(a.stride, x)
		ADDQ(U8(8*4), p)
		DECQ(r)
		JNZ(LabelRef(rows))
		for k := range 4 {
			for i := range n {
				VMOVDQU(sums[k*n+i], Mem{Base: acc[k], Disp: 32 * i})
			}
			ADDQ(U32(32*n), acc[k])
		}
		ADDQ(U32(16*n), a.x)
		SUBQ(U32(4*n), left)
		JMP(LabelRef(again))
		Label(end)
	}
	VZEROUPPER()
	RET()
}

// weigh writes the inner loop of lengths in a metric, for as many rows as fit in vecs vectors. The
// loop adds up the products of four rows of a matrix with these rows. The values of one feature for
// all rows are adjacent in memory.
func weigh(text string, vecs, bytes int, vector func() reg.VecVirtual) {
	TEXT(text, NOSPLIT, "func(sums, s0, s1, s2, s3, x *float64, n int)")
	Doc(text+" adds sk[j] * x[32*j+i] to sums[32*k+i] in the order of j, for j below n, k below 4 and the rows i",
		"of its vectors, by fused multiplications and additions.")
	Pragma("noescape")
	out := parameter("sums")
	s := pointers("s0", "s1", "s2", "s3")
	x, n := parameter("x"), parameter("n")
	var sums []reg.VecVirtual
	for k := range 4 {
		for i := range vecs {
			v := vector()
			VMOVUPD(Mem{Base: out, Disp: 8*panel*k + bytes*i}, v)
			sums = append(sums, v)
		}
	}
	j := GP64()
	XORQ(j, j)
	TESTQ(n, n)
	JZ(LabelRef("end"))
	Label("again")
	var rows []reg.VecVirtual
	for i := range vecs {
		v := vector()
		VMOVUPD(Mem{Base: x, Disp: bytes * i}, v)
		rows = append(rows, v)
	}
	for k := range 4 {
		at := Mem{Base: s[k], Index: j, Scale: 8}
		v := vector()
		VBROADCASTSD(at, v)
		for i := range vecs {
			VFMADD231PD(v, rows[i], sums[k*vecs+i])
		}
	}
	ADDQ(U32(8*panel), x)
	INCQ(j)
	CMPQ(j, n)
	JB(LabelRef("again"))
	Label("end")
	for k := range 4 {
		for i := range vecs {
			VMOVUPD(sums[k*vecs+i], Mem{Base: out, Disp: 8*panel*k + bytes*i})
		}
	}
	VZEROUPPER()
	RET()
}
