package session

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEveryCoordinateHasItsNoise estimates, for every kind of answer, the variance of each
// coordinate's noise, its covariance with the previous coordinate, and its covariance with the same
// coordinate of the previous answer. An estimate from n pairs of normals has a standard deviation
// of at most sqrt(2/n). The tolerance of 6.5 deviations is exceeded by chance with probability
// below 1e-9, including the skewness of a variance at n = 2000. There are fewer than 300 estimates,
// so correct code fails with probability below 1e-6. If a coordinate has no noise, or two
// coordinates have the same noise, an estimate is off by 1. The tolerance is 0.2.
func TestEveryCoordinateHasItsNoise(t *testing.T) {
	const d = 3
	asks := 2000
	if testing.Short() {
		asks = 400
	}
	r := rand.New(rand.NewPCG(12, 1))
	records := randomRecords(r, 4, d)
	rankOne := parse(t, "logistic")
	w, prev := point(r, d, 2), point(r, d, 2)
	for name, l := range map[string]loss.Loss{"rank-one": rankOne, "general": spring{rankOne}} {
		for kind, q := range questionsAt(t, query.NewCohort(account.Everyone, 4), w, prev, l) {
			q = question(t, 1e-4, q.Terms()...)
			s, silent := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), nil),
				open(t, records, l, budget(t, 8, .01, account.ReplaceOne), noiseless)
			exact := answer(t, silent, q)
			z := make([][]float64, asks)
			for i := range z {
				a := answer(t, s, q)
				for j, v := range a.Mean {
					z[i] = append(z[i], (v-exact.Mean[j])/a.Sigma)
				}
			}
			independent(t, name+" "+kind, z)
		}
	}
}

func answer(t testing.TB, s *Session, q query.Question) query.Release {
	t.Helper()
	a, err := s.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// independent fails the test unless the rows of z look like independent standard normals.
func independent(t testing.TB, name string, z [][]float64) {
	t.Helper()
	n := float64(len(z))
	allowed := 6.5 * math.Sqrt(2/n)
	for j := range z[0] {
		var variance, beside, before float64
		for i := range z {
			variance += z[i][j] * z[i][j] / n
			if j > 0 {
				beside += z[i][j] * z[i][j-1] / n
			}
			if i > 0 {
				before += z[i][j] * z[i-1][j] / n
			}
		}
		if !(math.Abs(variance-1) <= allowed) {
			t.Errorf("%s: coordinate %d: variance %v of what is stated", name, j, variance)
		}
		if !(math.Abs(beside) <= allowed) || !(math.Abs(before) <= allowed) {
			t.Errorf("%s: coordinate %d: correlation %v with the one before, %v with the answer before", name, j, beside, before)
		}
	}
}
