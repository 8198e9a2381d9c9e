package repromath

import (
	"math"

	"golang.org/x/sys/cpu"
)

//go:generate env GOWORK=off go run -C _asm . -out ../exp_amd64.s -stubs ../exp_amd64_stubs.go -pkg repromath

// has256 and has512 report whether the processor and the operating system support the instructions
// of the functions that end in 256 and 512. FMA is tested separately, although every processor with AVX2 has it.
// cpu.X86.HasAVX512F also reports that the system saves the wide registers.
var (
	has256 = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	has512 = cpu.X86.HasAVX512F
)

// expsAtOnce sets the first n elements of dst to exponentials of x by vector instructions, where n is
// the largest multiple of the register width that is at most len(dst), and returns n.
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

// softmaxesAtOnce is Softmaxes for the first records by vector instructions, and returns how many these are.
func softmaxesAtOnce(z, class []float64) (n int) {
	records := len(class)
	switch {
	case has512 && records >= 8:
		n = records &^ 7
		softmaxes512(&z[0], &class[0], len(z)/records, n, records)
	case has256 && records >= 4:
		n = records &^ 3
		softmaxes256(&z[0], &class[0], len(z)/records, n, records)
	}
	return n
}

// softmaxPartsAtOnce is SoftmaxParts for the first records by vector instructions, and returns how many these are.
func softmaxPartsAtOnce(gap, rest, z, class []float64) (n int) {
	records := len(class)
	switch {
	case has512 && records >= 8:
		n = records &^ 7
		softmaxParts512(&gap[0], &rest[0], &z[0], &class[0], len(z)/records, n, records)
	case has256 && records >= 4:
		n = records &^ 3
		softmaxParts256(&gap[0], &rest[0], &z[0], &class[0], len(z)/records, n, records)
	}
	return n
}

// fused says that math.Log1p was compiled to fused operations, as with GOAMD64=v3. Its bits are then not those of the vector
// instructions, and a number's logarithm would depend on its place among others.
var fused = math.Log1p(0.4289270524628884) != 0.3569238496831492

// logsAtOnce sets the first n elements of dst to logarithms of x by vector instructions, up to a register of numbers of
// which they do not compute all, and returns n.
func logsAtOnce(dst, x []float64, of logarithm) (n int) {
	if of == commonLog1p && fused {
		return 0
	}
	if has512 && len(x) >= 8 {
		switch n = len(x) &^ 7; of {
		case log:
			return n - logs512(&dst[0], &x[0], n)
		case log1p:
			return n - log1ps512(&dst[0], &x[0], n)
		default:
			return n - commonLog1ps512(&dst[0], &x[0], n)
		}
	}
	if has256 && len(x) >= 4 {
		switch n = len(x) &^ 3; of {
		case log:
			return n - logs256(&dst[0], &x[0], n)
		case log1p:
			return n - log1ps256(&dst[0], &x[0], n)
		default:
			return n - commonLog1ps256(&dst[0], &x[0], n)
		}
	}
	return 0
}

// tanhsAtOnce computes the first n results of Tanhs by vector instructions, where n is the largest multiple of the
// register width that is at most len(u), and returns n.
func tanhsAtOnce(dst, slopes, u []float64, scale float64) (n int) {
	switch {
	case has512 && len(u) >= 8:
		n = len(u) &^ 7
		tanhs512(&dst[0], &slopes[0], &u[0], scale, n)
	case has256 && len(u) >= 4:
		n = len(u) &^ 3
		tanhs256(&dst[0], &slopes[0], &u[0], scale, n)
	}
	return n
}

// wavesAtOnce is Waves by vector instructions. It returns false and does nothing if there are none, or too few pairs for
// them. The last pairs are computed twice if their number is no multiple of the width.
func wavesAtOnce(dst []float32, stride, pairs int, by, effects []float64, columns, rows int, amplitude float64) bool {
	waves, lanes := waves512, 32
	if !has512 || pairs < lanes {
		waves, lanes = waves256, 16
	}
	if !has256 || pairs < lanes {
		return false
	}
	whole, last := pairs/lanes*lanes, pairs-lanes
	waves(&dst[0], &by[0], pairs, &effects[0], columns, whole, rows, stride, amplitude)
	if whole < pairs {
		waves(&dst[2*last], &by[last], pairs, &effects[0], columns, lanes, rows, stride, amplitude)
	}
	return true
}
