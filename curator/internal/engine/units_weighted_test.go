package engine_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestWeightedSumsOfUnits works out sums of the weighted kinds over units of one to three rows, of which some are longer
// in the metric than the reach and some have a slope or second derivative beyond the limit. A unit's contribution is the
// mean over its rows, or for summed units the sum over its rows divided by three. For a row x with z = P x, shortened to
// the reach, and u = min(1, reach/|P x|), the kinds add z z', c z z' and u s z, and the outer product of the last.
func TestWeightedSumsOfUnits(t *testing.T) {
	const n, d, most, scale, reach = 40, 3, 3, 1 << 34, 1.1
	matrix := []float64{2, .3, -.2, .3, 1.5, .4, -.2, .4, .9}
	metric, err := query.NewMetric(d, matrix)
	if err != nil {
		t.Fatal(err)
	}
	steps := make([]int64, d)
	for j := range d { // the rounded matrix
		metric.Row(steps, j)
		for k, v := range steps {
			matrix[j*d+k] = float64(v) * metric.Step()
		}
	}
	w, all := []float64{1.2, -2.5, .7}, query.NewCohort(account.Everyone, n)
	for _, summed := range []bool{false, true} {
		l, err := loss.NewUnits(loss.Logistic(), most, summed)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(12, 1))
		var units [][][]float32
		var targets [][]float64
		var table *row.Table
		for i := range n {
			var rows [][]float32
			var ys []float64
			for range 1 + i%most {
				x := make([]float32, d)
				for j := range x {
					x[j] = float32((2*r.Float64() - 1) / math.Sqrt(d))
				}
				rows, ys = append(rows, x), append(ys, float64(2*r.IntN(2)-1))
			}
			record, y := loss.JoinRows(l, rows, ys)
			if table == nil {
				if table, err = row.NewTable(len(record), 16); err != nil {
					t.Fatal(err)
				}
			}
			table.Append(record, y, true)
			units, targets = append(units, rows), append(targets, ys)
		}
		e, err := engine.New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		for kind, c := range map[query.Kind]struct {
			limit float64
			term  func(limit float64) query.Term
		}{
			query.WeightedMoment: {0, func(float64) query.Term { return query.WeightedMomentOf(all, reach, metric) }},
			query.WeightedCurvature: {.2, func(limit float64) query.Term {
				return query.WeightedCurvatureAt(all, w, limit, reach, metric)
			}},
			query.WeightedGradient: {.5, func(limit float64) query.Term {
				return query.WeightedGradientAt(all, w, limit, reach, metric)
			}},
			query.ScoreMoment: {.5, func(limit float64) query.Term { return query.ScoreMomentAt(all, w, limit, reach, metric) }},
		} {
			q, err := query.New(1, c.term(c.limit))
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Sum(context.Background(), q, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, len(got.Residual))
			short, beyond := 0, 0
			for i, rows := range units {
				share := 1 / float64(len(rows))
				if summed {
					share = 1. / most
				}
				score := make([]float64, d)
				for k, x := range rows {
					z, length, margin := make([]float64, d), 0., 0.
					for a := range d {
						for b := range d {
							z[a] += matrix[a*d+b] * float64(x[b])
						}
						length, margin = math.Hypot(length, z[a]), margin+w[a]*float64(x[a])
					}
					u := min(1, reach/length)
					if u < 1 {
						short++
					}
					p := 1 / (1 + math.Exp(-margin))
					slope, second := p-(1+targets[i][k])/2, p*(1-p)
					if kind == query.WeightedCurvature && second > c.limit || kind != query.WeightedCurvature && math.Abs(slope) > c.limit {
						beyond++
					}
					for a := range d {
						score[a] += share * min(max(slope, -c.limit), c.limit) * u * u * z[a]
					}
					factor := share * u * u
					if kind == query.WeightedCurvature {
						factor *= min(second, c.limit)
					}
					if kind == query.WeightedMoment || kind == query.WeightedCurvature {
						addPairs(want, factor, z)
					}
				}
				switch kind {
				case query.WeightedGradient:
					for a, v := range score {
						want[a] += v
					}
				case query.ScoreMoment:
					addPairs(want, 1, score)
				}
			}
			if short == 0 || short > 70 || kind != query.WeightedMoment && (beyond == 0 || beyond > 70) {
				t.Fatalf("%v: %d rows are long and %d beyond the limit: tries nothing", kind, short, beyond)
			}
			for j, v := range want {
				if is := float64(got.Residual[j]) / scale; !(math.Abs(is-v) <= 1e-7) {
					t.Errorf("summed %v, %v: entry %d is %v: must be %v", summed, kind, j, is, v)
				}
			}
		}
	}
}

// addPairs adds c z z' to the entries of a symmetric matrix on and above its diagonal, with sqrt 2 above it.
func addPairs(sum []float64, c float64, z []float64) {
	at := 0
	for a, v := range z {
		for b, u := range z[a:] {
			f := c * v * u
			if b > 0 {
				f *= math.Sqrt2
			}
			sum[at] += f
			at++
		}
	}
}
