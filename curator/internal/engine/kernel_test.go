package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// TestKernelsAgree tests that every kernel of this machine returns the bits and integers of the
// portable kernel, and writes nowhere else. It covers numbers of rows and vectors near the block
// sizes of the kernels, rows with zeros, subnormal numbers and the largest floats, vectors with
// infinities, and products up to 2^51.
func TestKernelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 1))
	for _, k := range kernels()[1:] {
		for rows := range 71 {
			for _, count := range []int{1, 2, 4, 5, 10} {
				stride := row.Lane * (1 + r.IntN(12))
				agree(t, k, r, rows, count, stride, stride+row.Lane*r.IntN(3))
			}
		}
		for lanes := 1; lanes <= 20; lanes++ {
			agree(t, k, r, 9, 6, row.Lane*lanes, row.Lane*lanes)
		}
		for lanes := 63; lanes <= 68; lanes++ { // kernels fetch wide rows in another order
			agree(t, k, r, 19, 1+lanes%2, row.Lane*lanes, row.Lane*lanes)
		}
	}
}

func agree(t testing.TB, k kernel, r *rand.Rand, rows, count, stride, width int) {
	t.Helper()
	x, w, c := make([]float32, rows*stride), make([]float64, count*width), make([]float64, count*rows)
	for i := range x {
		x[i] = awkward32(r)
	}
	for i := range w {
		w[i] = awkward(r)
	}
	acc := make([]int64, count*width)
	for i := range acc {
		acc[i] = r.Int64() - r.Int64()
	}
	z, want := make([]float64, len(c)), make([]float64, len(c))
	portable.dots(want, w, x, stride, width)
	k.dots(z, w, x, stride, width)
	for i := range z {
		if math.Float64bits(z[i]) != math.Float64bits(want[i]) && (z[i] == z[i] || want[i] == want[i]) {
			t.Fatalf("%s: %d rows of %d, %d vectors: product %d is %v: want %v", k.name, rows, stride, count, i, z[i], want[i])
		}
	}
	// Products must not exceed 2^51. For rows of at most 1 they reach it.
	for i := range x {
		x[i] = max(min(x[i], 1), -1)
	}
	for i := range c {
		c[i] = max(min(awkward(r)*0x1p50, 0x1p51), -0x1p51)
		// Some products are halves, but for less than the product's own rounding, which must not come first.
		if v := float64(x[i/count*stride+r.IntN(stride)]); math.Abs(v) > 0x1p-20 && r.IntN(2) == 0 {
			c[i] = (float64(r.IntN(1<<20)) + .5) / v
		}
	}
	sum, sums := slices.Clone(acc), slices.Clone(acc)
	portable.add(sum, width, c, x, stride)
	if k.add(sums, width, c, x, stride); !slices.Equal(sum, sums) {
		t.Fatalf("%s: %d rows of %d, %d sums: other integers", k.name, rows, stride, count)
	}
}

// TestCodesAgree tests that every kernel of this machine computes the bits and integers of the portable kernel at the
// codes of one-hot groups: for codes of 16 and 32 bits, up to eleven groups, several vectors and no rows.
func TestCodesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 2))
	for _, k := range kernels()[1:] {
		for rows := range 35 {
			for groups := 1; groups <= 11; groups++ {
				count, stride := []int{1, 1, 2, 5}[r.IntN(4)], row.Lane*r.IntN(4)
				agreeAtCodes(t, k, r, rows, groups, count, stride, stride+row.Lane*(1+r.IntN(5)))
			}
		}
		agreeAtCodes(t, k, r, 3, 5, 1, row.Lane, row.Lane+1<<16)
	}
}

