package spline_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// TestCells tests the two nonzero hats against the definition: 1 at their knot, 0 at the
// neighbouring knots, adding up to 1, and constant beyond the bounds.
func TestCells(t *testing.T) {
	uneven, err := spline.At([]float64{-1, -.5, -.4375, .25, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []spline.Knots{spline.Equal(2), spline.Equal(3), spline.Equal(7), spline.Equal(256), uneven} {
		for i := range k.Len() {
			at, f := k.Cell(k.Position(i))
			if v := float64(at) + f; !(math.Abs(v-float64(i)) <= 1e-13*float64(k.Len())) {
				t.Errorf("%d knots: knot %d is in cell %d, share %v", k.Len(), i, at, f)
			}
		}
		for u := -1.0; u <= 1; u += 1. / 512 {
			i, f := k.Cell(u)
			if i < 0 || i > k.Len()-2 || !(f >= 0 && f <= 1) {
				t.Fatalf("%d knots: %v is in cell %d, share %v", k.Len(), u, i, f)
			}
			if got := k.Position(i)*(1-f) + k.Position(i+1)*f; !(math.Abs(got-u) <= 1e-13) {
				t.Errorf("%d knots: %v is in cell %d, share %v, which is %v", k.Len(), u, i, f, got)
			}
		}
		for _, u := range []float64{-1, -2, math.Inf(-1), math.NaN()} {
			if i, f := k.Cell(u); i != 0 || f != 0 {
				t.Errorf("%v is in cell %d, share %v", u, i, f)
			}
		}
		for _, u := range []float64{1, 1.5, math.Inf(1)} {
			if i, f := k.Cell(u); i != k.Len()-2 || f != 1 {
				t.Errorf("%v is in cell %d, share %v", u, i, f)
			}
		}
	}
	for _, bad := range [][]float64{nil, {-1}, {-1, 0}, {0, 1}, {-1, .5, .5, 1}, {-1, math.NaN(), 1}, {-1, .5, .25, 1}} {
		if _, err := spline.At(bad); err == nil {
			t.Errorf("knots %v are accepted", bad)
		}
	}
}

// TestSquares tests that after rounding to float32 the squares of a curve's hats add up to at most 2
// level^2, and the squares of the hats of a pair to at most 4 level^2, even if level itself was rounded up
// before.
func TestSquares(t *testing.T) {
	for _, level := range []float32{1, .5, .2041241, 1e-3, 1.0000001, 0} {
		for f := 0.; f <= 1; f += 1. / 256 {
			a, b := spline.Curve(level, f)
			square, most := float64(a)*float64(a)+float64(b)*float64(b), 2*float64(level)*float64(level)*(1-0x1p-20)
			if square > most || f == 0 && square < most*(1-0x1p-18) {
				t.Fatalf("level %v, share %v: squares add up to %v", level, f, square)
			}
			for _, g := range []float64{0, .125, .5, 1 - 0x1p-53, 1} {
				square := 0.
				for _, v := range spline.Pair(level, f, g) {
					square += float64(v) * float64(v)
				}
				if square > 2*most {
					t.Fatalf("level %v, shares %v and %v: squares add up to %v", level, f, g, square)
				}
			}
		}
	}
	v := spline.Pair(1, .25, .5)
	for i, want := range []float64{.75, .75, .25, .25} {
		if !(math.Abs(float64(v[i])-want) <= 1e-5) {
			t.Errorf("product %d is %v: want %v", i, v[i], want)
		}
	}
}

// TestNoZeroIsNegative tests that -0 is in the cell of 0, on equal and on listed knots, so that all programs write the same
// features of it.
func TestNoZeroIsNegative(t *testing.T) {
	listed, err := spline.At([]float64{-1, -.25, 0, .5, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []spline.Knots{spline.Equal(4), spline.Equal(5), listed} {
		i, f := k.Cell(0)
		if j, g := k.Cell(math.Copysign(0, -1)); i != j || math.Float64bits(f) != math.Float64bits(g) {
			t.Errorf("%d knots: cell %d, %v: must be %d, %v", k.Len(), j, g, i, f)
		}
	}
}
