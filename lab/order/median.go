// Package order computes order statistics, such as the median.
package order

import "slices"

// Median returns the median of the numbers v: for an even count, the mean of the two middle numbers. It
// panics if v is empty. It does not change v.
func Median(v []float64) float64 {
	if len(v) == 0 {
		panic("order: median of no numbers")
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
