package inference_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// usualBounds are bounds for Shorten under which noise hides directions in which the rows hardly
// vary.
var usualBounds = inference.Bounds{MomentSigma: 1e-3, Unit: 3e-3, Usual: .48, Beta: 2.5}

// momentOf returns the second moment of rows with two numbers, a category and the intercept. shares
// are the shares of the category's levels; the first level is the reference.
func momentOf(shares []float64) *mat.SymDense {
	d := 2 + len(shares) + 1
	m := mat.NewSymDense(d, nil)
	m.SetSym(0, 0, .3)
	m.SetSym(1, 1, .2)
	for i, v := range shares {
		m.SetSym(2+i, 2+i, v)
		m.SetSym(2+i, d-1, v)
	}
	m.SetSym(d-1, d-1, 1)
	m.ScaleSym(.25, m)
	return m
}

func categoryColumns(levels int) []inference.Column {
	list := []inference.Column{{Feature: 0}, {Feature: 1}}
	for i := 1; i < levels; i++ {
		list = append(list, inference.Column{Feature: 2 + i, Level: true})
	}
	return append(list, inference.Column{Feature: 2 + levels, Kept: true})
}

// TestShortenDropsWhatIsHidden tests which columns Shorten leaves out of the formula. A level without rows
// must be dropped (it then counts as the reference level), and so must a number that hardly varies. A level
// with many rows and the intercept must stay. If noise hides no column, no column may be dropped.
func TestShortenDropsWhatIsHidden(t *testing.T) {
	s, dropped, err := inference.Shorten(momentOf([]float64{.4, .3, .3}), categoryColumns(3), usualBounds)
	if err != nil || len(dropped) != 0 || len(s.Columns) != 5 {
		t.Fatalf("%v, %d columns, %v dropped: nothing is hidden", err, len(s.Columns), dropped)
	}
	s, dropped, err = inference.Shorten(momentOf([]float64{.4, .35, .25, 0}), categoryColumns(4), usualBounds)
	if err != nil || !slices.Equal(dropped, []int{5}) || len(s.Columns) != 5 {
		t.Fatalf("%v: %v dropped: want level 5", err, dropped)
	}
	m := momentOf([]float64{1, 1e-6})
	m.SetSym(1, 1, 1e-6)
	s, dropped, err = inference.Shorten(m, categoryColumns(2), usualBounds)
	slices.Sort(dropped)
	if err != nil || !slices.Equal(dropped, []int{1, 3}) ||
		!slices.Equal(s.Columns, []inference.Column{{Feature: 0}, {Feature: 4, Kept: true}}) {
		t.Fatalf("%v: %v dropped, %+v left", err, dropped, s.Columns)
	}
	// If the reference level is rare, the other levels add up to the intercept. One of them must be
	// dropped, and the others must stay.
	_, dropped, err = inference.Shorten(momentOf([]float64{1e-4, .4, .3, .2999}), categoryColumns(4), usualBounds)
	if err != nil || len(dropped) != 1 || dropped[0] < 3 || dropped[0] > 5 {
		t.Fatalf("%v: %v dropped: want one level", err, dropped)
	}
}

// TestTheInterceptStays tests that Shorten keeps the intercept's column even if it has the smallest
// eigenvalue of the second moment.
func TestTheInterceptStays(t *testing.T) {
	m := momentOf([]float64{.4, .3, .3})
	for j := range 6 {
		m.SetSym(j, 5, m.At(j, 5)*1e-5)
	}
	s, _, err := inference.Shorten(m, categoryColumns(3), usualBounds)
	if err != nil || !slices.ContainsFunc(s.Columns, func(c inference.Column) bool { return c.Kept }) {
		t.Fatalf("%v: %+v: the intercept is gone", err, s.Columns)
	}
}

// TestTheMetricIsSafe tests the metric P (the preconditioner) and the reach. P G P, with G the
// released second moment without its negative eigenvalues, must be at most I, since the step sizes
// of a fit rely on it. The reach, the length above which a row has a weight below 1, must be within
// the bounds that its documentation states.
func TestTheMetricIsSafe(t *testing.T) {
	s, _, err := inference.Shorten(momentOf([]float64{.4, .35, .25, 0}), categoryColumns(4), usualBounds)
	if err != nil {
		t.Fatal(err)
	}
	var p mat.Dense
	p.Mul(s.Metric, s.Moment)
	p.Mul(&p, s.Metric)
	k := len(s.Columns)
	var values mat.EigenSym
	values.Factorize(mat.NewSymDense(k, mat.DenseCopyOf(&p).RawMatrix().Data), false)
	if top := values.Values(nil)[k-1]; top > 1 {
		t.Errorf("P G P has the eigenvalue %v", top)
	}
	if s.Ridge != inference.Edge(usualBounds.MomentSigma, k) || s.Reach*s.Reach > usualBounds.Beta*s.Effective*(1+1e-12) ||
		s.Reach*s.Reach*s.Ridge > 1+1e-12 {
		t.Errorf("ridge %v, reach %v, %v effective columns", s.Ridge, s.Reach, s.Effective)
	}
}

