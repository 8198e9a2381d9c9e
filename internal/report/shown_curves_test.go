package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestBandsBetweenKnots tests the band of a curve between two knots of unlike noise, at each quarter: for deviations
// .4 and .1 of the knots with correlation -.5, the variance at the share f is (1-f)^2 .16 + f^2 .01 - 2 f (1-f) .02.
// Without a covariance, the band is the line between both deviations.
func TestBandsBetweenKnots(t *testing.T) {
	f := people(t, "p", 4)
	f.schema.Columns[0].Curve = 3
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	s := shaped{Shape: schema.Shapes(false)[0], effect: []float64{1, -.5, .25}, sd: []float64{.4, .1, .3},
		mass: []float64{.5, .2, .3}, thin: []bool{false, true, false}, centred: OverRows}
	known := s
	known.covariance = mat.NewSymDense(3, []float64{.16, -.02, .03, -.02, .01, .0225, .03, .0225, .09})
	for i := range 2 {
		for _, share := range []float64{0, .25, .5, .75, 1} {
			a, b := s.effect[i], s.effect[i+1]
			p, q := s.point(i, share), known.point(i, share)
			variance := math.Pow(1-share, 2)*known.covariance.At(i, i) + share*share*known.covariance.At(i+1, i+1) +
				2*share*(1-share)*known.covariance.At(i, i+1)
			effect, bound := a+share*(b-a), s.sd[i]+share*(s.sd[i+1]-s.sd[i])
			x := 10 + 40*(float64(i)+share) // the column is from 10 to 90
			mass := s.mass[i] + share*(s.mass[i+1]-s.mass[i])
			for _, c := range []struct {
				name      string
				got, want float64
			}{{"x", p.X, x}, {"effect", p.Effect, effect}, {"mass", *p.Mass, mass}, {"low", *p.Low, effect - 2*bound},
				{"high", *p.High, effect + 2*bound}, {"low", *q.Low, effect - 2*math.Sqrt(variance)},
				{"high", *q.High, effect + 2*math.Sqrt(variance)}} {
				if !(math.Abs(c.got-c.want) <= 1e-12) {
					t.Errorf("knot %d and %v: %s is %v: must be %v", i, share, c.name, c.got, c.want)
				}
			}
			if near := i == 0 && share >= .5 || i == 1 && share <= .5; p.Thin != near {
				t.Errorf("knot %d and %v: thin %v", i, share, p.Thin)
			}
		}
	}
}

// TestShrunkModelKeepsItsShareOfTheNoise tests the noise of a model that lies between the fit and the constant. Of a
// model that goes 3/4 of the way, standard deviations are 3/4 and covariances 9/16 of the fit's. If the comparison's
// noise is in the position, its own part is added, in the direction from the constant to the fit.
func TestShrunkModelKeepsItsShareOfTheNoise(t *testing.T) {
	w := newBowl(t, 0)
	weights, l := w.fit(rand.New(rand.NewPCG(7, 7)))
	f := w.fitted(t, weights, l)
	var parts [][]dataset.Part
	for _, term := range f.Model.Schema().Terms(false) {
		parts = append(parts, term.Parts)
	}
	k := f.carried(f.noise())
	sd, covariance, ok := k.of(parts)
	if !ok || k.kept != 1 || k.away != nil {
		t.Fatalf("%v, kept %v, away %v", ok, k.kept, k.away)
	}
	f.plan.Compared = &runrecord.Compared{Shrunk: .25, Margins: []float64{.1}}
	if k := f.carried(f.noise()); k.kept != .75 {
		t.Errorf("a model that goes 3/4 of the way keeps %v of the noise", k.kept)
	}
	k.kept = .75
	less, scaled, _ := k.of(parts)
	away := make([]float64, len(weights))
	for j := range away {
		away[j] = .01 * float64(j+1)
	}
	k.away = [][]float64{away}
	moved := make([]float64, len(parts))
	for i, list := range parts {
		for _, p := range list {
			moved[i] += p.Factor * away[p.Feature]
		}
	}
	more, sum, _ := k.of(parts)
	for i := range parts {
		if !(math.Abs(less[i]-.75*sd[i]) <= 1e-12) || !(math.Abs(more[i]-math.Hypot(less[i], moved[i])) <= 1e-12) {
			t.Errorf("term %d: %v of %v, and %v with %v more", i, less[i], sd[i], more[i], moved[i])
		}
		for j := range parts {
			want := .5625 * covariance.At(i, j)
			if !(math.Abs(scaled.At(i, j)-want) <= 1e-12) || !(math.Abs(sum.At(i, j)-want-moved[i]*moved[j]) <= 1e-12) {
				t.Errorf("terms %d and %d: %v and %v: must be %v, and %v more", i, j, scaled.At(i, j), sum.At(i, j), want,
					moved[i]*moved[j])
			}
		}
	}
}

