package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCoupledByHand works out the curvature that a record of several classes adds: L (x) z z' on and above the diagonal, with
// sqrt 2 off it, for the sum L of c_ij (e_i - e_j)(e_i - e_j)' with c_ij = max(0, -a_ij), scaled down where L is longer than the
// limit. A record of a number that is not finite adds nothing.
func TestCoupledByHand(t *testing.T) {
	z := []float64{1, -2}
	inf, nan := math.Inf(1), math.NaN()
	for name, c := range map[string]struct {
		a      []float64
		slope  float64
		l      []float64 // before it is scaled; nil if the record is faulty
		length float64
	}{
		"within the limit":         {[]float64{.3, -.1, -.2, -.1, .4, -.3, -.2, -.3, .5}, 9, []float64{.3, -.1, -.2, -.1, .4, -.3, -.2, -.3, .5}, 0},
		"beyond the limit":         {[]float64{.3, -.1, -.2, -.1, .4, -.3, -.2, -.3, .5}, .25, []float64{.3, -.1, -.2, -.1, .4, -.3, -.2, -.3, .5}, math.Sqrt(.78)},
		"entries that are above 0": {[]float64{9, .5, -.2, .5, 9, .1, -.2, .1, 9}, 9, []float64{.2, 0, -.2, 0, 0, 0, -.2, 0, .2}, 0},
		"another diagonal":         {[]float64{-7, -.1, 0, -.1, 3, 0, 0, 0, 2}, 9, []float64{.1, -.1, 0, -.1, .1, 0, 0, 0, 0}, 0},
		"no number":                {[]float64{.3, nan, -.2, -.1, .4, -.3, -.2, -.3, .5}, 9, nil, 0},
		"no number below":          {[]float64{.3, -.1, -.2, -.1, .4, -.3, -.2, nan, .5}, 9, nil, 0},
		"no number, diagonal":      {[]float64{.3, -.1, -.2, -.1, inf, -.3, -.2, -.3, .5}, 9, nil, 0},
		"too large":                {[]float64{0, -1e300, 0, 0, 0, 0, 0, 0, 0}, 9, nil, 0},
	} {
		var term query.Term
		if m, err := query.Identity(2); err != nil {
			t.Fatal(err)
		} else {
			term = query.WeightedCurvatureAt(query.Cohort{}, make([]float64, 6), c.slope, 1, m)
		}
		g := &weightedPass{term: &pointedTerm{Term: term}, sum: make([]float64, 21)}
		if ok := g.coupled(c.a, z, 3); ok != (c.l != nil) {
			t.Errorf("%s: taken %v", name, ok)
		}
		by, at := 1., 0
		if c.length > 0 {
			by = c.slope / c.length
		}
		for i := range 6 {
			for j := i; j < 6; j++ {
				want := 0.
				if c.l != nil {
					want = by * c.l[i/2*3+j/2] * z[i%2] * z[j%2]
				}
				if j > i {
					want *= math.Sqrt2
				}
				if got := g.sum[at]; !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("%s: entry %d, %d is %v: must be %v", name, i, j, got, want)
				}
				at++
			}
		}
	}
}

// TestSumsNeedTheMetricOfARow: an engine, which a worker has without a session, refuses a question of a weighted kind
// unless its metric has a dimension for each feature of a row.
func TestSumsNeedTheMetricOfARow(t *testing.T) {
	l, err := loss.Parse("softmax(3)")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(awkwardTable(t, rand.New(rand.NewPCG(3, 3)), 2, nil), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, dim := range []int{1, 2, 3, 6} {
		m, err := query.Identity(dim)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(1, query.WeightedGradientAt(query.NewCohort(1, 10), make([]float64, 6), 1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Sum(t.Context(), q, 1<<20, nil); (err == nil) != (dim == 2) {
			t.Errorf("a metric of dimension %d: %v", dim, err)
		}
	}
}
