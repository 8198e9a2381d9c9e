package targetpair

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRowsComeOutAsTheyWent tests that Take returns the features that Put wrote, to the bit, and
// Target the targets, down to 2^-89, and that no record has a norm above 1.
func TestRowsComeOutAsTheyWent(t *testing.T) {
	coin := rand.New(rand.NewPCG(3, 19))
	for _, most := range []int{1, 2, 3, 4, 8, 15, 16, 17, MostRows} {
		r := Rows{Features: 5, Most: most}
		if back, ok := RowsIn(r.Width(), most); !ok || back != r || r.Check() != nil {
			t.Fatalf("%v: came back as %v, %v, %v", r, back, ok, r.Check())
		}
		record := make([]float32, r.Width())
		rows, targets := make([][]float32, most), make([]float64, most)
		for i := range most {
			rows[i] = make([]float32, r.Features)
			for j := range rows[i] {
				rows[i][j] = float32((2*coin.Float64() - 1) / math.Sqrt(5))
			}
			if i == 0 {
				rows[i] = []float32{1, 0, 0, 0, 0}
			}
			targets[i] = []float64{-1, 1, 0, coin.Float64(), Join(coin.Float64(), coin.Float64(), false), Join(4095, 0, true),
				-0x1p-50, MostTarget}[i%8]
			r.Put(record, i, rows[i], targets[i])
		}
		var square float64
		for _, v := range record {
			square += float64(v) * float64(v)
		}
		if !(square <= 1) {
			t.Errorf("%d rows: a record of squared norm %v: must be at most 1", most, square)
		}
		x := make([]float32, r.Features)
		for i := range most {
			r.Take(x, record, i)
			for j := range x {
				if x[j] != rows[i][j] {
					t.Fatalf("%d rows: feature %v of row %d came back as %v", most, rows[i][j], i, x[j])
				}
			}
			if got := r.Target(record, i); got != targets[i] {
				t.Fatalf("%d rows: target %v of row %d came back as %v", most, targets[i], i, got)
			}
		}
	}
}

// TestWhatIsNoUnit tests that invalid numbers of rows and invalid widths are refused.
func TestWhatIsNoUnit(t *testing.T) {
	r := Rows{Features: 2, Most: 4}
	for _, y := range []float64{0, -1, 5, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if n, ok := r.Count(y); ok {
			t.Errorf("%v is taken for %d rows", y, n)
		}
	}
	for _, y := range []float64{1, 4} {
		if n, ok := r.Count(y); !ok || float64(n) != y {
			t.Errorf("%v is taken for %d rows, %v", y, n, ok)
		}
	}
	for _, c := range [][2]int{{19, 4}, {12, 4}, {5, 0}, {0, 1}, {4 * (MostRows + 1), MostRows + 1}} {
		if r, ok := RowsIn(c[0], c[1]); ok {
			t.Errorf("a width of %d with room for %d is taken for %v", c[0], c[1], r)
		}
	}
	for _, r := range []Rows{{0, 3}, {3, 0}, {3, MostRows + 1}, {1 << 24, 1}} {
		if r.Check() == nil {
			t.Errorf("%v: must be refused", r)
		}
	}
}
