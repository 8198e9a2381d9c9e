package session

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// spring is the general loss (y/2) ||w - x||^2 with gradient y (w - x), and so with curvature y.
// Its gradient is NaN for targets below -1.
type spring struct{ loss.Loss }

func (spring) Value(w []float64, x []float32, y float64) float64 {
	var sum float64
	for j := range w {
		v := w[j] - float64(x[j])
		sum += v * v
	}
	return y / 2 * sum
}

func (spring) Gradient(dst, w []float64, x []float32, y float64) {
	for j := range w {
		if dst[j] = y * (w[j] - float64(x[j])); y < -1 {
			dst[j] = math.NaN()
		}
	}
}

// TestGeneralContributionsAgainstBigFloats tests a general loss, which computes its gradient itself.
// Each contribution minus its centre must equal the definition up to half a step and the charged
// slack, and so must the centre. The sensitivity includes half a step, so the test fails if
// contributions are truncated to integers instead of rounded. Differences, of curvature y, are
// projected to the ball around the term's public centre. A difference in the ball is unchanged. For a
// difference outside the ball, the result depends on the centre.
func TestGeneralContributionsAgainstBigFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	l := spring{parse(t, "logistic")}
	all := query.NewCohort(account.Everyone, 1)
	var worst float64
	for range 300 {
		d := 1 + r.IntN(12)
		records := randomRecords(r, 1, d)
		y := []float64{r.Float64(), 3 * r.Float64(), -r.Float64()}[r.IntN(3)]
		records[0].y = y
		w, prev := point(r, d, 5), point(r, d, 5)
		clip := .05 + r.Float64()
		gradient := question(t, .01, query.GradientAt(all, w, clip))
		centred := question(t, .01, query.DifferenceByCurvature(all, w, prev, 0, 1))
		for _, c := range []struct {
			q    query.Question
			want []*big.Float
		}{
			{gradient, bigClip(bigScaled(y, bigMinus(w, records[0].x)), clip)},
			// The difference y times step is in the ball for y in [0, 1]. Otherwise it is projected
			// to the nearer end of this interval.
			{centred, bigScaled(min(max(y, 0), 1), bigVector(centred.Terms()[0].Step()))},
		} {
			g, err := newGrid(c.q, account.ReplaceOne, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := residual(t, records, l, c.q, g)
			exactly, centre := centreOfAll(c.q, g.scale)
			for j, exact := range exactly {
				if off := offBy(bigFloat(exact), g.scale, centre[j]); off > .5+math.Abs(exact)*g.scale*0x1p-52 {
					t.Fatalf("%s d=%d: the centre of coordinate %d is off by %v steps", c.q.Name(), d, j, off)
				}
				off := offBy(c.want[j], g.scale, got[j]+centre[j]) - slack(d)*c.q.Clip()*g.scale
				if worst = max(worst, off); off > .5 {
					t.Fatalf("%s d=%d y=%v: coordinate %d is off by %v steps, allowed are 0.5", c.q.Name(), d, y, j, off)
				}
			}
		}
	}
}

// TestScalarsAreRoundedToNearest tests that a contribution that is a number is rounded by at most
// half a grid step, on both sides of zero, as the sensitivity assumes. Ties go to even.
func TestScalarsAreRoundedToNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	for p, want := range map[float64]int64{.5: 0, 1.5: 2, -.5: 0, -1.5: -2, .75: 1, -.75: -1, 0x1p50 + .75: 1<<50 + 1,
		-0x1p50 - .75: -1<<50 - 1} {
		if got := engine.Round(p); got != want {
			t.Errorf("%v is rounded to %d, want %d", p, got, want)
		}
	}
	for range 10000 {
		p := math.Ldexp(2*r.Float64()-1, r.IntN(50))
		if got := engine.Round(p); !(math.Abs(float64(got)-p) <= .5) {
			t.Fatalf("%v is rounded to %d", p, got)
		}
	}
}

// offBy returns |want scale - got| in steps.
func offBy(want *big.Float, scale float64, got int64) float64 {
	steps := new(big.Float).Mul(want, bigFloat(scale))
	off, _ := steps.Sub(steps, new(big.Float).SetInt64(got)).Float64()
	return math.Abs(off)
}

func bigVector(v []float64) []*big.Float {
	out := make([]*big.Float, len(v))
	for j := range v {
		out[j] = bigFloat(v[j])
	}
	return out
}

func bigMinus(w []float64, x []float32) []*big.Float {
	out := bigVector(w)
	for j := range out {
		out[j].Sub(out[j], bigFloat(float64(x[j])))
	}
	return out
}

func bigScaled(s float64, v []*big.Float) []*big.Float {
	for j := range v {
		v[j].Mul(v[j], bigFloat(s))
	}
	return v
}

// bigClip scales v to norm at most radius.
func bigClip(v []*big.Float, radius float64) []*big.Float {
	sum := bigFloat(0)
	for _, x := range v {
		sum.Add(sum, new(big.Float).Mul(x, x))
	}
	norm := sum.Sqrt(sum)
	if norm.Cmp(bigFloat(radius)) <= 0 {
		return v
	}
	factor := new(big.Float).Quo(bigFloat(radius), norm)
	for j := range v {
		v[j].Mul(v[j], factor)
	}
	return v
}
