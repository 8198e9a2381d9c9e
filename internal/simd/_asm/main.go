// Command gen writes the assembly of package simd, and its Go declarations. It is a separate module, so
// that Stillpoint's module does not depend on the packages that this command imports.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// kind describes one width of registers: the end of the functions' names, the number of float64s in a register
// and the registers.
type kind struct {
	name  string
	lanes int
	reg   func() VecVirtual
}

func main() {
	ConstraintExpr("amd64")
	for _, k := range []kind{{"256", 4, YMM}, {"512", 8, ZMM}} {
		dots(k)
		squares(k, "squares", func(x, sum VecVirtual) {
			VMULPD(x, x, x)
			VADDPD(x, sum, sum)
		})
		squares(k, "fusedSquares", func(x, sum VecVirtual) { VFMADD231PD(x, x, sum) })
		largest(k)
		times(k)
		add(k)
		rounded(k)
		roundedDot(k)
		rotate(k)
		products(k, "products", "AddProducts", func(v, f, sum VecVirtual) { VFMADD231PD(v, f, sum) })
		products(k, "roundedProducts", "AddRoundedProducts", func(v, f, sum VecVirtual) {
			t := k.reg()
			VMULPD(v, f, t)
			VADDPD(t, sum, sum)
		})
		sides(k)
	}
	Generate()
}

func (k kind) bytes() int { return 8 * k.lanes }

func (k kind) zero() VecVirtual {
	z := k.reg()
	if k.lanes == 8 {
		VPXORQ(z, z, z)
	} else {
		VXORPD(z, z, z)
	}
	return z
}

// all returns a register with the integer v in every element.
func (k kind) all(v uint64) VecVirtual {
	r, low, z := GP64(), XMM(), k.reg()
	MOVQ(U64(v), r)
	MOVQ(r, low)
	VPBROADCASTQ(low, z)
	return z
}

// load loads register i of the numbers at a pointer.
func (k kind) load(from GPVirtual, i int) VecVirtual {
	v := k.reg()
	VMOVUPD(Mem{Base: from, Disp: i * k.bytes()}, v)
	return v
}