// TestLongestRow compares the bound on |P x| with all corners of the rows, for columns that are related in every way, with
// levels of 1% and dropped columns. The bound holds always, and of unrelated columns it is nearly the longest row.
func TestLongestRow(t *testing.T) {
	const unit = .5
	r := rand.New(rand.NewPCG(5, 5))
	one := func(j int, v float64) []inference.Entry { return []inference.Entry{{Feature: j, Value: v * unit}} }
	rows := []inference.Corners{{one(0, -1), one(0, 1)}, {one(1, -1), one(1, 1)}, {one(2, 1), one(3, 1), one(4, 1)}, {one(5, 1)}}
	for trial := range 200 {
		related := .95 * float64(trial%2) * r.Float64()
		m := mat.NewSymDense(6, nil)
		mean := .8 * (2*r.Float64() - 1)
		for range 3000 {
			x := mat.NewVecDense(6, nil)
			a := max(-1, min(1, mean+.3*r.NormFloat64()))
			x.SetVec(0, a)
			x.SetVec(1, related*a+(1-related)*(2*r.Float64()-1))
			level := 2
			if r.Float64() < .3 || related > .5 && a > .9 {
				level = 3
			} else if r.Float64() < .05 {
				level = 4
			}
			x.SetVec(level, 1)
			x.SetVec(5, 1)
			x.ScaleVec(unit, x)
			m.SymRankOne(m, 1./3000, x)
		}
		b := usualBounds
		b.Rows, b.Whole = rows, true
		if trial%3 == 0 {
			b.Whole = false
		}
		s, _, err := inference.Shorten(m, categoryColumns(3), b)
		if err != nil {
			t.Fatal(err)
		}
		longest := 0.
		for at := range 12 {
			x := make([]float64, 6)
			x[0], x[1], x[2+at/4], x[5] = unit*float64(2*(at%2)-1), unit*float64(2*(at/2%2)-1), unit, unit
			z := mat.NewVecDense(len(s.Columns), s.Reduce(x))
			z.MulVec(s.Metric, z)
			longest = max(longest, mat.Norm(z, 2))
		}
		if b.Whole && (!s.Whole || s.Last < longest*(1-1e-9)) {
			t.Errorf("trial %d: reach %v, longest row %v", trial, s.Last, longest)
		}
		if b.Whole && related == 0 && s.Last > 1.1*longest {
			t.Errorf("trial %d: reach %v, longest row %v: far above it", trial, s.Last, longest)
		}
		if s.Reach > s.Last || !b.Whole && (s.Reach != s.Last || s.Whole && s.Last < longest*(1-1e-9)) ||
			s.Reach*s.Reach > b.Beta*s.Effective*(1+1e-9) {
			t.Errorf("trial %d: reaches %v and %v, whole %v", trial, s.Reach, s.Last, s.Whole)
		}
	}
}

// TestLeftIsAShareOfTheSpread works out the share that the weights leave, and its noise, of a column with a spread and of
// one that the released moment hides.
func TestLeftIsAShareOfTheSpread(t *testing.T) {
	s := inference.Shape{Columns: make([]inference.Column, 2), Metric: mat.NewSymDense(2, []float64{2, 1, 1, 3}),
		Seen: mat.NewSymDense(2, []float64{.5, .1, .1, -.2})}
	weighted := mat.NewSymDense(2, []float64{.3, .05, .05, .02})
	// p = (2, 1): p'Sp = 2 + .4 - .2 and p'Ap = 1.2 + .2 + .02. p = (1, 3): p'Sp = .5 + .6 - 1.8, below .001 p'p = .01, and
	// p'Ap = .3 + .3 + .18.
	want := []float64{1.42 / 2.2, .004 * 5 / 2.2, .78 / .01, .004 * 10 / .01}
	for i, got := range s.Left(weighted, .004) {
		if !(math.Abs(got-want[i]) <= 1e-12*want[i]) {
			t.Errorf("number %d: %v: must be %v", i, got, want[i])
		}
	}
}

