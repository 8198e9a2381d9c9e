package enginetest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// widths holds the numbers of features of the columns of a table. Columns with one feature are numbers. The
// last two columns are hats, the values of curves' basis functions. The others are categories.
var widths = []int{1, 1, 2, 3, 2, 4}

// edges holds, for each column of hats (values of curves' basis functions), the number of its edges,
// which are pairs of neighbouring nonzero hats. It is 0 for other columns.
var edges = []int{4: 1, 5: 2}

// orders holds orders of the columns. The first is the original order. Among the orders, categories and
// hats come first, come last, stand next to each other, and stand alone between numbers.
var orders = [][]int{
	{0, 1, 2, 3, 4, 5}, {2, 0, 4, 1, 3, 5}, {3, 5, 2, 4, 0, 1}, {4, 0, 5, 1, 3, 2}, {5, 4, 0, 2, 1, 3}, {4, 5, 3, 1, 2, 0},
}

// ordered returns the layout of the columns in an order. places[j] is the place in this layout of the
// feature that is feature j if the columns are in their original order, orders[0].
func ordered(order []int) (l *row.Layout, places []int) {
	first := make([]int, len(widths))
	total := 0
	var groups []row.Group
	var hats []row.Hats
	for _, c := range order {
		switch first[c] = total; {
		case edges[c] > 0:
			hats = append(hats, row.Hats{First: total, Width: widths[c], Edges: edges[c]})
		case widths[c] > 1:
			groups = append(groups, row.Group{First: total, Width: widths[c]})
		}
		total += widths[c]
	}
	for c, width := range widths {
		for k := range width {
			places = append(places, first[c]+k)
		}
	}
	return rowtest.Hatted(total, groups, hats...), places
}

// moved returns a record with its columns in the given order. The record r has its columns in their
// original order, orders[0].
func moved(r rowtest.Record, order []int) rowtest.Record {
	of, _ := ordered(order)
	out := rowtest.Record{Of: of, Level: r.Level, Y: r.Y, OK: r.OK}
	for _, c := range order {
		var numbers, groups, before int // numbers of columns of each kind, and of edges, before column c
		for b, w := range widths[:c] {
			switch {
			case edges[b] > 0:
				before += edges[b]
			case w == 1:
				numbers++
			default:
				groups++
			}
		}
		switch {
		case edges[c] > 0:
			out.At = append(out.At, r.At[before:before+edges[c]]...)
			out.By = append(out.By, r.By[2*before:2*(before+edges[c])]...)
		case widths[c] == 1:
			out.X = append(out.X, r.X[numbers])
		default:
			out.In = append(out.In, r.In[groups])
		}
	}
	return out
}

// coordinateIn returns the place of coordinate j of a query's sum, for a table with reordered
// features: feature i is in place places[i].
func coordinateIn(l loss.Loss, q query.Question, places []int, j int) int {
	switch {
	case q.Facts().Number:
		return j
	case !q.Facts().Pairs && (!q.Facts().Blocks || j < q.PointDim()):
		return parameterIn(l, places, j)
	}
	d, a := q.PointDim(), 0
	if j >= d && q.Facts().Blocks { // a pair of every other feature
		var in []int
		for i := 0; i < d; i += 2 {
			in = append(in, places[i])
		}
		for j -= d; j >= len(in)-1-a; a++ {
			j -= len(in) - 1 - a
		}
		whole := q.First().Whole()
		a, b := slices.Index(whole, in[a]), slices.Index(whole, in[a+1+j])
		a, b = min(a, b), max(a, b)
		return d + a*(2*len(in)-a-1)/2 + b - a - 1
	}
	for ; j >= d-a; a++ {
		j -= d - a
	}
	a, b := parameterIn(l, places, a), parameterIn(l, places, a+j)
	a, b = min(a, b), max(a, b)
	return a*d - a*(a-1)/2 + b - a
}

// columns tests that the order of the columns changes only the order of coordinates: the sums over a table with its
// columns in two orders agree within 3 steps. The sums may differ, since margins are added up in another order. The
// last bits of margins may then differ, and a contribution may be rounded to the next step.
func columns(t *testing.T, build Make, sources map[string]rowtest.Make) {
	const n = 130
	layout, _ := ordered(orders[0])
	records := rowtest.Records(n, layout, 11, false)
	for kind, l := range losses(t) {
		_, stacked := l.(engine.Stacked)
		if _, general := l.(loss.General); general && !stacked {
			continue // the values of these losses depend on the order of the features
		}
		want := map[string][]int64{}
		for way, order := range orders {
			rows, at := ordered(order)
			turned := make([]rowtest.Record, n)
			for i, r := range records {
				turned[i] = moved(r, order)
			}
			over(t, build, sources, l, rows, way, turned, func(engines map[string]engine.Engine) {
				for asked, q := range questionsIn(t, l, at) {
					if q.Sampled() || engine.Answers(l, q) != nil {
						continue // random directions depend on the order of the parameters
					}
					for name, e := range engines {
						sum, err := e.Sum(context.Background(), q, scale, nil)
						if err != nil {
							t.Fatal(err)
						}
						if want[asked] == nil {
							want[asked] = sum.Residual
						}
						for j, v := range want[asked] {
							got := sum.Residual[coordinateIn(l, q, at, j)]
							if d := math.Abs(float64(got - v)); d > 3 {
								t.Fatalf("%s, %s, columns %v; %s: coordinate %d is %d: want %d", kind, asked, order, name, j, got, v)
							}
						}
					}
				}
			})
		}
		if len(want) == 0 {
			t.Errorf("%s: nothing is asked", kind)
		}
	}
}
