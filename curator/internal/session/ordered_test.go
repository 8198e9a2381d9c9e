package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// boundless is a loss of ordered classes that breaks every promise: its slopes and second derivatives are as large as
// its factor, with any sign.
type boundless struct {
	engine.Parted
	by float64
}

func (boundless) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, InitialGap: 1, Curvature: loss.CurvatureInterval{Hi: .5}}
}

func (l boundless) Parts(theta []float64, z, y float64) (int, [3]float64, [3]float64, bool) {
	class, slopes, curvatures, ok := l.Parted.Parts(theta, z, y)
	for i := range slopes {
		slopes[i], curvatures[i] = l.by*slopes[i], l.by*(curvatures[i]-.1)
	}
	return class, slopes, curvatures, ok
}

func (l boundless) Backward(s, rest, z, theta, square, y []float64) {
	l.Parted.Backward(s, rest, z, theta, square, y)
	for i := range s {
		s[i] *= l.by
	}
	for i := range rest {
		rest[i] *= -l.by
	}
}

// TestReplacingARecordOfOrderedClasses: no replaced or added record of ordered classes may move the sum of any kind by
// more than is charged, at extreme and faulty rows, every class, thresholds that are close together, and for losses that
// break their constants. Some record must come near the charge. It fails if a clip is left out.
func TestReplacingARecordOfOrderedClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 2))
	closest := map[string]float64{}
	ordered := parse(t, "ordered(4)").(engine.Parted)
	for name, l := range inOrder(map[string]loss.Loss{"ordered": ordered, "steep": boundless{ordered, 40},
		"boundless": boundless{ordered, 1e200}}) {
		for _, d := range []int{1, 6} {
			records := randomRecords(r, 8, d)
			for i := range records {
				records[i].y = float64(i % 4)
			}
			for way := range 3 {
				w, prev := point(r, d+2, 3), point(r, d+2, 3)
				if way == 1 {
					w[d] = -30 // a gap of nearly 0
				}
				m := metricOf(t, prev)
				right := map[bool]float64{true: math.Sqrt2, false: 1} // two of these records never have a right angle
				for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
					s, own := open(t, records, l, budget(t, 50, .1, relation), nil), engineOf(t, records, l)
					var some []record
					for i, x := range replacements(r, d, w[:d], prev[:d]) {
						if i%8 < 5 {
							x.y = []float64{0, 1, 2, 3, math.NaN()}[i%8]
						}
						some = append(some, x)
					}
					neighbours := neighboursOf(t, records, some, l, relation)
					for kind, term := range inOrder(map[string]query.Term{
						"gradient in a metric":  query.GradientInMetric(s.All(), w, .7, 3, m),
						"short":                 query.GradientInMetric(s.All(), w, .01, .5, m),
						"squared slope":         query.SquaredSlopeAt(s.All(), w, .3, m),
						"weighted gradient":     query.WeightedGradientAt(s.All(), w, .4, .8, m),
						"weighted curvature":    query.WeightedCurvatureAt(s.All(), w, .1, .8, m),
						"moment of gradients":   query.ScoreMomentAt(s.All(), w, .4, .8, m),
						"weighted, short reach": query.WeightedCurvatureAt(s.All(), w, .02, .1, m),
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
								by := right[relation == account.ReplaceOne && q.Facts().Pairs]
								if !(moved <= g.sensitivity) {
									t.Fatalf("%s d=%d %v %s: replacement %d moves the sum by %v, charged for %v", name, d, relation, kind, i, moved,
										g.sensitivity)
								}
								key := fmt.Sprint(kind, " ", relation)
								closest[key] = max(closest[key], by*moved/g.sensitivity)
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
