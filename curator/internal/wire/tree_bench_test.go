//go:build unix

package wire_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkTree measures a session that asks for second moments of wide rows over shards, which one other process
// holds: processor time of the session's process, and the largest heap, beside those of the bytes of a sum. With
// "star" the session receives each shard's sum, with "tree" their total.
func BenchmarkTree(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for _, test := range []struct{ shards, features int }{{4, 500}, {40, 500}, {200, 500}, {4, 2000}, {40, 2000}} {
		for how, held := range map[string]int{"star": math.MaxInt, "tree": 1} {
			b.Run(fmt.Sprintf("shards=%d/features=%d/%s", test.shards, test.features, how), func(b *testing.B) {
				p := start(b)
				rows := rowtest.Table(b, rowtest.Dense(test.features), 8,
					rowtest.Records(2*test.shards, rowtest.Dense(test.features), 3, true))
				var ends []int
				for i := range test.shards {
					ends = append(ends, 2*(i+1))
				}
				e, err := apartBy(b, held, p, rows, enginetest.Named(b, "logistic"), 1, ends...)
				if err != nil {
					b.Fatal(err)
				}
				q, err := query.New(1, query.SecondMomentOf(query.NewCohort(0, 50), test.features))
				if err != nil {
					b.Fatal(err)
				}
				ask := func() {
					if _, err := e.Sum(context.Background(), q, 1e6, nil); err != nil {
						b.Fatal(err)
					}
				}
				ask() // the first time workers begin to listen
				runtime.GC()
				before := heap()
				var peak atomic.Uint64
				ctx, stop := context.WithCancel(context.Background())
				go func() {
					for ctx.Err() == nil {
						peak.Store(max(peak.Load(), heap()))
						time.Sleep(time.Millisecond)
					}
				}()
				used := spent(b)
				for b.Loop() {
					ask()
				}
				used = spent(b) - used
				stop()
				b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "processor-ms/op")
				b.ReportMetric((float64(peak.Load())-float64(before))/float64(8*q.SumDim()), "sums-held")
				b.ReportMetric(float64(8*q.SumDim())/1e6, "MB/sum")
			})
		}
	}
}

// heap returns the bytes of the heap that are in use, those of garbage included.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// spent returns the processor time of this process so far.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