func agreeAtCodes(t testing.TB, k kernel, r *rand.Rand, rows, groups, count, stride, width int) {
	t.Helper()
	var narrow, wide row.Codes
	narrow.Narrow, wide.Wide = make([]uint16, rows*groups), make([]uint32, rows*groups)
	for i := range wide.Wide {
		wide.Wide[i] = uint32(r.IntN(width - stride))
		narrow.Narrow[i] = uint16(wide.Wide[i])
	}
	levels, w := make([]float32, rows), make([]float64, count*width)
	z, c, acc := make([]float64, count*rows), make([]float64, count*rows), make([]int64, count*width)
	for i := range levels {
		levels[i] = awkward32(r)
	}
	for i := range w {
		w[i], acc[i] = awkward(r), r.Int64()-r.Int64()
	}
	for i := range z {
		z[i], c[i] = awkward(r), max(min(awkward(r)*0x1p50, 0x1p51), -0x1p51)
	}
	short := make([]float32, rows) // levels with which products are at most 2^51
	for i, v := range levels {
		short[i] = max(min(v, 1), -1)
	}
	for _, codes := range []row.Codes{narrow, wide} {
		want, got := slices.Clone(z), slices.Clone(z)
		portable.dotsAtCodes(want, w, levels, codes, stride, width)
		k.dotsAtCodes(got, w, levels, codes, stride, width)
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
				t.Fatalf("%s: %d rows of %d codes, %d vectors: margin %d is %v: want %v", k.name, rows, groups, count, i, got[i],
					want[i])
			}
		}
		sum, sums := slices.Clone(acc), slices.Clone(acc)
		portable.addAtCodes(sum, width, c, short, codes, stride)
		if k.addAtCodes(sums, width, c, short, codes, stride); !slices.Equal(sum, sums) {
			t.Fatalf("%s: %d rows of %d codes, %d sums: other integers", k.name, rows, groups, count)
		}
	}
}

// TestEdgesAgree is TestCodesAgree for the edges of rows' hats.
func TestEdgesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 3))
	for _, k := range kernels()[1:] {
		for rows := range 35 {
			for edges := 1; edges <= 9; edges++ {
				count, stride := 1+r.IntN(11), row.Lane*r.IntN(4)
				width := stride + row.Lane*(1+r.IntN(5))
				e := row.Edges{At: make([]uint32, rows*edges), By: make([]float32, 2*rows*edges)}
				for i := range e.At {
					e.At[i] = uint32(r.IntN(width - stride - 1))
				}
				for i := range e.By {
					e.By[i] = awkward32(r)
				}
				w, z := make([]float64, count*width), make([]float64, count*rows)
				c, acc := make([]float64, count*rows), make([]int64, count*width)
				for i := range w {
					w[i], acc[i] = awkward(r), r.Int64()-r.Int64()
				}
				for i := range z {
					z[i], c[i] = awkward(r), max(min(awkward(r)*0x1p50, 0x1p51), -0x1p51)
				}
				want, got := slices.Clone(z), slices.Clone(z)
				portable.dotsAtEdges(want, w, e, edges, stride, width)
				k.dotsAtEdges(got, w, e, edges, stride, width)
				for i := range want {
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
						t.Fatalf("%s: %d rows of %d edges, %d vectors: margin %d is %v: want %v", k.name, rows, edges, count, i,
							got[i], want[i])
					}
				}
				for i, v := range e.By { // products are at most 2^51
					e.By[i] = max(min(v, 1), -1)
				}
				sum, sums := slices.Clone(acc), slices.Clone(acc)
				portable.addAtEdges(sum, width, c, e, edges, stride)
				if k.addAtEdges(sums, width, c, e, edges, stride); !slices.Equal(sum, sums) {
					t.Fatalf("%s: %d rows of %d edges, %d sums: other integers", k.name, rows, edges, count)
				}
			}
		}
	}
}

func awkward32(r *rand.Rand) float32 {
	switch r.IntN(12) {
	case 0:
		return 0
	case 1:
		return float32(math.Copysign(0, -1))
	case 2:
		return math.SmallestNonzeroFloat32 * float32(r.IntN(9)-4)
	case 3:
		return math.MaxFloat32
	case 4:
		return 1
	}
	return float32(r.NormFloat64() / 4)
}

func awkward(r *rand.Rand) float64 {
	switch r.IntN(24) {
	case 0:
		return 0
	case 1:
		return math.SmallestNonzeroFloat64 * float64(r.IntN(9)-4)
	case 2:
		return .5 + float64(r.IntN(9)) // ties
	case 3:
		if r.IntN(200) == 0 {
			return math.Inf(1 - 2*r.IntN(2))
		}
	case 4:
		return math.Copysign(0x1p1000, r.NormFloat64())
	}
	return r.NormFloat64()
}

