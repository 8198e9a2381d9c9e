package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// interrupted is a table that ends the caller's context once, when the block numbered at is read.
type interrupted struct {
	*row.Table
	end context.CancelFunc
	at  int
}

func (t *interrupted) Reader() row.Reader { return interruption{t} }

type interruption struct{ *interrupted }

func (r interruption) Block(i int) (row.Block, error) {
	if i == r.at && r.end != nil {
		r.end()
	}
	return r.Table.Block(i)
}

func (r interruption) Rows(b *row.Block, members []int32) error {
	return r.Table.Rows(b, members)
}

// TestInterruptedLengthsAreForgotten tests that no lengths are kept if the context ends while rows
// are measured, in whichever block. The next query with the same metric is answered as on a new
// engine. The test fails if the zeros of unmeasured rows are kept, since slopes are not clipped at
// all with these.
func TestInterruptedLengthsAreForgotten(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		table.Append([]float32{.9, float32(i) / 1000}, 1, i != 150)
	}
	m, err := query.NewMetric(2, []float64{3, 1, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(1, query.GradientInMetric(query.NewCohort(0, 200), make([]float64, 2), .1, 1, m))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(ctx context.Context, e *Portable) ([]int64, error) {
		s, err := e.Sum(ctx, q, 0x1p20, nil)
		return s.Residual, err
	}
	for at := range table.Blocks() {
		source := &interrupted{Table: table, at: at}
		e, err := New(source, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		source.end = end
		if _, err := sum(ctx, e); !errors.Is(err, context.Canceled) {
			t.Errorf("block %d: error = %v", at, err)
		}
		source.end = nil
		got, err := sum(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := sum(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		// If the rows were measured, a slope of 1/2 is clipped to a fifteenth, since the rows' lengths in
		// the metric are near 3.
		if !slices.Equal(got, want) || !(math.Abs(float64(want[0])) <= 199*.1*0x1p20) {
			t.Errorf("block %d: sum = %v: want %v", at, got, want)
		}
	}
}

// TestInterruptedSumsSaySo tests that the query returns the context's error if the context ends
// while a block is summed, whichever block it is. The test fails if the query returns
// ErrIncomplete.
func TestInterruptedSumsSaySo(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		table.Append([]float32{1}, 1, true)
	}
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, 300), make([]float64, 1), 1))
	if err != nil {
		t.Fatal(err)
	}
	for at := range table.Blocks() {
		ctx, end := context.WithCancel(t.Context())
		e, err := New(&interrupted{Table: table, end: end, at: at}, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := e.Sum(ctx, q, 0x1p20, nil); !errors.Is(err, context.Canceled) || s.Residual != nil {
			t.Errorf("block %d: sum = %v, error = %v", at, s.Residual, err)
		}
	}
}
