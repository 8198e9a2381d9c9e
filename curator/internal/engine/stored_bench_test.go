//go:build unix

package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkStored compares a gradient pass of the logistic loss over rows in memory with the same pass over
// the same rows in a file, of which nothing is kept in memory but the pages that the system caches. Each turn makes a
// pass over the one and a pass over the other. The benchmark reports medians: processor time of a row in
// memory and from the file, and of the ratio of each turn. The environment variable STORED is the number of rows
// (default 1000000), and SCALING_FOLDER the folder of the file.
func BenchmarkStored(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("STORED"), "1000000"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		b.Fatal(err)
	}
	adult, at := []row.Group(nil), 6
	for _, g := range adultGroups {
		adult = append(adult, row.Group{First: at, Width: g})
		at += g
	}
	for _, c := range []struct {
		name   string
		dim    int
		groups []row.Group
	}{{"numbers=20", 20, nil}, {"numbers=50", 50, nil}, {"adult", at, adult}} {
		b.Run(c.name, func(b *testing.B) {
			layout, err := row.NewLayout(c.dim, c.groups)
			if err != nil {
				b.Fatal(err)
			}
			sources := []row.Source{generated(b, layout, n, math.MaxInt64), generated(b, layout, n, 0)}
			defer sources[0].Close()
			defer sources[1].Close()
			w := make([]float64, c.dim)
			for j := range w {
				w[j] = float64(j%7) - 3
			}
			q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(n)), w, 1))
			if err != nil {
				b.Fatal(err)
			}
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
					compareStored(b, sources, l, q, threads, n)
				})
			}
		})
	}
}

func compareStored(b *testing.B, sources []row.Source, l loss.Loss, q query.Question, threads, n int) {
	var engines []Engine
	for _, s := range sources {
		e, err := New(s, l, threads)
		if err != nil {
			b.Fatal(err)
		}
		engines = append(engines, e)
	}
	var times [2][]float64
	var sums [2]string
	for b.Loop() {
		for i, e := range engines {
			before := processor(b)
			sum, err := e.Sum(context.Background(), q, 0x1p30, nil)
			if err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], 1e9*(processor(b)-before)/float64(n))
			sums[i] = fmt.Sprint(sum)
		}
		if sums[0] != sums[1] {
			b.Fatal("rows of the file have other sums")
		}
	}
	ratios := make([]float64, b.N)
	for i := range ratios {
		ratios[i] = times[1][i] / times[0][i]
	}
	for _, of := range [][]float64{times[0], times[1], ratios} {
		slices.Sort(of)
	}
	b.ReportMetric(times[0][b.N/2], "memory-ns/row")
	b.ReportMetric(times[1][b.N/2], "file-ns/row")
	b.ReportMetric(ratios[b.N/2], "ratio")
}