// knots returns a folder of a linear model with a curve of four knots and intervals, of which the coefficients have the
// variances .01, .04, .09 ... and a correlation of 1/2. The column of one knot may be left out of the formula.
func knots(t *testing.T, without int) folder {
	t.Helper()
	f := people(t, "p", 50)
	f.schema.Columns = f.schema.Columns[:1]
	f.schema.Where = ""
	f.schema.Columns[0].Curve = 4
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	shape := schema.Shapes(false)[0]
	reference := shape.Places[shape.Axes[0].Reference()].Feature
	in := &inference.Fit{Level: .8, Method: inference.Wald, Records: 10000, Reach: 2, Effective: 4, LeastCurvature: 100}
	const number = 0 // the number itself has no column
	f.weights = func(j int) float64 {
		if j == without || j == reference || j == number {
			return 0
		}
		return .1 * float64(j+1)
	}
	for j := range schema.Dim() {
		if f.weights(j) == 0 {
			if j == without {
				in.Dropped = []int{j}
			}
			continue
		}
		in.Columns = append(in.Columns, inference.Column{Feature: j, Level: j < schema.Dim()-1, Kept: j == schema.Dim()-1})
		in.Beta = append(in.Beta, f.weights(j))
	}
	k := len(in.Columns)
	for i := range k {
		for j := i; j < k; j++ {
			v := .01 * float64(i+1) * float64(j+1)
			metric := 0.
			if i != j {
				v /= 2
			} else {
				metric = 1
			}
			in.Covariance, in.Sampling, in.Metric = append(in.Covariance, v), append(in.Sampling, v/4), append(in.Metric, metric)
		}
	}
	f.intervals = in
	return f
}

// TestHiddenKnotHidesItsCurve tests the intervals of a curve. With a column for each knot, each point has an interval,
// around its effect; the reference knot's has no width. Without the column of a knot, no point has one, and the curve
// is not drawn.
func TestHiddenKnotHidesItsCurve(t *testing.T) {
	f := read(t, knots(t, -1))
	curves, _ := f.curvesOf(explanation{})
	c := curves[0]
	if len(c.series(func(x float64) float64 { return x })) != 1 {
		t.Error("the curve is not drawn")
	}
	fit := f.inference()
	shape := f.Model.Schema().Shapes(false)[0]
	reference := shape.Axes[0].Reference()
	column := func(feature int) int {
		for i, c := range fit.Columns {
			if c.Feature == feature {
				return i
			}
		}
		return -1
	}
	// Knots other than the reference: 1.2816 deviations of .1 (i+1) each, times the hat's factor.
	for i, place := range shape.Places {
		p := c.Points[i*betweenKnots]
		if p.Low == nil || p.High == nil {
			t.Fatalf("knot %d has no interval", i)
		}
		if i == reference {
			if *p.Low != 0 || *p.High != 0 || p.Effect != 0 {
				t.Errorf("the reference is %v, from %v to %v", p.Effect, *p.Low, *p.High)
			}
			continue
		}
		factor := 0.
		for _, part := range place.Parts {
			if part.Feature == place.Feature {
				factor = part.Factor
			}
		}
		n := column(place.Feature)
		effect, half := factor*fit.Beta[n], math.Abs(factor)*1.2815516*.1*float64(n+1)
		if !near(p.Effect, effect, 1e-9) || !(math.Abs(*p.Low-effect+half) <= 1e-6) || !(math.Abs(*p.High-effect-half) <= 1e-6) {
			t.Errorf("knot %d: %v, from %v to %v: must be %v, %v either way", i, p.Effect, *p.Low, *p.High, effect, half)
		}
	}
	for i, place := range shape.Places {
		if i == reference {
			continue
		}
		curves, _ := read(t, knots(t, place.Feature)).curvesOf(explanation{})
		for n, p := range curves[0].Points {
			if p.Low != nil || p.High != nil {
				t.Errorf("without knot %d, point %d has an interval", i, n)
			}
		}
		if list := curves[0].series(func(x float64) float64 { return x }); len(list) != 0 {
			t.Errorf("without knot %d, %d stretches are drawn", i, len(list))
		}
	}
}
