package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDiagonalLengthsAreThoseOfTheMatrix: sums in a metric that is zero off its diagonal and a block must be the same to
// the bit as sums in the same matrix given in full, on rows with few zeros and with many. The error bounds of
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
			// A block of every third feature, or for some tables none.
			var whole []int
			var block []float64
			for j := 0; j < d && zeros != .5; j += 3 {
				whole = append(whole, j)
				for k := 0; k < j; k += 3 {
					full[j*d+k] = r.NormFloat64()
					full[k*d+j] = full[j*d+k]
				}
			}
			for _, j := range whole {
				for _, k := range whole {
					block = append(block, full[j*d+k])
				}
			}
			diagonal, err := query.NewBlocks(entries, whole, block)
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

// TestSquaresAndPairsAreOfTheMoment: a query about squares and a block must have the integers of the second moment, on rows
// with zeros.
func TestSquaresAndPairsAreOfTheMoment(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 2))
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	const d, n = 9, 200
	table, err := row.NewTable(d, 40)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		x := make([]float32, d)
		for j := range x {
			if r.IntN(3) > 0 {
				x[j] = float32(r.Float64()-.5) / d
			}
		}
		table.Append(x, float64(2*r.IntN(2)-1), true)
	}
	e, err := New(table, l, 2)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(term query.Term) []int64 {
		q, err := query.New(1, term.Weighted(.7))
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Sum(t.Context(), q, 0x1p40, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Residual
	}
	on := query.NewCohort(0, n)
	moment, whole := sum(query.SecondMomentOf(on, d)), make([]bool, d)
	at := func(j, k int) int64 { return moment[j*d-j*(j-1)/2+k-j] }
	for _, in := range [][]int{nil, {4}, {0, 8}, {1, 2, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		clear(whole)
		var want []int64
		for j := range d {
			want = append(want, at(j, j))
		}
		for i, j := range in {
			whole[j] = true
			for _, k := range in[i+1:] {
				want = append(want, at(j, k))
			}
		}
		if got := sum(query.BlockMomentOf(on, whole)); !slices.Equal(got, want) {
			t.Errorf("block %v: %v: want %v", in, got, want)
		}
	}
}
