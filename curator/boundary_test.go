package curator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// boundaries are constants at which the code takes another path: another tile, block, chunk, lane
// or type. For tables of that size, one less, one more, and 3 times plus 5, a session must answer
// what plain arithmetic without such constants computes from the table.
var boundaries = []struct {
	constant string
	at       int
	try      func(t *testing.T, n int)
}{
	{"Lane of curator/internal/row: numbers of a row", 8, numbers},
	{"64 coordinates of a point, which a term may share with the one before", 64, numbers},
	{"4 sums side by side of curator/internal/engine: groups of a row", 4, groups},
	{"together of the kernels of curator/internal/engine: margins", 4, margins},
	{"tileRows of curator/internal/engine: rows", 64, rows},
	{"tileRows of curator/internal/engine: rows of a cohort", 64, members},
	{"tileRows of curator/internal/engine: rows of a pass of SGD", 64, walked},
	{"recordsABlock of curator/internal/row: units", 64, units64},
	{"part of loss: records with weights", 256, weighed},
	{"contextRows of curator: rows of a file", 4096, rowsOfFile},
	{"mostAbove of curator/internal/engine: parameters above a first layer", 4096, above},
	{"maxTerms of query: terms of a question", 1 << 16, terms},
	{"mostNarrow of curator/internal/row: features of groups", 1 << 16, codes},
	{"bufferSize of internal/table: bytes before a record", 1 << 16, bytesOfFile},
	{"chunkSize of internal/table: bytes before a record", 256 << 10, bytesOfFile},
	{"blockBytes of curator/internal/row: rows of a block of 1000 numbers", 256 << 10 / (4*1000 + 4), wideRows},
	{"batchBytes of curator: rows of a batch of 1000 numbers", 1 << 20 / (4 * 1001), wideRows},
	{"batch of curator/internal/noise: coordinates with noise", 64, noisy},
	{"chunk of curator/internal/noise: coordinates with noise", 1 << 14, noisy},
	{"panel of curator/internal/engine: rows", 32, measured},
	{"4 features side by side of curator/internal/engine: features of pairs", 4, paired},
	{"Lane of curator/internal/row: features of pairs", 8, paired},
	{"panel of curator/internal/engine: features of a metric", 32, paired},
	{"MaxPairs of query: features of pairs", 2000, pairsOfMany},
	{"crowd of curator/internal/session: records over those declared", 8, crowds},
	{"crowded of curator/internal/session: records drawn", 8, joined},
	{"maxCandidates of query: candidates", 1 << 16, candidates},
	{"tile of curator/internal/row: rows of a private file", 64, inPlace},
	{"Least of internal/spline: knots", 3, knots},
	{"Most of internal/spline: knots", 256, knots},
	{"MostRows of internal/targetpair: rows of a unit", 1 << 10, rowsOfUnit},
	{"batchRows of internal/parquet: rows of a group", 1 << 10, rowsOfGroup},
	{"largeRows of internal/parquet: rows of a group", 1 << 14, rowsOfLargeGroup},
	{"mostWhole of internal/table: ten times a number of a file", 1 << 53, tenths},
	{"buffer of a connection of curator/internal/wire: numbers of a sum", 1 << 16 / 8, sumsOverShards},
	{"mostTags of curator/internal/wire: partitions with all tags of a batch", 64, partitions},
	{"mostTags of curator/internal/wire: units of a partition", 1 << 16, unitsOfPartition},
}

func TestBoundaries(t *testing.T) {
	for _, b := range boundaries {
		t.Run(b.constant, func(t *testing.T) {
			sizes := []int{b.at - 1, b.at, b.at + 1, 3*b.at + 5}
			if testing.Short() && b.at > 1<<12 {
				sizes = sizes[2:3]
			}
			for _, n := range sizes {
				b.try(t, n)
			}
		})
	}
}

// tabled is a configuration of a session and the rows to which it encodes its table, with their
// targets.
type tabled struct {
	curator.Config
	x [][]float32
	y []float64
}

