package engine_test

import (
	"context"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// file returns a maker of sources that keep the given number of bytes of rows in memory.
func file(bytes int64) rowtest.Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
		t.Helper()
		f, err := row.NewFileOf(l, blockRows, bytes, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := f.AppendCoded(r.X, r.Level, r.In, r.Y, r.OK); err != nil {
				t.Fatal(err)
			}
		}
		s, err := f.Source()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func portable(s row.Source, l loss.Loss, workers int) (engine.Engine, error) {
	return engine.New(s, l, workers)
}

var long = flag.Bool("long", false, "test every query over every layout of rows")

func TestPortable(t *testing.T) {
	sources := map[string]rowtest.Make{
		"memory":         rowtest.Table,
		"part of a file": file(2000),
		"file":           file(0),
		"gaps":           rowtest.Gaps(rowtest.Table),
	}
	if testing.Short() {
		delete(sources, "file")
		delete(sources, "gaps")
	}
	enginetest.Run(t, portable, sources, *long)
}

// Sources of rows with hats are tested by TestPortable over rowtest.Hung, with arbitrary hats, and
// by TestCurvedSums over row.NewCurved. Those with features of effects are tested by TestExtendedSums over
// row.NewExtended.

// TestShards tests that an engine that adds the sums of other engines over parts of the rows passes
// the conformance tests of sums.
func TestShards(t *testing.T) {
	enginetest.RunSums(t, newShards, map[string]rowtest.Make{"memory": rowtest.Table}, false)
}

// shards is an engine that consists of engines over parts of the rows. Average, whose steps depend
// on each other, runs over the whole table.
type shards struct {
	engine.Engine
	parts []engine.Engine
	ends  []int
}

func newShards(s row.Source, l loss.Loss, workers int) (engine.Engine, error) {
	whole, err := engine.New(s, l, workers)
	if err != nil {
		return nil, err
	}
	e := &shards{Engine: whole}
	start := 0
	for _, end := range []int{s.Len() / 3, s.Len() / 3, s.Len() - s.Len()/5, s.Len()} {
		part, err := engine.New(window{s, start, end}, l, workers)
		if err != nil {
			return nil, err
		}
		e.parts, e.ends = append(e.parts, part), append(e.ends, end)
		start = end
	}
	return e, nil
}

func (e *shards) Sum(ctx context.Context, q query.Question, scale float64, members []int32) (engine.Sum, error) {
	total := engine.Sum{Residual: make([]int64, q.SumDim())}
	start, found := 0, 0
	for i, part := range e.parts {
		mine := []int32(nil)
		if members != nil {
			mine = []int32{}
			for _, m := range members {
				if int(m) >= start && int(m) < e.ends[i] {
					mine = append(mine, m-int32(start))
				}
			}
		}
		sum, err := part.Sum(ctx, q, scale, mine)
		if err != nil {
			return engine.Sum{}, err
		}
		for j, v := range sum.Residual {
			total.Residual[j] += v
		}
		start, found = e.ends[i], found+len(mine)
	}
	if found != len(members) {
		return engine.Sum{}, errors.New("shards: a member is nobody's")
	}
	return total, nil
}

// window is a source of the rows of another source from row start to before row end. Each row is in a block
// of its own.
type window struct {
	row.Source
	start, end int
}

func (w window) Len() int           { return w.end - w.start }
func (w window) Blocks() int        { return w.end - w.start }
func (w window) Reader() row.Reader { return windowReader{w.Source.Reader(), w} }

type windowReader struct {
	row.Reader
	window
}

func (r windowReader) Block(i int) (row.Block, error) {
	var b row.Block
	err := r.Rows(&b, []int32{int32(i)})
	return b, err
}

func (r windowReader) Rows(b *row.Block, members []int32) error {
	moved := make([]int32, len(members))
	for i, m := range members {
		moved[i] = m + int32(r.start)
	}
	return r.Reader.Rows(b, moved)
}

// TestUnits tests that, for rows that are grouped into units, a sum of gradients is the sum of each
// unit's clipped mean, computed separately, to 1e-7. This allows for some hundred roundings of
// 2^-34.
func TestUnits(t *testing.T) {
	const n, features, most, scale = 90, 5, 4, 1 << 34
	l, err := loss.NewUnits(loss.Logistic(), most, false)
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(19, 8))
	of := rowtest.Coded(features, row.Group{First: 1, Width: 3})
	records := rowtest.Records(n, of, 4, true)
	var rows []int32
	first := []int32{0}
	for len(rows) < 3*n {
		for range coin.IntN(most + 1) {
			rows = append(rows, int32(coin.IntN(n)))
		}
		first = append(first, int32(len(rows)))
	}
	w := []float64{1, -2, .5, 3, .1}
	all := query.NewCohort(account.Everyone, float64(len(first)-1))
	for name, source := range map[string]rowtest.Make{"memory": rowtest.Table, "part of a file": file(500)} {
		grouped, err := row.NewGrouped(source(t, of, 8, records), most, rows, first)
		if err != nil {
			t.Fatal(err)
		}
		defer grouped.Close()
		e, err := engine.New(grouped, l, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, clip := range []float64{1, .2} {
			q, err := query.New(1, query.GradientAt(all, w, clip))
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Sum(context.Background(), q, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, features)
			for i := range grouped.Len() {
				g, m := make([]float64, features), 0.
				for _, r := range rows[first[i]:first[i+1]] {
					record := records[r]
					if !record.Sound() {
						continue
					}
					x, y := record.Full(), record.Y
					m++
					var z float64
					for j, v := range x {
						z += w[j] * float64(v)
					}
					for j, v := range x {
						g[j] -= y / (1 + math.Exp(y*z)) * float64(v)
					}
				}
				var square float64
				for _, v := range g {
					square += v * v / max(m*m, 1)
				}
				for j, v := range g {
					want[j] += v / max(m, 1) * min(1, clip/max(math.Sqrt(square), 1e-300))
				}
			}
			for j, v := range want {
				if d := float64(got.Residual[j])/scale - v; !(math.Abs(d) <= 1e-7) {
					t.Errorf("%s, clip %v: coordinate %d is %v: must be %v", name, clip, j, float64(got.Residual[j])/scale, v)
				}
			}
		}
	}
}
