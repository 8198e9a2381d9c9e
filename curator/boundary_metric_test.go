package curator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// metric returns a random symmetric metric that is not diagonal, and its matrix.
func metric(t *testing.T, dim int) (query.Metric, [][]float64) {
	t.Helper()
	r, p := rand.New(rand.NewPCG(20, uint64(dim))), make([]float64, dim*dim)
	for j := range dim {
		p[j*dim+j] = 1 + r.Float64()
		for k := range j {
			v := r.Float64() - .5
			p[j*dim+k], p[k*dim+j] = v, v
		}
	}
	m := must[query.Metric](t)(query.NewMetric(dim, p))
	rows, steps := make([][]float64, dim), make([]int64, dim)
	for j := range rows {
		m.Row(steps, j)
		for _, v := range steps {
			rows[j] = append(rows[j], float64(v)*m.Step())
		}
	}
	return m, rows
}

func times(matrix [][]float64, x []float32) []float64 {
	out := make([]float64, len(matrix))
	for j, row := range matrix {
		out[j] = dot(row, x)
	}
	return out
}

// asMoments compares second moments, and gradients that are clipped in a metric, with plain
// arithmetic.
func (d tabled) asMoments(t *testing.T, what string) {
	t.Helper()
	s := d.watched(t, released)
	dim, n := s.Dim(), float64(len(d.x))
	var moment []float64
	for j := range dim {
		for k := j; k < dim; k++ {
			var sum float64
			for _, x := range d.x {
				sum += float64(x[j]) * float64(x[k]) / n
			}
			if k > j {
				sum *= math.Sqrt2
			}
			moment = append(moment, sum)
		}
	}
	closeTo(t, what+": second moment", mean(t, s, query.SecondMomentOf(s.All(), dim)), moment)
	const clip, slope = .5, .75
	m, matrix := metric(t, dim)
	w, want := point(dim), make([]float64, dim)
	for i, x := range d.x {
		along := times(matrix, x)
		most := min(slope, clip/math.Sqrt(squared(along)))
		phi := -d.y[i] / (1 + math.Exp(d.y[i]*dot(w, x)))
		for j, v := range along {
			want[j] += min(max(phi, -most), most) * v / n
		}
	}
	closeTo(t, what+": gradient in a metric", mean(t, s, query.GradientInMetric(s.All(), w, clip, slope, m)), want)
}

