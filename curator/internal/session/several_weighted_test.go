package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// coupled is a loss of several margins whose slopes are by times those of another loss, and whose second derivatives are
// numbers of any size and sign, not symmetric, such that no clip but the engine's limits what a record adds.
type coupled struct {
	loss.Margins
	by float64
}

func (l coupled) Slopes(dst, z, y []float64) {
	l.Margins.Slopes(dst, z, y)
	for i := range dst {
		dst[i] *= l.by
	}
}

func (l coupled) CurvaturesAlong(dst, z, u, y []float64) {
	l.Margins.CurvaturesAlong(dst, z, u, y)
	for i := range dst {
		dst[i] *= l.by * math.Sin(float64(7*i)+z[i])
	}
}

// TestReplacingARecordOfSeveralClasses: no replaced or added record of several classes may move the sum of a weighted kind by
// more than is charged, at extreme and faulty rows, every class, and for losses that break their constants or whose second
// derivatives are no matrix of a convex loss. Some record must come near the charge. It fails if a clip is left out, or if a
// curvature may have an eigenvalue below 0.
func TestReplacingARecordOfSeveralClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 3))
	closest := map[string]float64{}
	softmax := parse(t, "softmax(3)").(loss.Margins)
	for name, l := range inOrder(map[string]loss.Loss{"softmax": softmax, "steep": coupled{softmax, 40},
		"boundless": coupled{softmax, -1e150}}) {
		for _, d := range []int{1, 5} {
			records := randomRecords(r, 8, d)
			for i := range records {
				records[i].y = float64(i % 3)
			}
			for range 2 {
				w, prev := point(r, 3*d, 3), point(r, d, 3)
				m := metricOf(t, prev)
				right := map[bool]float64{true: math.Sqrt2, false: 1} // two of these records need not have a right angle
				for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
					s, own := open(t, records, l, budget(t, 50, .1, relation), nil), engineOf(t, records, l)
					var some []record
					for i, x := range replacements(r, d, w[:d], prev) {
						if i%8 < 4 {
							x.y = []float64{0, 1, 2, math.NaN()}[i%4]
						}
						some = append(some, x)
					}
					neighbours := neighboursOf(t, records, some, l, relation)
					for kind, term := range inOrder(map[string]query.Term{
						"weighted gradient":   query.WeightedGradientAt(s.All(), w, .4, .8, m),
						"weighted curvature":  query.WeightedCurvatureAt(s.All(), w, .1, .8, m),
						"moment of gradients": query.ScoreMomentAt(s.All(), w, .4, .8, m),
						"short reach":         query.WeightedCurvatureAt(s.All(), w, .02, .1, m),
					}) {
						q := question(t, .01, term)
						g, err := newGrid(q, relation, s.mostRecords(q))
						if err != nil {
							t.Fatal(err)
						}
						before, sums := integers(t, own, q, g, nil), make([][]int64, len(neighbours))
						for i, n := range neighbours {
							sums[i] = integers(t, n, q, g, nil)
						}
						for i, after := range sums {
							others := [][]int64{before}
							if relation == account.ReplaceOne {
								others = sums[:i]
							}
							for _, o := range others {
								moved := distance(o, after) / g.scale
								if !(moved <= g.sensitivity) {
									t.Fatalf("%s d=%d %v %s: replacement %d moves the sum by %v, charged for %v", name, d, relation, kind, i, moved,
										g.sensitivity)
								}
								key := fmt.Sprint(kind, " ", relation)
								closest[key] = max(closest[key], right[relation == account.ReplaceOne && q.Facts().Pairs]*moved/g.sensitivity)
							}
						}
					}
				}
			}
		}
	}
	for key, ratio := range inOrder(closest) {
		if ratio < .9 {
			t.Errorf("%s: the worst replacement reaches only %.3f of the charged sensitivity", key, ratio)
		}
	}
}

// TestWeightedKindsNeedTheMetricOfARow: a question with a metric that fits the point and not the loss is refused before
// anything is charged.
func TestWeightedKindsNeedTheMetricOfARow(t *testing.T) {
	l := parse(t, "softmax(3)")
	r := rand.New(rand.NewPCG(17, 4))
	records := randomRecords(r, 8, 2)
	s := open(t, records, l, budget(t, 50, .1, account.ReplaceOne), nil)
	for _, dim := range []int{1, 3, 6} {
		q := question(t, .01, query.WeightedGradientAt(s.All(), make([]float64, 6), 1, 1, metricOf(t, point(r, dim, 1))))
		if _, err := s.Ask(t.Context(), q); err == nil || s.Ledger().Len() > 0 {
			t.Errorf("a metric of dimension %d: %v, charged %d", dim, err, s.Ledger().Len())
		}
	}
}
