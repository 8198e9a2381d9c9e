package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestRecordsOfNetworksAddUp tests that a sum over a table is, to the integer, the sum of the sums over its rows alone,
// for networks of few and of many units in a layer, whose tiles have 64 rows to 8, and numbers of rows beside those of
// a tile and of a register. Some rows are zero, tiny or faulty, and some weights are huge.
func TestRecordsOfNetworksAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 8))
	const d = 5
	shortest := tileRows
	for trial, name := range []string{
		"network(1,tanh,logistic)", "network(7,relu,huber(0.3))", "network(8,tanh,softmax(3))", "network(9,tanh,logistic)",
		"network(16-1,relu,logistic)", "network(17-7,tanh,softmax(3))", "network(8-9,tanh,huber(0.3))",
		"network(65,tanh,softmax(9))", "network(33-16,relu,logistic)", "network(40-64,tanh,softmax(3))",
	} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		layout, err := row.NewLayout(d+3, []row.Group{{First: d, Width: 3}})
		if err != nil {
			t.Fatal(err)
		}
		table := func(block int, add func(append func(x []float32, code uint32, y float64, ok bool))) *row.Table {
			all, err := row.NewTableOf(layout, block)
			if err != nil {
				t.Fatal(err)
			}
			add(func(x []float32, code uint32, y float64, ok bool) { all.AppendCoded(x, .25, []uint32{code}, y, ok) })
			return all
		}
		parameters, err := loss.Check(l, layout.Dim())
		if err != nil {
			t.Fatal(err)
		}
		w, before := make([]float64, parameters), make([]float64, parameters)
		for j := range w {
			w[j], before[j] = r.NormFloat64(), r.NormFloat64()
		}
		if trial%3 == 2 {
			w[r.IntN(len(w))] = 1e200
		}
		most := query.NewCohort(0, 200)
		for _, term := range []query.Term{query.GradientAt(most, w, .4), query.DifferenceWithin(most, w, before, .4),
			query.ValueAt(most, w, .3, 2), query.ValueChangeAt(most, w, before, 2)} {
			q, err := query.New(1, term)
			if err != nil {
				t.Fatal(err)
			}
			sum := func(of *row.Table, workers int) []int64 {
				e, err := New(of, l, workers)
				if err != nil {
					t.Fatal(err)
				}
				s, err := e.Sum(context.Background(), q, 0x1p20, nil)
				if err != nil {
					t.Fatal(err)
				}
				return s.Residual
			}
			for _, n := range []int{1, 7, 9, 17, 65} {
				var want []int64
				whole := table(1+r.IntN(200), func(add func(x []float32, code uint32, y float64, ok bool)) {
					for range n {
						x, code, y, ok := make([]float32, d), uint32(r.IntN(3)), float64(r.IntN(2)), r.IntN(12) > 0
						size := []float64{.3, .3, .3, 1e-42, 1e-20, 0}[r.IntN(6)]
						for j := range x {
							x[j] = float32(size * (2*r.Float64() - 1))
						}
						if r.IntN(12) == 0 {
							y = math.Inf(1)
						}
						add(x, code, y, ok)
						alone := sum(table(4, func(add func(x []float32, code uint32, y float64, ok bool)) { add(x, code, y, ok) }), 1)
						if want == nil {
							want = make([]int64, len(alone))
						}
						for j, v := range alone {
							want[j] += v
						}
					}
				})
				if got := sum(whole, 2); !slices.Equal(got, want) {
					t.Fatalf("%s, %v, %d rows: %v, want %v", name, term.Kind(), n, got, want)
				}
			}
		}
		p := newStackedPass(l, nil, unshaped(parameters), layout)
		if p != nil {
			shortest = min(shortest, p.rows)
		}
	}
	if shortest != 8 {
		t.Errorf("the shortest tile has %d rows: must be 8", shortest)
	}
}
