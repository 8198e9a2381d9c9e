package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// hostileUnits returns engines, each over one unit. The units have from one row to the largest number
// of rows.
func hostileUnits(t *testing.T, u loss.Units) (engines []engine.Engine) {
	t.Helper()
	rows := hostileRows(false)
	r := rand.New(rand.NewPCG(5, 11))
	for i := range 60 {
		var x [][]float32
		var y []float64
		for range 1 + r.IntN(u.Rows()) {
			x, y = append(x, rows[r.IntN(len(rows))]), append(y, float64(r.IntN(3*ways)))
		}
		if i%3 == 0 { // rows that agree, so that a unit is as long as a row
			for j := range x {
				x[j], y[j] = rows[len(rows)-1-i/3%4], float64(2+i/12)
			}
		}
		joined, target := loss.JoinRows(u, x, y)
		layout, err := row.Dense(len(joined))
		if err != nil {
			t.Fatal(err)
		}
		table, err := row.NewTableOf(layout, 0)
		if err != nil {
			t.Fatal(err)
		}
		table.Append(joined, target, true)
		e, err := engine.New(table, u, 1)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	return engines
}

// extremeMetrics returns metrics of four features: a metric that shortens and reverses, the
// identity, a metric with entries that are as far apart as the grid of a metric allows, a metric
// with large entries, a metric with small entries, and a metric in which some rows have length 0.
func extremeMetrics(t *testing.T, r *rand.Rand) map[string]query.Metric {
	t.Helper()
	of := func(diagonal ...float64) query.Metric {
		p := make([]float64, 16)
		for j, v := range diagonal {
			p[j*5] = v
		}
		m, err := query.NewMetric(4, p)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return map[string]query.Metric{
		"reversing": metricOf(t, point(r, 4, 1)), "identity": of(1, 1, 1, 1), "apart": of(1, 1e-12, -1, 1e-6),
		"large": of(0x1p30, 0x1p30, 0x1p30, 1), "small": of(0x1p-30, 0x1p-30, 0x1p-30, 0x1p-30), "flat": of(0, 0, 1, 0),
	}
}

// TestHostileWeightedKinds replaces and adds records, rows and units, whose rows are zero, tiny or of
// the largest norm. The loss returns arbitrary float64 numbers, at points up to the largest float64,
// in metrics that shorten, lengthen and flatten. Sums of the weighted kinds must move by at most the
// charged sensitivity, and must reach most of it.
func TestHostileWeightedKinds(t *testing.T) {
	enginetest.Rounds(t)
	var codes []float64
	for i := range 3 * ways {
		codes = append(codes, float64(i))
	}
	one := hostileRankOne{parse(t, "logistic").(loss.RankOne)}
	engines := map[string][]engine.Engine{"rows": alone(t, one, false, codes), "rows, coded": alone(t, one, true, codes)}
	for name, sum := range map[string]bool{"units": false, "units, summed": true} {
		u, err := loss.NewUnits(one, 3, sum)
		if err != nil {
			t.Fatal(err)
		}
		engines[name] = hostileUnits(t, u)
	}
	r := rand.New(rand.NewPCG(17, 3))
	c := query.NewCohort(account.Everyone, 1)
	reached := map[string]float64{}
	for size, scale := range inOrder(sizes) {
		if testing.Short() && size != "ordinary" && size != "largest" {
			continue
		}
		w := make([]float64, 4)
		for j := range w {
			w[j] = math.Copysign(scale, float64(j%2)-.5)
		}
		for metric, m := range inOrder(extremeMetrics(t, r)) {
			for kind, term := range inOrder(map[string]query.Term{
				"gradient":  query.WeightedGradientAt(c, w, .25, .5, m),
				"curvature": query.WeightedCurvatureAt(c, w, .1, .25, m).Weighted(3),
				"scores":    query.ScoreMomentAt(c, w, 2, 1, m),
				"moment":    query.WeightedMomentOf(c, .25, m),
				"far":       query.ScoreMomentAt(c, w, 0x1p80, 0x1p20, m),
				"near":      query.WeightedGradientAt(c, w, 0x1p-80, 0x1p-20, m),
			}) {
				q := question(t, 1e-3, term)
				for of, e := range inOrder(engines) {
					for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
						worst := worstPair(t, e, q, relation)
						if !(worst <= 1) {
							t.Errorf("%s, %s at a point of %s size, metric %s, %v: moves by %v of what is charged",
								of, kind, size, metric, relation, worst)
						}
						key := fmt.Sprint(of, ", ", kind, ", ", relation)
						reached[key] = max(reached[key], worst)
					}
				}
			}
		}
	}
	for of := range engines {
		for _, kind := range []string{"gradient", "curvature", "scores", "moment"} {
			if key := fmt.Sprint(of, ", ", kind, ", ", account.AddOrRemove); reached[key] < .99 {
				t.Errorf("%s: reaches only %.3f of what is charged: the test shows little", key, reached[key])
			}
		}
	}
}
