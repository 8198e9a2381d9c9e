// Package spline implements the arithmetic of curves. A curve is a linear combination of hats:
// piecewise linear functions of a number u in [-1, 1], each 1 at one knot and 0 at all other knots.
// At any u at most two hats are not zero, and all hats add up to 1. The row map and the store of
// rows both use this package, so that their hats have the same bits.
package spline

import (
	"fmt"
	"math"
	"slices"
)

// Scale is the factor by which the two nonzero hats 1-f and f are multiplied. The squares of 1-f and f add up
// to at most 1. Hats multiplied by sqrt 2 therefore add at most 2 to the squared norm of a row before the row
// is divided. Scale is smaller than sqrt 2, by more than all roundings to float32 can add.
const Scale = math.Sqrt2 * (1 - 0x1p-20)

// Least and Most are the least and the largest number of knots of a curve.
const (
	Least = 3
	Most  = 256
)

// Knots are the knots of a curve: increasing numbers, of which the first is -1 and the last is 1. The zero
// Knots has no knot.
type Knots struct {
	n  int
	at []float64 // the knots; nil if they are equally spaced
}

// Equal returns n equally spaced knots from -1 to 1.
func Equal(n int) Knots { return Knots{n: n} }

// At returns the given knots. It returns an error unless the first knot is -1, the last knot is 1 and each
// knot is above the knot before it.
func At(at []float64) (Knots, error) {
	if len(at) < 2 || at[0] != -1 || at[len(at)-1] != 1 {
		return Knots{}, fmt.Errorf("hats: %d knots: must begin with -1 and end with 1", len(at))
	}
	for i := 1; i < len(at); i++ {
		if !(at[i-1] < at[i]) {
			return Knots{}, fmt.Errorf("hats: knot %d: must be above the knot before it", i)
		}
	}
	return Knots{len(at), slices.Clone(at)}, nil
}

// Of returns the knots with the given Len and Listed.
func Of(n int, listed []float64) Knots { return Knots{n, listed} }

// Listed returns the knots, or nil if they are equally spaced. The caller must not change them.
func (k Knots) Listed() []float64 { return k.at }

// Equal reports whether two lists of knots are the same.
func (k Knots) Equal(other Knots) bool { return k.n == other.n && slices.Equal(k.at, other.at) }

// Len returns the number of knots, which is the number of hats.
func (k Knots) Len() int { return k.n }

// Position returns the value of knot i, in [-1, 1].
func (k Knots) Position(i int) float64 {
	if k.at != nil {
		return k.at[i]
	}
	if i == k.n-1 {
		return 1
	}
	return float64(2*float64(i))/float64(k.n-1) - 1
}

// Cell returns the position of u among the knots. i is the index of the last knot at or below u. If this is
// the last of all knots, i is the index of the knot before it. f is (u - knot i)/(knot i+1 - knot i), in
// [0, 1]. At u hat i is 1-f, hat i+1 is f, and all other hats are 0. u is clamped to [-1, 1]. NaN counts as
// -1.
func (k Knots) Cell(u float64) (i int, f float64) {
	if !(u > -1) {
		return 0, 0
	}
	if u >= 1 {
		return k.n - 2, 1
	}
	if k.at == nil {
		t := float64((u + 1) * (float64(k.n-1) / 2))
		i = min(int(t), k.n-2)
		return i, min(t-float64(i), 1)
	}
	if u == 0 {
		u = 0 // not -0, so that no difference below is -0
	}
	lo := 0 // at[lo] <= u < at[lo+left]. No branch depends on u: a wrong guess of it takes longer than this loop.
	for left := k.n - 1; left > 1; {
		half := left / 2
		below := int64(math.Float64bits(u-k.at[lo+half])) >> 63 // -1 if u is below the knot, and otherwise 0
		lo += half &^ int(below)
		left -= half
	}
	return lo, min((u-k.at[lo])/(k.at[lo+1]-k.at[lo]), 1)
}

// Curve returns the values of the two nonzero hats, 1-f and f, multiplied by Scale and by level.
// level is the constant feature of the row, which is 1 divided by the row's divisor.
func Curve(level float32, f float64) (left, right float32) {
	v := float64(float64(level) * Scale)
	return float32(float64(v * (1 - f))), float32(float64(v * f))
}

// Pair returns the four nonzero products of a hat of a first number and a hat of a second number, multiplied
// by Scale^2 and by level as in [Curve]. f and g are the positions between knots that Cell returns for the
// two numbers. The order is (1-f)(1-g), (1-f)g, f(1-g), fg.
func Pair(level float32, f, g float64) (v [4]float32) {
	s := float64(float64(level) * (Scale * Scale))
	a, b := float64(s*(1-f)), float64(s*f)
	return [4]float32{float32(float64(a * (1 - g))), float32(float64(a * g)), float32(float64(b * (1 - g))),
		float32(float64(b * g))}
}
