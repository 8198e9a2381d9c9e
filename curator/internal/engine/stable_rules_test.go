package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestMovedCountsBothRuns: the bound (Moved) on the distance between a pass's averages on two
// neighbouring tables must count the rounding errors of both runs, since these may have opposite
// directions.
func TestMovedCountsBothRuns(t *testing.T) {
	k := rankOne(t, "logistic").Constants()
	for _, n := range []int{2, 100, 1 << 20} {
		b := Bound(query.Pass{Start: []float64{1, 2}, Step: .5, Clip: 1}, k, n)
		if _, dirt := b.Moved(); !(dirt >= 2*b.Wrong() && dirt <= 2.001*b.Wrong()) {
			t.Errorf("n = %d: %v is charged for rounding errors of %v in either run", n, dirt, b.Wrong())
		}
	}
}

// TestPointBoundsEveryIterate tests that no iterate of a pass is longer than the bound Bounds.Point,
// for starts far outside a ball, for starts at the centre of a ball, and for a centre far from the
// origin.
func TestPointBoundsEveryIterate(t *testing.T) {
	const n, d = 40, 4
	far := []float64{0, 30, 0, 0}
	l := rankOne(t, "huber(3)")
	for name, p := range map[string]query.Pass{
		"from outside":    {Start: far, Step: .1, Clip: .5, Radius: .2},
		"from the centre": {Start: far, Step: .1, Clip: .5, Radius: .2, Centre: far},
		"to the centre":   {Start: make([]float64, d), Step: .1, Clip: .5, Radius: .2, Centre: far},
		"no ball":         {Start: far, Step: .1, Clip: .5},
	} {
		c := randomWalk(t, rand.New(rand.NewPCG(5, 1)), l, n, d, p)
		w, most := newWalk(l, p, c.table, c.members), Bound(p, l.Constants(), n).Point
		for i, m := range c.members {
			if size := math.Sqrt(dotted(w.at)); size > most {
				t.Errorf("%s: iterate %d has norm %v: bound %v", name, i, size, most)
			}
			x, y := c.row(t, m)
			w.step(x, w.slopeAt(x, y))
		}
	}
}

func dotted(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// slopes is a loss with the same slope at every record.
type slopes struct {
	loss.RankOne
	at float64
}

func (s slopes) Slopes(dst, z, y []float64) {
	for i := range dst {
		dst[i] = s.at
	}
}

// TestNaNSlopeMovesNothing tests that a pass over records with slope NaN equals a pass over records
// with slope 0, and that infinite slopes are clipped.
func TestNaNSlopeMovesNothing(t *testing.T) {
	l := rankOne(t, "logistic")
	p := query.Pass{Start: []float64{1, 2, 3}, Step: 1, Clip: .5, Lambda: .1}
	c := randomWalk(t, rand.New(rand.NewPCG(1, 1)), l, 50, 3, p)
	average := func(slope float64) []int64 {
		e, err := New(c.table, slopes{l, slope}, 1)
		if err != nil {
			t.Fatal(err)
		}
		a, err := e.Average(context.Background(), p, 0x1p30, c.members)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for slope, same := range map[float64]float64{math.NaN(): 0, math.Inf(1): p.Clip, math.Inf(-1): -p.Clip} {
		if a, b := average(slope), average(same); !slices.Equal(a, b) {
			t.Errorf("slope %v: %v: want that of slope %v, %v", slope, a, same, b)
		}
	}
}