// table encodes rows of cells; the target is the last column.
func table(t *testing.T, l loss.Loss, target dataset.Target, columns []dataset.Column, cells [][]string) tabled {
	t.Helper()
	s, err := dataset.New(dataset.Definition{Columns: columns, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	var header []string
	for _, c := range columns {
		header = append(header, c.Name)
	}
	header = append(header, target.Column)
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	all := tabled{Config: held(t, rowsOf(header, cells))}
	all.Schema, all.Loss, all.Workers, all.Budget = s, l, 2, wideBudget(t)
	for _, row := range cells {
		x := make([]float32, m.Dim())
		y, ok := m.Encode(x, row)
		if !ok {
			t.Fatalf("row %q cannot be encoded", row)
		}
		all.x, all.y = append(all.x, x), append(all.y, y)
	}
	return all
}

func wideBudget(t *testing.T) account.Budget {
	t.Helper()
	b, err := account.NewBudget(50, .1, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func twoClasses() dataset.Target {
	return dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
}

func numberColumns(n int) (list []dataset.Column) {
	for i := range n {
		list = append(list, dataset.Column{Name: "n" + strconv.Itoa(i), Kind: dataset.Number, Low: -1, High: 1})
	}
	return list
}

// randomCells returns n rows of random numbers, words and a class.
func randomCells(r *rand.Rand, n int, columns []dataset.Column) (cells [][]string) {
	for range n {
		var row []string
		for _, c := range columns {
			switch c.Kind {
			case dataset.Number:
				row = append(row, strconv.FormatFloat(2*r.Float64()-1, 'g', 6, 64))
			case dataset.Category:
				row = append(row, c.Categories[r.IntN(len(c.Categories))])
			default:
				row = append(row, strconv.Itoa(r.IntN(1<<30)))
			}
		}
		cells = append(cells, append(row, []string{"no", "yes"}[r.IntN(2)]))
	}
	return cells
}

// watched opens a session without noise.
func (d tabled) watched(t *testing.T, w session.Watcher) *curator.Session {
	t.Helper()
	s, err := curator.OpenWatched(context.Background(), d.Config, 5, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// released is a watcher that changes no answer.
func released(x session.Exchange) (any, error) { return x.Released, nil }

// mean returns the answer to a query about a cohort.
func mean(t *testing.T, s *curator.Session, terms ...query.Term) []float64 {
	t.Helper()
	q, err := query.New(1e-3, terms...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a.Mean
}

// point returns a random point of length about 3.
func point(n int) []float64 {
	r, w := rand.New(rand.NewPCG(3, 3)), make([]float64, n)
	for j := range w {
		w[j] = 3 * r.NormFloat64() / math.Sqrt(float64(n))
	}
	return w
}

func dot(w []float64, x []float32) (sum float64) {
	for j, v := range x {
		sum += w[j] * float64(v)
	}
	return sum
}

// logistic returns the mean over some rows of the loss log(1+exp(-y<w,x>)), and of its gradient.
func (d tabled) logistic(w []float64, rows []int) (value float64, gradient []float64) {
	gradient = make([]float64, len(w))
	for _, i := range rows {
		m := d.y[i] * dot(w, d.x[i])
		value += math.Log1p(math.Exp(-m)) / float64(len(rows))
		for j, v := range d.x[i] {
			gradient[j] -= d.y[i] / (1 + math.Exp(m)) * float64(v) / float64(len(rows))
		}
	}
	return value, gradient
}

func upTo(n int) []int { return identity(n) }

// closeTo fails the test unless an answer equals the expected one up to the step of the grid on which
// it is released.
func closeTo(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for j := range want {
		if !(math.Abs(got[j]-want[j]) <= 1e-6) {
			t.Fatalf("%s: coordinate %d of %d is %v: must be %v", what, j, len(want), got[j], want[j])
		}
	}
}

// asLogistic compares a session with plain arithmetic for the logistic loss: its gradient, its value,
// and a difference of gradients of two points that differ only in their last coordinate, in one
// query.
func (d tabled) asLogistic(t *testing.T, what string) {
	t.Helper()
	s := d.watched(t, released)
	w := point(s.Dim())
	value, gradient := d.logistic(w, upTo(len(d.x)))
	closeTo(t, what+": gradient", mean(t, s, query.GradientAt(s.All(), w, 3)), gradient)
	closeTo(t, what+": value", mean(t, s, query.ValueAt(s.All(), w, 20, 20)), []float64{value})
	moved := slices.Clone(w)
	moved[len(w)-1] += 2
	_, there := d.logistic(moved, upTo(len(d.x)))
	for j := range there {
		there[j] = 2*there[j] + gradient[j]
	}
	closeTo(t, what+": two gradients", mean(t, s, query.GradientAt(s.All(), w, 3), query.GradientAt(s.All(), moved,
		3).Weighted(2)), there)
}
