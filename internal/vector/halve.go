package vector

import "math"

// Halve searches by bisection between no, where a condition does not hold, and yes, where it does. It halves the
// interval the given number of times and returns its end at which the condition holds.
func Halve(no, yes float64, times int, ok func(float64) bool) float64 {
	return search(no, yes, times, func(a, b float64) float64 { return (a + b) / 2 }, ok)
}

// HalveRatio is [Halve] for positive numbers of any size: it takes geometric means.
func HalveRatio(no, yes float64, times int, ok func(float64) bool) float64 {
	return search(no, yes, times, func(a, b float64) float64 { return math.Sqrt(a * b) }, ok)
}

func search(no, yes float64, times int, middle func(a, b float64) float64, ok func(float64) bool) float64 {
	for range times {
		if mid := middle(no, yes); ok(mid) {
			yes = mid
		} else {
			no = mid
		}
	}
	return yes
}
