package engine

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestLengthsAreNotTooSmall tests the lengths of gradients with a score in a metric against exact ones: none is smaller,
// whatever its sum is rounded to, and none is larger by more than twice the bound on rounding errors. The gradients have no
// slope in the score: the length of a row is rounded up on its own.
func TestLengthsAreNotTooSmall(t *testing.T) {
	const features, above, records = 2, 3, 8
	l, err := row.Dense(features)
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTableOf(l, records)
	if err != nil {
		t.Fatal(err)
	}
	for range records {
		table.Append([]float32{.5, -.5}, 1, true)
	}
	b, err := table.Block(0)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 4))
	d, slack := features+above, 0.
	for range 200 {
		entries := make([]float64, d*d)
		for i := range d {
			for j := range i + 1 {
				entries[i*d+j] = r.NormFloat64()
				entries[j*d+i] = entries[i*d+j]
			}
		}
		m, err := query.NewMetric(d, entries)
		if err != nil {
			t.Fatal(err)
		}
		g := newInMetric(m, above, l, records)
		norm := m.Norm() * m.Step()
		if want := float64(d*2*(2*d+4)) * 0x1p-53 * norm * norm; !(math.Abs(g.lost/want-1) < 1e-12) {
			t.Fatalf("rounding errors are at most %v: must be %v", g.lost, want)
		}
		p := &pass{layout: l, kernel: fastest(), shape: shaped(1, l), long: make([]float32, records)}
		p.writer.layout = l
		slopes, rest, faulty := make([]float64, records), make([]float64, records*above), make([]bool, records)
		for i := range rest {
			rest[i] = r.NormFloat64() * math.Ldexp(1, r.IntN(8))
		}
		g.measure(p, b, slopes, rest, faulty)
		steps, of := make([]int64, d), new(big.Float).SetPrec(300)
		for i := range records {
			exact := new(big.Float).SetPrec(300)
			for j := range d {
				m.Row(steps, j)
				sum := new(big.Float).SetPrec(300)
				for k := range above {
					sum.Add(sum, of.Mul(of.SetInt64(steps[features+k]), big.NewFloat(rest[k*records+i])))
				}
				exact.Add(exact, sum.Mul(sum, sum))
			}
			step := big.NewFloat(m.Step())
			exact.Mul(exact, of.Mul(of.SetInt64(1), step).Mul(of, step))
			got := new(big.Float).SetPrec(300).SetFloat64(g.long[i])
			over, _ := got.Sub(got, exact).Float64()
			if most := 2 * g.lost * g.plain[i]; faulty[i] || !(over >= 0 && over <= most) {
				t.Fatalf("a squared length of %v is larger than the exact one by %v: must be from 0 to %v", g.long[i], over, most)
			}
			slack = max(slack, over/g.plain[i])
		}
	}
	if !(slack > 0) {
		t.Error("no length has any room")
	}
}
