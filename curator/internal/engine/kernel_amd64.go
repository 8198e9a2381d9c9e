package engine

import (
	"golang.org/x/sys/cpu"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

//go:generate env GOWORK=off go -C _asm run . -out ../lanes_amd64.s -stubs ../lanes_amd64.go -pkg engine

// kernels returns the kernels that this machine supports, the fastest last.
func kernels() []kernel {
	all := []kernel{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA { // every processor with AVX2 has FMA
		all = append(all, kernel{"AVX2", dots256, add256, dotsAtCodes256, addAtCodes256, dotsAtEdges256, addAtEdges256,
			pairs256, weigh256, inLanes(4, logisticAVX2), inLanes(4, residualAVX2)})
	}
	if cpu.X86.HasAVX512F {
		all = append(all, kernel{"AVX-512", dots512, add512, dotsAtCodes256, addAtCodes256, dotsAtEdges256, addAtEdges256,
			pairs512, weigh512, inLanes(8, logisticAVX512), inLanes(8, residualAVX512)})
	}
	return all
}

// together is the largest number of vectors, or of sums, that an assembly function processes at a time, and fourRows the
// number of rows that those of several vectors process at a time.
const together, fourRows = 5, 4

// next returns how many of count vectors are processed together, if all are divided as evenly as possible into as few
// groups as possible.
func next(count int) int {
	groups := (count + together - 1) / together
	return (count + groups - 1) / groups
}

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
	for k, n := 0, 0; k < count; k += n {
		n = next(count - k)
		whole := rows / fourRows * fourRows
		switch to, from := &z[k], &w[k*width]; n {
		case 5:
			dots5AVX512(to, count, from, width, &x[0], stride, whole)
		case 4:
			dots4AVX512(to, count, from, width, &x[0], stride, whole)
		case 3:
			dots3AVX512(to, count, from, width, &x[0], stride, whole)
		case 2:
			dots2AVX512(to, count, from, width, &x[0], stride, whole)
		default:
			whole = 0
		}
		for l := k; l < k+n && whole < rows; l++ {
			dotsAVX512(&z[whole*count+l], count, &w[l*width], &x[whole*stride], stride, rows-whole)
		}
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
	bias := uint64(rows) * magicBits
	for k, n := 0, 0; k < count; k += n {
		n = next(count - k)
		switch to, from := &acc[k*width], &c[k]; n {
		case 5:
			add5AVX512(to, width, from, count, &x[0], stride, rows, bias)
		case 4:
			add4AVX512(to, width, from, count, &x[0], stride, rows, bias)
		case 3:
			add3AVX512(to, width, from, count, &x[0], stride, rows, bias)
		case 2:
			add2AVX512(to, width, from, count, &x[0], stride, rows, bias)
		default:
			addAVX512(to, from, count, &x[0], stride, rows, bias)
		}
	}
}

func dotsAtCodes256(z, w []float64, levels []float32, codes row.Codes, stride, width int) {
	n, count, groups := atCodes(len(z), len(w), levels, codes, stride, width)
	for k := 0; k < count && n > 0; k++ {
		if hot := w[k*width+stride : (k+1)*width]; codes.Wide != nil {
			dotsWideAVX2(&z[k], count, &hot[0], &levels[0], &codes.Wide[0], groups, n)
		} else {
			dotsNarrowAVX2(&z[k], count, &hot[0], &levels[0], &codes.Narrow[0], groups, n)
		}
	}
}

func addAtCodes256(acc []int64, width int, c []float64, levels []float32, codes row.Codes, stride int) {
	n, count, groups := atCodes(len(c), len(acc), levels, codes, stride, width)
	for k := 0; k < count && n > 0; k++ {
		if sums := acc[k*width+stride : (k+1)*width]; codes.Wide != nil {
			addWideAVX2(&sums[0], &c[k], count, &levels[0], &codes.Wide[0], groups, n)
		} else {
			addNarrowAVX2(&sums[0], &c[k], count, &levels[0], &codes.Narrow[0], groups, n)
		}
	}
}

func dotsAtEdges256(z, w []float64, e row.Edges, edges, stride, width int) {
	rows, count := atEdges(len(z), len(w), e, edges, stride, width)
	for k, n := 0, 0; k < count && rows > 0; k += n {
		switch to, hot := &z[k], &w[k*width+stride]; {
		case count-k >= 4:
			n = 4
			dotsAtEdges4AVX2(to, count, hot, width, &e.At[0], &e.By[0], edges, rows)
		case count-k >= 2:
			n = 2
			dotsAtEdges2AVX2(to, count, hot, width, &e.At[0], &e.By[0], edges, rows)
		default:
			n = 1
			dotsAtEdges1AVX2(to, count, hot, width, &e.At[0], &e.By[0], edges, rows)
		}
	}
}

func addAtEdges256(acc []int64, width int, c []float64, e row.Edges, edges, stride int) {
	rows, count := atEdges(len(c), len(acc), e, edges, stride, width)
	for k, n := 0, 0; k < count && rows > 0; k += n {
		switch to, from := &acc[k*width+stride], &c[k]; {
		case count-k >= 4:
			n = 4
			addAtEdges4AVX2(to, width, from, count, &e.At[0], &e.By[0], edges, rows)
		case count-k >= 2:
			n = 2
			addAtEdges2AVX2(to, width, from, count, &e.At[0], &e.By[0], edges, rows)
		default:
			n = 1
			addAtEdges1AVX2(to, width, from, count, &e.At[0], &e.By[0], edges, rows)
		}
	}
}

// atEdges is atCodes for the edges of rows. Both hats of an edge must be among a vector's entries beyond stride.
func atEdges(numbers, vectors int, e row.Edges, edges, stride, width int) (rows, count int) {
	rows, count = len(e.At)/edges, vectors/width
	if rows*edges != len(e.At) || len(e.By) != 2*len(e.At) || count*width != vectors || rows*count != numbers || stride < 0 ||
		rows > 0 && !below(e.At, 8, width-stride-1, withinWideAVX2) {
		panic("engine: edges, vectors and coefficients do not fit each other")
	}
	return rows, count
}

// atCodes returns the number of rows with the given levels, the number of vectors (or sums) of the given width,
// and the number of a row's codes. numbers is the number of products or coefficients, one for each row
// and vector. vectors is the length of all vectors together. atCodes panics unless these fit each other and each
// code is below the number of a vector's entries beyond stride. The assembly relies on these checks.
func atCodes(numbers, vectors int, levels []float32, codes row.Codes, stride, width int) (rows, count, groups int) {
	rows, count = len(levels), vectors/width
	if rows == 0 {
		return 0, count, 0
	}
	n, within := len(codes.Narrow), false
	if codes.Wide != nil {
		n = len(codes.Wide)
		within = below(codes.Wide, 8, width-stride, withinWideAVX2)
	} else {
		within = below(codes.Narrow, 16, width-stride, withinNarrowAVX2)
	}
	groups = n / rows
	if !within || groups == 0 || groups*rows != n || count*width != vectors || rows*count != numbers || stride < 0 {
		panic("engine: codes, vectors and coefficients do not fit each other")
	}
	return rows, count, groups
}

// below reports whether all codes are below n. The function many tells it of a multiple of so many codes.
func below[C code](codes []C, lanes, n int, many func(codes *C, n int, most C) bool) bool {
	whole := len(codes) &^ (lanes - 1)
	if n < 1 || whole > 0 && uint64(n-1) < uint64(^C(0)) && !many(&codes[0], whole, C(n-1)) {
		return false
	}
	for _, c := range codes[whole:] {
		if uint64(c) >= uint64(n) {
			return false
		}
	}
	return true
}

func pairs512(p *paired, acc []int64, c []float64, x []float32, stride, dim int) {
	pairsBy(func(a *[4][]int64, times []float64, x []float32, stride, rows, columns int) int {
		pairsAVX512(&a[0][0], &a[1][0], &a[2][0], &a[3][0], &times[0], &x[0], stride, rows, columns, uint64(rows)*magicBits)
		return columns
	}, p, acc, c, x, stride, dim)
}

func pairs256(p *paired, acc []int64, c []float64, x []float32, stride, dim int) {
	pairsBy(func(a *[4][]int64, times []float64, x []float32, stride, rows, columns int) int {
		pairsAVX2(&a[0][0], &a[1][0], &a[2][0], &a[3][0], &times[0], &x[0], stride, rows, columns/4*4, uint64(rows)*magicBits)
		return columns / 4 * 4
	}, p, acc, c, x, stride, dim)
}

// equallyLong returns the length of four vectors. It panics unless they have the same length, this
// length is not 0, and x holds panel numbers for each of their entries.
func equallyLong(s0, s1, s2, s3, x []float64) int {
	n := len(s0)
	if len(s1) != n || len(s2) != n || len(s3) != n || n*panel > len(x) || n == 0 {
		panic("engine: vectors and rows do not fit each other")
	}
	return n
}

func weigh512(sums *[4 * panel]float64, s0, s1, s2, s3, x []float64) {
	n := equallyLong(s0, s1, s2, s3, x)
	weighAVX512(&sums[0], &s0[0], &s1[0], &s2[0], &s3[0], &x[0], n)
}

func weigh256(sums *[4 * panel]float64, s0, s1, s2, s3, x []float64) {
	n := equallyLong(s0, s1, s2, s3, x)
	for i := 0; i < panel; i += 8 {
		weighAVX2(&sums[i], &s0[0], &s1[0], &s2[0], &s3[0], &x[i], n)
	}
}

// filling returns the largest multiple of lanes, a power of two, that is at most the number of coefficients.
// It panics unless there is a margin and a target for each coefficient.
func filling(lanes int, c, z, y []float64) int {
	if len(z) != len(c) || len(y) != len(c) {
		panic("engine: margins, targets and coefficients do not fit each other")
	}
	return len(c) &^ (lanes - 1)
}

// inLanes returns the function that computes the coefficients of as many records as fill vectors of some lanes, and
// returns their number.
func inLanes(lanes int, by func(c, z, y *float64, n int, parameter, radius, weight, scale float64)) func(c, z, y []float64,
	f *fused) int {
	return func(c, z, y []float64, f *fused) int {
		n := filling(lanes, c, z, y)
		if n > 0 {
			by(&c[0], &z[0], &y[0], n, f.parameter, f.radius, f.weight, f.scale)
		}
		return n
	}
}
