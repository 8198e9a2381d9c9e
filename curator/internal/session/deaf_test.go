package session

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// deaf is a loss that replaces NaN among its arguments by a number, so that it answers for malformed
// rows too.
type deaf struct{ loss.RankOne }

func (d deaf) Slopes(dst, z, y []float64) { d.RankOne.Slopes(dst, heard(z), heard(y)) }
func (d deaf) Values(dst, z, y []float64) { d.RankOne.Values(dst, heard(z), heard(y)) }

func heard(v []float64) []float64 {
	v = slices.Clone(v)
	for i, x := range v {
		if math.IsNaN(x) {
			v[i] = 1
		}
	}
	return v
}

// TestFaultyWhateverTheLossSays tests that whether a row is faulty does not depend on the loss's
// result for its target. Every sum has the same integers with a loss that returns numbers for NaN.
func TestFaultyWhateverTheLossSays(t *testing.T) {
	const d = 3
	r := rand.New(rand.NewPCG(2, 71))
	records := randomRecords(r, 150, d)
	for i := range records {
		switch i % 5 {
		case 1:
			records[i].y = math.NaN()
		case 2:
			records[i].y = math.Inf(1)
		case 3:
			records[i].ok = false
		case 4:
			records[i].x = scaled([]float64{9, 9, 9}, 1) // longer than a row
		}
	}
	w, prev := point(r, d, 2), point(r, d, 2)
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		own := parse(t, "logistic").(loss.RankOne)
		b := budget(t, 8, .01, relation)
		plain, other := open(t, records, own, b, nil), open(t, records, deaf{own}, b, nil)
		c := plain.All()
		for name, terms := range inOrder(map[string][]query.Term{
			"gradient":                {query.GradientAt(c, w, 1)},
			"norm":                    {query.NormAt(c, w, 1, nil)},
			"difference":              {query.DifferenceWithin(c, w, prev, .5)},
			"difference by curvature": {query.DifferenceByCurvature(c, w, prev, 0, .25)},
			"mix": {query.GradientAt(c, w, 1).Weighted(.3),
				query.DifferenceByCurvature(c, w, prev, 0, .25).Weighted(.7)},
			"value":                   {query.ValueAt(c, w, .7, 1)},
			"value beyond its centre": {query.ValueAt(c, w, 5, 1)},
		}) {
			q := question(t, .1, terms...)
			const scale = 1 << 20
			want, err := plain.engine().Sum(t.Context(), q, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := other.engine().Sum(t.Context(), q, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Residual, want.Residual) {
				t.Errorf("%v, %s: the sum is %v with a loss that answers NaN by a number, %v with one that does not", relation,
					name, got, want)
			}
		}
	}
}
