package session

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// nearby is a loss with finite slopes at a margin of 0 only.
type nearby struct{ loss.RankOne }

func (n nearby) Slopes(dst, z, y []float64) {
	n.RankOne.Slopes(dst, z, y)
	for i := range z {
		if z[i] != 0 {
			dst[i] = math.NaN()
		}
	}
}

// nearbyGeneral is a loss with a finite gradient at the origin only.
type nearbyGeneral struct{ loss.Loss }

func (nearbyGeneral) Value([]float64, []float32, float64) float64 { return 0 }

func (nearbyGeneral) Gradient(dst, w []float64, _ []float32, _ float64) {
	for j := range dst {
		dst[j] = .1
		if w[j] != 0 {
			dst[j] = math.NaN()
		}
	}
}

// TestFaultyInALaterTermContributesZero tests that a record that is valid in the first term of a
// query and faulty in the second contributes zero in total. Its contribution to the first term is
// dropped.
func TestFaultyInALaterTermContributesZero(t *testing.T) {
	const n, d = 70, 3
	r := rand.New(rand.NewPCG(8, 88))
	records := randomRecords(r, n, d)
	logistic := parse(t, "logistic").(loss.RankOne)
	for form, l := range inOrder(map[string]loss.Loss{"rank-one": nearby{logistic}, "general": nearbyGeneral{logistic}}) {
		s := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), nil)
		sound := query.GradientAt(s.All(), make([]float64, d), 1)
		ask := func(terms ...query.Term) (total int64) {
			sum, err := s.engine().Sum(t.Context(), question(t, .1, terms...), 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range sum.Residual {
				total += max(v, -v)
			}
			return total
		}
		if ask(sound) == 0 {
			t.Fatalf("%s: the sound term sums to zero: the test shows nothing", form)
		}
		if got := ask(sound, query.GradientAt(s.All(), []float64{1, 2, 3}, 1)); got != 0 {
			t.Errorf("%s: %d grid steps are left of records that fail in the second term", form, got)
		}
	}
}