// TestUnweightedRowsHideMore: a direction whose curvature is visible above the noise for the reach of the first releases, and
// hidden by the noise for that of the last ones, is dropped if the last ones have the longer reach, and else stays.
func TestUnweightedRowsHideMore(t *testing.T) {
	b := usualBounds
	b.Unit, b.Whole = 1e-12, true
	shares := []float64{.4, .35, .25}
	s, dropped, err := inference.Shorten(momentOf(shares), categoryColumns(3), b)
	if err != nil || len(dropped) != 0 || !(s.Last > 1.5*s.Reach) {
		t.Fatalf("%v: %v dropped, reaches %v and %v", err, dropped, s.Reach, s.Last)
	}
	var values mat.EigenSym
	values.Factorize(s.Seen, false)
	// The noise of the curvature at which half of its edge is the least curvature, for a reach between the two.
	b.Unit = 2 * b.Usual * values.Values(nil)[0] / math.Sqrt(2*float64(len(s.Columns))) / (s.Last * s.Reach)
	for _, whole := range []bool{false, true} {
		b.Whole = whole
		if _, dropped, err := inference.Shorten(momentOf(shares), categoryColumns(3), b); err != nil || (len(dropped) > 0) != whole {
			t.Errorf("unweighted %v: %v dropped, %v", whole, dropped, err)
		}
	}
}

// TestWeightsAreTheFormulas tests the methods Full, Reduce and Weights of a Shape with metric P.
// With M the map from columns to features, Full must be M P M' and Reduce must be M'. Margins
// computed with the model's weights must equal predictions from the columns: <Weights(b), x> = <b, P M'x>.
func TestWeightsAreTheFormulas(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	s, _, err := inference.Shorten(momentOf([]float64{.4, .35, .25, 0, 0}), categoryColumns(5), usualBounds)
	if err != nil {
		t.Fatal(err)
	}
	k, d := len(s.Columns), 8
	b, x := make([]float64, k), make([]float64, d)
	for j := range b {
		b[j] = r.NormFloat64()
	}
	for j := range x {
		x[j] = r.NormFloat64()
	}
	w, margin, want := s.Weights(b, d), 0., 0.
	for j := range x {
		margin += w[j] * x[j]
	}
	short := s.Reduce(x)
	for i := range k {
		for j := range k {
			want += b[i] * s.Metric.At(i, j) * short[j]
		}
	}
	if !(math.Abs(margin-want) <= 1e-12) {
		t.Errorf("margin %v: want %v", margin, want)
	}
	full, long := s.Full(d), make([]float64, d)
	for i := range d {
		for j := range d {
			long[i] += full[i*d+j] * x[j]
		}
	}
	for i, v := range s.Reduce(long) {
		want := 0.
		for j := range k {
			want += s.Metric.At(i, j) * short[j]
		}
		if !(math.Abs(v-want) <= 1e-12) {
			t.Errorf("coordinate %d of the row in the metric is %v: want %v", i, v, want)
		}
	}
}

