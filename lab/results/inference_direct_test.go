//go:build results

package results_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/query"
)

// session is the interface through which TestCoverage makes its queries.
type session interface {
	optimize.Oracle
	Dim() int
}

// direct is a fast replacement for a session: it answers the queries of a plan with intervals in floating
// point, by sums over rows plus noise with the same distribution. The tests of package engine show that
// sessions compute the same sums.
type direct struct {
	optimize.Oracle
	p        *population
	rows     [][]float32
	targets  []float64
	relation account.Relation
	noise    *rand.Rand

	metric query.Metric
	z      []float64 // rows after the metric's matrix, shortened
	factor []float64
}

func (d *direct) Dim() int {
	if d.p.rows == 0 {
		return d.p.features()
	}
	l, _ := loss.Parse(d.p.loss)
	return loss.RecordFeatures(l, d.p.features())
}

// All returns the cohort of all records.
func (d *direct) All() query.Cohort { return query.NewCohort(account.Everyone, float64(d.p.n)) }

// Ask answers a query of the plan with intervals, with noise drawn in floating point.
func (d *direct) Ask(_ context.Context, q query.Question) (query.Release, error) {
	t, n := q.Terms()[0], float64(d.p.n)
	sum := make([]float64, q.SumDim())
	if k := t.Kind(); k == query.SecondMoment || k == query.WeightedMoment && t.Reach() == 1 {
		d.plain(sum)
	} else if k == query.WeightedGradient || k == query.WeightedCurvature || k == query.ScoreMoment {
		d.measure(t)
		d.weighted(sum, t)
	} else {
		return query.Release{}, errors.New("results: no such question")
	}
	sigma := q.Facts().Moves(d.relation) * q.Clip() / math.Sqrt(q.Charge()) / n
	for j := range sum {
		sum[j] = sum[j]/n + sigma*d.noise.NormFloat64()
	}
	return query.Release{Mean: sum, Sigma: sigma, Charge: q.Charge()}, nil
}

// unit is the number of rows of each record (unit).
func (d *direct) unit() int { return max(d.p.rows, 1) }

// plain adds x x' to sum for each row x that has a target. It skips zeros, since most features of
// categories are zero.
func (d *direct) plain(sum []float64) {
	dim := d.p.features()
	var at []int
	share := 1 / float64(d.unit())
	for i, x := range d.rows {
		if d.targets[i] != d.targets[i] {
			continue
		}
		at = at[:0]
		for j, v := range x {
			if v != 0 {
				at = append(at, j)
			}
		}
		for a, j := range at {
			first := share * float64(x[j])
			base := j*dim - j*(j-1)/2 - j
			sum[base+j] += first * float64(x[j])
			first *= math.Sqrt2
			for _, k := range at[a+1:] {
				sum[base+k] += first * float64(x[k])
			}
		}
	}
}

// measure computes the rows in the coordinates of a query term's metric P, as P x, and shortens rows that
// are longer than the term's limit (reach), unless this has been done before.
func (d *direct) measure(t query.Term) {
	if d.metric == t.Metric() {
		return
	}
	d.metric = t.Metric()
	dim := d.p.features()
	matrix, row := make([]float64, dim*dim), make([]int64, dim)
	for j := range dim {
		d.metric.Row(row, j)
		for k, v := range row {
			matrix[j*dim+k] = float64(v) * d.metric.Step()
		}
	}
	d.z, d.factor = make([]float64, dim*len(d.rows)), make([]float64, len(d.rows))
	for i, x := range d.rows {
		z := d.z[i*dim : (i+1)*dim]
		for j, v := range x {
			if v == 0 {
				continue
			}
			for k, r := range matrix[j*dim : (j+1)*dim] {
				z[k] += float64(v) * r
			}
		}
		square := 0.
		for _, v := range z {
			square += v * v
		}
		d.factor[i] = min(1, t.Reach()/math.Sqrt(square))
		for k := range z {
			z[k] *= d.factor[i]
		}
	}
}

func (d *direct) weighted(sum []float64, t query.Term) {
	dim, w := d.p.features(), t.Point()
	score := make([]float64, dim)
	share := 1 / float64(d.unit())
	for i, x := range d.rows {
		if y := d.targets[i]; y == y {
			margin := 0.
			for j, v := range x {
				margin += float64(v) * w[j]
			}
			z := d.z[i*dim : (i+1)*dim]
			slope, curvature := d.p.slope(margin, y)
			if t.Kind() == query.WeightedCurvature {
				curvature = min(curvature, t.Slope()) // whose bound it is
			} else {
				slope = min(max(slope, -t.Slope()), t.Slope())
			}
			if d.p.curvature == onestep.Flat && math.Abs(margin-y) > d.p.clip() {
				curvature = 0
			}
			switch t.Kind() {
			case query.WeightedCurvature:
				outerTo(sum, share*curvature, z)
			case query.WeightedGradient:
				for j, v := range z {
					sum[j] += share * slope * d.factor[i] * v
				}
			case query.ScoreMoment:
				for j, v := range z {
					score[j] += share * slope * d.factor[i] * v
				}
			}
		}
		if t.Kind() == query.ScoreMoment && (i+1)%d.unit() == 0 {
			outerTo(sum, 1, score)
			clear(score)
		}
	}
}

// outerTo adds c z z' to sum, which holds a symmetric matrix as a vector: the entries of the upper
// triangle, off-diagonal ones times sqrt 2.
func outerTo(sum []float64, c float64, z []float64) {
	for j, v := range z {
		out := sum[:len(z)-j]
		sum = sum[len(z)-j:]
		f := c * v
		out[0] += f * v
		f *= math.Sqrt2
		for k, u := range z[j+1:] {
			out[k+1] += f * u
		}
	}
}
