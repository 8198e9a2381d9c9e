// Package targetpair encodes two numbers of a record as one: the target and a share in [0, 1], which is
// a weight or an exposure. A stored row has only one number besides its features. Therefore the two numbers
// are joined when a table is read, and losses with weights or exposures split them again.
package targetpair

import "math"

// levels is the number of steps into which the range [0, 1] of a share (a weight or an exposure) is
// divided. It is a power of two.
const levels = 1 << 16

// Rounding is the spacing of encoded targets in [-1, 1] beside a share below 1.
const Rounding = 0x1p-35

// spacing returns by how much the encoded number increases if the share decreases by one level, 2^-16. It is
// larger than the range of targets, so that target and share can be separated. Targets are in [-1, 1] or, if
// wide is true, class numbers below 2^12.
func spacing(wide bool) float64 {
	if wide {
		return 1 << 13
	}
	return 4
}

// Join encodes a target y and a share (a weight or an exposure in [0, 1]) of one record as one float64. wide says that
// targets are class numbers. The share is rounded to a multiple of 2^-16. If the share is 1, the result is y. Otherwise
// y is rounded to a multiple of Rounding, unless it is a class number. A share outside [0, 1] gives NaN.
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