// TestFit tests that intervals and joint regions follow from the covariance of the fit. There must
// be no interval for a contrast (a linear combination of the weights) outside the formula, if
// nothing is identified, or if the remainder of the Newton step may be large.
func TestFit(t *testing.T) {
	s, dropped, err := inference.Shorten(momentOf([]float64{.4, .35, .25, 0}), categoryColumns(4), usualBounds)
	if err != nil {
		t.Fatal(err)
	}
	k := len(s.Columns)
	of := inference.Released{Records: 2e4, GradientSigma: .002, CurvatureSigma: .002, MiddleSigma: .01,
		Curvature: mat.NewSymDense(k, nil), Middle: mat.NewSymDense(k, nil)}
	for j := range k {
		of.At, of.Gradient = append(of.At, float64(j)/4), append(of.Gradient, .01)
		of.Curvature.SetSym(j, j, .2)
		of.Middle.SetSym(j, j, .15)
	}
	e, err := inference.Solve(of, .95)
	if err != nil {
		t.Fatal(err)
	}
	f, err := inference.NewFit(s, dropped, e, of, 0)
	if err != nil || f.Check(7) != nil {
		t.Fatal(err, f.Check(7))
	}
	at := func(j ...int) []float64 {
		w := make([]float64, 7)
		for _, i := range j {
			w[i] = 1
		}
		return w
	}
	first, second, both := f.Contrast(at(0), 0), f.Contrast(at(1), 0), f.Contrast(at(0, 1), 7)
	if first.State != inference.Reported || !(math.Abs(both.Estimate-first.Estimate-second.Estimate-7) <= 1e-12) ||
		!(math.Abs((first.High-first.Low)/2-inference.Quantile(.95)*first.Error) <= 1e-12) ||
		!(first.Privacy > 0 && first.Privacy < 1) {
		t.Errorf("%+v, %+v, %+v", first, second, both)
	}
	// Levels 2 and 5 have no column: 2 is the reference level, and 5 was dropped. The contrast of either alone
	// must be Absent. The difference between level 4 and level 2 must be the coefficient of level 4. The
	// difference between level 4 and level 5 must be Absent, since nothing is known of level 5.
	for _, j := range []int{2, 5} {
		if v := f.Contrast(at(j), 0); v.State != inference.Absent {
			t.Errorf("feature %d: %+v", j, v)
		}
		difference := at(4)
		difference[j] = -1
		v := f.Contrast(difference, 0)
		if j == 5 && v.State != inference.Absent ||
			j == 2 && (v != f.Contrast(at(4), 0) || v.State != inference.Reported) {
			t.Errorf("level 4 against %d: %+v", j, v)
		}
	}
	// The joint region of one contrast must be its interval.
	joint, err := f.Joint([][]float64{at(0)}, []float64{0})
	if err != nil || !(math.Abs(math.Sqrt(joint.Limit*joint.Covariance[0][0])-(first.High-first.Low)/2) <= 1e-6) ||
		*joint.Zero != (first.Low <= 0 && 0 <= first.High) {
		t.Errorf("%v: %+v, the interval is %+v", err, joint, first)
	}
	if twice, err := f.Joint([][]float64{at(0), at(0)}, []float64{0, 0}); err != nil || twice.State != inference.Dependent {
		t.Errorf("%v: %+v: a contrast is taken twice", err, twice)
	}
	// A region that is not stated has no numbers.
	apart := at(4)
	apart[0] = 0
	f.Method = inference.Region
	text := "{}"
	if joint, err = f.Joint([][]float64{at(0), apart}, []float64{0, 0}); err == nil {
		var out []byte
		out, err = json.Marshal(joint)
		text = string(out)
	}
	if f.Method = inference.Wald; err != nil || text != `{"state":"not identified"}` {
		t.Errorf("%v: a joint region of shadows: %s", err, text)
	}
	// Belongs must accept the model's weights and no other weights.
	w := make([]float64, 7)
	for i, c := range f.Columns {
		w[c.Feature] = f.Beta[i] * (1 + 1e-12)
	}
	if !f.Belongs(w) {
		t.Error("the model's weights are refused")
	}
	w[f.Columns[0].Feature] *= 1.001
	if f.Belongs(w) || f.Belongs(w[:2]) {
		t.Error("other weights are taken")
	}
	w[f.Columns[0].Feature] = f.Beta[0]
	if len(f.Dropped) > 0 {
		w[f.Dropped[0]] = .1
		if f.Belongs(w) {
			t.Error("a weight without a column is taken")
		}
	}
	// An allowance that is large compared with the half-width on the margin's scale must withhold the
	// interval.
	for _, c := range []struct {
		allowance float64
		want      inference.State
	}{{1e-6, inference.Reported}, {10, inference.Withheld}} {
		f.Allowance = c.allowance
		if v := f.Contrast(at(0), 0); v.State != c.want {
			t.Errorf("allowance %v: %s", c.allowance, v.State)
		}
	}
	f.Allowance, f.Method = 0, inference.NotIdentified
	if v := f.Contrast(at(0), 0); v.State != inference.Unidentified || v.Low != v.High {
		t.Errorf("not identified: %+v", v)
	}
	f.Method = "guess"
	if f.Check(7) == nil {
		t.Error("a method that is none is taken")
	}
}

