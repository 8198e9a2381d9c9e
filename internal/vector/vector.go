// Package vector holds computations on vectors, and bisection, for which ordinary rounding is sufficient: in
// optimizers, in measurements, and in the accountant where a stated slack covers the rounding. Sums are added in
// order, and every product is rounded before it is added, so that machines compute the same bits.
//
// Three other norms have stricter rules and are elsewhere. The norm of package query rounds up,
// since privacy accounting depends on it. In package curator the session computes norms of integers
// exactly, and the engine computes norms in an order that is the same on every machine, since
// clipping depends on them. Package convex compares distances whose squares overflow.
package vector

import (
	"cmp"
	"math"
	"slices"
)

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Norm returns the Euclidean norm. Intermediate results do not overflow unless the norm does.
func Norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s = math.Hypot(s, x)
	}
	return s
}

// Total returns the sum of the entries.
func Total(v []float64) float64 { return Sum(v, func(x float64) float64 { return x }) }

// Dot returns the inner product of vectors of equal length.
func Dot(v, w []float64) (sum float64) {
	for j, x := range v {
		sum += float64(x * w[j])
	}
	return sum
}

// Sum returns the sum of f over a list.
func Sum[E any](list []E, f func(E) float64) (sum float64) {
	for _, e := range list {
		sum += f(e)
	}
	return sum
}

// Most returns the largest value of f over a list, -Inf if the list is empty and NaN if a value is NaN.
func Most[E any](list []E, f func(E) float64) float64 {
	most := math.Inf(-1)
	for _, e := range list {
		most = max(most, f(e))
	}
	return most
}

// Map returns the values of f over a list.
func Map[E, T any](list []E, f func(E) T) []T {
	out := make([]T, len(list))
	for j, e := range list {
		out[j] = f(e)
	}
	return out
}

// Make returns the values of f at 0, ..., n-1.
func Make[T any](n int, f func(j int) T) []T {
	out := make([]T, n)
	for j := range out {
		out[j] = f(j)
	}
	return out
}

// Order returns the indices of values from the smallest value to the largest, and of equal values in their order.
func Order(values []float64) []int {
	order := Make(len(values), func(j int) int { return j })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// Add adds factor times v to sum.
func Add(sum []float64, factor float64, v []float64) {
	for j, x := range v {
		sum[j] += float64(factor * x)
	}
}

// Scale multiplies the entries of v by a factor.
func Scale(v []float64, factor float64) {
	for j := range v {
		v[j] *= factor
	}
}

// Divide divides the entries of v by a divisor.
func Divide(v []float64, divisor float64) {
	for j := range v {
		v[j] /= divisor
	}
}

// Mean is the weighted mean of the vectors that were added: their sum and that of their weights. The zero Mean is that
// of none.
type Mean struct {
	Sum    []float64
	Weight float64
}

// Add adds a vector with a weight.
func (m *Mean) Add(weight float64, v []float64) {
	if m.Sum == nil {
		m.Sum = make([]float64, len(v))
	}
	Add(m.Sum, weight, v)
	m.Weight += weight
}

// Or returns the mean, or a copy of v if the weights are 0.
func (m *Mean) Or(v []float64) []float64 {
	if !(m.Weight > 0) {
		return slices.Clone(v)
	}
	return Map(m.Sum, func(sum float64) float64 { return sum / m.Weight })
}
