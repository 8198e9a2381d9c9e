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

// BoundedSum adds numbers clamped to [lo, hi], for noise with sensitivity hi-lo. It has the fault
// of Sum32.
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

// MeanOfThose divides by the actual number of records and returns the noise it would add. The
// fault, if the number of records is secret: the divisor and the noise reveal it, and a record also
// moves the mean of the others, which clip/n leaves out.
func MeanOfThose(x []float64, clip, multiplier float64) (mean, sigma float64) {
	for _, v := range x {
		mean += min(max(v, -clip), clip)
	}
	n := float64(len(x))
	return mean / n, multiplier * clip / n
}
