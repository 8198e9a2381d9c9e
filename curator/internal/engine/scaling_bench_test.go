//go:build unix

package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// BenchmarkScaling measures a gradient pass over n x 50 rows, of which 1.8e9 bytes are kept in
// memory and the rest in a file. The rows are stored as float32s, and as 10 numbers and 40 features
// of 8 groups. The environment variable SCALING lists the numbers of rows (default 1000000),
// SCALING_FOLDER is the folder of the file, and SCALING_MEMORY is the number of bytes in memory.
// The benchmark reports the time of a row in a pass and the largest resident memory so far.
func BenchmarkScaling(b *testing.B) {
	memory := int64(18e8)
	if s := os.Getenv("SCALING_MEMORY"); s != "" {
		memory, _ = strconv.ParseInt(s, 10, 64)
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		b.Fatal(err)
	}
	groups := []row.Group{}
	for g := range 8 {
		groups = append(groups, row.Group{First: 10 + 5*g, Width: 5})
	}
	for _, n := range strings.Fields(cmp.Or(os.Getenv("SCALING"), "1000000")) {
		n, err := strconv.Atoi(n)
		if err != nil {
			b.Fatal(err)
		}
		for name, groups := range map[string][]row.Group{"float32": nil, "coded": groups} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				layout, err := row.NewLayout(50, groups)
				if err != nil {
					b.Fatal(err)
				}
				source := generated(b, layout, n, memory)
				defer source.Close()
				e, err := New(source, l, 2)
				if err != nil {
					b.Fatal(err)
				}
				w := make([]float64, 50)
				for j := range w {
					w[j] = float64(j%7) - 3
				}
				q, err := query.New(1, query.GradientAt(query.NewCohort(0, float64(n)), w, 1))
				if err != nil {
					b.Fatal(err)
				}
				before := processor(b)
				for b.Loop() {
					if _, err := e.Sum(context.Background(), q, 0x1p30, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
				b.ReportMetric(1e9*(processor(b)-before)/float64(b.N)/float64(n), "cpu-ns/row")
				b.ReportMetric(resident(b)/1e9, "GB")
			})
		}
	}
}

// generated returns n rows of a layout, which repeat a thousand different rows.
func generated(b *testing.B, l *row.Layout, n int, memory int64) row.Source {
	f, err := row.NewFileOf(l, 0, memory, os.Getenv("SCALING_FOLDER"))
	if err != nil {
		b.Fatal(err)
	}
	const different = 1000
	r := rand.New(rand.NewPCG(1, 5))
	x, in := make([]float32, different*l.Numbers()), make([]uint32, different*l.Groups())
	for i := range x {
		x[i] = float32(r.Float64()-.5) / 10
	}
	for i := range in {
		in[i] = uint32(r.IntN(l.Group(i % l.Groups()).Width))
	}
	for i := range n {
		k := i % different
		if err := f.AppendCoded(x[k*l.Numbers():][:l.Numbers()], .1, in[k*l.Groups():][:l.Groups()], float64(2*(i%2)-1),
			true); err != nil {
			b.Fatal(err)
		}
	}
	s, err := f.Source()
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// resident returns the largest resident memory of the process in bytes, as Linux counts it.
func resident(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Maxrss) * 1024
}
