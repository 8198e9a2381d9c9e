package naive

import (
	"math"
	"math/rand/v2"
)

// Truncated is 2^bits times a standard normal, converted to an integer. The fault: the conversion
// drops the fraction, so that 0 stands for an interval twice as long as the interval of any other
// number.
func Truncated(r *rand.Rand, bits int) int64 {
	return int64(math.Ldexp(r.NormFloat64(), bits))
}

// Rounded is 2^bits times a standard normal, rounded to the nearest integer: the right form of
// Truncated.
func Rounded(r *rand.Rand, bits int) int64 {
	return int64(math.RoundToEven(math.Ldexp(r.NormFloat64(), bits)))
}
