// Package carry writes two numbers of a record as one: its target, and a share in
// [0, 1], which is a weight or an exposure. Rows have room for one target; what reads
// tables joins the two, and the losses that know of shares split them again.
package carry

import "math"

// levels is the number of steps of a share, a power of two.
const levels = 1 << 16

// room is how far apart the targets of neighbouring shares are, and most the largest
// sum: targets are in [-1, 1] or, wide, numbers of classes below 2^12.
func room(wide bool) float64 {
	if wide {
		return 1 << 13
	}
	return 4
}

// Join returns y with the share beside it, rounded to a multiple of 2^-16. A share of 1
// leaves y as it is; with another y, unless it is the number of a class, is rounded to a
// multiple of 2^-35. A share outside [0, 1] gives NaN.
func Join(y, share float64, wide bool) float64 {
	if !(share >= 0 && share <= 1) {
		return math.NaN()
	}
	return y + math.RoundToEven((1-share)*levels)*room(wide)
}

// Split returns what was joined. Both are NaN for a number that Join does not write.
func Split(joined float64, wide bool) (y, share float64) {
	r := room(wide)
	steps := math.RoundToEven(joined / r)
	if wide {
		steps = math.Floor(joined / r)
	}
	if !(steps >= 0 && steps <= levels) {
		return math.NaN(), math.NaN()
	}
	return joined - steps*r, 1 - steps/levels
}
