package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// curvedBowl returns a simulated problem (bowl) whose rows have a number with a curve, mostly with
// small values, and a category that is crossed with the number. The second moment of the rows, from
// which the preconditioner is computed, is released with noise.
func curvedBowl(t *testing.T) *bowl {
	t.Helper()
	w := newBowl(t, 0)
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "a", Kind: dataset.Number, Low: 0, High: 10, Curve: 6},
			{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		},
		Interactions: []dataset.Interaction{{"c", "a"}},
		Target:       dataset.Target{Column: "t", Kind: dataset.Number, Low: -1, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"a", "c", "t"})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Dim()
	w.schema, w.second, w.best = s, mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	r := rand.New(rand.NewPCG(1, 1))
	const n = 4000
	for range n {
		x := make([]float32, d)
		if _, ok := m.Encode(x, []string{fmt.Sprint(10 * math.Pow(r.Float64(), 2.5)), string("xy"[r.IntN(2)]), "0"}); !ok {
			t.Fatal("no row")
		}
		row := mat.NewVecDense(d, nil)
		for j, v := range x {
			row.SetVec(j, float64(v))
		}
		w.second.SymRankOne(w.second, 1./n, row)
	}
	for j := range d {
		w.best.SetVec(j, .5*r.NormFloat64())
	}
	w.ridge = w.sigma * math.Sqrt(2*float64(d))
	return w
}

// TestBandsAreTheSpread compares the bands of curves and of an interaction with the spread over 300
// simulated runs: at every point the measured spread must be between .6 and 1.4 times the stated one, which counts
// the rest of the way, too.
// The shares of the rows around the knots must be right, and a stretch of the curve without rows must be
// marked as thin. The test fails if a curve's mean is not taken over the rows, if a band leaves out the
// correlation of neighbouring knots, or if products of two hats (basis functions of a curve) of which no
// row has both are not set to 0.
func TestBandsAreTheSpread(t *testing.T) {
	w := curvedBowl(t)
	r := rand.New(rand.NewPCG(2, 1))
	const runs, looked = 300, 12
	var values [][]float64
	var stated []float64
	for run := range runs {
		weights, l := w.fit(r)
		f := w.fitted(t, weights, l)
		e, ok := f.explained(runNoise{why: errTest})
		if run < looked {
			e, ok = f.explained(f.noise())
		}
		if !ok {
			t.Fatal("no coefficients")
		}
		curves, surfaces := f.curvesOf(e)
		var row []float64
		for _, p := range curves[0].Points {
			row = append(row, p.Effect)
		}
		for _, line := range surfaces[0].Effect {
			row = append(row, line...)
		}
		values = append(values, row)
		if run >= looked {
			continue
		}
		if stated == nil {
			stated = make([]float64, len(row))
		}
		for i, p := range curves[0].Points {
			if !(math.Abs((*p.Low+*p.High)/2-p.Effect) <= 1e-9) {
				t.Fatal("the band is not around the curve")
			}
			stated[i] += (*p.High - *p.Low) / 4 / float64(looked)
		}
		for i, line := range surfaces[0].Deviation {
			for j, v := range line {
				stated[len(curves[0].Points)+5*i+j] += v / float64(looked)
			}
		}
		checkMass(t, curves[0])
	}
	for i, sd := range stated {
		var s, ss float64
		for _, v := range values {
			s, ss = s+v[i], ss+v[i]*v[i]
		}
		measured := math.Sqrt((ss - s*s/runs) / (runs - 1))
		if ratio := measured / sd; !(ratio > .6 && ratio < 1.4) {
			t.Errorf("point %d: measured %.3g, stated %.3g: ratio %.2f", i, measured, sd, ratio)
		}
	}
}

// checkMass fails the test unless the curve of curvedBowl states the right shares of the rows
// around its knots.
func checkMass(t *testing.T, c Curve) {
	t.Helper()
	sum, mean := 0., 0.
	for i := 0; i < len(c.Points); i += betweenKnots {
		sum += *c.Points[i].Mass
		mean += *c.Points[i].Mass * c.Points[i].Effect
	}
	if !(math.Abs(sum-1) <= 1e-9) || !(math.Abs(mean) <= 1e-9) || c.Centred != OverRows {
		t.Errorf("masses add up to %v, the mean is %v over %v", sum, mean, c.Centred)
	}
	// The expected mass is the mean of max(0, 1 - 5 u^2.5) over u from 0 to 1.
	if m := *c.Points[0].Mass; !(math.Abs(m-.375) <= .03) {
		t.Errorf("the mass of the first knot is %v", m)
	}
}

