package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDenseRowsAsOthers tests that sums over pairs, and lengths in a metric, are the same to the bit
// whether zeros are skipped or added, for rows of any number and width with some zeros. A row's
// length must depend on this row alone, although the choice between the two loops depends on the
// other rows of the tile. Otherwise a length would reveal other rows. The test fails if the loop over
// all features adds in another order or leaves rows out.
func TestDenseRowsAsOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	var scratch paired // of rows of all sizes, one after the other
	for trial := range 240 {
		n, d := 1+r.IntN(tileRows), 1+r.IntN(40)
		if trial%8 == 0 {
			d = 60 + r.IntN(80)
		}
		stride := d + r.IntN(3)
		x, c := make([]float32, n*stride), make([]float64, n)
		for i := range n {
			c[i] = r.NormFloat64() * 0x1p40
			for j := range d {
				if r.IntN(4) > 0 {
					x[i*stride+j] = float32(r.NormFloat64() / math.Sqrt(float64(d)) / 4)
				}
			}
		}
		f, b := numbers(t, x, stride, d)
		f.gather(b)
		sparse, dense := make([]int64, d*(d+1)/2), make([]int64, d*(d+1)/2)
		acc := sparse
		for j := range d {
			for i, features := range f.from(j) {
				addRow(acc[:d-j], c[i], features)
			}
			acc = acc[d-j:]
		}
		for _, k := range kernels() {
			clear(dense)
			if k.pairs(&scratch, dense, c, x[:(n-1)*stride+d], stride, d); !slices.Equal(sparse, dense) {
				t.Fatalf("%s: %d rows of %d features: %v: want %v", k.name, n, d, dense, sparse)
			}
		}
		for _, m := range metrics(t, r, d, x[:d]) {
			ruler := newRuler(m, portable, m.Dim())
			squares, want := make([]float64, n), make([]float64, n)
			f.gather(b)
			for j := range d {
				for i, features := range f.from(j) {
					want[i] += quadratic(ruler.square[j], features)
				}
			}
			for _, k := range kernels() {
				clear(squares)
				if ruler.kernel = k; k.weigh == nil {
					ruler.quadratics(squares, x, stride)
				} else {
					ruler.quadraticsBy(new(weighed), squares, x, stride)
				}
				for i := range want {
					if math.Float64bits(squares[i]+0) != math.Float64bits(want[i]+0) {
						t.Fatalf("%s: %d rows of %d features: length %d is %v: want %v", k.name, n, d, i, squares[i], want[i])
					}
				}
			}
		}
	}
}

// TestHeldRowsAreAdded tests that second moments of rows with few zeros are the sums over rows that are taken one by
// one, for numbers of rows about those at which rows that are held are added, whatever the number of goroutines.
func TestHeldRowsAreAdded(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	const d, scale = 9, 0x1p30
	for _, n := range []int{1, tileRows - 1, tileRows + 1, pairRows - 1, pairRows, pairRows + 1, 3*pairRows + 5} {
		table := randomTable(t, n, d, 1)
		want := make([]int64, d*(d+1)/2)
		for i := range table.Blocks() {
			b, err := table.Reader().Block(i)
			if err != nil {
				t.Fatal(err)
			}
			stride := table.Layout().Stride()
			for k := range b.Targets {
				addAllPairs(nil, want, []float64{scale}, b.Rows[k*stride:][:d], d, d)
			}
		}
		for _, workers := range []int{1, 3} {
			e, err := New(table, l, workers)
			if err != nil {
				t.Fatal(err)
			}
			q, err := query.New(1, query.SecondMomentOf(query.NewCohort(0, float64(n)), d))
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Sum(t.Context(), q, scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Residual, want) {
				t.Fatalf("%d rows, %d goroutines: %v, want %v", n, workers, got.Residual, want)
			}
		}
	}
}
