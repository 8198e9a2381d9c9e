package audit_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit/testdata/naive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// extremes are gradients at which floating-point arithmetic fails: infinities, NaN, and numbers
// whose squares underflow or overflow.
var extremes = [][2]float64{
	{0, 0}, {1, 0}, {-1, 0},
	{math.MaxFloat64, math.MaxFloat64}, {-math.MaxFloat64, math.MaxFloat64}, {1e200, -1e200},
	{1e155, 1}, {-1e155, 1e155}, {1e-155, 1e-162}, {1e-170, 1e-170}, {-5e-324, 5e-324},
	{math.Inf(1), 0}, {math.Inf(-1), math.Inf(1)}, {math.NaN(), 1}, {math.NaN(), math.Inf(1)}, {1, math.NaN()},
}

// at is a loss for tests. Its gradient is the element of extremes whose index is the target. It does not
// depend on the row.
type at struct{ linear }

func (at) Gradient(dst, _ []float64, _ []float32, y float64) { copy(dst, extremes[int(y)][:]) }

// Value returns the gradient's first coordinate.
func (at) Value(_ []float64, _ []float32, y float64) float64 { return extremes[int(y)][0] }

// TestArithmeticNaiveClip attacks a naive clip (package naive), which squares coordinates, adds them and
// compares the root with the radius. If squares underflow, the naive norm is 0. A norm that is NaN is not
// greater than the radius. In both cases the gradient is not clipped. An infinite coordinate is scaled by
// 0, which gives NaN. The sum over all records is then NaN and reveals the record with certainty.
func TestArithmeticNaiveClip(t *testing.T) {
	if v := naive.Clip([]float64{1e-170, 0}, 1e-180); v[0] <= 1e-171 {
		t.Errorf("1e-170 clipped to 1e-180 is %v: want the fault, 1e-170", v[0])
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if v := naive.Clip([]float64{bad, 0}, 1); !math.IsNaN(v[0]) {
			t.Errorf("%v clipped to 1 is %v: want the fault, NaN", bad, v[0])
		}
	}
}

// TestArithmeticOurClip tests a session's clipping with extreme gradients and loss values. A loss returns
// these gradients and values for the records of two neighbouring tables. Clip radii are near both ends of
// the allowed range. The session's answers must be finite and differ by at most the charged sensitivity.
func TestArithmeticOurClip(t *testing.T) {
	origin := []float64{0, 0}
	b := auditBudget(t, 1, account.ReplaceOne)
	for name, ask := range map[string]func(on query.Cohort, radius float64) query.Term{
		"gradient": func(on query.Cohort, radius float64) query.Term { return query.GradientAt(on, origin, radius) },
		"difference": func(on query.Cohort, radius float64) query.Term {
			return query.DifferenceWithin(on, origin, []float64{1, 0}, radius)
		},
		"value": func(on query.Cohort, radius float64) query.Term { return query.ValueAt(on, origin, 0, radius) },
		"norm":  func(on query.Cohort, radius float64) query.Term { return query.NormAt(on, origin, radius, nil) },
	} {
		for _, radius := range []float64{1e-55, 1e-9, 1, 1e55} {
			answers := make([]query.Release, len(extremes))
			var sensitivity float64
			for i := range extremes {
				s, err := simulate.Open(simulate.Config{
					Rows: [][]float32{{1, 0}, {1, 0}}, Targets: []float64{1, float64(i)}, Loss: at{},
					Budget: b, Noiseless: true, Workers: 1, BlockRows: 2,
				})
				if err != nil {
					t.Fatal(err)
				}
				q, err := query.New(b.Charge(), ask(s.All(), radius))
				if err != nil {
					t.Fatal(err)
				}
				if answers[i], err = s.Ask(context.Background(), q); err != nil {
					t.Fatal(err)
				}
				sensitivity = s.Ledger().Events()[0].Sensitivity
			}
			for i, a := range answers {
				for k, other := range answers[:i] {
					var moved float64
					for j, v := range a.Mean {
						moved = math.Hypot(moved, 2*(v-other.Mean[j]))
					}
					if !(moved <= sensitivity*(1+1e-12)) {
						t.Errorf("%s, radius %v: %v for %v moves the sum by %v: charged for %v", name, radius, extremes[i], extremes[k],
							moved, sensitivity)
					}
				}
			}
		}
	}
}