// TestRowsThatDoNotFit tests that arguments panic if they would make the assembly read or write
// beyond its rows.
func TestRowsThatDoNotFit(t *testing.T) {
	narrow := func(codes ...uint16) row.Codes { return row.Codes{Narrow: codes} }
	wide := func(codes ...uint32) row.Codes { return row.Codes{Wide: codes} }
	many, far := make([]uint16, 40), make([]uint32, 40)
	many[3], far[12] = 8, 8
	for _, k := range kernels()[1:] {
		atCodes := func(rows, room int, codes row.Codes) {
			k.dotsAtCodes(make([]float64, rows), make([]float64, 8+room), make([]float32, rows), codes, 8, 8+room)
		}
		atEdges := func(rows, room int, at ...uint32) {
			e := row.Edges{At: at, By: make([]float32, 2*len(at))}
			k.dotsAtEdges(make([]float64, rows), make([]float64, 8+room), e, 1, 8, 8+room)
		}
		addAtCodes := func(rows, room int, codes row.Codes) {
			k.addAtCodes(make([]int64, 8+room), 8+room, make([]float64, rows), make([]float32, rows), codes, 8)
		}
		for name, f := range map[string]func(){
			"a code beyond the vector":      func() { atCodes(2, 8, narrow(0, 8)) },
			"one of many codes":             func() { atCodes(8, 8, narrow(many...)) },
			"a wide code beyond the vector": func() { atCodes(2, 8, wide(0, 1<<31)) },
			"one of many wide codes":        func() { atCodes(8, 8, wide(far...)) },
			"a code beyond the sums":        func() { addAtCodes(2, 8, narrow(8, 0)) },
			"a wide code beyond the sums":   func() { addAtCodes(2, 8, wide(8, 0)) },
			"codes short of rows":           func() { atCodes(2, 8, narrow(0, 0, 0)) },
			"an edge beyond the vector":     func() { atEdges(2, 8, 0, 7) },
			"one of many edges":             func() { atEdges(40, 8, far...) },
			"an edge short":                 func() { atEdges(3, 8, 0, 0) },
			"no room for edges":             func() { atEdges(1, 0, 0) },
			"no codes":                      func() { addAtCodes(2, 8, narrow()) },
			"no room for codes":             func() { atCodes(1, 0, narrow(0)) },
			"a level short of coefficients": func() {
				k.addAtCodes(make([]int64, 16), 16, make([]float64, 3), make([]float32, 2), narrow(0, 0), 8)
			},
			"a row short": func() { k.dots(make([]float64, 2), make([]float64, 8), make([]float32, 15), 8, 8) },
			"a vector short": func() {
				k.dots(make([]float64, 4), make([]float64, 15), make([]float32, 16), 8, 8)
			},
			"a stride beyond the width": func() {
				k.dots(make([]float64, 1), make([]float64, 8), make([]float32, 16), 16, 8)
			},
			"a product short": func() {
				k.dots(make([]float64, 3), make([]float64, 16), make([]float32, 16), 8, 8)
			},
			"a stride of no lanes":         func() { k.dots(make([]float64, 1), make([]float64, 9), make([]float32, 9), 9, 9) },
			"no stride":                    func() { k.dots(make([]float64, 1), make([]float64, 8), make([]float32, 8), 0, 8) },
			"a sum short":                  func() { k.add(make([]int64, 15), 8, make([]float64, 2), make([]float32, 8), 8) },
			"a coefficient short":          func() { k.add(make([]int64, 16), 8, make([]float64, 3), make([]float32, 16), 8) },
			"a row short of a sum's":       func() { k.add(make([]int64, 8), 8, make([]float64, 2), make([]float32, 15), 8) },
			"a stride beyond a sum's room": func() { k.add(make([]int64, 8), 8, make([]float64, 1), make([]float32, 16), 16) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s is taken", k.name, name)
					}
				}()
				f()
			}()
		}
	}
}

func FuzzKernelsAgree(f *testing.F) {
	f.Add(uint64(1), 5, 3, 2, 1)
	f.Fuzz(func(t *testing.T, seed uint64, rows, count, lanes, more int) {
		r := rand.New(rand.NewPCG(seed, 28))
		within := func(v, n int) int { return int(uint(v) % uint(n)) }
		stride := row.Lane * (1 + within(lanes, 40))
		for _, k := range kernels()[1:] {
			agree(t, k, r, within(rows, 71), 1+within(count, 13), stride, stride+row.Lane*within(more, 4))
		}
	})
}