func squared(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// measured compares moments of n rows, of numbers alone and with one-hot groups.
func measured(t *testing.T, n int) {
	columns := numberColumns(13)
	for _, more := range [][]dataset.Column{nil, {
		{Name: "c", Kind: dataset.Category, Categories: []string{"a", "b", "c"}}, {Name: "h", Kind: dataset.Hash, Buckets: 5},
	}} {
		columns = append(slices.Clone(more), columns...)
		cells := randomCells(rand.New(rand.NewPCG(21, uint64(n))), n, columns)
		d := table(t, loss.Logistic(), twoClasses(), columns, cells)
		d.asMoments(t, fmt.Sprint(n, " rows and ", len(more), " groups"))
	}
}

// paired compares moments of rows with n numbers, and of rows with n-1 numbers, which have n features
// together with the constant.
func paired(t *testing.T, n int) {
	for _, features := range []int{n, n - 1} {
		columns := numberColumns(features)
		cells := randomCells(rand.New(rand.NewPCG(22, uint64(n))), 70, columns)
		table(t, loss.Logistic(), twoClasses(), columns, cells).asMoments(t, fmt.Sprint(features, " numbers"))
	}
}

// pairsOfMany compares the second moment of n features of 3 rows, and requires that more than MaxPairs
// features are refused.
func pairsOfMany(t *testing.T, n int) {
	columns := []dataset.Column{
		{Name: "h", Kind: dataset.Hash, Buckets: n - 5}, {Name: "n", Kind: dataset.Number, Low: -1, High: 1},
	}
	cells := randomCells(rand.New(rand.NewPCG(23, uint64(n))), 3, columns)
	cells[2][0] = "" // a missing value, which has the last code
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	s := d.watched(t, released)
	dim := s.Dim()
	if dim < n-4 || dim > n {
		t.Fatalf("%d features: must be about %d", dim, n)
	}
	for dim := dim; dim <= n; dim++ {
		_, err := query.New(1e-3, query.SecondMomentOf(s.All(), dim))
		if (err == nil) != (dim <= query.MaxPairs) {
			t.Fatalf("second moment of %d features: %v", dim, err)
		}
	}
	if dim > query.MaxPairs {
		return
	}
	got := mean(t, s, query.SecondMomentOf(s.All(), dim))
	at := 0
	for j := range dim {
		for k := j; k < dim; k++ {
			var want float64
			for _, x := range d.x {
				want += float64(x[j]) * float64(x[k]) / float64(len(d.x))
			}
			if k > j {
				want *= math.Sqrt2
			}
			if !(math.Abs(got[at]-want) <= 1e-6) {
				t.Fatalf("%d features: the product of %d and %d is %v: must be %v", dim, j, k, got[at], want)
			}
			at++
		}
	}
}

// crowds tests tables with n times as many records as are declared. The metric's matrix is applied to
// the integer sum of so many records at the clip norm. The sum must not overflow, since it has room
// for four times crowd as many.
func crowds(t *testing.T, n int) {
	const declared = 2048
	columns := numberColumns(1)
	cells := make([][]string, n*declared)
	for i := range cells {
		cells[i] = []string{"1", "yes"}
	}
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.Declared = declared
	d.Budget = must[account.Budget](t)(account.NewBudget(50, .1, account.AddOrRemove))
	s := d.watched(t, released)
	m, matrix := metric(t, s.Dim())
	along := times(matrix, d.x[0])
	const clip = .5
	most := clip / math.Sqrt(squared(along))
	w := make([]float64, len(along))
	for j := range w {
		w[j] = -40 * float64(d.x[0][j]) // the margin is so negative that the slope is -1, which is clipped
	}
	want := make([]float64, len(along))
	for j, v := range along {
		want[j] = -most * v * float64(n)
	}
	q := must[query.Question](t)(query.New(4, query.GradientInMetric(s.All(), w, clip, 1, m)))
	a := must[query.Release](t)(s.Ask(context.Background(), q))
	for j := range want {
		if !(math.Abs(a.Mean[j]/want[j]-1) <= 1e-6) {
			t.Fatalf("%d times the declared records: coordinate %d is %v: must be %v", n, j, a.Mean[j], want[j])
		}
	}
}

// joined draws n records of a table, then one, then the others, and tests that every record is in
// exactly one cohort.
func joined(t *testing.T, n int) {
	columns := numberColumns(1)
	for _, rows := range []int{n + 2, 16*n + 3, 16*n + 17} {
		cells := randomCells(rand.New(rand.NewPCG(24, uint64(rows))), rows, columns)
		d := table(t, loss.Logistic(), twoClasses(), columns, cells)
		var last session.Exchange
		s := d.watched(t, func(x session.Exchange) (any, error) { last = x; return x.Released, nil })
		w, seen := point(s.Dim()), make([]int, rows)
		for _, size := range []int{n, 1, rows - n - 1} {
			on := must[query.Cohort](t)(s.Draw(size))
			got := mean(t, s, query.GradientAt(on, w, 3))
			if len(last.Members) != size {
				t.Fatalf("%d records were drawn: must be %d", len(last.Members), size)
			}
			for _, i := range last.Members {
				seen[i]++
			}
			_, want := d.logistic(w, asInts(last.Members))
			closeTo(t, fmt.Sprint(size, " of ", rows, " records"), got, want)
		}
		if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
			t.Fatalf("%d of %d records, then one, then the others: were drawn %v times", n, rows, seen)
		}
	}
}

// candidates selects among n points of which only the last but one has a small loss. Another point is
// selected with a probability below 1e-6.
func candidates(t *testing.T, n int) {
	columns := numberColumns(1)
	cells := slices.Repeat([][]string{{"1", "yes"}}, 6)
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.Budget, d.Workers = must[account.Budget](t)(account.NewBudget(500, .1, account.ReplaceOne)), 1
	s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), d.Config, 7, nil))
	defer s.Close()
	w := make([]float64, s.Dim())
	for j := range w {
		w[j] = -40 * float64(d.x[0][j])
	}
	list := slices.Repeat([]query.Term{query.ValueAt(s.All(), w, 10, 10)}, n)
	for j := range w {
		w[j] *= -1
	}
	list[n-2] = query.ValueAt(s.All(), w, 10, 10)
	sel, err := query.NewSelection(16, list...)
	if (err == nil) != (n <= 1<<16) {
		t.Fatalf("%d candidates: %v", n, err)
	} else if err != nil {
		return
	}
	if got := must[int](t)(s.Select(context.Background(), sel)); got != n-2 {
		t.Fatalf("%d candidates: %d is selected: must be %d", n, got, n-2)
	}
}
