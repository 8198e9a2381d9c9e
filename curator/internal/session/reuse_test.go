package session

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestTermsInEitherOrder tests that a query of two terms has the same exact sum in either order of
// the terms, since the sum of two floats does not depend on their order. A term must not reuse
// numbers of the previous term unless their points are equal, however similar the points are.
func TestTermsInEitherOrder(t *testing.T) {
	const d = 9
	r := rand.New(rand.NewPCG(8, 15))
	s := open(t, randomRecords(r, 130, d), parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), nil)
	w := point(r, d, 3)
	for j := range d {
		others := map[string][]float64{"that differs there": slices.Clone(w), "that agrees there": point(r, d, 3)}
		others["that differs there"][j] += 2
		others["that agrees there"][j] = w[j]
		for name, v := range inOrder(others) {
			for kind, term := range inOrder(map[string]func(w []float64) query.Term{
				"gradient":   func(w []float64) query.Term { return query.GradientAt(s.All(), w, 1) },
				"difference": func(w []float64) query.Term { return query.DifferenceWithin(s.All(), w, make([]float64, d), 1) },
				"value":      func(w []float64) query.Term { return query.ValueAt(s.All(), w, 0, 4) },
			}) {
				var sums [2][]int64
				for i, points := range [][2][]float64{{w, v}, {v, w}} {
					sum, err := s.engine().Sum(t.Context(), question(t, .1, term(points[0]), term(points[1])), 1<<20, nil)
					if err != nil {
						t.Fatal(err)
					}
					sums[i] = sum.Residual
				}
				if !slices.Equal(sums[0], sums[1]) {
					t.Errorf("%s, a point %s in coordinate %d: %v in one order, %v in the other", kind, name, j, sums[0], sums[1])
				}
			}
		}
	}
}
