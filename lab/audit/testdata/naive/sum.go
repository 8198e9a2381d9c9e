package naive

// Sum32 adds numbers in the given order. The fault: each addition rounds to a step that grows with
// the sum so far, so that one record changes the rounding of all later ones.
func Sum32(x func(yield func(float32) bool)) float32 {
	var sum float32
	for v := range x {
		sum += v
	}
	return sum
}

// BoundedSum adds numbers clamped to [lo, hi], for noise with sensitivity hi-lo. The fault: each
// addition rounds, so that one record changes the rounding of all later ones and moves the sum by
// more.
func BoundedSum(x []float64, lo, hi float64) float64 {
	var sum float64
	for _, v := range x {
		sum += min(max(v, lo), hi)
	}
	return sum
}

// SumInt adds integers clamped to [-clip, clip]. The fault: int64 wraps around, so that one record
// can move the sum by 2^64.
func SumInt(x []int64, clip int64) (sum int64) {
	for _, v := range x {
		sum += min(max(v, -clip), clip)
	}
	return sum
}

// MeanOfThose divides the sum of clipped numbers by their actual number and returns the noise it
// would add. The fault, if the number of records is secret: the divisor and the noise reveal it,
// and a record also moves the mean of the others, for which the sensitivity clip/n does not allow.
func MeanOfThose(x []float64, clip, multiplier float64) (mean, sigma float64) {
	for _, v := range x {
		mean += min(max(v, -clip), clip)
	}
	n := float64(len(x))
	return mean / n, multiplier * clip / n
}
