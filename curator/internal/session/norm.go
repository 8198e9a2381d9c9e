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
