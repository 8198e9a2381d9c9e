package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// slowMinNorm finds the point of least norm by the method of Frank and Wolfe (1956) with away steps.
func slowMinNorm(points [][]float64) []float64 {
	weights := make([]float64, len(points))
	weights[0] = 1
	x := append([]float64(nil), points[0]...)
	inner := func(a, b []float64) (s float64) {
		for j := range a {
			s += a[j] * b[j]
		}
		return s
	}
	for range 200000 {
		to, from := 0, -1
		for i, p := range points {
			if inner(x, p) < inner(x, points[to]) {
				to = i
			}
			if weights[i] > 0 && (from < 0 || inner(x, p) > inner(x, points[from])) {
				from = i
			}
		}
		move, most := make([]float64, len(x)), 1.
		away := inner(x, points[from])-inner(x, x) > inner(x, x)-inner(x, points[to])
		for j := range x {
			if away {
				move[j] = x[j] - points[from][j]
			} else {
				move[j] = points[to][j] - x[j]
			}
		}
		if away {
			most = weights[from] / (1 - weights[from])
		}
		if inner(x, x)-inner(x, points[to]) < 1e-14 || inner(move, move) == 0 {
			break
		}
		step := min(-inner(x, move)/inner(move, move), most)
		for i := range weights {
			if away {
				weights[i] *= 1 + step
			} else {
				weights[i] *= 1 - step
			}
		}
		if away {
			weights[from] = max(weights[from]-step, 0)
			if step == most {
				weights[from] = 0
			}
		} else {
			weights[to] += step
		}
		for j := range x {
			x[j] += step * move[j]
		}
	}
	return x
}

// checkMinNorm checks that the point is in the hull and that its bounds and gap are correct.
func checkMinNorm(t *testing.T, points [][]float64, got measure.MinNormPoint, want float64) {
	t.Helper()
	var total float64
	x := make([]float64, len(points[0]))
	for i, w := range got.Weights {
		if w < 0 {
			t.Errorf("weight %d is %v", i, w)
		}
		total += w
		for j, v := range points[i] {
			x[j] += w * v
		}
	}
	if math.Abs(total-1) > 1e-12 {
		t.Errorf("weights sum to %v", total)
	}
	var largest float64
	for j := range x {
		if math.Abs(x[j]-got.Point[j]) > 1e-9 {
			t.Errorf("point %v: weights give %v", got.Point, x)
		}
	}
	gap := 0.
	for _, p := range points {
		s := 0.
		for j := range p {
			s += got.Point[j] * (got.Point[j] - p[j])
		}
		gap = max(gap, s)
		largest = max(largest, stationarity.Norm(p))
	}
	if math.Abs(gap-got.Gap) > 1e-13*largest*largest || got.Gap > 1e-10*largest*largest {
		t.Errorf("gap %v: is %v", got.Gap, gap)
	}
	if math.Abs(got.Norm-stationarity.Norm(got.Point)) > 1e-12 || got.Lower > got.Norm {
		t.Errorf("norm %v, at least %v, of %v", got.Norm, got.Lower, got.Point)
	}
	if got.Norm > want+1e-6*largest || got.Lower > want+1e-9 {
		t.Errorf("norm between %v and %v: want %v", got.Lower, got.Norm, want)
	}
}

func TestMinNormKnown(t *testing.T) {
	for name, c := range map[string]struct {
		points [][]float64
		want   float64
	}{
		"one":              {[][]float64{{3, -4}}, 5},
		"twice the same":   {[][]float64{{3, -4}, {3, -4}}, 5},
		"segment":          {[][]float64{{1, 1}, {-1, 1}}, 1},
		"end of a segment": {[][]float64{{2, 1}, {3, 5}}, math.Sqrt(5)},
		"inside":           {[][]float64{{1, 0}, {-1, 1}, {-1, -1}, {5, 5}}, 0},
		"origin":           {[][]float64{{1, 0}, {0, 0}, {0, 1}}, 0},
		"all zero":         {[][]float64{{0, 0}, {0, 0}}, 0},
		"in a line":        {[][]float64{{1, 4}, {1, 2}, {1, -6}, {1, 3}, {1, -1}}, 1},
		"simplex":          {[][]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, .5},
		"large":            {[][]float64{{1e150, 1e150}, {-1e150, 1e150}}, 1e150},
		"scales":           {[][]float64{{1, 1e-8}, {-1, 1e-8}}, 1e-8},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := measure.MinNorm(c.points)
			if err != nil {
				t.Fatal(err)
			}
			if name == "large" {
				if math.Abs(got.Norm/c.want-1) > 1e-9 {
					t.Errorf("norm %v", got.Norm)
				}
				return
			}
			checkMinNorm(t, c.points, got, c.want)
		})
	}
	for name, points := range map[string][][]float64{
		"none": nil, "ragged": {{1, 2}, {1}}, "NaN": {{1, math.NaN()}}, "infinite": {{math.Inf(1)}},
	} {
		if _, err := measure.MinNorm(points); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMinNormRandom compares MinNorm with slowMinNorm on random hulls that are far from the origin, near
// it, or contain it. The hulls have fewer and more points than dimensions, and some points are repeated.
func TestMinNormRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for k := range 150 {
		d, n := 1+r.IntN(8), 1+r.IntN(30)
		shift := []float64{0, .3, 3}[k%3]
		var points [][]float64
		for i := range n {
			p := make([]float64, d)
			for j := range p {
				p[j] = r.NormFloat64()
			}
			p[0] += shift
			if i > 0 && r.IntN(8) == 0 {
				p = points[r.IntN(i)]
			}
			points = append(points, p)
		}
		got, err := measure.MinNorm(points)
		if err != nil {
			t.Fatal(err)
		}
		checkMinNorm(t, points, got, stationarity.Norm(slowMinNorm(points)))
	}
}

