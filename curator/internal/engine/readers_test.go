package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// tracked is a table whose readers read ahead into a buffer of their own, and know what became of them. The read of
// block number at fails once, or ends the caller's context once if end is not nil.
type tracked struct {
	*row.Table
	at   atomic.Int64 // -1 for none
	end  context.CancelFunc
	made atomic.Int64
}

func (t *tracked) Reader() row.Reader {
	t.made.Add(1)
	return &trackedReader{of: t, begun: -1}
}

type trackedReader struct {
	of     *tracked
	block  row.Block
	begun  int  // the block that was begun and not asked for
	failed bool // a read failed
}

func (r *trackedReader) Block(i int) (row.Block, error) { return r.BlockAhead(i, -1) }

func (r *trackedReader) BlockAhead(i, next int) (row.Block, error) {
	r.begun = -1
	if r.of.at.CompareAndSwap(int64(i), -1) {
		if r.of.end == nil {
			r.failed = true
			return row.Block{}, row.ErrUnread
		}
		r.of.end()
	}
	if next < r.of.Blocks() {
		r.begun = next
	}
	b, err := r.of.Table.Block(i)
	r.block.Rows = append(r.block.Rows[:0], b.Rows...)
	r.block.Targets = append(r.block.Targets[:0], b.Targets...)
	return r.block, err
}

func (r *trackedReader) Rows(b *row.Block, members []int32) error { return r.of.Table.Rows(b, members) }

// TestReadersAreKeptOfWholeQueries tests that what an engine keeps for later queries are readers of queries that
// ended well, each once, and at most one for each worker: none of which a read failed, or whose block is still being
// read ahead since the context ended. A failure of that read would be the next query's. Queries afterwards, of members
// and of all rows, have the sums of a new engine.
func TestReadersAreKeptOfWholeQueries(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(2, 20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 195 {
		table.Append([]float32{.9, float32(i) / 1000}, float64(2*(i%2)-1), true)
	}
	matrix := func(a float64) query.Metric {
		m, err := query.NewMetric(2, []float64{a, 1, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const workers = 2
	source := &tracked{Table: table}
	source.at.Store(-1)
	e, err := New(source, l, workers)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, e *Portable, m query.Metric, members []int32) ([]int64, error) {
		t.Helper()
		cohort := query.NewCohort(0, 195)
		q, err := query.New(1, query.GradientInMetric(cohort, make([]float64, 2), .1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Sum(ctx, q, 0x1p20, members)
		return s.Residual, err
	}
	idle := func() {
		t.Helper()
		var all []row.Reader
		for range len(e.idle) {
			r := <-e.idle
			if k := r.(*trackedReader); k.failed || k.begun >= 0 || slices.Contains(all, r) {
				t.Errorf("kept: failed %v, reads block %d, %d others", k.failed, k.begun, len(all))
			}
			all = append(all, r)
		}
		for _, r := range all {
			e.idle <- r
		}
	}
	other, err := New(table, l, 1)
	if err != nil {
		t.Fatal(err)
	}
	same := func(m query.Metric) {
		t.Helper()
		for _, members := range [][]int32{nil, {190, 3, 3, 77}, nil} {
			before := source.made.Load()
			kept := int64(len(e.idle))
			got, err := ask(t.Context(), e, m, members)
			want, err2 := ask(t.Context(), other, m, members)
			if err != nil || err2 != nil || !slices.Equal(got, want) {
				t.Errorf("sum = %v, want %v; %v, %v", got, want, err, err2)
			}
			if made := source.made.Load() - before; made > workers-kept {
				t.Errorf("%d readers were made beside %d that no query used", made, kept)
			}
			if len(e.idle) == 0 {
				t.Error("a query that ended well left no reader")
			}
			idle()
		}
	}
	same(matrix(3))
	for at := range table.Blocks() {
		for k, m := range []query.Metric{matrix(4), matrix(3)} {
			// First the rows are measured, which fails or is interrupted; then the sum is.
			for range 2 {
				ctx, end := context.WithCancel(t.Context())
				want := row.ErrUnread
				if source.end = nil; k == 1 {
					source.end, want = end, context.Canceled
				}
				source.at.Store(int64(at))
				if _, err := ask(ctx, e, m, nil); !errors.Is(err, want) {
					t.Errorf("block %d: error = %v, want %v", at, err, want)
				}
				end()
				source.at.Store(-1)
				idle()
				same(m)
			}
		}
	}
}
