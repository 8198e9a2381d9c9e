package table

import (
	"math"
	"strconv"
)

// shortest finds the decimal with the fewest digits that rounds to a given 32-bit float. If several decimals
// have as few digits, it finds the nearest to the float. This is the decimal that spellFloat writes. Each
// column needs its own shortest: the decimals of a column tend to have equally many digits after the point,
// so the search starts with the number of digits of the previous decimal.
type shortest struct{ behind int } // digits after the point of the previous decimal

// number returns the float64 that is nearest to the shortest decimal of x.
func (s *shortest) number(x float32) float64 {
	size := math.Abs(float64(x))
	switch {
	case size < 1<<24 && size == math.Trunc(size) || size-size != 0:
		return float64(x) // the decimal is the number itself, or x is infinite or NaN
	case size < 1e-6 || size >= 1<<24:
		return parsed(x)
	}
	// Just below a power of two, floats are closer together than above it. At a power of two, the
	// decimal nearest to the float could therefore round to another float, while a decimal farther away
	// rounds to this float. For the powers of two from 1e-6 to 2^24 this does not happen.
	for s.behind > 0 && size*tens[s.behind] >= mostDigits {
		s.behind--
	}
	c, is, sure := decimalOf(size, s.behind)
	for sure && !is {
		s.behind++
		c, is, sure = decimalOf(size, s.behind)
	}
	for sure && s.behind > 0 {
		var less float64
		if less, is, sure = decimalOf(size, s.behind-1); !is {
			break
		}
		c = less
		s.behind--
	}
	if !sure {
		return parsed(x)
	}
	return math.Copysign(c, float64(x))
}

// mostDigits bounds the digits of a decimal, without the point, as an integer. Nine digits are enough to
// distinguish all 32-bit floats.
const mostDigits = 1e10

// decimalOf returns the decimal c nearest to size with the given number of digits after the point.
// is reports whether c rounds to the same 32-bit float as size. sure is false if a rounding error
// could have changed c or is.
func decimalOf(size float64, behind int) (c float64, is, sure bool) {
	// The product is below 2^34. It is rounded once, by less than 2^-19.
	scaled := size * tens[behind]
	whole := math.RoundToEven(scaled)
	if math.Abs(math.Abs(scaled-whole)-.5) < 0x1p-18 {
		return 0, false, false
	}
	c = whole / tens[behind] // rounded once, and therefore equal to the parsed text of the decimal
	// The midpoint between two 32-bit floats is a float64. At any other float64, rounding the
	// decimal to float64 and then to float32 equals rounding it once.
	if math.Float64bits(c)&(1<<29-1) == 1<<28 {
		return 0, false, false
	}
	return c, float32(c) == float32(size), true
}

// parsed returns the float64 nearest to the shortest decimal of x, as [shortest.number] does, by
// writing and parsing the decimal's text.
func parsed(x float32) float64 {
	v, _ := strconv.ParseFloat(string(spellFloat(nil, float64(x), 32)), 64)
	return v
}
