package kernel

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// The functions below are for queries whose answer is the metric's matrix R times the sum over
// records. R is an integer matrix M times a step, so that the answer is M times the integer sum, on
// a grid that is finer than the sum's grid by this step. The noise is added on the finer grid, as
// for a square-root prefix sum. docs/exactness.md derives this.

// sumScale returns the number of steps in a unit, for the grid on which a query's contributions are
// rounded.
func sumScale(q query.Question, g grid) float64 {
	if !q.Facts().Lifted {
		return g.scale
	}
	return g.scale * q.Terms()[0].Metric().Step()
}

// lifting returns the function that converts a query's sum to the grid of the answer, nil if the
// sum is on that grid.
func lifting(q query.Question) func(sum []int64) []int64 {
	if !q.Facts().Lifted {
		return nil
	}
	return func(sum []int64) []int64 { return lift(q.Terms()[0].Metric(), sum) }
}

// lift returns M times the sum, margin by margin. Products and partial sums may wrap modulo 2^64.
// The result is correct, because it is small enough for int64.
func lift(m query.Metric, sum []int64) []int64 {
	out, row := make([]int64, len(sum)), make([]int64, m.Dim())
	for j := range row {
		m.Row(row, j)
		for at := 0; at < len(sum); at += len(row) {
			for k, r := range row {
				out[at+j] += r * sum[at+k]
			}
		}
	}
	return out
}

// rounding returns the number of steps, on the answer's grid, by which rounding adds to the
// movement of the answer by one record. Each contribution, or its centre, is rounded by at most
// half a step a coordinate. M multiplies this rounding, and also the errors of products, which for
// contributions of up to 2^50 steps are up to 2^-2. The kind adds the roundings of its operations
// on the sum.
func rounding(q query.Question) float64 {
	steps := math.Sqrt(float64(q.SumDim()))
	if q.Facts().Lifted {
		steps = (steps + 1) * q.Terms()[0].Metric().Norm() * (1 + 0x1p-50)
	}
	return steps + float64(q.Facts().Roundings)
}

// room returns the number of records for which the sums of a query must have room. If the number of
// records is secret and the answer is lifted, this is crowd times the declared number; with more
// than four times as many records, a sum may wrap, as in a prefix sum.
func (s *Session) room(q query.Question) float64 {
	if q.Facts().Lifted {
		return min(s.mostRows(), crowd*s.declared)
	}
	return s.mostRows()
}
