package audit_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit/testdata/naive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// repeated yields each value as many times as counts says, in order.
func repeated(values []float32, counts []int) func(yield func(float32) bool) {
	return func(yield func(float32) bool) {
		for i, v := range values {
			for range counts[i] {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// TestArithmeticNaiveSums is the attack of Casacuberta, Shoemate, Vadhan and Wagaman (2022) on sums
// in floats. One record can change such a sum far more than it changes the exact sum of real
// numbers, for which the noise is calibrated.
func TestArithmeticNaiveSums(t *testing.T) {
	// Replacing a record in [-1, 1] moves a real sum by 2. In float32, neighbouring numbers above 2^23 are 1
	// apart. Adding a number of size 1/4 therefore leaves a sum above 2^23 unchanged. Below 2^23 neighbouring
	// numbers are 1/2 apart. Each added number is a little larger than 1/4 in size, and changes a sum below
	// 2^23 by -1/2.
	const less, tail = -.25 - 0x1p-20, 20000
	above := naive.Sum32(repeated([]float32{1, 1, less}, []int{1 << 23, 1, tail}))
	below := naive.Sum32(repeated([]float32{1, -1, less}, []int{1 << 23, 1, tail}))
	t.Logf("records in [-1, 1], one replaced: the float32 sum moved from %.0f to %.0f", above, below)
	if moved := above - below; moved < 1000*2 {
		t.Errorf("records in [-1, 1], one replaced: the sum moved by %v: want 1000 times 2", moved)
	}

	// Replacing a record in [a, a+2^-7] moves a real sum by 2^-7. In float64, neighbouring numbers at 2^58 are
	// 64 apart. a is 32 above a multiple of 64. After adding a, the sum is rounded to the even multiple of 64.
	// After adding a number slightly above a, it is rounded up.
	const a, n = 0x1p45 + 32, 1<<13 + 1
	x := make([]float64, n)
	for i := range x {
		x[i] = a
	}
	before := naive.BoundedSum(x, a, a+0x1p-7)
	x[n-1] += 0x1p-7
	if moved := naive.BoundedSum(x, a, a+0x1p-7) - before; moved < 64 {
		t.Errorf("records in an interval of 2^-7: the sum moved by %v: want 64", moved)
	}

	// Tables that differ only in the order of records should have the same sum.
	values := []float32{1 << 24, 1, -1 << 24}
	forth := naive.Sum32(repeated(values, []int{1, 1000, 1}))
	values[1], values[2] = values[2], values[1]
	if back := naive.Sum32(repeated(values, []int{1, 1, 1000})); forth != 0 || back != 1000 {
		t.Errorf("the same records in two orders add up to %v and %v: want 0 and 1000", forth, back)
	}
}

// total returns the sum, without noise, that a session computes over records with rows e_1 (the
// first unit vector) and the given targets, and the charged sensitivity, both in grid steps.
func total(t testing.TB, targets []float64) (sum, sensitivity float64) {
	t.Helper()
	rows := make([][]float32, len(targets))
	for i := range rows {
		rows[i] = []float32{1}
	}
	b := auditBudget(t, 1, account.ReplaceOne)
	s, err := simulate.Open(simulate.Config{Rows: rows, Targets: targets, Loss: linear{}, Budget: b, Noiseless: true,
		Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(b.Charge(), query.GradientAt(s.All(), []float64{0}, 1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	e := s.Ledger().Events()[0]
	return math.Round(math.Ldexp(r.Mean[0]/r.Sigma, 32)), math.Ldexp(e.Sensitivity/e.Sigma, 32)
}

// TestArithmeticOurSums tries on a session the tables with which the attack on float sums succeeds.
// The session's sums are integers and must not depend on the order of records. Replacing a record
// must change a sum by the same number whatever the other records are, and by at most the charged
// sensitivity.
func TestArithmeticOurSums(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	hard := []float64{1, -1, .5, -.5, .25 + 0x1p-20, -.25 - 0x1p-20, 0x1p-24, 1 - 0x1p-53, 0x1p-60, -5e-324, 1e300, -1e300,
		math.NaN()}
	var moves []float64
	for _, n := range []int{2, 500, 20000} {
		if testing.Short() && n > 500 {
			continue
		}
		targets := make([]float64, n)
		for i := range targets {
			targets[i] = hard[r.IntN(len(hard))]
		}
		targets[n/2] = 1
		sum, sensitivity := total(t, targets)
		r.Shuffle(n, func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
		if again, _ := total(t, targets); again != sum {
			t.Errorf("%d records in another order: %v steps: want %v", n, again, sum)
		}
		for i, v := range targets {
			if v == 1 {
				targets[i] = -1
				break
			}
		}
		moved, _ := total(t, targets)
		moves = append(moves, sum-moved)
		if d := math.Abs(sum - moved); d > sensitivity || d < sensitivity*(1-1e-5) {
			t.Errorf("%d records: replacing 1 by -1 moves the sum by %v steps: want the %v charged for, hardly less", n, d,
				sensitivity)
		}
	}
	for _, m := range moves {
		// The grid, and therefore the move in grid steps, depends only on charge and clip norm.
		if m != moves[0] {
			t.Errorf("replacing 1 by -1 moves the sum by %v and %v steps, as other records are: want one number", m, moves[0])
		}
	}
}

// TestArithmeticOverflow tests sums near the end of the integer range. An int64 sum that may wrap
// around has sensitivity 2^64 (Casacuberta, Shoemate, Vadhan and Wagaman 2022). If a sum could
// exceed the range, a session finds no grid on which to round the summands, and refuses the query
// without a charge. The largest sums that it accepts must be exact.
func TestArithmeticOverflow(t *testing.T) {
	const clip = 1 << 62
	x := []int64{clip, clip - 1}
	before := naive.SumInt(x, clip)
	x[1]++
	if after := naive.SumInt(x, clip); float64(before)-float64(after) < 0x1p63 {
		t.Errorf("a record moved by 1 and the sum from %d to %d: want it to wrap", before, after)
	}

	for _, c := range []struct {
		charge  float64
		refused bool
	}{{1, false}, {1 << 16, false}, {1 << 30, true}, {1 << 60, true}} {
		s, err := simulate.Open(simulate.Config{
			Rows: [][]float32{{1}}, Targets: []float64{1}, Repeat: math.MaxInt32, Loss: linear{},
			Budget: auditBudget(t, 0x1p80, account.ReplaceOne), Noiseless: true, Workers: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(c.charge, query.GradientAt(s.All(), []float64{0}, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Ask(context.Background(), q)
		var over *account.BudgetError
		switch {
		case c.refused && (err == nil || errors.As(err, &over) || s.Ledger().Charged() != 0):
			t.Errorf("charge %v: %v, %v, charged %v: want no grid and no charge", c.charge, r, err, s.Ledger().Charged())
		case !c.refused && (err != nil || math.Abs(r.Mean[0]-1) > 1e-6):
			t.Errorf("charge %v: %v, %v: want the mean 1", c.charge, r, err)
		}
	}
}
