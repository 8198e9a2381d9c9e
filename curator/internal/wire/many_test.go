package wire

import (
	"context"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// tallied is an engine whose every sum is the number of members and the total of their row numbers. It
// holds no rows.
type tallied struct{ counted }

func (n tallied) Sum(_ context.Context, _ query.Question, _ float64, members []int32) (engine.Sum, error) {
	if members == nil {
		return engine.Sum{Residual: []int64{int64(n.n), int64(n.n) * int64(n.n-1) / 2}}, nil
	}
	sum := []int64{int64(len(members)), 0}
	for _, m := range members {
		sum[1] += int64(m)
	}
	return engine.Sum{Residual: sum}, nil
}

// TestMoreRowsThanNumbers: all partitions together may have more than 2^31 rows, although members are
// numbered by int32. A sum over all rows must count every row, and members must reach the rows of their
// partitions. The workers only claim to have so many rows.
func TestMoreRowsThanNumbers(t *testing.T) {
	const most = math.MaxInt32
	s := gathered(t, 1000, most, 0, most, 7)
	if s.Len() != 2*most+1007 {
		t.Fatalf("%d rows: must be %d", s.Len(), 2*most+1007)
	}
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, 50), []float64{0, 0}, 1))
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(n int64) int64 { return n * (n - 1) / 2 }
	for name, test := range map[string]struct {
		members []int32
		want    []int64
	}{
		"all rows":             {nil, []int64{2*most + 1007, 2*pairs(most) + pairs(1000) + pairs(7)}},
		"none":                 {[]int32{}, []int64{0, 0}},
		"the last with number": {[]int32{most, 999, 1000, most}, []int64{4, 2*(most-1000) + 999}},
	} {
		got, err := s.Sum(t.Context(), q, 1, test.members)
		if err != nil || !slices.Equal(got.Residual, test.want) {
			t.Errorf("%s: %v, %v: must be %v", name, got.Residual, err, test.want)
		}
	}
	if got, err := s.Sum(t.Context(), q, 1, []int32{math.MinInt32}); err == nil {
		t.Errorf("a negative number: %v: must be refused", got)
	}
}

// gathered returns the engine over workers whose partitions have these numbers of rows.
func gathered(t *testing.T, rows ...int) *Shards {
	t.Helper()
	conns := make(chan io.ReadWriteCloser, len(rows))
	for i, n := range rows {
		near, far := net.Pipe()
		conns <- near
		go Work(context.Background(), far, Hello{Version: "test", Partition: i},
			func(context.Context, []byte, [32]byte) (Held, error) {
				return Held{Engine: tallied{counted{n: n}}, Digest: Digest{byte(i), byte(i >> 8), 1}}, nil
			})
	}
	c := Config{Count: len(rows), Loss: loss.Logistic(), Dim: 2, Version: "test", Silence: 20 * time.Second,
		Patience: 20 * time.Second}
	s, err := Gather(t.Context(), c, func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case c := <-conns:
			return c, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
