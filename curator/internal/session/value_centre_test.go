package session

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestValuesAreClippedAboutTheirCentre tests that a value is clipped around its public centre for
// every form of loss. With a centre far above all values, every record is at the lower bound of the
// interval. With a centre far below, every record is at the upper bound.
func TestValuesAreClippedAboutTheirCentre(t *testing.T) {
	const n, d = 60, 3
	r := rand.New(rand.NewPCG(4, 44))
	logistic := parse(t, "logistic")
	for form, l := range inOrder(map[string]loss.Loss{"rank-one": logistic, "general": spring{logistic}}) {
		s := open(t, randomRecords(r, n, d), l, budget(t, 8, .01, account.ReplaceOne), nil)
		for centre, want := range map[float64]int64{1e9: -n << 18, -1e9: n << 18} {
			sum, err := s.engine().Sum(t.Context(), question(t, .1, query.ValueAt(s.All(), make([]float64, d), centre, .25)),
				1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sum.Residual, []int64{want}) {
				t.Errorf("%s: about %v the residuals sum to %v: must be %v", form, centre, sum.Residual, want)
			}
		}
	}
}