func parameter(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

func doubles(name string) GPVirtual {
	r := parameter(name)
	SHLQ(U8(3), r)
	return r
}

// over writes loops over the registers of a row, four registers at a time and then one. left counts the
// numbers that are left. body gets the number of registers, and must not change left.
func (k kind) over(left GPVirtual, body func(registers int)) {
	for _, registers := range []int{4, 1} {
		again, end := fmt.Sprintf("again%d", registers), fmt.Sprintf("end%d", registers)
		Label(again)
		CMPQ(left, U8(registers*k.lanes))
		JL(LabelRef(end))
		body(registers)
		SUBQ(U8(registers*k.lanes), left)
		JMP(LabelRef(again))
		Label(end)
	}
}

// down writes a loop over the rows of a block, from the row at x on, for some registers of each row. next is
// the distance of rows in bytes.
func down(registers int, x, next, rows GPVirtual, body func(at GPVirtual)) {
	at, left := GP64(), GP64()
	MOVQ(x, at)
	MOVQ(rows, left)
	label := fmt.Sprintf("row%d", registers)
	Label(label)
	body(at)
	ADDQ(next, at)
	DECQ(left)
	JNZ(LabelRef(label))
}

func header(k kind, name, arguments, doc string) {
	TEXT(name+k.name, NOSPLIT, arguments)
	Pragma("noescape")
	Doc(fmt.Sprintf("%s%s %s lanes is a multiple of %d.", name, k.name, doc, k.lanes))
}

func dots(k kind) {
	header(k, "dots", "func(dst, w *float64, step int, x *float64, n, lanes, rows int)",
		"is Dots for the first lanes of n records and at least one row.")
	dst, w, step, x, n, left, rows := parameter("dst"), parameter("w"), doubles("step"), parameter("x"), doubles("n"),
		parameter("lanes"), parameter("rows")
	k.over(left, func(registers int) {
		var sums []VecVirtual
		for range registers {
			sums = append(sums, k.zero())
		}
		weight := GP64()
		MOVQ(w, weight)
		down(registers, x, n, rows, func(at GPVirtual) {
			v := k.reg()
			VBROADCASTSD(Mem{Base: weight}, v)
			for i, s := range sums {
				VFMADD231PD(Mem{Base: at, Disp: i * k.bytes()}, v, s)
			}
			ADDQ(step, weight)
		})
		for i, s := range sums {
			VMOVUPD(s, Mem{Base: dst, Disp: i * k.bytes()})
		}
		ADDQ(U32(registers*k.bytes()), x)
		ADDQ(U32(registers*k.bytes()), dst)
	})
	VZEROUPPER()
	RET()
}

func squares(k kind, name string, body func(x, sum VecVirtual)) {
	reduce(k, name, "is the Go function for the first lanes of n records and at least one row.", body)
}

func largest(k kind) {
	reduce(k, "largest", "is Largest for the first lanes of n records and at least one row.", func(x, big VecVirtual) {
		VPSLLQ(U8(1), x, x) // takes the sign away
		VPSRLQ(U8(1), x, x)
		if k.lanes == 8 {
			VPMAXSQ(x, big, big)
			return
		}
		more := k.reg()
		VPCMPGTQ(big, x, more)
		VBLENDVPD(more, x, big, big)
	})
}

// reduce writes a function that folds the rows of a block into one row, from zero on.
func reduce(k kind, name, doc string, body func(x, sum VecVirtual)) {
	header(k, name, "func(dst, x *float64, n, lanes, rows int)", doc)
	dst, x, n, left, rows := parameter("dst"), parameter("x"), doubles("n"), parameter("lanes"), parameter("rows")
	k.over(left, func(registers int) {
		var sums []VecVirtual
		for range registers {
			sums = append(sums, k.zero())
		}
		down(registers, x, n, rows, func(at GPVirtual) {
			for i, s := range sums {
				v := k.reg()
				VMOVUPD(Mem{Base: at, Disp: i * k.bytes()}, v)
				body(v, s)
			}
		})
		for i, s := range sums {
			VMOVUPD(s, Mem{Base: dst, Disp: i * k.bytes()})
		}
		ADDQ(U32(registers*k.bytes()), x)
		ADDQ(U32(registers*k.bytes()), dst)
	})
	VZEROUPPER()
	RET()
}

func times(k kind) {
	header(k, "times", "func(dst, x, f *float64, n, lanes, rows int)",
		"is Times for the first lanes of n records and at least one row.")
	dst, x, f, n, left, rows := parameter("dst"), parameter("x"), parameter("f"), doubles("n"), parameter("lanes"),
		parameter("rows")
	k.over(left, func(registers int) {
		var factors []VecVirtual
		for i := range registers {
			v := k.reg()
			VMOVUPD(Mem{Base: f, Disp: i * k.bytes()}, v)
			factors = append(factors, v)
		}
		to := GP64()
		MOVQ(dst, to)
		down(registers, x, n, rows, func(at GPVirtual) {
			for i, f := range factors {
				v := k.reg()
				VMULPD(Mem{Base: at, Disp: i * k.bytes()}, f, v)
				VMOVUPD(v, Mem{Base: to, Disp: i * k.bytes()})
			}
			ADDQ(n, to)
		})
		for _, p := range []GPVirtual{dst, x, f} {
			ADDQ(U32(registers*k.bytes()), p)
		}
	})
	VZEROUPPER()
	RET()
}

func add(k kind) {
	header(k, "add", "func(dst *float64, a float64, x *float64, lanes int)", "is Add for the first numbers, lanes of them.")
	dst, x, left := parameter("dst"), parameter("x"), parameter("lanes")
	a, low := k.reg(), XMM()
	Load(Param("a"), low)
	VBROADCASTSD(low, a)
	k.over(left, func(registers int) {
		for i := range registers {
			v := k.reg()
			VMULPD(Mem{Base: x, Disp: i * k.bytes()}, a, v)
			VADDPD(Mem{Base: dst, Disp: i * k.bytes()}, v, v)
			VMOVUPD(v, Mem{Base: dst, Disp: i * k.bytes()})
		}
		ADDQ(U32(registers*k.bytes()), x)
		ADDQ(U32(registers*k.bytes()), dst)
	})
	VZEROUPPER()
	RET()
}

// magic is the bit pattern of 1.5*2^52, which is added to a number to round it to an integer.
const magic = 0x4338000000000000

func rounded(k kind) {
	header(k, "rounded", "func(x *float64, lanes int) int64", "is Rounded for the first numbers, lanes of them.")
	x, left, m := parameter("x"), parameter("lanes"), k.all(magic)
	k.sumOfBits(left, m, func(i int) VecVirtual {
		v := k.reg()
		VADDPD(Mem{Base: x, Disp: i * k.bytes()}, m, v)
		return v
	}, x)
}

func roundedDot(k kind) {
	header(k, "roundedDot", "func(x, y *float64, lanes int) int64", "is RoundedDot for the first numbers, lanes of them.")
	x, y, left, m := parameter("x"), parameter("y"), parameter("lanes"), k.all(magic)
	k.sumOfBits(left, m, func(i int) VecVirtual {
		v := k.load(x, i)
		VFMADD213PD(m, k.load(y, i), v)
		return v
	}, x, y)
}

// sumOfBits writes the sum, over all registers of numbers at the pointers, of the bits of what term leaves, less those
// of m, and the end of the function, which returns the sum.
func (k kind) sumOfBits(left GPVirtual, m VecVirtual, term func(i int) VecVirtual, pointers ...GPVirtual) {
	sum := k.zero()
	k.over(left, func(registers int) {
		for i := range registers {
			v := term(i)
			VPSUBQ(m, v, v)
			VPADDQ(v, sum, sum)
		}
		for _, p := range pointers {
			ADDQ(U32(registers*k.bytes()), p)
		}
	})
	if k.lanes == 8 {
		high := YMM()
		VEXTRACTI64X4(U8(1), sum, high)
		VPADDQ(high, sum.AsY(), sum.AsY())
	}
	high := XMM()
	VEXTRACTI128(U8(1), sum.AsY(), high)
	VPADDQ(high, sum.AsX(), sum.AsX())
	VPSRLDQ(U8(8), sum.AsX(), high)
	VPADDQ(high, sum.AsX(), sum.AsX())
	VZEROUPPER()
	out := GP64()
	MOVQ(sum.AsX(), out)
	Store(out, ReturnIndex(0))
	RET()
}

func rotate(k kind) {
	header(k, "rotate", "func(x *float64, next int, c, s *float64, lanes, rotations int)",
		"is Rotate for the first lanes, of rows from x on, each next numbers after the one before it.")
	x, next, cosines, sines, left, rotations := parameter("x"), doubles("next"), parameter("c"), parameter("s"),
		parameter("lanes"), parameter("rotations")
	k.over(left, func(registers int) {
		var held []VecVirtual
		for i := range registers {
			v := k.reg()
			VMOVUPD(Mem{Base: x, Disp: i * k.bytes()}, v)
			held = append(held, v)
		}
		at, index := GP64(), GP64()
		MOVQ(x, at)
		XORQ(index, index)
		label := fmt.Sprintf("rotation%d", registers)
		Label(label)
		c, s, to := k.reg(), k.reg(), GP64()
		VBROADCASTSD(Mem{Base: cosines, Index: index, Scale: 8}, c)
		VBROADCASTSD(Mem{Base: sines, Index: index, Scale: 8}, s)
		MOVQ(at, to)
		ADDQ(next, at)
		for i, h := range held {
			other, kept := k.reg(), k.reg()
			VMOVUPD(Mem{Base: at, Disp: i * k.bytes()}, other)
			VMULPD(s, other, kept)
			VFMADD231PD(c, h, kept)
			VMOVUPD(kept, Mem{Base: to, Disp: i * k.bytes()})
			VMULPD(c, other, other)
			VFNMADD213PD(other, s, h)
		}
		INCQ(index)
		CMPQ(index, rotations)
		JB(LabelRef(label))
		for i, h := range held {
			VMOVUPD(h, Mem{Base: at, Disp: i * k.bytes()})
		}
		ADDQ(U32(registers*k.bytes()), x)
	})
	VZEROUPPER()
	RET()
}

// columns is the number of columns of AddProducts.
const columns = 32

// four returns pointers to four rows: the first at p, each next numbers after the one before it.
func four(p, next GPVirtual) []GPVirtual {
	rows := []GPVirtual{p}
	for i := range 3 {
		r := GP64()
		LEAQ(Mem{Base: rows[i], Index: next, Scale: 1}, r)
		rows = append(rows, r)
	}
	return rows
}

// products writes AddProducts, or AddRoundedProducts; add adds v times f to sum. The sums of some columns are
// held in registers: of all of them with AVX-512, of a quarter with AVX2.
func products(k kind, name, of string, add func(v, f, sum VecVirtual)) {
	name += k.name
	TEXT(name, NOSPLIT, "func(c *float64, cs int, l *float64, ls int, b *float64, bs, m int)")
	Pragma("noescape")
	Doc(name + " is " + of + " for m of at least 1.")
	c := four(parameter("c"), doubles("cs"))
	l := four(parameter("l"), doubles("ls"))
	b, next, m := parameter("b"), doubles("bs"), parameter("m")
	registers := k.lanes / 2
	chunk := registers * k.bytes()
	left := GP64()
	MOVQ(U64(8*columns/chunk), left)
	Label("chunk")
	var sums []VecVirtual
	for _, row := range c {
		for i := range registers {
			v := k.reg()
			VMOVUPD(Mem{Base: row, Disp: i * k.bytes()}, v)
			sums = append(sums, v)
		}
	}
	at, index := GP64(), GP64()
	MOVQ(b, at)
	XORQ(index, index)
	Label("again")
	var numbers []VecVirtual
	for i := range registers {
		v := k.reg()
		VMOVUPD(Mem{Base: at, Disp: i * k.bytes()}, v)
		numbers = append(numbers, v)
	}
	for j, row := range l {
		f := k.reg()
		VBROADCASTSD(Mem{Base: row, Index: index, Scale: 8}, f)
		for i, v := range numbers {
			add(v, f, sums[j*registers+i])
		}
	}
	ADDQ(next, at)
	INCQ(index)
	CMPQ(index, m)
	JB(LabelRef("again"))
	for j, row := range c {
		for i := range registers {
			VMOVUPD(sums[j*registers+i], Mem{Base: row, Disp: i * k.bytes()})
		}
		ADDQ(U32(chunk), row)
	}
	ADDQ(U32(chunk), b)
	DECQ(left)
	JNZ(LabelRef("chunk"))
	VZEROUPPER()
	RET()
}

// sides writes Sides. A row's sums are held in as many registers as eight numbers need.
func sides(k kind) {
	name := "sides" + k.name
	TEXT(name, NOSPLIT, "func(s, y, a *float64, stride int, v, u *float64, n int)")
	Pragma("noescape")
	Doc(name + " is Sides for n of at least 8, a multiple of 8: it sets the four numbers at s to its result.")
	s, y, a, v := parameter("s"), parameter("y"), four(parameter("a"), doubles("stride")), parameter("v")
	u, n := parameter("u"), parameter("n")
	registers := 8 / k.lanes
	var weights, sums []VecVirtual
	for j := range a {
		w := k.reg()
		VBROADCASTSD(Mem{Base: u, Disp: 8 * j}, w)
		weights = append(weights, w)
		for range registers {
			sums = append(sums, k.zero())
		}
	}
	SHRQ(U8(3), n)
	index := GP64()
	XORQ(index, index)
	Label("again")
	for i := range registers {
		in := func(p GPVirtual) Mem { return Mem{Base: p, Index: index, Scale: 8, Disp: i * k.bytes()} }
		column, x := k.reg(), k.reg()
		VMOVUPD(in(y), column)
		VMOVUPD(in(v), x)
		for j, row := range a {
			t := k.reg()
			VMOVUPD(in(row), t)
			VFMADD231PD(t, weights[j], column)
			VFMADD231PD(t, x, sums[j*registers+i])
		}
		VMOVUPD(column, in(y))
	}
	ADDQ(U8(8), index)
	DECQ(n)
	JNZ(LabelRef("again"))
	for j := range a {
		sum := sums[j*registers]
		four := sum.AsY()
		if k.lanes == 8 {
			high := YMM()
			VEXTRACTF64X4(U8(1), sum, high)
			VADDPD(high, four, four)
		} else {
			VADDPD(sums[j*registers+1], four, four)
		}
		high, low := XMM(), sum.AsX()
		VEXTRACTF128(U8(1), four, high)
		VADDPD(high, low, low)
		VUNPCKHPD(low, low, high)
		VADDSD(high, low, low)
		VMOVSD(low, Mem{Base: s, Disp: 8 * j})
	}
	VZEROUPPER()
	RET()
}
