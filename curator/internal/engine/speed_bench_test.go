//go:build unix

package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// adultGroups holds the numbers of features of Adult's categories. Six more features are numbers.
var adultGroups = []int{9, 17, 8, 15, 7, 6, 3, 42}

// adultRows returns a table of Adult's shape with all features written out.
var adultRows = func(b *testing.B, n int) *row.Table {
	t, err := row.NewTable(113, 0)
	if err != nil {
		b.Fatal(err)
	}
	r, x := rand.New(rand.NewPCG(1, 4)), make([]float32, 113)
	for range n {
		clear(x)
		for j := range 6 {
			x[j] = r.Float32() / 4
		}
		at := 6
		for _, g := range adultGroups {
			x[at+r.IntN(g)] = .25
			at += g
		}
		t.Append(x, float64(2*r.IntN(2)-1), true)
	}
	return t
}

// BenchmarkSpeed measures a pass of the exact clipped gradient of the logistic loss over the tables
// of lab/results/speed/pass.sh. This script compares the pass with an earlier version and with numpy.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name string
		n, d int
	}{{"1e5x100", 100_000, 100}, {"1e6x100", 1_000_000, 100}, {"6e4x784", 60_000, 784}, {"1e6x20", 1_000_000, 20},
		{"adult", 32_561, 113}} {
		b.Run(c.name, func(b *testing.B) {
			table := speedTable(b, c.name, c.n, c.d)
			r, w := rand.New(rand.NewPCG(1, 5)), make([]float64, c.d)
			for j := range w {
				w[j] = r.NormFloat64()
			}
			l, err := loss.Parse("logistic")
			if err != nil {
				b.Fatal(err)
			}
			q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(c.n)), w, 1))
			if err != nil {
				b.Fatal(err)
			}
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("goroutines=%d", workers), func(b *testing.B) {
					e, err := New(table, l, workers)
					if err != nil {
						b.Fatal(err)
					}
					start := processor(b)
					for b.Loop() {
						if _, err := e.Sum(context.Background(), q, 0x1p30, nil); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(1e3*(processor(b)-start)/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

// processor returns the processor time of the process so far, in seconds.
func processor(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func speedTable(b *testing.B, name string, n, d int) *row.Table {
	if name == "adult" {
		return adultRows(b, n)
	}
	t, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	r, x := rand.New(rand.NewPCG(1, 2)), make([]float32, d)
	for range n {
		for j := range x {
			x[j] = (r.Float32() - .5) / 28
		}
		t.Append(x, float64(2*r.IntN(2)-1), true)
	}
	return t
}
