package session

import (
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestMetricsAreOfTheFeatures tests that a metric with fewer or more dimensions than there are
// features is refused before anything is charged, also if the number of the point's coordinates is
// a multiple of the metric's dimension. The test fails if only the engine checks the dimension,
// since the engine runs after the charge.
func TestMetricsAreOfTheFeatures(t *testing.T) {
	const d = 4
	records := randomRecords(rand.New(rand.NewPCG(3, 8)), 10, d)
	for name, margins := range map[string]int{"logistic": 1, "softmax(3)": 3} {
		for dim := 1; dim <= margins*d; dim++ {
			if margins*d%dim != 0 {
				continue
			}
			p := make([]float64, dim*dim)
			for j := range dim {
				p[j*dim+j] = 1
			}
			m, err := query.NewMetric(dim, p)
			if err != nil {
				t.Fatal(err)
			}
			w := make([]float64, margins*d)
			s := open(t, records, parse(t, name), budget(t, 50, .1, account.ReplaceOne), nil)
			for _, term := range []query.Term{query.GradientInMetric(s.All(), w, 1, 1, m),
				query.SquaredSlopeAt(s.All(), w, 1, m)} {
				before := s.Ledger().Charged()
				_, err := s.Ask(t.Context(), question(t, .01, term))
				if charged := s.Ledger().Charged() > before; (err == nil) != (dim == d) || charged != (dim == d) {
					t.Errorf("%s, %v in a metric of dimension %d for %d features: charged: %v, error %v", name, term.Kind(), dim, d,
						charged, err)
				}
			}
		}
	}
}