func huber(t *testing.T) loss.Loss {
	t.Helper()
	l, err := loss.Parse("huber(1e-06)")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGoldsteinInManyDimensions is TestGoldsteinAtAKink in 100 dimensions. There 1000 uniform points of
// the ball would all have the same gradient as w: their distances from w along the row have standard
// deviation .02, and the kink is at distance .1.
func TestGoldsteinInManyDimensions(t *testing.T) {
	l := huber(t)
	x, w := make([]float32, 100), make([]float64, 100)
	x[3], w[3] = 1, .1
	far, err := measure.Goldstein(l, nil, stationarity.Sample{Rows: [][]float32{x}, Targets: []float64{0}}, w, .2, 40,
		1)
	if err != nil || far.Norm > 1e-9 {
		t.Errorf("%v, %v: want 0", far.Norm, err)
	}
	// The smoothed gradient is exact: a coordinate of a uniform point of the ball has standard
	// deviation .0198 and is nearly normal.
	for at, want := range map[float64]float64{0: 0, .0198: .683, .1: 1} {
		w[3] = at
		by, err := loss.OverBall(100, .2)
		if err != nil {
			t.Fatal(err)
		}
		g := measure.SmoothedGradient(loss.Absolute(), by, nil,
			stationarity.Sample{Rows: [][]float32{x}, Targets: []float64{0}}, w)
		if math.Abs(g[3]-want) > .005 || math.Abs(stationarity.Norm(g)-math.Abs(g[3])) > 1e-12 {
			t.Errorf("gradient %v at %v: want %v", g[3], at, want)
		}
	}
}

// TestGoldsteinAtAKink measures a point at distance .1 from the minimum of |w|, smoothed at 1e-6. All
// gradients within distance .05 are equal. Gradients within distance .2 have both signs, so 0 is in their
// hull.
func TestGoldsteinAtAKink(t *testing.T) {
	l := huber(t)
	s := stationarity.Sample{Rows: [][]float32{{1, 0}}, Targets: []float64{0}}
	w := []float64{.1, 0}
	near, err := measure.Goldstein(l, nil, s, w, .05, 60, 1)
	if err != nil || math.Abs(near.Norm/1e-6-1) > 1e-9 {
		t.Errorf("%+v, %v", near, err)
	}
	// Half of the segment from which points are drawn lies beyond the kink. The probability that none
	// of 70 points falls there is 2^-70.
	far, err := measure.Goldstein(l, nil, s, w, .2, 70, 1)
	if err != nil || far.Norm > 1e-9 {
		t.Errorf("%+v, %v", far, err)
	}
	alone, err := measure.Goldstein(l, nil, s, w, .2, 0, 1)
	if err != nil || math.Abs(alone.Norm/1e-6-1) > 1e-9 {
		t.Errorf("%+v, %v: want the gradient's norm", alone, err)
	}
	again, _ := measure.Goldstein(l, nil, s, w, .2, 70, 1)
	if again.Norm != far.Norm {
		t.Error("a seed does not repeat")
	}
	for _, alpha := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := measure.Goldstein(l, nil, s, w, alpha, 1, 1); err == nil {
			t.Errorf("radius %v was taken", alpha)
		}
	}
	if _, err := measure.Goldstein(l, nil, s, w, 1, -1, 1); err == nil {
		t.Error("-1 points were taken")
	}
}
