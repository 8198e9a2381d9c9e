package kernel

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// What follows is about questions whose answer is the metric's matrix R times the
// sum over records. R is an integer matrix M times a step, so the answer is M times
// the integer sum, on a grid that is finer than the sum's by that step: its noise is
// made there, as that of a square-root prefix sum is. docs/exactness.md derives it.

// sumScale returns how many steps of the grid on which a question's contributions
// are rounded there are in a unit.
func sumScale(q query.Question, g grid) float64 {
	if !q.Facts().Lifted {
		return g.scale
	}
	return g.scale * q.Terms()[0].Metric().Step()
}

// lifting returns what takes a question's sum to the grid of the answer; nil where
// it is there.
func lifting(q query.Question) func(sum []int64) []int64 {
	if !q.Facts().Lifted {
		return nil
	}
	return func(sum []int64) []int64 { return lift(q.Terms()[0].Metric(), sum) }
}

// lift returns M times the sum, margin by margin. Products and partial sums may wrap
// modulo 2^64; the result is small enough not to have.
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

// rounding is how many steps of the answer's grid one record moves the answer by
// beyond its clip norm, as contributions are rounded, and what is made of the sum
// after them: half a step a coordinate for each of two contributions, or of one and
// its centre. M carries it to the answer, along with errors of products, of which
// contributions of up to 2^50 steps have up to 2^-2.
func rounding(q query.Question) float64 {
	steps := math.Sqrt(float64(q.SumDim()))
	if q.Facts().Lifted {
		steps = (steps + 1) * q.Terms()[0].Metric().Norm() * (1 + 0x1p-50)
	}
	return steps + float64(q.Facts().Roundings)
}

// room is how many records there must be room for in the sums of a question. Where
// that is secret and the answer is lifted, more than crowd times four as many as
// declared may wrap, as in a prefix sum.
func (s *Session) room(q query.Question) float64 {
	if q.Facts().Lifted {
		return min(s.mostRows(), crowd*s.declared)
	}
	return s.mostRows()
}
