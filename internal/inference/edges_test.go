package inference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestLimitsOfLeaving: rows may leave if the least moment of the others is above one deviation of its noise, and if their
// curvature is at least half of the edge of its noise for the reach of the last releases.
func TestLimitsOfLeaving(t *testing.T) {
	const sigma = .002
	for _, c := range []struct {
		least, unit float64 // over one deviation, and over the unit at which the curvature is at its limit
		want        bool
	}{{.99, .5, false}, {1.01, .5, true}, {50, .99, true}, {50, 1.01, false}} {
		b := Bounds{MomentSigma: sigma, Usual: .4, Beta: 3, Intercept: .5}
		columns := []Column{{Feature: 0}, {Feature: 1, Kept: true}}
		moment := mat.NewSymDense(2, []float64{c.least * sigma, 0, 0, 1})
		s, _, err := shapeOf(moment, columns, b)
		if err != nil {
			t.Fatal(err)
		}
		s.Last = 1.7 * s.Reach
		seen := c.least * sigma / (c.least*sigma + s.Ridge)
		b.Unit = c.unit * .4 * seen / (.5 * 2 * s.Last * s.Last) // sqrt(2 k) is 2
		if got, err := s.sees(moment, nil, nil, b); err != nil || got != c.want {
			t.Errorf("%+v: visible %v, %v", c, got, err)
		}
	}
}

// TestLimitsOfMerging: where the rows of a dropped level cannot leave, the level with which they count is named from a twentieth
// of the rows of both on. A missing number counts as the middle of its bounds, and no level is named.
func TestLimitsOfMerging(t *testing.T) {
	for _, c := range []struct {
		share  float64 // of the dropped level; the reference has a share of .4
		number bool
		want   []int
	}{{.0208, false, nil}, {.0212, false, []int{0}}, {.3, true, nil}} {
		b := Bounds{MomentSigma: 1e-3, Usual: .4, Unit: 1e9, Intercept: .5} // nothing is visible: no rows leave
		moment := mat.NewSymDense(4, nil)
		for j, share := range []float64{.4, c.share, .6 - c.share, 1} {
			moment.SetSym(j, j, .25*share)
		}
		asked := []Column{{Feature: 1, Level: true, Reference: 1}, {Feature: 2, Level: true, Reference: 1}, {Feature: 3, Kept: true}}
		if c.number {
			asked = append(asked, Column{Feature: 0, Reference: 1})
		}
		s := &Shape{Columns: asked[1:3], Moment: mat.NewSymDense(2, []float64{.1, 0, 0, .25}), Metric: mat.NewSymDense(2, []float64{1, 0, 0, 1}), Last: 1}
		if err := s.leave(moment, asked, []int{1}, b); err != nil || !slices.Equal(s.merged, c.want) || s.gone != nil {
			t.Errorf("%+v: merged %v, gone %v, %v", c, s.merged, s.gone, err)
		}
	}
}