// TestAllowance tests the bound on the remainder of the Newton step. Let m be the excess of the margin's
// mean squared change over its expectation under noise. The bound must be half of curvature, the relative change
// of the curvature per unit of the margin, times m, and 0 for a quadratic loss. With a predicted step
// (ahead), m must be replaced by the geometric mean of m and the mean squared difference from the predicted
// change plus the gradient's noise, if this is smaller.
func TestAllowance(t *testing.T) {
	e := &inference.Estimate{Method: inference.Wald, Step: []float64{1, 2},
		StepCovariance: sym([][]float64{{.5, 0}, {0, .25}})}
	moment := sym([][]float64{{2, 0}, {0, 1}})
	if got := e.Allowance(moment, .5, nil); !(math.Abs(got-.5*(2+4-1-.25)*.5) <= 1e-12) {
		t.Errorf("allowance %v", got)
	}
	if e.Allowance(moment, 0, nil) != 0 {
		t.Error("an allowance without a curvature")
	}
	// The step differs by (0, .5) from ahead. Sampling is nine tenths of the step's variance, and the
	// gradient's noise one tenth.
	e.Sampling = sym([][]float64{{.45, 0}, {0, .225}})
	if got, want := e.Allowance(moment, .5, []float64{1, 1.5}),
		.5*math.Sqrt((2+4-1-.25)*(.25+.1+.025))*.5; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("allowance %v with a curvature ahead: want %v", got, want)
	}
	if got := e.Allowance(moment, .5, []float64{-5, -5}); !(math.Abs(got-.5*(2+4-1-.25)*.5) <= 1e-12) {
		t.Errorf("allowance %v with a curvature far behind: must be that of the point", got)
	}
	e.Step = []float64{.1, .1}
	if got := e.Allowance(moment, 1, nil); got != 0 {
		t.Errorf("allowance %v of a move within its noise", got)
	}
}

// TestEmptyLevelsAreDropped tests that Shorten drops a level without rows however small the noise
// of the curvature is, even if the noise of the second moment makes the level's share positive. In
// each of 20,000 draws the level is kept with probability below .00003, so more than 7 draws keep it
// with probability below 1e-5.
func TestEmptyLevelsAreDropped(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	of := usualBounds
	of.Unit = 1e-9
	kept := 0
	for range 20_000 {
		m := momentOf([]float64{.4, .35, .25, 0})
		m.AddSym(m, noiseOf(r, 7, of.MomentSigma))
		s, _, err := inference.Shorten(m, categoryColumns(4), of)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Columns) == 6 {
			kept++
		}
	}
	if kept > 7 {
		t.Errorf("%d of 20,000 formulas keep a level without rows", kept)
	}
}

// TestLevelsNeedMoreThanNumbers tests a smallest eigenvalue of 3.5 standard deviations of the noise. If it
// belongs to a level, which may have no rows, the level must be dropped. If it belongs to a number, the
// number must stay. With 4.5 standard deviations, level and number must stay.
func TestLevelsNeedMoreThanNumbers(t *testing.T) {
	of := usualBounds
	of.Unit = 1e-9
	for _, c := range []struct {
		deviations float64
		level      bool
		dropped    int
	}{{2.5, false, 1}, {2.5, true, 1}, {3.5, false, 0}, {3.5, true, 1}, {4.5, true, 0}} {
		m := mat.NewSymDense(3, []float64{.3, 0, 0, 0, c.deviations * of.MomentSigma, 0, 0, 0, .25})
		columns := []inference.Column{{Feature: 0}, {Feature: 1, Level: c.level}, {Feature: 2, Kept: true}}
		_, dropped, err := inference.Shorten(m, columns, of)
		if err != nil || len(dropped) != c.dropped {
			t.Errorf("%v deviations, level %v: %v dropped, %v: want %d", c.deviations, c.level, dropped, err, c.dropped)
		}
	}
}

// TestThresholdsDropNoColumn: where the direction of least moment is one of the intercept and a threshold, which are kept,
// no other column is dropped, since none would make it visible. A column that is hidden itself is dropped, also then.
func TestThresholdsDropNoColumn(t *testing.T) {
	columns := []inference.Column{{Feature: 0}, {Feature: 1}, {Feature: 2, Kept: true}, {Feature: 3, Kept: true}}
	of := func(second float64) *mat.SymDense {
		m := mat.NewSymDense(4, []float64{.3, 0, .002, 0, 0, second, 0, 0, .002, 0, .2, .1999, 0, 0, .1999, .2})
		return m
	}
	b := inference.Bounds{MomentSigma: .001, Unit: .001, Usual: .5, Beta: 4}
	for second, want := range map[float64]int{.2: 0, .001: 1} {
		_, dropped, err := inference.Shorten(of(second), columns, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(dropped) != want || want == 1 && dropped[0] != 1 {
			t.Errorf("a second column of moment %v: dropped %v", second, dropped)
		}
	}
}
