package session

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Some queries are answered by a public metric's matrix R times the sum over records. R is a matrix of
// integers, M, times a power of two below one, Metric.Step. The answer is M times the integer sum. It is
// therefore on a finer grid: one step of the answer's grid is Metric.Step times a step of the sum's grid.
// The noise is added on the finer grid, as for a prefix sum by the square-root mechanism.
// docs/explanation/exactness.md derives this.

// sumScale returns the number of steps in a unit for the grid of a query's sum, on which
// contributions are rounded.
func sumScale(q query.Question, g grid) float64 {
	if !q.Facts().Lifted {
		return g.scale
	}
	return g.scale * q.First().Metric().Step()
}

// lifting returns the function that converts a query's sum to the grid of the answer: the product
// with the metric's integer matrix. It returns nil if the sum is on that grid already.
func lifting(q query.Question) func(sum []int64) []int64 {
	if !q.Facts().Lifted {
		return nil
	}
	return func(sum []int64) []int64 { return lift(q.First().Metric(), sum) }
}

// lift multiplies the sum by the metric's integer matrix. The sum holds one vector for each margin, and
// each of them is multiplied. Products and partial sums may wrap modulo 2^64. This does no harm if the
// true result fits an int64, and the grid is chosen so that it does for up to mostRecords records.
func lift(m query.Metric, sum []int64) []int64 { return m.TimesIntegers(sum) }

// rounding returns the number of steps, on the answer's grid, by which rounding errors increase the
// largest change of the answer that one record can cause. Each coordinate of a contribution, or of
// its centre, is rounded by at most half a step. A query whose sum is multiplied by a metric's matrix
// (a lifted query) has these errors times the norm of the metric's integer matrix. It also has the
// same multiple of the errors of products, which are up to 2^-2 of a step for contributions of up to
// 2^50 steps. The query's kind adds the roundings of its operations on the sum.
func rounding(q query.Question) float64 {
	steps := math.Sqrt(float64(q.SumDim()))
	if q.Facts().Lifted {
		steps = (steps + 1) * q.First().Metric().Norm() * (1 + 0x1p-50)
	}
	return steps + float64(q.Facts().Roundings)
}

// mostRecords returns the number of records for which a query's sums must not overflow. Usually this is an
// upper bound on the number of records. For a query whose sum is multiplied by a metric's matrix (a lifted
// query), in a session in which the number of records is secret, it is at most crowd (8) times the declared
// number. If the records are more than four times this result, a sum may wrap, as in a prefix sum.
func (s *Session) mostRecords(q query.Question) float64 {
	if q.Facts().Lifted {
		return min(s.mostRows(), crowd*s.declared)
	}
	return s.mostRows()
}
