package simd

import "golang.org/x/sys/cpu"

//go:generate env GOWORK=off go run -C _asm . -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg simd

// has256 and has512 report whether the processor and the operating system support the instructions of the functions
// that end in 256 and 512. cpu.X86.HasAVX512F also reports that the system saves the wide registers.
var (
	has256 = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	has512 = cpu.X86.HasAVX512F
)

// AtOnce reports whether the functions of this package work on several records at a time on this machine.
func AtOnce() bool { return has512 || has256 }

// atOnce returns the number of n numbers that vector instructions process: the largest multiple of the width
// of a register, and 0 without rows or on a machine without these instructions. by512 says which functions to call.
func atOnce(n, rows int) (vector int, by512 bool) {
	switch {
	case rows == 0:
		return 0, false
	case has512 && n >= 8:
		return n &^ 7, true
	case has256:
		return n &^ 3, false
	}
	return 0, false
}

// The functions below compute the first records, or numbers, by vector instructions, and return how many.
// The callers have checked the lengths.

func dotsAtOnce(dst, w []float64, step int, x []float64, m int) int {
	v, wide := atOnce(len(dst), m)
	if wide {
		dots512(&dst[0], &w[0], step, &x[0], len(dst), v, m)
	} else if v > 0 {
		dots256(&dst[0], &w[0], step, &x[0], len(dst), v, m)
	}
	return v
}

func squaresAtOnce(dst, x []float64, m int) int {
	v, wide := atOnce(len(dst), m)
	if wide {
		squares512(&dst[0], &x[0], len(dst), v, m)
	} else if v > 0 {
		squares256(&dst[0], &x[0], len(dst), v, m)
	}
	return v
}

func fusedSquaresAtOnce(dst, x []float64, m int) int {
	v, wide := atOnce(len(dst), m)
	if wide {
		fusedSquares512(&dst[0], &x[0], len(dst), v, m)
	} else if v > 0 {
		fusedSquares256(&dst[0], &x[0], len(dst), v, m)
	}
	return v
}

func largestAtOnce(dst, x []float64, m int) int {
	v, wide := atOnce(len(dst), m)
	if wide {
		largest512(&dst[0], &x[0], len(dst), v, m)
	} else if v > 0 {
		largest256(&dst[0], &x[0], len(dst), v, m)
	}
	return v
}

func timesAtOnce(dst, x, f []float64, m int) int {
	v, wide := atOnce(len(f), m)
	if wide {
		times512(&dst[0], &x[0], &f[0], len(f), v, m)
	} else if v > 0 {
		times256(&dst[0], &x[0], &f[0], len(f), v, m)
	}
	return v
}

func addAtOnce(dst []float64, a float64, x []float64) int {
	v, wide := atOnce(len(dst), 1)
	if wide {
		add512(&dst[0], a, &x[0], v)
	} else if v > 0 {
		add256(&dst[0], a, &x[0], v)
	}
	return v
}

func roundedAtOnce(x []float64) (sum int64, i int) {
	v, wide := atOnce(len(x), 1)
	if wide {
		sum = rounded512(&x[0], v)
	} else if v > 0 {
		sum = rounded256(&x[0], v)
	}
	return sum, v
}

func roundedDotAtOnce(x, y []float64) (sum int64, i int) {
	v, wide := atOnce(len(x), 1)
	if wide {
		sum = roundedDot512(&x[0], &y[0], v)
	} else if v > 0 {
		sum = roundedDot256(&x[0], &y[0], v)
	}
	return sum, v
}

func rotateAtOnce(x []float64, n, first, step int, c, s []float64) int {
	v, wide := atOnce(n, 1)
	if wide {
		rotate512(&x[first*n], step*n, &c[0], &s[0], v, len(c))
	} else if v > 0 {
		rotate256(&x[first*n], step*n, &c[0], &s[0], v, len(c))
	}
	return v
}

func productsAtOnce(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) bool {
	if has512 {
		products512(&c[0], cs, &l[0], ls, &b[0], bs, m)
	} else if has256 {
		products256(&c[0], cs, &l[0], ls, &b[0], bs, m)
	}
	return AtOnce()
}

func roundedProductsAtOnce(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) bool {
	if has512 {
		roundedProducts512(&c[0], cs, &l[0], ls, &b[0], bs, m)
	} else if has256 {
		roundedProducts256(&c[0], cs, &l[0], ls, &b[0], bs, m)
	}
	return AtOnce()
}

func sidesAtOnce(s *[4]float64, y, a []float64, stride int, v []float64, u *[4]float64) bool {
	if has512 {
		sides512(&s[0], &y[0], &a[0], stride, &v[0], &u[0], len(v))
	} else if has256 {
		sides256(&s[0], &y[0], &a[0], stride, &v[0], &u[0], len(v))
	}
	return AtOnce()
}
