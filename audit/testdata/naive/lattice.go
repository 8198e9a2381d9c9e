package naive

import (
	"math"
	"math/rand/v2"
)

// Truncated is 2^bits times a standard normal as an integer. The fault: the
// conversion drops the digits after the point, so that 0 stands for an interval
// twice as long as that of any other number.
func Truncated(r *rand.Rand, bits int) int64 {
	return int64(math.Ldexp(r.NormFloat64(), bits))
}

// Rounded is Truncated without the fault.
func Rounded(r *rand.Rand, bits int) int64 {
	return int64(math.RoundToEven(math.Ldexp(r.NormFloat64(), bits)))
}
