package engine

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// metrics returns metrics of symmetric matrices: ordinary matrices, and matrices that shorten most
// rows, or all of the rows x, so much that lengths are lost in rounding.
func metrics(t testing.TB, r *rand.Rand, d int, x []float32) []query.Metric {
	t.Helper()
	var list []query.Metric
	for _, shorten := range []float64{0, .99, 1} {
		for _, random := range []bool{false, true} {
			p, square := make([]float64, d*d), 0.
			for _, v := range x {
				square += float64(v) * float64(v)
			}
			for j := range d {
				for k := range j + 1 {
					p[j*d+k] = -shorten * float64(x[j]) * float64(x[k]) / max(square, 1e-300)
					if random {
						p[j*d+k] += .3 * r.NormFloat64()
					}
					p[k*d+j] = p[j*d+k]
				}
				p[j*d+j]++
			}
			m, err := query.NewMetric(d, p)
			if err != nil {
				continue // shortened to zero
			}
			list = append(list, m)
		}
	}
	return list
}

// exactLength returns ||R x|| for the metric's matrix R and a row x, to 300 bits.
func exactLength(m query.Metric, x []float32) *big.Float {
	sum := new(big.Float).SetPrec(300)
	entries := make([]int64, m.Dim())
	for j := range entries {
		m.Row(entries, j)
		c := new(big.Float).SetPrec(300)
		for k, v := range entries {
			p := new(big.Float).SetPrec(300).SetFloat64(float64(x[k]))
			c.Add(c, p.Mul(p, new(big.Float).SetInt64(v)))
		}
		sum.Add(sum, c.Mul(c, c))
	}
	sum.Sqrt(sum)
	return sum.Mul(sum, big.NewFloat(m.Step()))
}

// numbers returns rows of d numbers as a tile. The rows start at x, stride float32s apart.
func numbers(t testing.TB, x []float32, stride, d int) (*nonzeros, row.Block) {
	t.Helper()
	l, err := row.Dense(d)
	if err != nil {
		t.Fatal(err)
	}
	n := len(x) / stride
	b := row.Block{Rows: make([]float32, n*l.Stride()), Targets: make([]float64, n)}
	for i := range n {
		copy(b.Rows[i*l.Stride():], x[i*stride:][:d])
	}
	return &nonzeros{writer: writer{layout: l}}, b
}

// TestLengthsAreRoundedUp tests that no length in a metric is below the exact length. No length
// exceeds the exact one by more than a float32's rounding and a little relative to the metric,
// however much the metric shortens the row.
func TestLengthsAreRoundedUp(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	exact, most := 0, 0.
	for range 150 {
		d, beside := 1+r.IntN(30), r.IntN(2)*r.IntN(40) // features, and dimensions of the metric beside them
		all := make([]float32, d+beside)
		x := all[:d]
		for j := range x {
			if r.IntN(3) > 0 {
				x[j] = float32(r.NormFloat64() / math.Sqrt(float64(d)) / 3)
			}
		}
		for _, m := range metrics(t, r, d+beside, all) {
			var got [1]float32
			f, b := numbers(t, x, d, d)
			newRuler(m, kernels()[r.IntN(len(kernels()))], d).lengths(got[:], f, b)
			want := exactLength(m, all)
			if want.Cmp(big.NewFloat(float64(got[0]))) > 0 {
				t.Fatalf("d = %d: a length of %v, stated as %v", d, want, got[0])
			}
			size := m.Norm() * m.Step()
			w, _ := want.Float64()
			if w > 1e-3*size {
				exact++
				most = max(most, float64(got[0])/w-1)
			} else if float64(got[0]) > w+1e-5*size {
				t.Fatalf("d = %d: a length of %v in a metric of %v, stated as %v", d, w, size, got[0])
			}
		}
	}
	if t.Logf("%d lengths, stated at most %.2g above", exact, most); exact < 300 || !(most <= 0x1p-22) {
		t.Errorf("%d lengths were stated up to %v too large", exact, most)
	}
}

