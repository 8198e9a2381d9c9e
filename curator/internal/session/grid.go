package session

import (
	"fmt"
	"math"
	"math/big"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// grid holds the numbers by which one answer is computed exactly. Contributions are rounded to multiples
// of a grid step, which is 1/scale, and added as integers. The noise is a normal with standard deviation
// 2^bits steps, rounded to whole steps. sensitivity and sigma are in the query's units, not in steps.
//
// docs/explanation/exactness.md derives the following. Let C be the clip norm, d the number of coordinates, and slack
// the largest relative excess of a computed contribution over C. A record's residual is its contribution less a public
// centre. Rounding moves the contribution by at most half a step in each coordinate, hence by a vector of norm at most
// sqrt(d)/2 steps. Rounding moves the centre by at most as much. The residual therefore has norm at most C(1+slack)
// scale + sqrt(d) steps. This bounds how much the sum changes if a record is added or removed. If a record is replaced,
// the centre cancels, and the sum changes by at most 2C(1+slack) scale + sqrt(d) steps.
//
// Two things change these bounds. A query whose sum is multiplied by a metric's matrix rounds contributions
// on a coarser grid (see sumScale), and a kind of query may round more often. The function rounding returns
// the term that replaces sqrt(d) in these cases.
type grid struct {
	bits        int
	scale       float64
	sensitivity float64
	sigma       float64
}

const (
	// The noise is 2^bits times a standard normal. minBits and maxBits are the smallest and the largest allowed number
	// bits. With minBits, the rounding of contributions is already far below the noise. With wantBits or more, the
	// sensitivity that rounding adds, sqrt(d) steps in d coordinates, is negligible compared with the noise.
	minBits, wantBits, maxBits = 20, 32, 48
	// maxContribution is the largest contribution in grid steps: half of the largest number, 2^51,
	// that the engine rounds correctly.
	maxContribution = 0x1p50
	// maxTotal is an upper bound on the sum of all contributions in grid steps, so that int64 has
	// room for the sum and the noise.
	maxTotal = 0x1p61
)

// slack returns an upper bound on the relative excess of a computed contribution over its clip norm,
// for d coordinates. The term 2^-20 covers two things: rows are stored with a squared norm of up to 1
// + 2^-22, which lengthens contributions by at most 2^-21, and rounding errors of adding up to 2^16
// terms. The term (d+16) 2^-50 covers the roundings of dot products, clips and products.
func slack(d int) float64 { return 0x1p-20 + float64(d+16)*0x1p-50 }

// newGrid chooses a grid for a query. The noise has the charge that the query offers. The argument rows is
// an upper bound on the number of records.
func newGrid(q query.Question, r account.Relation, rows float64) (grid, error) {
	return gridFor(q, q.Facts().Moves(r), q.Charge(), rows)
}

// gridFor chooses a grid whose sensitivity is factor times the clip norm, plus rounding errors, and whose noise has the
// given charge, for at most rows records.
func gridFor(q query.Question, factor, charge, rows float64) (grid, error) {
	d := q.PointDim()
	root := rounding(q)
	clip := q.Clip() * (1 + slack(d))
	size := reach(q)
	m := move{bound: factor * clip, root: root, column: 1, charge: charge}
	start := m.startBits()
	if q.Facts().Lifted {
		start = maxBits // the product with the metric's integers takes some of these bits
	}
	g, ok := m.grid(start, func(g grid) bool {
		if q.Facts().Lifted && !(float64((clip*g.scale+root)*rows) <= maxTotal) {
			return false
		}
		most := float64(size*sumScale(q, g)*(1+slack(d))) + 1
		return most <= maxContribution && most*rows <= maxTotal
	})
	if !ok {
		return grid{}, fmt.Errorf("curator: charge = %v: no exact grid for clip norm %v, %d coordinates and %.0f records",
			charge, q.Clip(), q.Dim(), rows)
	}
	return g, nil
}

// move is the largest change of an answer that one record can cause: column times the sum of bound, in the query's
// units, and root grid steps. charge is the charge that the answer's noise must have.
type move struct{ bound, root, column, charge float64 }

// deviations returns the number of the noise's standard deviations that this sum may be.
func (m move) deviations() float64 { return math.Sqrt(m.charge) / m.column }

// startBits returns the number of bits from which the search for a grid starts. This is wantBits, or more if rounding
// would add noticeably to the sensitivity, which happens at a small charge in high dimension.
func (m move) startBits() int {
	_, exp := math.Frexp(m.root / m.deviations())
	return min(max(exp+14, wantBits), maxBits)
}

// grid returns the grid with the most bits, from start down, for which fits reports that numbers keep within their
// limits. It returns false if there is none.
func (m move) grid(start int, fits func(grid) bool) (g grid, ok bool) {
	for bits := start; bits >= minBits; bits-- {
		noise := math.Ldexp(1, bits)
		// The factor 1 - 2^-44 keeps the charge, after all roundings, below the charge offered.
		scale := (float64(noise*m.deviations()*(1-0x1p-44)) - m.root) / m.bound
		if !(scale > 0) || math.IsInf(scale, 0) {
			break
		}
		g = grid{bits: bits, scale: scale, sensitivity: m.column * (m.bound + m.root/scale) * (1 + 0x1p-50),
			sigma: noise / scale * (1 - 0x1p-50)}
		if fits(g) {
			return g, true
		}
	}
	return grid{}, false
}

// clips returns the number of clip norms by which one record can move a sum: 1 if a record is added
// or removed, and 2 if a record is replaced.
func clips(r account.Relation) float64 {
	if r == account.AddOrRemove {
		return 1
	}
	return 2
}

// reach returns an upper bound on the norm of a record's contribution to a query. The contribution includes
// its public centre.
func reach(q query.Question) float64 {
	var size float64
	for i := range q.Len() {
		t := q.Term(i)
		reach := t.Ball().Radius
		if t.Kind().Facts().Lifted {
			reach = t.Slope()
		}
		if c := math.Abs(t.Ball().Centre); t.Kind().Facts().Centre == query.AlongStep && c > 0 {
			reach += float64(c * t.Distance())
		}
		size += float64(t.Weight() * reach)
	}
	return size
}

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

// Some queries are answered by a public metric's matrix R times the sum over records. R is a matrix of integers, M,
// times a power of two below one, Metric.Step. The answer is M times the integer sum. It is therefore on a finer grid:
// one step of the answer's grid is Metric.Step times a step of the sum's grid. The noise is added on the finer grid, as
// for a prefix sum by the square-root mechanism. docs/explanation/exactness.md derives this.

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

// rounding returns the number of steps, on the answer's grid, by which rounding errors increase the largest change of
// the answer that one record can cause. Each coordinate of a contribution, or of its centre, is rounded by at most half
// a step. A query whose sum is multiplied by a metric's matrix (a lifted query) has these errors times the norm of the
// metric's integer matrix. It also has the same multiple of the errors of products, which are up to 2^-2 of a step for
// contributions of up to 2^50 steps. The query's kind adds the roundings of its operations on the sum.
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
