package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/stillpoint-dp/stillpoint/internal/repromath/gen/exp"
)

// coefficients writes a loop from margins and targets to the coefficients of clipped gradients, in
// grid steps. slope writes the loss's slope at margins z and targets y to z. parameter holds the loss's
// parameter in each element. The method fused.portable in ../fused.go computes the same
// numbers in portable Go.
func coefficients(text string, w exp.Width, slope func(w exp.Width, z, y, parameter reg.VecVirtual)) {
	TEXT(text, NOSPLIT, "func(c, z, y *float64, n int, parameter, radius, weight, scale float64)")
	Doc(fmt.Sprintf("%s sets c[i] to the coefficient of the record with margin z[i] and target y[i],", text),
		fmt.Sprintf("for i below n, a multiple of %d.", w.Lanes))
	Pragma("noescape")
	c, z, y, n := parameter("c"), parameter("z"), parameter("y"), parameter("n")
	k := loadClipping(w)
	Label("again")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	s, t := w.Register(), w.Register()
	VMOVUPD(Mem{Base: z}, s)
	VMOVUPD(Mem{Base: y}, t)
	slope(w, s, t, k.parameter)
	k.toSteps(w, s)
	VMOVUPD(s, Mem{Base: c})
	for _, p := range []reg.GPVirtual{c, z, y} {
		ADDQ(U8(8*w.Lanes), p)
	}
	SUBQ(U8(w.Lanes), n)
	JMP(LabelRef("again"))
	Label("end")
	VZEROUPPER()
	RET()
}

// clipping holds the parameter of a loss and the numbers that turn a slope into steps, in each element of
// a register.
type clipping struct{ parameter, least, most, weight, scale reg.VecVirtual }

func loadClipping(w exp.Width) clipping {
	k := clipping{parameter: everywhere(w, "parameter"), most: everywhere(w, "radius"),
		weight: everywhere(w, "weight"), scale: everywhere(w, "scale")}
	k.least = negative(w, k.most)
	return k
}

// toSteps writes the steps of the slopes s to s: clipped slopes times weight and scale, and 0 where
// the slope or the steps are not finite.
func (k clipping) toSteps(w exp.Width, s reg.VecVirtual) {
	// A number minus itself is 0, and NaN if the number is not finite.
	unsound, steps := w.Register(), w.Register()
	VSUBPD(s, s, unsound)
	clamp(s, k.least, k.most)
	VMULPD(k.weight, s, s)
	VMULPD(k.scale, s, s)
	VSUBPD(s, s, steps)
	VADDPD(steps, unsound, unsound)
	// Predicate 7 is true where both operands are numbers.
	if w.Lanes == exp.Whole.Lanes {
		sound := K()
		VCMPPD(U8(7), unsound, unsound, sound)
		VMOVAPD_Z(s, sound, s)
	} else {
		VCMPPD(U8(7), unsound, unsound, unsound)
		VANDPD(unsound, s, s)
	}
}

// logistic writes -y/(1 + e^(y z)) to z.
func logistic(w exp.Width, z, y, _ reg.VecVirtual) {
	VMULPD(z, y, z)
	exp.Of(w, z)
	VADDPD(exp.Float(1), z, z)
	VDIVPD(z, negative(w, y), z)
}

// residual writes z - y, clamped to [-most, most], to z.
func residual(w exp.Width, z, y, most reg.VecVirtual) {
	VSUBPD(y, z, z)
	clamp(z, negative(w, most), most)
}

// clamp clamps v to [least, most]. It leaves NaN as it is: of two operands of which one is NaN, the
// instructions return the second source, which avo writes first.
func clamp(v, least, most reg.VecVirtual) {
	VMAXPD(v, least, v)
	VMINPD(v, most, v)
}

// everywhere returns a register with copies of a parameter. Load would use an SSE instruction, which takes
// hundreds of cycles between those of AVX.
func everywhere(w exp.Width, name string) reg.VecVirtual {
	v := w.Register()
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(p.Addr, v)
	return v
}

// negative returns -v.
func negative(w exp.Width, v reg.VecVirtual) reg.VecVirtual {
	n, sign := w.Register(), exp.Wide(1<<63)
	if w.Lanes == exp.Whole.Lanes {
		VPXORQ(sign, v, n)
	} else {
		VPXOR(sign, v, n)
	}
	return n
}