// TestWhatALengthLoses tests that the allowance for a length's rounding is the one that
// docs/explanation/exactness.md derives, and that products of integers are exact.
func TestWhatALengthLoses(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 2))
	for _, d := range []int{1, 2, 7, 8, 9, 31, 32, 33, 70, 131} {
		m := metrics(t, r, d, make([]float32, d))[1]
		ruler := newRuler(m, portable, m.Dim())
		for _, k := range kernels() {
			if other := newRuler(m, k, m.Dim()); !slices.EqualFunc(other.square, ruler.square, slices.Equal) || other.lost != ruler.lost {
				t.Fatalf("d = %d: %s: another square", d, k.name)
			}
		}
		a, b := make([]int64, d), make([]int64, d)
		var most float64
		for j := range d {
			m.Row(a, j)
			var along float64
			for k := range d {
				m.Row(b, k)
				var s int64
				for i := range a {
					s += a[i] * b[i]
				}
				if k >= j && ruler.square[j][k-j] != float64(s) {
					t.Fatalf("d = %d: entry %d, %d of the square is %v, want %d", d, j, k, ruler.square[j][k-j], s)
				}
				along += math.Abs(float64(s))
			}
			most = max(most, along)
		}
		if want := 4 * float64(d+2) * 0x1p-53 * most; !(ruler.lost >= want*(1-1e-9) && ruler.lost <= want*(1+1e-9)) {
			t.Errorf("d = %d: %v square steps are allowed for, want %v", d, ruler.lost, want)
		}
	}
	// all has the values of a row of the largest possible metric, with the largest possible
	// entries.
	all := make([]float64, query.MaxPairs)
	for j := range all {
		all[j] = 1 << 20
	}
	if got := exactDot(all, all); got != query.MaxPairs<<40 || got > 1<<53 {
		t.Errorf("a sum of squares is %v", got)
	}
}

// TestLengthsAreOfTheMetricAsked tests that sums equal the sums of a new engine, whichever metric
// was used before, at the same time, or in a query that failed.
func TestLengthsAreOfTheMetricAsked(t *testing.T) {
	const n, d = 200, 5
	r := rand.New(rand.NewPCG(51, 3))
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(d, 30)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, d)
	for range n {
		for j := range x {
			x[j] = float32(r.Float64()-.5) / d
		}
		table.Append(x, float64(2*r.IntN(2)-1), true)
	}
	list := metrics(t, r, d, x)
	if len(list) < 3 {
		t.Fatalf("%d metrics", len(list))
	}
	ask := func(e *Portable, ctx context.Context, i int, members []int32) ([]int64, error) {
		q, err := query.New(1, query.GradientInMetric(query.NewCohort(0, n), make([]float64, d), .1, 1, list[i]))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Sum(ctx, q, 0x1p20, members)
		return sum.Residual, err
	}
	fresh := func() *Portable {
		e, err := New(table, l, 2)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	some := []int32{3, 199, 0, 77, 77}
	var want [2][][]int64
	for i := range list {
		for k, members := range [][]int32{nil, some} {
			v, err := ask(fresh(), t.Context(), i, members)
			if err != nil {
				t.Fatal(err)
			}
			want[k] = append(want[k], v)
		}
	}
	for i := range list[1:] {
		if slices.Equal(want[0][0], want[0][i+1]) {
			t.Fatal("metrics do not tell: the test shows nothing")
		}
	}
	shared := fresh()
	ended, end := context.WithCancel(t.Context())
	end()
	var wg sync.WaitGroup
	for range 4 {
		order := r.Perm(3 * len(list))
		wg.Go(func() {
			for _, i := range order {
				i, k := i%len(list), i%2
				if v, err := ask(shared, t.Context(), i, [][]int32{nil, some}[k]); err != nil || !slices.Equal(v, want[k][i]) {
					t.Errorf("metric %d: %v, %v: must be %v", i, v, err, want[k][i])
				}
				if _, err := ask(shared, ended, i, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			}
		})
	}
	wg.Wait()
	// A second query with the same metric does not compute the lengths again.
	if _, err := ask(shared, t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	before := <-shared.measured
	shared.measured <- before
	if _, err := ask(shared, t.Context(), 0, some); err != nil {
		t.Fatal(err)
	}
	if after := <-shared.measured; after != before || after.metric != list[0] || after.starts[len(after.blocks)] != n {
		t.Error("lengths are not kept")
	}
}
