package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestProducts tests sums of products of matrices against their definition, number by number, and that what lies
// beside the result is left as it was.
func TestProducts(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 53))
		for range 300 {
			m := r.IntN(20)
			cs, ls, bs := Columns+r.IntN(9), m+r.IntN(9), Columns+r.IntN(9)
			c, l, b := numbers(r, 4*cs), numbers(r, 4*ls), numbers(r, m*bs+Columns)
			want := append([]float64(nil), c...)
			fused := r.IntN(2) == 0
			for i := range 4 {
				for j := range Columns {
					for k := range m {
						if f, v := l[i*ls+k], b[k*bs+j]; fused {
							want[i*cs+j] = math.FMA(f, v, want[i*cs+j])
						} else {
							want[i*cs+j] += float64(f * v)
						}
					}
				}
			}
			if fused {
				AddProducts(c, cs, l, ls, b, bs, m)
			} else {
				AddRoundedProducts(c, cs, l, ls, b, bs, m)
			}
			for i := range c {
				if !alike(c[i], want[i]) {
					t.Fatalf("%d terms, number %d of rows of %d: %v, want %v", m, i, cs, c[i], want[i])
				}
			}
		}
	})
}

// TestSides tests products of rows from both sides against their definition, number by number.
func TestSides(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 53))
		for range 300 {
			n := 8 * r.IntN(8)
			stride := n + r.IntN(9)
			a, v, y := numbers(r, 4*stride), numbers(r, n), numbers(r, n+8)
			u := [4]float64(numbers(r, 4))
			want := append([]float64(nil), y...)
			var sums [4][8]float64
			for i := range 4 {
				for j := range n {
					want[j] = math.FMA(a[i*stride+j], u[i], want[j])
					sums[i][j%8] = math.FMA(a[i*stride+j], v[j], sums[i][j%8])
				}
			}
			got := Sides(y[:n], a, stride, v, u)
			for j := range y {
				if !alike(y[j], want[j]) {
					t.Fatalf("column %d of %d: %v, want %v", j, n, y[j], want[j])
				}
			}
			for i, s := range sums {
				if want := ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); !alike(got[i], want) {
					t.Fatalf("row %d of %d numbers: %v, want %v", i, n, got[i], want)
				}
			}
		}
	})
}
