// Command gen writes the assembly of package elementary, and its Go declarations. It is a separate module, so
// that Stillpoint's module does not depend on the packages that this command imports.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/stillpoint-dp/stillpoint/internal/elementary/gen/exp"
)

func main() {
	ConstraintExpr("amd64")
	exps("exps256", exp.Half)
	exps("exps512", exp.Whole)
	Generate()
}

// exps emits a loop that computes e^x for one register of numbers at a time.
func exps(name string, w exp.Width) {
	TEXT(name, NOSPLIT, "func(dst, x *float64, n int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s sets dst[i] to Exp(x[i]) for 0 <= i < n; n is a multiple of %d.", name, w.Lanes))
	dst, x, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())

	Label("loop")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	v := w.Register()
	VMOVUPD(Mem{Base: x}, v)
	exp.Of(w, v)
	VMOVUPD(v, Mem{Base: dst})
	ADDQ(Imm(uint64(8*w.Lanes)), x)
	ADDQ(Imm(uint64(8*w.Lanes)), dst)
	SUBQ(Imm(uint64(w.Lanes)), n)
	JMP(LabelRef("loop"))

	Label("done")
	VZEROUPPER()
	RET()
}
