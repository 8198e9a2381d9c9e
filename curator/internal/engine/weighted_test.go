package engine

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestBentByHand works out the curvature that a record of ordered classes adds: the sum over its parts of the curvature,
// which counts as 0 if it is negative, times the weight and the square of the part's row, scaled down where its trace is
// above the radius. A record whose trace is no number adds nothing: it could add more than the radius.
func TestBentByHand(t *testing.T) {
	rows := [3][]float64{{1, 2}, nil, {-.5, 1}}
	for name, c := range map[string]struct {
		u, radius  float64
		curvatures [3]float64
		want       [3]float64 // on and above the diagonal, with sqrt 2 off it; all 0 if the record is faulty
		faulty     bool
	}{
		"within the radius":    {u: .5, radius: 3, curvatures: [3]float64{.8, 7, .4}, want: [3]float64{.4 + .2*.25, .8*math.Sqrt2 - .1*math.Sqrt2, 1.6 + .2}},
		"beyond the radius":    {u: 1, radius: 2, curvatures: [3]float64{.8, 7, 0}, want: [3]float64{.4, .8 * math.Sqrt2, 1.6}},
		"a negative curvature": {u: 1, radius: 9, curvatures: [3]float64{-5, 0, .4}, want: [3]float64{.1, -.2 * math.Sqrt2, .4}},
		"no number":            {u: 1, radius: 2, curvatures: [3]float64{math.NaN(), 0, .4}, faulty: true},
		"no bound":             {u: 1, radius: 2, curvatures: [3]float64{.1, 0, math.Inf(1)}, faulty: true},
		"no weight":            {u: math.NaN(), radius: 2, curvatures: [3]float64{.1, 0, .1}, faulty: true},
	} {
		g := &weightedPass{term: &pointedTerm{ball: query.ClipBall{Radius: c.radius}}, sum: make([]float64, 3)}
		if ok := g.bent(c.u, c.curvatures, rows); ok == c.faulty {
			t.Errorf("%s: taken %v", name, ok)
		}
		for i, v := range g.sum {
			if !(math.Abs(v-c.want[i]) <= 1e-12) {
				t.Errorf("%s: adds %v: must add %v", name, g.sum, c.want)
			}
		}
	}
}
