package engine_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCurvedSums tests that sums over rows whose hats are computed when they are read equal the
// sums over the same rows with a number for each feature. They are equal to the bit where no margin
// is computed, and to three steps where margins are added up in another order.
func TestCurvedSums(t *testing.T) {
	const n, dim, scale = 130, 30, 0x1p30 // most features are zero
	l, err := row.NewHatted(dim, nil, []row.Hats{{First: 2, Width: dim - 6, Edges: 1}})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := l.Bare()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := row.NewTableOf(bare, 32)
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(2, 3))
	for i := range n {
		x := []float32{.4 * float32(2*coin.Float64()-1), 0, .3 * float32(coin.NormFloat64()), 0, 0, .4}
		if i%7 == 3 {
			x[0], x[1] = 0, .4
		}
		stored.Append(x, float64(2*(i%2)-1), i%11 != 2)
	}
	curved, err := row.NewCurved(stored, l, dim-1,
		[]row.Hanging{{Axes: []row.Axis{{Number: 0, Missing: 1, Knots: spline.Equal(dim - 6)}}, Group: -1}})
	if err != nil {
		t.Fatal(err)
	}
	full, err := row.NewTable(dim, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all row.Block
	if err := curved.Reader().Rows(&all, slices.Collect(func(yield func(int32) bool) {
		for i := range int32(n) {
			if !yield(i) {
				return
			}
		}
	})); err != nil {
		t.Fatal(err)
	}
	x := make([]float32, n*l.Full())
	l.WriteOut(x, all)
	for i, y := range all.Targets {
		full.Append(x[i*l.Full():][:dim], y, true)
	}
	w, along := make([]float64, dim), make([]float64, dim)
	for j := range w {
		w[j], along[j] = 3*coin.NormFloat64(), coin.NormFloat64()
	}
	everyone := query.NewCohort(account.Everyone, n)
	for _, test := range []struct {
		term   query.Term
		within float64
	}{
		{query.RowMeanOf(everyone, dim), 0}, {query.SecondMomentOf(everyone, dim), 0},
		{query.CentredMomentOf(everyone, along, .5), 0},
		{query.SquaredFeaturesOf(everyone, dim), 0},
		{query.GradientAt(everyone, w, 1), 3}, {query.ProductAt(everyone, w, along, 0, .25), 3},
		{query.ValueAt(everyone, w, 0, 9), 3 * n},
	} {
		q, err := query.New(1, test.term)
		if err != nil {
			t.Fatal(err)
		}
		var sums [2]engine.Sum
		for k, s := range []row.Source{curved, full} {
			e, err := engine.New(s, loss.Logistic(), 3)
			if err != nil {
				t.Fatal(err)
			}
			if sums[k], err = e.Sum(context.Background(), q, scale, nil); err != nil {
				t.Fatal(err)
			}
		}
		moved := false
		for j, v := range sums[1].Residual {
			moved = moved || v != 0
			if d := math.Abs(float64(sums[0].Residual[j] - v)); d > test.within {
				t.Errorf("%s: coordinate %d is %d: want %d", q.Name(), j, sums[0].Residual[j], v)
			}
		}
		if !moved {
			t.Errorf("%s: nothing is summed", q.Name())
		}
	}
}

// TestExtendedSums tests that sums over rows whose features of effects are computed when they are read, or kept, equal
// the sums over the same rows stored with them, to the bit.
func TestExtendedSums(t *testing.T) {
	const n, scale, features = 130, 0x1p30, 20
	groups := []row.Group{{First: 1, Width: 3}}
	base, err := row.NewLayout(6, groups)
	if err != nil {
		t.Fatal(err)
	}
	l, err := row.NewLayout(6+features, groups)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := row.NewTableOf(base, 32)
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(2, 3))
	for i := range n {
		x := []float32{.4 * float32(2*coin.Float64()-1), .3 * float32(coin.NormFloat64()), .4}
		stored.AppendCoded(x, .4, []uint32{uint32(coin.IntN(3))}, float64(2*(i%2)-1), i%11 != 2)
	}
	e := row.Effects{Basis: effects.New(5, features, []float64{.1, 0, -.1}, .3, .1), Of: []int{0, 1, 1, 1, 2},
		Weights: []float64{1, -2, 0, 3, 1}, Ratio: .8}
	full, err := row.NewTableOf(l, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sources []row.Source
	for _, keep := range []int{0, n / 3, n} {
		s, err := row.NewExtended(stored, l, e)
		if err == nil && keep > 0 {
			err = s.Keep(keep)
		}
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	for r, i := sources[0].Reader(), 0; i < sources[0].Blocks(); i++ {
		b, err := r.Block(i)
		if err != nil {
			t.Fatal(err)
		}
		for k, y := range b.Targets {
			full.AppendCoded(b.Rows[k*l.Stride():][:l.Numbers()], b.Levels[k], []uint32{uint32(b.Codes.Narrow[k])}, y, y == y)
		}
	}
	w := make([]float64, l.Dim())
	for j := range w {
		w[j] = 3 * coin.NormFloat64()
	}
	everyone := query.NewCohort(account.Everyone, n)
	for _, term := range []query.Term{query.SecondMomentOf(everyone, l.Dim()), query.GradientAt(everyone, w, 1),
		query.ValueAt(everyone, w, 0, 9)} {
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		for _, members := range [][]int32{nil, {3, 77, 3, 129, 0}} {
			var want []int64
			for _, s := range append([]row.Source{full}, sources...) {
				e, err := engine.New(s, loss.Logistic(), 3)
				if err != nil {
					t.Fatal(err)
				}
				sum, err := e.Sum(context.Background(), q, scale, members)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = sum.Residual
				}
				if !slices.Equal(sum.Residual, want) {
					t.Errorf("%s: %v: want %v", q.Name(), sum.Residual, want)
				}
			}
		}
	}
}
