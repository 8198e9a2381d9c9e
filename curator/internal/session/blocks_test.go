package session

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestRecordsInABlock: replacing a record of length 1 within the block moves the sum of squares and pairs by at most what is
// charged, and by nearly as much for two records at a right angle, whose squares are the same and whose pairs are not.
func TestRecordsInABlock(t *testing.T) {
	r := rand.New(rand.NewPCG(87, 1))
	l := parse(t, "logistic")
	for _, d := range []int{4, 16, 40} {
		on := query.NewCohort(account.Everyone, 1)
		q := question(t, .1, query.BlockMomentOf(on, half(d)))
		for relation, moves := range map[account.Relation]float64{account.ReplaceOne: math.Sqrt2, account.AddOrRemove: 1} {
			g, err := newGrid(q, relation, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(g.sensitivity-moves) <= 1e-3) {
				t.Fatalf("%v: a sensitivity of %v: want %v", relation, g.sensitivity, moves)
			}
			sum := func(x []float32) []int64 {
				if x == nil {
					return make([]int64, q.SumDim())
				}
				return integers(t, engineOf(t, []record{{x: x, y: 1, ok: true}}, l), q, g, nil)
			}
			closest := 0.
			for turn := range 40 {
				x, y := make([]float32, d), make([]float32, d)
				for j := 0; j < d; j += 2 {
					x[j] = float32(1 / math.Sqrt(float64(d/2)))
					if y[j] = x[j]; j%4 == 0 {
						y[j] = -x[j]
					}
				}
				if turn > 0 { // any records
					x, y = unit(r, d), unit(r, d)
				}
				if relation == account.AddOrRemove {
					y = nil
				}
				moved := distance(sum(x), sum(y)) / g.scale
				if closest = max(closest, moved/g.sensitivity); moved > g.sensitivity {
					t.Fatalf("d = %d, %v: moved by %v, charged for %v", d, relation, moved, g.sensitivity)
				}
			}
			if closest < .999 {
				t.Errorf("d = %d, %v: the worst record moves by %v of what is charged", d, relation, closest)
			}
		}
	}
}