// TestMomentWithoutSeveralLevels compares the moment without the rows of one or two levels of a category with that of a table
// without them, where columns are independent and a number has a mean: also the products with the other category.
func TestMomentWithoutSeveralLevels(t *testing.T) {
	levels := [2]int{4, 3}
	first, second := []float64{.4, .3, .2, .1}, []float64{.5, .3, .2}
	cells := crossed(first, second)
	for cell := range cells {
		cells[cell] *= 1 + .4*float64(cell[2])
	}
	groups := map[int]int{}
	for _, c := range peopledColumns(levels) {
		groups[c.Feature] = c.Reference
	}
	for _, gone := range [][]Gone{{{3, .2}, {4, .1}}, {{7, .2}}} {
		var features []int
		for _, g := range gone {
			features = append(features, g.Feature)
		}
		columns := slices.DeleteFunc(peopledColumns(levels), func(c Column) bool { return slices.Contains(features, c.Feature) })
		of := func(m *mat.SymDense) *Shape {
			s, _, err := shapeOf(m, columns, Bounds{MomentSigma: 1e-9, Beta: 4, Intercept: .5})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		all := peopled(cells, levels)
		got, want := of(all).without(all, gone, groups, .5), of(peopled(cells, levels, features...)).Moment
		if !mat.EqualApprox(got, want, 1e-12) {
			t.Errorf("without %v:\n%v\nwant\n%v", features, mat.Formatted(got), mat.Formatted(want))
		}
	}
}

// TestKeptDirections: an eigenvector counts as one of the kept columns from half of its square on, if there are several.
func TestKeptDirections(t *testing.T) {
	for share, want := range map[float64]int{.1: 0, .49: 0, .51: 1} {
		a, b := math.Sqrt(share/2), math.Sqrt(1-share)
		e := &Spectrum{Vectors: *mat.NewDense(3, 3, []float64{a, 0, 1, a, 0, 0, b, 1, 0})}
		columns := []Column{{Kept: true}, {Kept: true}, {}}
		if got := e.free(columns); got != want {
			t.Errorf("a share of %v: eigenvector %d", share, got)
		}
		columns[0].Kept = false
		if got := e.free(columns); got != 0 {
			t.Errorf("one kept column: eigenvector %d", got)
		}
	}
}

// TestReachesByHand compares the longest row with that of each level, and of two numbers with the sum of their worst corners
// and pairs, where means are not 0. It limits the reach, which is whole then.
func TestReachesByHand(t *testing.T) {
	const unit = .5
	one := func(j int, v float64) []Entry { return []Entry{{Feature: j, Value: v * unit}} }
	levels := mat.NewSymDense(4, nil)
	for j, share := range []float64{.2, .3, .5} {
		levels.SetSym(j, j, share*unit*unit)
		levels.SetSym(j, 3, share*unit*unit)
	}
	levels.SetSym(3, 3, unit*unit)
	numbers := mat.NewSymDense(3, []float64{.06, .02, .08, .02, .07, -.06, .08, -.06, .25})
	for name, c := range map[string]struct {
		moment  *mat.SymDense
		columns []Column
		rows    []Corners
		want    func(s *Shape) float64
	}{
		"levels": {levels, []Column{{Feature: 1, Level: true}, {Feature: 2, Level: true}, {Feature: 3, Kept: true}},
			[]Corners{{one(0, 1), one(1, 1), one(2, 1)}, {one(3, 1)}}, func(s *Shape) (most float64) {
				for _, x := range [][]float64{{0, 0, unit}, {unit, 0, unit}, {0, unit, unit}} {
					z := mat.NewVecDense(3, nil)
					z.MulVec(s.Metric, mat.NewVecDense(3, x))
					most = max(most, mat.Dot(z, z))
				}
				return most
			}},
		"numbers": {numbers, []Column{{Feature: 0}, {Feature: 1}, {Feature: 2, Kept: true}},
			[]Corners{{one(0, -1), one(0, 1)}, {one(1, -1), one(1, 1)}, {one(2, 1)}}, func(s *Shape) float64 {
				var square mat.Dense
				square.Mul(s.Metric, s.Metric)
				mean := []float64{.08 / unit, -.06 / unit, unit}
				m := mat.NewVecDense(3, mean)
				sum := mat.Inner(m, &square, m)
				for i := range 2 {
					worst := math.Inf(-1)
					for _, a := range []float64{-unit - mean[i], unit - mean[i]} {
						pull := 0.
						for k, v := range mean {
							pull += 2 * square.At(i, k) * v * a
						}
						pair := math.Inf(-1)
						for _, b := range []float64{-unit - mean[1-i], unit - mean[1-i]} {
							pair = max(pair, square.At(0, 1)*a*b)
						}
						worst = max(worst, pull+square.At(i, i)*a*a+pair)
					}
					sum += worst
				}
				return sum
			}},
	} {
		b := Bounds{MomentSigma: 1e-4, Beta: 1e9, Rows: c.rows}
		s, _, err := shapeOf(c.moment, c.columns, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.want(s) * (1 + 1e-4); !(want < .9/s.Ridge) || !(math.Abs(s.Reach*s.Reach/want-1) <= 1e-9) || s.Last != s.Reach || !s.Whole {
			t.Errorf("%s: reach %v, %v, whole %v: the longest row is %v", name, s.Reach, s.Last, s.Whole, math.Sqrt(want))
		}
		b.Rows = nil
		if s, _, err = shapeOf(c.moment, c.columns, b); err != nil || !(math.Abs(s.Reach*s.Reach*s.Ridge-1) <= 1e-9) || !s.Whole {
			t.Errorf("%s: reach %v without a bound on rows: no row is longer than %v", name, s.Reach, 1/math.Sqrt(s.Ridge))
		}
		b.Beta = .5
		if s, _, err = shapeOf(c.moment, c.columns, b); err != nil || !(math.Abs(s.Reach*s.Reach-.5*s.Effective) <= 1e-9) || s.Whole {
			t.Errorf("%s: reach %v, whole %v: must be the root of half of %v", name, s.Reach, s.Whole, s.Effective)
		}
	}
}

// TestLimitsOfLevels: intervals have a level between .5 and .999, both included.
func TestLimitsOfLevels(t *testing.T) {
	for level, want := range map[float64]bool{.499: false, .5: true, .999: true, .9991: false, math.NaN(): false} {
		if err := CheckLevel(level); (err == nil) != want {
			t.Errorf("%v: %v", level, err)
		}
	}
}

// TestRegionOfAFlatDirection works out a Fieller region where one direction has hardly any curvature: it is stated as long as
// that curvature is above 1.96 deviations of its noise, and its parts are those of the inverse curvature.
func TestRegionOfAFlatDirection(t *testing.T) {
	const n, a, sigma, level = 400., .01, .001, .95
	z := Quantile(level)
	for flat, stated := range map[float64]bool{1.9 * sigma: false, 2.5 * sigma: true} {
		r := Released{Records: n, At: []float64{.4, -.2}, Gradient: []float64{.03, .001}, GradientSigma: a, CurvatureSigma: sigma,
			Curvature: mat.NewSymDense(2, []float64{1, 0, 0, flat}), Middle: mat.NewSymDense(2, []float64{.2, 0, 0, .2})}
		e, err := Solve(r, level)
		if err != nil || (e.Method == Region) != stated {
			t.Fatalf("curvature %v: %+v, %v", flat, e, err)
		}
		if !stated {
			continue
		}
		v := .2/n + a*a
		inner, radius := make([]float64, 2), z*z
		for j, h := range []float64{1, flat} {
			inner[j] = (h*h - z*z*sigma*sigma) / v
			g := r.Gradient[j]
			step := h * g / v / inner[j]
			radius += h*g/v*step - g*g/v
			if !(math.Abs(e.Step[j]+step) <= 1e-9*math.Abs(step)) || !(math.Abs(e.B[j]-r.At[j]+step) <= 1e-9) {
				t.Errorf("step %d: %v: must be %v", j, e.Step[j], -step)
			}
		}
		for j, h := range []float64{1, flat} {
			for what, x := range map[string][2]float64{"covariance": {e.Covariance.At(j, j), radius / (z * z) / inner[j]},
				"sampling": {e.Sampling.At(j, j), .2 / n / (h * h)}, "step": {e.StepCovariance.At(j, j), v / (h * h)}} {
				if !(math.Abs(x[0]/x[1]-1) <= 1e-9) {
					t.Errorf("%s %d: %v: must be %v", what, j, x[0], x[1])
				}
			}
		}
	}
}

// TestAbsorptionHasNoUnits: a moment in other units, as of an intercept that is not 1, has the same correlations.
func TestAbsorptionHasNoUnits(t *testing.T) {
	m := mat.NewSymDense(3, []float64{.30, .22, .2, .22, .25, .3, .2, .3, 1})
	columns := []Column{{Feature: 0}, {Feature: 2, Kept: true}}
	want := Absorb(m, columns, []int{1}, 1e-3)
	m.ScaleSym(.25, m)
	got := Absorb(m, columns, []int{1}, .25e-3)
	r := (.22 - .2*.3) / math.Sqrt((.30-.04)*(.25-.09))
	if len(want) != 1 || len(got) != 1 || !(math.Abs(got[0].Correlation-r) <= 1e-12) || !(math.Abs(want[0].Correlation-r) <= 1e-12) ||
		!(math.Abs(got[0].Noise-want[0].Noise) <= 1e-12) {
		t.Errorf("%+v and %+v: the correlation is %v", want, got, r)
	}
}

// TestAllowancesOfClassesByHand works out the bounds on the remainder in the coefficients of three classes against the first:
// with the larger of the changes at both ends of the step. The largest allowance of all rows is that of the second or of the
// third class.
func TestAllowancesOfClassesByHand(t *testing.T) {
	const intercept = .5
	s := &Shape{Columns: []Column{{Feature: 0, Level: true}, {Feature: 1, Kept: true}}, Moment: mat.NewSymDense(2, []float64{.05, .05, .05, .25}),
		Metric: mat.NewSymDense(2, []float64{1, 0, 0, 1}), Seen: mat.NewSymDense(2, []float64{.5, .1, .1, .5})}
	covariance := func(size float64) *mat.SymDense {
		m := mat.NewSymDense(4, nil)
		for i := range 4 {
			m.SetSym(i, i, size*float64(i+1))
		}
		return m
	}
	// A level of a fifth of the rows, of the value .5: its rows are (.5, .5), .4 from the mean, with the variance .04.
	row, jump := []float64{.5, .5}, .4+.04/.4
	ahead := []float64{.1, .3, -.5, .7}
	largest, sums := map[int]bool{}, map[string]bool{}
	for name, c := range map[string]struct{ b, step []float64 }{
		"from afar": {[]float64{.2, .3, -.4, .1}, []float64{2, 1.5, -1, 2.5}}, "to afar": {[]float64{.5, 1, -4, -2}, []float64{.3, .2, -3, -2.5}},
		"the third class alone": {[]float64{0, 0, 6, 6}, []float64{0, .1, 3, 3}},
	} {
		e := &Estimate{Method: Wald, B: c.b, Step: c.step, StepCovariance: covariance(.01), Sampling: covariance(.004)}
		got := e.Allowances(s, intercept, func(_, _ float64) float64 { return math.NaN() }, ahead)
		dot := func(v []float64) []float64 {
			return []float64{row[0]*v[0] + row[1]*v[1], row[0]*v[2] + row[1]*v[3]}
		}
		to, moved, foretold := dot(c.b), dot(c.step), dot(ahead)
		from := []float64{to[0] - moved[0], to[1] - moved[1]}
		noise := func(m *mat.SymDense, form []float64) float64 {
			return form[0]*form[0]*.25*(m.At(0, 0)+m.At(1, 1)) + form[1]*form[1]*.25*(m.At(2, 2)+m.At(3, 3))
		}
		of := func(form []float64) (move, left float64) {
			a, b := form[0]*moved[0]+form[1]*moved[1], form[0]*foretold[0]+form[1]*foretold[1]
			move = max(0, a*a-noise(e.StepCovariance, form))
			return move, min(move, (a-b)*(a-b)+noise(e.StepCovariance, form)-noise(e.Sampling, form))
		}
		ends := 0
		for k := range 2 {
			var most, first, far float64
			for end, at := range [][]float64{to, from} {
				p := pairs(at)[k]
				a, b := of(p[0])
				x, y := of(p[1])
				half := (math.Sqrt(a*y) + math.Sqrt(x*b)) / 4
				if end == 0 {
					first, far = half, max(a, x)
					sums[name] = sums[name] || x > a
				}
				most = max(most, half)
			}
			if most > first {
				ends++
			}
			if want := (most + math.Pow(far, 1.5)/24) / jump; !(math.Abs(got[2*k]-want) <= 1e-12) || got[2*k+1] != 0 {
				t.Errorf("%s: class %d: %v: must be %v", name, k+1, got[2*k:2*k+2], want)
			}
		}
		if name == "from afar" && ends == 0 || name == "to afar" && ends == 2 {
			t.Errorf("%s: %d of 2 bounds are those of the start: the test shows nothing", name, ends)
		}
		f := new(Fit)
		f.OfClasses(e, s, []float64{.1, .2, .3}, nil, 2)
		if f.Allowance != slices.Max(f.Allowances) {
			t.Errorf("%s: the largest of %v is %v", name, f.Allowances, f.Allowance)
		}
		largest[slices.Index(f.Allowances, f.Allowance)] = true
	}
	if !sums["the third class alone"] {
		t.Error("the sum of two margins nowhere moves farther than their difference: the test shows nothing")
	}
	if len(largest) != 2 {
		t.Errorf("the largest allowances are of %v: the test shows nothing", largest)
	}
}

// TestRemaindersOfClasses: the remainder of a contrast of classes is the length of those of its classes, each the allowance of
// all rows times |P c| for the metric P of a row.
func TestRemaindersOfClasses(t *testing.T) {
	row := &Shape{Columns: []Column{{Feature: 0}, {Feature: 1, Kept: true}}, Metric: mat.NewSymDense(2, []float64{2, .5, .5, 1}),
		Seen: mat.NewSymDense(2, []float64{.7, .1, .1, .9})}
	s := row.Classes(3, 2)
	f := &Fit{Columns: s.Columns, Allowances: []float64{.1, .3}, Allowance: .3, Remainders: []float64{.02, 0, .05, 0}}
	one, both := []float64{2, -1, 0, 0}, []float64{2, -1, 1, 3}
	first := .1 * math.Hypot(2*2-.5, .5*2-1)
	second := .3 * math.Hypot(2*1+.5*3, .5*1+3)
	for _, c := range []struct {
		of   []float64
		want float64
	}{{one, math.Hypot(first, 2*.02)}, {both, math.Hypot(math.Hypot(first, second), math.Hypot(2*.02, .05))}} {
		if got := f.remainder(mat.NewVecDense(4, c.of), s.Metric); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%v: %v: must be %v", c.of, got, c.want)
		}
	}
}
