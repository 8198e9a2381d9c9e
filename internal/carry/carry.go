// Package carry encodes two numbers of a record as one: the target and a share in [0, 1], which is
// a weight or an exposure. A stored row has room for one number only. Table readers join the two
// numbers; losses with weights or exposures split them again.
package carry

import "math"

// levels is the number of steps into which the range [0, 1] of a share (a weight or an exposure) is
// divided. It is a power of two.
const levels = 1 << 16

// spacing returns by how much the encoded number grows if the share falls by one level. It exceeds the
// range of targets, so that target and share can be told apart: targets are in [-1, 1] or, if wide, class
// numbers below 2^12.
func spacing(wide bool) float64 {
	if wide {
		return 1 << 13
	}
	return 4
}

// Join encodes a target y and a share (a weight or an exposure in [0, 1]) of one record as one
// float64. wide says that targets are class numbers. The share is rounded to a multiple of 2^-16. If
// the share is 1, the result is y. Otherwise y is rounded to a multiple of 2^-35, unless it is a
// class number. A share outside [0, 1] gives NaN.
func Join(y, share float64, wide bool) float64 {
	if !(share >= 0 && share <= 1) {
		return math.NaN()
	}
	return y + math.RoundToEven((1-share)*levels)*spacing(wide)
}

// Split returns the target and the share (a weight or an exposure) that Join encoded as one number.
// Both are NaN for a number that Join cannot return.
func Split(joined float64, wide bool) (y, share float64) {
	r := spacing(wide)
	steps := math.RoundToEven(joined / r)
	if wide {
		steps = math.Floor(joined / r)
	}
	if !(steps >= 0 && steps <= levels) {
		return math.NaN(), math.NaN()
	}
	return joined - steps*r, 1 - steps/levels
}
