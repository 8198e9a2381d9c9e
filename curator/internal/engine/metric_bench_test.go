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

// BenchmarkMetric compares a pass for a second moment and passes for gradients in a metric with a
// pass for an ordinary gradient. The first pass in a metric computes the rows' lengths. Rows are
// like Adult's, like MNIST's, and without zeros.
func BenchmarkMetric(b *testing.B) {
	l, err := loss.Parse("logistic")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		n, d   int
		filled float64
	}{{30_000, 113, .12}, {30_000, 113, 1}, {60_000, 785, .19}, {10_000, 785, 1}} {
		e, err := New(randomTable(b, c.n, c.d, c.filled), l, 1)
		if err != nil {
			b.Fatal(err)
		}
		m, other := randomMetric(b, c.d, 1), randomMetric(b, c.d, 2)
		on, w := query.NewCohort(0, float64(c.n)), make([]float64, c.d)
		for _, kind := range []struct {
			name  string
			terms []query.Term // the queries' terms, one after the other
		}{
			{"gradient", []query.Term{query.GradientAt(on, w, 1)}},
			{"moment", []query.Term{query.SecondMomentOf(on, c.d)}},
			{"measured", []query.Term{query.GradientInMetric(on, w, 1, 1, m)}},
			{"measuring", []query.Term{query.GradientInMetric(on, w, 1, 1, m), query.GradientInMetric(on, w, 1, 1, other)}},
		} {
			b.Run(fmt.Sprintf("rows=%d/features=%d/filled=%v/%s", c.n, c.d, c.filled, kind.name), func(b *testing.B) {
				ask := func(i int) {
					q, err := query.New(1, kind.terms[i%len(kind.terms)])
					if err != nil {
						b.Fatal(err)
					}
					if _, err := e.Sum(context.Background(), q, 0x1p25, nil); err != nil {
						b.Fatal(err)
					}
				}
				ask(0)
				for i := 1; b.Loop(); i++ {
					ask(i)
				}
			})
		}
	}
}

// randomTable returns rows of which the share filled of the features is not zero.
func randomTable(b testing.TB, n, d int, filled float64) *row.Table {
	b.Helper()
	r := rand.New(rand.NewPCG(1, uint64(d)))
	table, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, d)
	for range n {
		for j := range x {
			if x[j] = 0; r.Float64() < filled {
				x[j] = float32(r.Float64()-.5) / float32(math.Sqrt(float64(d)))
			}
		}
		table.Append(x, float64(2*r.IntN(2)-1), true)
	}
	return table
}

func randomMetric(b *testing.B, d int, seed uint64) query.Metric {
	b.Helper()
	r := rand.New(rand.NewPCG(seed, seed))
	p := make([]float64, d*d)
	for j := range d {
		for k := range j + 1 {
			p[j*d+k] = r.Float64()
			p[k*d+j] = p[j*d+k]
		}
	}
	m, err := query.NewMetric(d, p)
	if err != nil {
		b.Fatal(err)
	}
	return m
}
