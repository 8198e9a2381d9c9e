package session

import (
	"fmt"
	"math"
	"math/big"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// scoring returns the function that computes, from the index of a query and the query's sum in grid steps,
// the norm of the sum plus the query's public shift. It returns nil if the queries do not ask for norms,
// because the sums are then the answers.
func scoring(g grid, questions ...query.Question) (func(i int, sum []int64) int64, error) {
	if !questions[0].Facts().Normed {
		return nil, nil
	}
	shifts := make([][]int64, len(questions))
	for i, q := range questions {
		var err error
		if shifts[i], err = shifted(q, g); err != nil {
			return nil, err
		}
	}
	return func(i int, sum []int64) int64 { return norm(sum, shifts[i]) }, nil
}

// shifted returns the public vector that a query for a norm adds to the sum, rounded to grid steps. It
// returns an error if a coordinate of the shift exceeds 2^50 steps.
func shifted(q query.Question, g grid) ([]int64, error) {
	t := q.Terms()[0]
	shift := make([]int64, q.SumDim())
	for j, v := range t.Shift() {
		steps := float64(v * q.Cohort().Size() * g.scale)
		if !(math.Abs(steps) <= maxContribution) {
			return nil, fmt.Errorf("curator: norm: shift: coordinate %d = %v: too large beside the clip norm %v", j, v,
				t.Ball().Radius)
		}
		shift[j] = engine.Round(steps)
	}
	return shift, nil
}

// norm returns the Euclidean norm of sum + shift, rounded down. Two sums at distance D have norms
// at most D + 1 apart. This holds because the computation is in exact integers until it rounds
// down. For a norm in floating point it need not hold.
func norm(sum, shift []int64) int64 {
	var total, v big.Int
	for j := range sum {
		v.SetInt64(sum[j])
		v.Add(&v, big.NewInt(shift[j]))
		total.Add(&total, v.Mul(&v, &v))
	}
	return total.Sqrt(&total).Int64()
}

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
