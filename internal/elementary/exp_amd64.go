package elementary

import "golang.org/x/sys/cpu"

//go:generate go run -C _asm . -out ../exp_amd64.s -stubs ../exp_amd64_stubs.go -pkg elementary

// has256 and has512 report the support of processor and system. FMA is tested separately, although
// every processor with AVX2 has it. cpu.X86.HasAVX512F also says that the system saves the wide
// registers.
var (
	has256 = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	has512 = cpu.X86.HasAVX512F
)

// expsAtOnce sets the first n numbers of dst, a multiple of the register width, and returns n.
func expsAtOnce(dst, x []float64) (n int) {
	switch {
	case has512 && len(dst) >= 8:
		n = len(dst) &^ 7
		exps512(&dst[0], &x[0], n)
	case has256 && len(dst) >= 4:
		n = len(dst) &^ 3
		exps256(&dst[0], &x[0], n)
	}
	return n
}
