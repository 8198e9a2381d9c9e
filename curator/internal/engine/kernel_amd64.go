package engine

import "golang.org/x/sys/cpu"

//go:generate go -C _asm run main.go -out ../lanes_amd64.s -stubs ../lanes_amd64.go -pkg engine

// kernels returns the kernels that this machine supports, the fastest last.
func kernels() []kernel {
	all := []kernel{portable}
	if cpu.X86.HasAVX2 {
		all = append(all, kernel{"AVX2", dots256, add256})
	}
	if cpu.X86.HasAVX512F {
		all = append(all, kernel{"AVX-512", dots512, add512})
	}
	return all
}

// together is the number of vectors, and of rows, that the kernels dots4 and add4 process at a
// time.
const together = 4

func dots256(z, w []float64, x []float32, stride, width int) {
	rows, count := extent(len(z), len(w), x, stride, width)
	if rows == 0 {
		return
	}
	for k := range count {
		dotsAVX2(&z[k], count, &w[k*width], &x[0], stride, rows)
	}
}

func dots512(z, w []float64, x []float32, stride, width int) {
	rows, count := extent(len(z), len(w), x, stride, width)
	if rows == 0 {
		return
	}
	k, whole := 0, rows/together*together
	for ; k <= count-together; k += together {
		dots4AVX512(&z[k], count, &w[k*width], width, &x[0], stride, whole)
		for l := k; l < k+together && whole < rows; l++ {
			dotsAVX512(&z[whole*count+l], count, &w[l*width], &x[whole*stride], stride, rows-whole)
		}
	}
	for ; k < count; k++ {
		dotsAVX512(&z[k], count, &w[k*width], &x[0], stride, rows)
	}
}

func add256(acc []int64, width int, c []float64, x []float32, stride int) {
	rows, count := extent(len(c), len(acc), x, stride, width)
	if rows == 0 {
		return
	}
	for k := range count {
		addAVX2(&acc[k*width], &c[k], count, &x[0], stride, rows, uint64(rows)*magicBits)
	}
}

func add512(acc []int64, width int, c []float64, x []float32, stride int) {
	rows, count := extent(len(c), len(acc), x, stride, width)
	if rows == 0 {
		return
	}
	k, bias := 0, uint64(rows)*magicBits
	for ; k <= count-together; k += together {
		add4AVX512(&acc[k*width], width, &c[k], count, &x[0], stride, rows, bias)
	}
	for ; k < count; k++ {
		addAVX512(&acc[k*width], &c[k], count, &x[0], stride, rows, bias)
	}
}
