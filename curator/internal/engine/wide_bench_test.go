//go:build unix

package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkWide measures gradient passes of softmax with ten classes, and of the logistic and a clipped squared loss over
// rows as wide as those of effects. lab/results/speed/wide.sh compares them with numpy.
func BenchmarkWide(b *testing.B) {
	for _, c := range []struct {
		loss string
		n, d int
	}{{"softmax(10)", 100_000, 50}, {"logistic", 50_000, 500}, {"logistic", 50_000, 1000}, {"huber(0.1)", 50_000, 700}} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.loss, c.n, c.d), func(b *testing.B) {
			l, err := loss.Parse(c.loss)
			if err != nil {
				b.Fatal(err)
			}
			table, err := row.NewTable(c.d, 0)
			if err != nil {
				b.Fatal(err)
			}
			r, x := rand.New(rand.NewPCG(1, 2)), make([]float32, c.d)
			for range c.n {
				for j := range x {
					x[j] = (r.Float32() - .5) / 28
				}
				y := float64(2*r.IntN(2) - 1)
				if k := loss.Count(l); k > 1 {
					y = float64(r.IntN(k))
				}
				table.Append(x, y, true)
			}
			e, err := New(table, l, 1)
			if err != nil {
				b.Fatal(err)
			}
			w := make([]float64, e.Parameters())
			for j := range w {
				w[j] = r.NormFloat64()
			}
			q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(c.n)), w, math.Sqrt2))
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
}
