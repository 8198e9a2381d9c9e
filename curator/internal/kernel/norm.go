package kernel

import (
	"fmt"
	"math"
	"math/big"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// scoring returns what makes a number of each question's sum; nil where the sums
// are what is asked for.
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

// shifted returns a norm question's public shift of the sum, in rounded grid
// steps.
func shifted(q query.Question, g grid) ([]int64, error) {
	t := q.Terms()[0]
	shift := make([]int64, q.SumDim())
	for j, v := range t.Shift() {
		steps := float64(v * q.Cohort().Size() * g.scale)
		if !(math.Abs(steps) <= maxContribution) {
			return nil, fmt.Errorf("curator: norm: shift: coordinate %d = %v: too large beside the clip norm %v", j, v, t.Ball().Radius)
		}
		shift[j] = engine.Round(steps)
	}
	return shift, nil
}

// norm returns the Euclidean norm of sum + shift, rounded down. Between two
// sums at distance D it moves by at most D + 1: it is of integers and exact before
// that rounding, which no norm of floating-point numbers is.
func norm(sum, shift []int64) int64 {
	var total, v big.Int
	for j := range sum {
		v.SetInt64(sum[j])
		v.Add(&v, big.NewInt(shift[j]))
		total.Add(&total, v.Mul(&v, &v))
	}
	return total.Sqrt(&total).Int64()
}
