package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkWalk compares passes of projected SGD over records in random order with gradient passes,
// with one goroutine and in one run. It reports the nanoseconds for a record of both and their
// ratio, for three kinds of passes. Each pass is timed over short stretches, and the fastest
// stretch counts, since other programs may use the machine. Rows are 1e6 x 100, or 1e5 x 100 in
// short mode. Gradients are computed over a fifth of the rows, in storage order.
func BenchmarkWalk(b *testing.B) {
	n, d, stretch := 1_000_000, 100, 10_000
	if testing.Short() {
		n = 100_000
	}
	r := rand.New(rand.NewPCG(1, 3))
	table, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	few, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, d)
	members := make([]int32, n)
	for i, m := range r.Perm(n) {
		members[i] = int32(m)
		for j := range x {
			x[j] = float32(r.Float64()-.5) / float32(math.Sqrt(float64(d)))
		}
		y := float64(2*r.IntN(2) - 1)
		table.Append(x, y, true)
		if i < n/5 {
			few.Append(x, y, true)
		}
	}
	engineOf := func(t *row.Table) Engine {
		e, err := New(t, loss.Logistic(), 1)
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	all, some := engineOf(table), engineOf(few)
	start := make([]float64, d)
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(stretch)), start, 1))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		pass query.Pass
	}{
		{"plain", query.Pass{Start: start, Step: .01, Clip: 1}},
		{"projected", query.Pass{Start: start, Step: .01, Clip: 1, Lambda: .01, Radius: 10}},
		{"on the ball", query.Pass{Start: start, Step: .01, Clip: 1, Lambda: .01, Radius: .02}},
	} {
		b.Run(c.name, func(b *testing.B) {
			gradient, walk := time.Hour, time.Hour
			for b.Loop() {
				before := time.Now()
				if _, err := some.Sum(context.Background(), q, 0x1p30, nil); err != nil {
					b.Fatal(err)
				}
				gradient = min(gradient, time.Since(before))
				for i := 0; i < n; i += stretch {
					before := time.Now()
					if _, err := all.Average(context.Background(), c.pass, 0x1p30, members[i:i+stretch]); err != nil {
						b.Fatal(err)
					}
					walk = min(walk, time.Since(before))
				}
			}
			b.ReportMetric(float64(gradient.Nanoseconds())/float64(few.Len()), "gradient-ns/record")
			b.ReportMetric(float64(walk.Nanoseconds())/float64(stretch), "walk-ns/record")
			b.ReportMetric(float64(walk)/float64(stretch)*float64(few.Len())/float64(gradient), "gradients")
		})
	}
}
