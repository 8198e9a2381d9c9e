package naive

// Sum32 adds numbers as they come. The fault: each addition rounds to a step
// that grows with the sum so far, so that one record decides how all later ones
// are rounded.
func Sum32(x func(yield func(float32) bool)) float32 {
	var sum float32
	for v := range x {
		sum += v
	}
	return sum
}

// BoundedSum adds numbers clamped to [lo, hi]; its noise is made for a
// sensitivity of hi-lo. The fault is Sum32's.
func BoundedSum(x []float64, lo, hi float64) float64 {
	var sum float64
	for _, v := range x {
		sum += min(max(v, lo), hi)
	}
	return sum
}

// SumInt adds integers clamped to [-clip, clip]. The fault: int64 wraps, so that
// one record can move the sum by 2^64.
func SumInt(x []int64, clip int64) (sum int64) {
	for _, v := range x {
		sum += min(max(v, -clip), clip)
	}
	return sum
}

// MeanOfThose divides by the number of records that there are and says what
// noise it would add. The fault, where that number is secret: both the divisor
// and the noise tell it, and a record moves the mean of the others, too, which
// clip/n leaves out.
func MeanOfThose(x []float64, clip, multiplier float64) (mean, sigma float64) {
	for _, v := range x {
		mean += min(max(v, -clip), clip)
	}
	n := float64(len(x))
	return mean / n, multiplier * clip / n
}
