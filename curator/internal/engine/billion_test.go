package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// again is a source that holds the rows of another source several times, one after the other, without keeping them
// more than once.
type again struct {
	row.Source
	times int
}

func (a again) Len() int           { return a.times * a.Source.Len() }
func (a again) Blocks() int        { return a.times * a.Source.Blocks() }
func (a again) Reader() row.Reader { return rereading{a.Source.Reader(), a.Source.Blocks()} }

type rereading struct {
	row.Reader
	blocks int
}

func (r rereading) Block(i int) (row.Block, error) { return r.Reader.Block(i % r.blocks) }

// timesAsMany compares the sums of queries over rows of 20 numbers that are held several times with that many times the
// sums over the rows held once, exactly. asked runs before each of the long queries.
func timesAsMany(t testing.TB, rows, times int, asked func(string)) {
	t.Helper()
	const d = 20
	r := rand.New(rand.NewPCG(52, 3))
	table, err := row.NewTable(d, 512)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, d)
	for range rows {
		for j := range x {
			x[j] = float32(r.Float64()-.5) / 3
		}
		table.Append(x, float64(2*r.IntN(2)-1), true)
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	w, in := make([]float64, d), make([]bool, d)
	for j := range w {
		w[j], in[j] = r.NormFloat64(), j < 8
	}
	on := query.NewCohort(0, float64(rows*times))
	for name, term := range map[string]query.Term{
		"gradient": query.GradientAt(on, w, .2), "squares and pairs": query.BlockMomentOf(on, in),
		"second moment": query.SecondMomentOf(on, d),
	} {
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		var sums [2]Sum
		for i, source := range []row.Source{table, again{table, times}} {
			e, err := New(source, l, 2)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				asked(name)
			}
			if sums[i], err = e.Sum(t.Context(), q, 0x1p30, nil); err != nil {
				t.Fatal(err)
			}
		}
		for j, v := range sums[0].Residual {
			if got := sums[1].Residual[j]; got != v*int64(times) {
				t.Fatalf("%s: coordinate %d is %d: want %d times %d", name, j, got, times, v)
			}
		}
	}
}

// TestRowsAgain: the sums over rows that are held seven times must be exactly seven times those of the rows.
func TestRowsAgain(t *testing.T) { timesAsMany(t, 3000, 7, func(string) {}) }

// BenchmarkBillion asks each query about 10^9 rows: 10^6 rows that are held a thousand times. The sums must be exactly a
// thousand times those of the rows.
func BenchmarkBillion(b *testing.B) {
	for b.Loop() {
		timesAsMany(b, 1e6, 1000, func(name string) { b.Logf("%s, after %v", name, b.Elapsed()) })
	}
}
