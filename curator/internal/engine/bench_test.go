package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkPass compares two passes in one run, with the same number of goroutines: the exact
// clipped gradient pass, and an inexact pass by a float library (Dot, slope, Axpy on float64 rows).
// Rows are 1e6 x 100, or 1e5 x 100 in short mode.
func BenchmarkPass(b *testing.B) {
	n, d := 1_000_000, 100
	if testing.Short() {
		n = 100_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	table, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	floats, targets := make([]float64, n*d), make([]float64, n)
	x, w := make([]float32, d), make([]float64, d)
	for i := range n {
		for j := range x {
			x[j] = float32(r.Float64()-.5) / float32(math.Sqrt(float64(d)))
			floats[i*d+j] = float64(x[j])
		}
		targets[i] = float64(2*r.IntN(2) - 1)
		table.Append(x, targets[i], true)
	}
	for j := range w {
		w[j] = r.NormFloat64()
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		b.Fatal(err)
	}
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(n)), w, 1))
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("exact/goroutines=%d", workers), func(b *testing.B) {
			e, err := New(table, l, workers)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.Sum(context.Background(), q, 0x1p30, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("gonum/goroutines=%d", workers), func(b *testing.B) {
			for b.Loop() {
				inexact(floats, targets, w, workers)
			}
		})
	}
}

// inexact returns the sum of clipped logistic gradients by gonum's Ddot and Daxpy.
func inexact(x, y, w []float64, workers int) []float64 {
	n, d := len(y), len(w)
	parts := make(chan []float64, workers)
	for k := range workers {
		go func() {
			var blas gonum.Implementation
			g := make([]float64, d)
			for i := k * n / workers; i < (k+1)*n/workers; i++ {
				row := x[i*d : (i+1)*d]
				z := blas.Ddot(d, row, 1, w, 1)
				s := -y[i] / (1 + math.Exp(y[i]*z))
				blas.Daxpy(d, min(max(s, -1), 1), row, 1, g, 1)
			}
			parts <- g
		}()
	}
	sum := <-parts
	for range workers - 1 {
		for j, v := range <-parts {
			sum[j] += v
		}
	}
	return sum
}

// written is a network without the methods of Stacked, so that the engine writes out its
// gradients.
type written struct{ loss.Composed }

// BenchmarkNetwork compares two gradient passes of a network with 32 tanh units and ten classes
// over 4000 x 784 rows, two thirds of whose features are zeros: the ordinary pass, and a pass that
// writes out each record's gradient.
func BenchmarkNetwork(b *testing.B) {
	const n, d = 4000, 784
	r := rand.New(rand.NewPCG(1, 3))
	table, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, d)
	for range n {
		for j := range x {
			if x[j] = 0; r.IntN(3) == 0 {
				x[j] = float32(r.Float64()) / 28
			}
		}
		table.Append(x, float64(r.IntN(10)), true)
	}
	l, err := loss.Parse("network(32,tanh,softmax(10))")
	if err != nil {
		b.Fatal(err)
	}
	network := l.(loss.Composed)
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, n), network.Start(d), 1))
	if err != nil {
		b.Fatal(err)
	}
	for name, l := range map[string]loss.Loss{"stacked": network, "written": written{network}} {
		b.Run(name, func(b *testing.B) {
			e, err := New(table, l, 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.Sum(context.Background(), q, 0x1p30, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*network.Parameters(d)), "ns/parameter")
		})
	}
}

// BenchmarkClasses measures a gradient pass of softmax with ten classes over 60,000 x 784 rows,
// four fifths of whose features are zeros. This is the size of MNIST. lab/results/models/pass.sh
// compares the pass with numpy.
func BenchmarkClasses(b *testing.B) {
	const n, d, k = 60_000, 784, 10
	r := rand.New(rand.NewPCG(1, 4))
	table, err := row.NewTable(d, 0)
	if err != nil {
		b.Fatal(err)
	}
	x, w := make([]float32, d), make([]float64, k*d)
	for range n {
		for j := range x {
			if x[j] = 0; r.IntN(5) == 0 {
				x[j] = float32(r.Float64()) / 28
			}
		}
		table.Append(x, float64(r.IntN(k)), true)
	}
	for j := range w {
		w[j] = r.NormFloat64()
	}
	l, err := loss.Softmax(k)
	if err != nil {
		b.Fatal(err)
	}
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, n), w, math.Sqrt2))
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(table, l, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Sum(context.Background(), q, 0x1p30, nil); err != nil {
			b.Fatal(err)
		}
	}
}
