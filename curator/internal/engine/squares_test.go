package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDiagonalLengthsAreThoseOfTheMatrix: sums in a diagonal metric must be the same to the bit as
// sums in the same matrix given in full, on rows with few zeros and with many. The error bounds of
// lengths, which are proven for full matrices, then hold for both.
func TestDiagonalLengthsAreThoseOfTheMatrix(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(52, 1))
	for _, zeros := range []float64{0, .5, .95} {
		for _, d := range []int{1, 6, 33} {
			const n = 150
			table, err := row.NewTable(d, 40)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				x := make([]float32, d)
				for j := range x {
					if r.Float64() >= zeros {
						x[j] = float32(r.Float64()-.5) / float32(d)
					}
				}
				table.Append(x, float64(2*r.IntN(2)-1), true)
			}
			entries, full, w := make([]float64, d), make([]float64, d*d), make([]float64, d)
			for j := range entries {
				entries[j], w[j] = r.NormFloat64(), r.NormFloat64()
				full[j*d+j] = entries[j]
			}
			diagonal, err := query.NewDiagonal(entries)
			if err != nil {
				t.Fatal(err)
			}
			matrix, err := query.NewMetric(d, full)
			if err != nil {
				t.Fatal(err)
			}
			on := query.NewCohort(0, n)
			for _, ask := range []func(query.Metric) query.Term{
				func(m query.Metric) query.Term { return query.GradientInMetric(on, w, .01, 1, m) },
				func(m query.Metric) query.Term { return query.SquaredSlopeAt(on, w, .001, m) },
			} {
				var sums [2][]int64
				for i, m := range []query.Metric{diagonal, matrix} {
					e, err := New(table, l, 2)
					if err != nil {
						t.Fatal(err)
					}
					q, err := query.New(1, ask(m))
					if err != nil {
						t.Fatal(err)
					}
					sum, err := e.Sum(t.Context(), q, 0x1p40, nil)
					if err != nil {
						t.Fatal(err)
					}
					sums[i] = sum.Residual
				}
				if !slices.Equal(sums[0], sums[1]) {
					t.Errorf("d = %d, %v of zeros: %v: %v: want %v", d, zeros, ask(diagonal).Kind(), sums[0], sums[1])
				}
			}
		}
	}
}