var errTest = fmt.Errorf("not asked for")

// TestCurvesWithoutReleasedMeans tests curves of a model whose run released no second moment. The
// mean of a curve must be taken over rows spread evenly between the bounds, no shares of rows may
// be stated, and the bound on the noise between knots must be at most the bound at the knots.
func TestCurvesWithoutReleasedMeans(t *testing.T) {
	f := people(t, "p", 50)
	f.schema.Columns[0].Curve = 4
	f.schema.Interactions = []dataset.Interaction{{"p1", "p3"}}
	dir := f.write(t)
	read, err := ReadFit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := read.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	if list.Ratio != "odds" || len(list.Curves) != 1 || len(list.Surfaces) != 1 || list.Noise != NoiseBounded {
		t.Fatalf("%+v", list)
	}
	c := list.Curves[0]
	if len(c.Knots) != 4 || c.Knots[0] != 10 || c.Knots[3] != 90 || len(c.Points) != 13 || c.Points[12].X != 90 ||
		c.Centred != OverBounds {
		t.Errorf("knots %v, %d points, %v", c.Knots, len(c.Points), c.Centred)
	}
	mean := c.Points[0].Effect/6 + c.Points[4].Effect/3 + c.Points[8].Effect/3 + c.Points[12].Effect/6
	if !(math.Abs(mean) <= 1e-9) {
		t.Errorf("the mean is %v", mean)
	}
	for _, p := range c.Points {
		if p.Mass != nil || p.Thin || p.Low == nil || !(*p.Low < p.Effect && p.Effect < *p.High) {
			t.Errorf("point %+v", p)
		}
	}
	const ranked = "The knots of p1 were placed by a noisy release"
	if text := read.aboutCurves(explanation{}, true); strings.Contains(text, ranked) {
		t.Errorf("nothing was released for the knots: %s", text)
	}
	read.plan.Ranks = []string{"p1"}
	if text := read.aboutCurves(explanation{}, true); !strings.Contains(text, ranked) {
		t.Errorf("how the knots came to be is not said: %s", text)
	}
	text, nodes := fitPage(t, dir)
	has(t, text, "Curves", "The curve of p1", "p3 and p1", "the privacy noise either way", "mean between bounds",
		"odds of “pd”, times")
	found := 0
	for _, svg := range texts(nodes, "svg") {
		if strings.Contains(svg, "odds of “pd”, times") {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d pictures: want a curve and an interaction", found)
	}
}

// TestThinStretchesAreGrey tests that the plot of a curve shades neighbouring thin points as one stretch,
// and that the page states the share of the rows in the shaded stretches. A point is thin if few rows are
// near it.
func TestThinStretchesAreGrey(t *testing.T) {
	mass := func(v float64) *float64 { return &v }
	c := Curve{Column: "a", Knots: []float64{0, 1, 2}, Centred: OverRows}
	for i := range 9 {
		c.Points = append(c.Points, CurvePoint{X: float64(i) / 4, Mass: mass(float64(i) / 100),
			Thin: i >= 3 && i <= 5 || i == 8})
	}
	if got := thinStretches(c); len(got) != 1 || got[0] != (Interval{.75, 1.25}) {
		t.Errorf("shaded %v", got)
	}
	if share, ok := thinned(c); !ok || !(math.Abs(share-.12) <= 1e-12) {
		t.Errorf("share %v", share)
	}
}

// TestStructureOfHats tests impose on second moments of rows with a curve, whose basis functions are the
// hats. impose must hardly change the exact second moment. In a second moment with noise it must set to 0
// the products of two hats of which no row has both, restore the sums of hats, and come closer to the exact
// second moment.
func TestStructureOfHats(t *testing.T) {
	w := curvedBowl(t)
	x, ok := structureOf(w.schema)
	if !ok || len(x.hats) != 2 {
		t.Fatal("no structure")
	}
	d := w.second.SymmetricDim()
	noisy := mat.NewSymDense(d, nil)
	r := rand.New(rand.NewPCG(5, 5))
	before := 0.
	for i := range d {
		for j := i; j < d; j++ {
			noise := w.sigma * r.NormFloat64()
			if i != j {
				noise /= math.Sqrt2
			}
			before += noise * noise
			noisy.SetSym(i, j, w.second.At(i, j)+noise)
		}
	}
	x.impose(noisy, w.sigma)
	after := 0.
	for i := range d {
		for j := i; j < d; j++ {
			after += math.Pow(noisy.At(i, j)-w.second.At(i, j), 2)
		}
	}
	if !(after < .5*before) {
		t.Errorf("square error %v, of %v", after, before)
	}
	h := w.schema.Hats()[0]
	sums := make([]float64, d)
	for j := range h.Width {
		for k := range d {
			sums[k] += noisy.At(h.First+j, k)
		}
		for k := j + 2; k < h.Width; k++ {
			if v := noisy.At(h.First+j, h.First+k); !(math.Abs(v) <= 1e-4) {
				t.Errorf("hats %d and %d: %v", j, k, v)
			}
		}
	}
	for k, sum := range sums {
		missing := noisy.At(h.Axes[0].Missing, k)
		if want := spline.Scale * (noisy.At(d-1, k) - missing); !(math.Abs(sum-want) <= 1e-4) {
			t.Errorf("feature %d: the hats add up to %v, must be %v", k, sum, want)
		}
	}
}

// TestMeansOfReleasedRows: the released means of features, with their noise, are the mean row and its noise if one was released,
// and otherwise the moments with the intercept, whose noise is that of entries off the diagonal: sigma over the root of 2. A fit
// that projected its rows, or that released moments of other features, has none.
func TestMeansOfReleasedRows(t *testing.T) {
	f := read(t, people(t, "p", 4))
	s := f.Model.Schema()
	d := s.Dim()
	matrix := make([]float64, d*d)
	for j := range d {
		matrix[j*d+d-1], matrix[(d-1)*d+j] = float64(j+1)/64, float64(j+1)/64
	}
	m := runrecord.NewMoment(matrix, d, 1./1024, 1)
	f.plan.Trace.Moment = m
	means, sigma := f.means()
	if want := m.Sigma * s.Scale() / math.Sqrt2; len(means) != d || !(math.Abs(sigma/want-1) <= 1e-9) {
		t.Errorf("%d means with noise of %v: must be %d with %v", len(means), sigma, d, want)
	}
	for j, v := range means {
		if want := float64(j+1) / 64 * s.Scale(); !(math.Abs(v-want) <= m.Step*s.Scale()) {
			t.Errorf("mean %d is %v: must be %v", j, v, want)
		}
	}
	m.Mean, m.MeanSigma = make([]float64, d), .25
	m.Mean[1] = .5
	if means, sigma := f.means(); len(means) != d || means[1] != .5 || sigma != .25 {
		t.Errorf("the released mean row is %v with noise of %v", means, sigma)
	}
	f.plan.Reduce = "jl(2)"
	if means, _ := f.means(); means != nil {
		t.Errorf("a fit of projected rows has the means %v", means)
	}
	f.plan.Reduce, m.Features = "", d-1
	if means, _ := f.means(); means != nil {
		t.Errorf("a fit of other features has the means %v", means)
	}
}

// TestFewRows tests the shares of rows around knots, and of a level and a knot, against numbers by hand: which are few for rows
// that are spread evenly, which noise hides, and that a share below 0, which noise makes, is none.
func TestFewRows(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "a", Kind: dataset.Number, High: 10, Curve: 3, Knots: []float64{0, 2, 10}},
			{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		},
		Interactions: []dataset.Interaction{{"a", "c"}},
		Target:       dataset.Target{Column: "t", Kind: dataset.Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	shapes := s.Shapes(false)
	if len(shapes) != 2 {
		t.Fatalf("%d shapes", len(shapes))
	}
	for n, shape := range shapes {
		even := evenly(shape)
		knots := shape.Axes[n].Knots
		if len(knots) < 3 || len(even) != len(knots)*[]int{1, 3}[n] || len(even) != len(shape.Places) {
			t.Fatalf("shape %d: even shares %v at %v", n, even, knots)
		}
		for i, v := range even {
			k := i % len(knots)
			low, high := 0., 10. // of the numbers that are nearest to the knot
			if k > 0 {
				low = (knots[k-1] + knots[k]) / 2
			}
			if k+1 < len(knots) {
				high = (knots[k] + knots[k+1]) / 2
			}
			if want := (high - low) / 10 * []float64{1, 1. / 3}[n]; !(math.Abs(v-want) <= 1e-12) {
				t.Errorf("shape %d: even share %d is %v: must be %v", n, i, v, want)
			}
		}
		test := func(what string, values []float64, sigma float64, thin func(i int) bool) {
			means := make([]float64, s.Dim())
			sum := 0.
			for i, p := range shape.Places {
				means[p.Feature] = values[i]
				sum += max(values[i], 0)
			}
			mass, few := massesOf(shape, means, sigma)
			for i, v := range values {
				if want := max(v, 0) / sum; !(math.Abs(mass[i]-want) <= 1e-12) || few[i] != thin(i) {
					t.Errorf("shape %d, %s: the share at place %d is %v, few: %v; must be %v, %v", n, what, i, mass[i], few[i], want, thin(i))
				}
			}
		}
		for i := range even {
			for _, factor := range []float64{.99, 1.01} {
				values := slices.Clone(even)
				own := .1 * factor * even[i]
				for j := range values {
					values[j] *= 7 * (1 - own) / (1 - even[i]) // the sum of hats is not 1
				}
				values[i] = 7 * own
				test("a tenth", values, 0, func(j int) bool { return j == i && factor < 1 })
				sigma := even[i] / 2 / factor
				test("two deviations", even, sigma, func(j int) bool { return even[j] < 2*sigma })
			}
			values := slices.Clone(even)
			values[i] = -5
			test("below 0", values, 0, func(j int) bool { return j == i })
		}
		for _, means := range [][]float64{nil, make([]float64, s.Dim()), slices.Repeat([]float64{-1}, s.Dim())} {
			if mass, thin := massesOf(shape, means, 1); mass != nil || len(thin) != len(even) || slices.Contains(thin, true) {
				t.Errorf("shape %d: shares %v, few %v of the means %v", n, mass, thin, means)
			}
		}
	}
}

// TestPlacesOfCurves: a day is drawn at its year with a fraction, a number under log1p at 1 + x, and another number where it is;
// the line, its stretches of few rows and its parts with intervals stand there, too.
func TestPlacesOfCurves(t *testing.T) {
	low, high := -.5, .5
	points := []CurvePoint{{X: 0, Effect: .1, Low: &low, High: &high, Thin: true}, {X: 365.2425, Effect: .2, Low: &low, High: &high, Thin: true}, {X: 730.485, Effect: .3}}
	for _, c := range []struct {
		curve Curve
		want  []float64
	}{
		{Curve{}, []float64{0, 365.2425, 730.485}}, {Curve{Log: true}, []float64{1, 366.2425, 731.485}}, {Curve{Date: true}, []float64{1970, 1971, 1972}},
	} {
		c.curve.Points = points
		for i, p := range points {
			if got := c.curve.position(p.X); !(math.Abs(got-c.want[i]) <= 1e-6) {
				t.Errorf("%+v: %v is at %v: must be at %v", c.curve, p.X, got, c.want[i])
			}
		}
		if s := c.curve.series(func(v float64) float64 { return 2 * v })[0]; !(math.Abs(s.X[1]-c.want[1]) <= 1e-6) || s.Y[1] != .4 || s.Low[1] != -1 || s.High[1] != 1 {
			t.Errorf("%+v: drawn as %+v", c.curve, s)
		}
		if thin := thinStretches(c.curve); len(thin) != 1 || thin[0].Low != c.curve.position(0) || thin[0].High != c.curve.position(points[1].X) {
			t.Errorf("%+v: few rows in %+v", c.curve, thin)
		}
	}
}
