package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edges holds the arguments that describe the hats of rows: for each row and edge, the index of a hat, and two float32s.
type edges struct{ at, by, edges, rows reg.GPVirtual }

const edgeArguments = "at *uint32, by *float32, edges, rows int"

func loadEdges() edges {
	return edges{parameter("at"), parameter("by"), parameter("edges"), parameter("rows")}
}

// each writes a loop over the edges of a row. two holds the values of the two hats in each half of the register.
func (e edges) each(body func(at reg.GPVirtual, two reg.VecVirtual)) {
	left, at, two := GP64(), GP64(), YMM()
	MOVQ(e.edges, left)
	Label("edge")
	MOVL(Mem{Base: e.at}, at.As32())
	VMOVDDUP(Mem{Base: e.by}, two.AsX())
	VCVTPS2PD(two.AsX(), two)
	body(at, two)
	ADDQ(U8(4), e.at)
	ADDQ(U8(8), e.by)
	DECQ(left)
	JNZ(LabelRef("edge"))
}

// vectors returns registers with pointers to n vectors, each a width behind the one before it.
func vectors(first string, n int) (p []reg.GPVirtual) {
	p = []reg.GPVirtual{parameter(first)}
	width := doubles("width")
	for k := 1; k < n; k++ {
		next := GP64()
		LEAQ(Mem{Base: p[k-1], Index: width, Scale: 1}, next)
		p = append(p, next)
	}
	return p
}

// dotsAtEdges writes the function that adds products of hats with 1, 2 or 4 vectors to margins.
func dotsAtEdges(n int) {
	name := label("dotsAtEdges", n) + "AVX2"
	TEXT(name, NOSPLIT, "func(z *float64, step int, w *float64, width int, "+edgeArguments+")")
	Doc(fmt.Sprintf("%s adds the products of the hats of row i with the vector that is k widths behind w to z[i*step+k],", name),
		fmt.Sprintf("for k below %d, in the order of the function dotsAtEdges. edges and rows are at least 1.", n))
	Pragma("noescape")
	z, step, w, e := parameter("z"), doubles("step"), vectors("w", n), loadEdges()
	Label("row")
	sum := YMM()
	VXORPD(sum, sum, sum)
	e.each(func(at reg.GPVirtual, two reg.VecVirtual) {
		hats := func(k int) Mem { return Mem{Base: w[k], Index: at, Scale: 8} }
		a, b := YMM(), YMM()
		switch n {
		case 4: // the sum of neighbours takes its numbers from both operands by turns
			VMOVUPD(hats(0), a.AsX())
			VINSERTF128(U8(1), hats(2), a, a)
			VMOVUPD(hats(1), b.AsX())
			VINSERTF128(U8(1), hats(3), b, b)
			VMULPD(two, a, a)
			VMULPD(two, b, b)
			VHADDPD(b, a, a)
			VADDPD(a, sum, sum)
		default:
			VMULPD(hats(0), two.AsX(), a.AsX())
			VMULPD(hats(n-1), two.AsX(), b.AsX())
			VHADDPD(b.AsX(), a.AsX(), a.AsX())
			VADDPD(a.AsX(), sum.AsX(), sum.AsX())
		}
	})
	switch n {
	case 4:
		VADDPD(Mem{Base: z}, sum, sum)
		VMOVUPD(sum, Mem{Base: z})
	case 2:
		VADDPD(Mem{Base: z}, sum.AsX(), sum.AsX())
		VMOVUPD(sum.AsX(), Mem{Base: z})
	default:
		VADDSD(Mem{Base: z}, sum.AsX(), sum.AsX())
		VMOVSD(sum.AsX(), Mem{Base: z})
	}
	ADDQ(step, z)
	DECQ(e.rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// addAtEdges writes the function that adds rounded multiples of hats to 1, 2 or 4 sums.
func addAtEdges(n int) {
	name := label("addAtEdges", n) + "AVX2"
	TEXT(name, NOSPLIT, "func(acc *int64, width int, c *float64, step int, "+edgeArguments+")")
	Doc(fmt.Sprintf("%s adds c[i*step+k] times the hats of row i, rounded, to the sums that are k widths behind acc,", name),
		fmt.Sprintf("for k below %d. edges and rows are at least 1.", n))
	Pragma("noescape")
	acc, c, step, e := vectors("acc", n), parameter("c"), doubles("step"), loadEdges()
	bits, m := GP64(), XMM()
	MOVQ(U64(magic), bits)
	VMOVQ(bits, m)
	VMOVDDUP(m, m)
	Label("row")
	var factors []reg.VecVirtual
	for k := range n {
		f := XMM()
		VMOVDDUP(Mem{Base: c, Disp: 8 * k}, f)
		factors = append(factors, f)
	}
	e.each(func(at reg.GPVirtual, two reg.VecVirtual) {
		for k := range n {
			sums, steps := Mem{Base: acc[k], Index: at, Scale: 8}, XMM()
			VMOVAPD(m, steps)
			VFMADD231PD(factors[k], two.AsX(), steps)
			VPSUBQ(m, steps, steps)
			VPADDQ(sums, steps, steps)
			VMOVDQU(steps, sums)
		}
	})
	ADDQ(step, c)
	DECQ(e.rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
