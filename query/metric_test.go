package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// symmetric returns a random symmetric matrix with entries of about the given size.
func symmetric(r *rand.Rand, d int, size float64) []float64 {
	p := make([]float64, d*d)
	for j := range d {
		for k := range j + 1 {
			p[j*d+k] = size * r.NormFloat64()
			p[k*d+j] = p[j*d+k]
		}
	}
	return p
}

func metricOf(t testing.TB, d int, p []float64) Metric {
	t.Helper()
	m, err := NewMetric(d, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMetricIsTheRoundedMatrix: the entries are integers of at most 20 bits times a power of two,
// each nearest to the matrix's entry, and the methods that return entries return these entries.
func TestMetricIsTheRoundedMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	for range 300 {
		d := 1 + r.IntN(12)
		p := symmetric(r, d, math.Exp2(-30+60*r.Float64()))
		m := metricOf(t, d, p)
		if f, _ := math.Frexp(m.Step()); f != .5 || m.Dim() != d {
			t.Fatalf("step %v, dimension %d of %d", m.Step(), m.Dim(), d)
		}
		v := make([]float64, d)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		rounded := make([]float64, d*d)
		row := make([]int64, d)
		var largest int64
		for j := range d {
			m.Row(row, j)
			var want float64
			for k, n := range row {
				largest = max(largest, n, -n)
				rounded[j*d+k] = float64(n) * m.Step()
				want += rounded[j*d+k] * v[k]
				if !(math.Abs(rounded[j*d+k]-p[j*d+k]) <= m.Step()/2) {
					t.Fatalf("entry %d, %d is %v, rounded to %v in steps of %v", j, k, p[j*d+k], rounded[j*d+k], m.Step())
				}
			}
			if got := m.Times(v)[j]; !(math.Abs(got-want) <= 1e-12*(math.Abs(want)+m.Step()*math.Exp2(metricBits))) {
				t.Fatalf("R v has coordinate %d = %v, want %v", j, got, want)
			}
		}
		if !slices.Equal(rounded, transposed(rounded, d)) || largest < 1<<(metricBits-1) || largest > 1<<metricBits {
			t.Fatalf("rounded to %v, with integers up to %d", rounded, largest)
		}
		// A lower bound on the operator norm, by the power method.
		var reached float64
		for range 60 {
			v = metricTimes(rounded, d, v)
			reached = norm(v)
			for j := range v {
				v[j] /= reached
			}
		}
		if bound := m.Norm() * m.Step(); !(bound >= reached*(1-1e-12) && bound <= math.Sqrt(float64(d))*norm(rounded)) {
			t.Fatalf("operator norm of %v, bounded by %v", reached, bound)
		}
	}
}

func transposed(p []float64, d int) []float64 {
	q := make([]float64, len(p))
	for i, v := range p {
		q[i%d*d+i/d] = v
	}
	return q
}

func metricTimes(p []float64, d int, v []float64) []float64 {
	out := make([]float64, d)
	for i, x := range p {
		out[i/d] += x * v[i%d]
	}
	return out
}

// TestNormOfMetric: Norm returns the smaller of the Frobenius norm and the largest sum along a row.
func TestNormOfMetric(t *testing.T) {
	for name, c := range map[string]struct {
		p    []float64
		want float64
	}{
		"diagonal":   {[]float64{1, 0, 0, 0, -1, 0, 0, 0, 1}, 1},
		"one sign":   {[]float64{1, 1, 1, 1}, 2},
		"a cross":    {[]float64{0, 1, 1, 1, 0, 0, 1, 0, 0}, 2},
		"a long row": {[]float64{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 3},
	} {
		d := int(math.Sqrt(float64(len(c.p))))
		m := metricOf(t, d, c.p)
		if got := m.Norm() * m.Step(); !(got >= c.want && got <= c.want*(1+1e-15)) {
			t.Errorf("%s: norm %v, want %v rounded up", name, got, c.want)
		}
	}
}

// TestMetricIsItsOwn tests that a metric does not change if its caller writes to the matrix from
// which it was made, or to slices that its methods returned.
func TestMetricIsItsOwn(t *testing.T) {
	p := []float64{2, 1, 1, 3}
	m := metricOf(t, 2, p)
	want := m.Times([]float64{1, 10})
	clear(p)
	row := make([]int64, 2)
	m.Row(row, 0)
	clear(row)
	clear(m.Times([]float64{1, 10}))
	if got := m.Times([]float64{1, 10}); !slices.Equal(got, want) || want[0] != 12 || want[1] != 31 {
		t.Errorf("R v = %v, was %v", got, want)
	}
	if m == metricOf(t, 2, []float64{2, 1, 1, 3}) || m == (Metric{}) ||
		m != GradientInMetric(some, at(1, 2), 1, 1, m).Metric() {
		t.Error("a metric is not told from another")
	}
}

// TestMetricRefusals: an invalid matrix, and a query with an invalid metric, are errors.
func TestMetricRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		dim  int
		p    []float64
		want string
	}{
		"no dimension":  {0, nil, "dimension"},
		"negative":      {-1, []float64{1}, "dimension"},
		"too large":     {MaxPairs + 1, make([]float64, (MaxPairs+1)*(MaxPairs+1)), "dimension"},
		"too few":       {2, []float64{1, 2, 2}, "entries"},
		"too many":      {1, []float64{1, 2}, "entries"},
		"not a number":  {2, []float64{1, nan, nan, 1}, "finite"},
		"infinite":      {1, []float64{inf}, "finite"},
		"zero":          {2, make([]float64, 4), "largest"},
		"tiny":          {1, []float64{0x1p-41}, "largest"},
		"huge":          {1, []float64{-0x1p41}, "largest"},
		"not symmetric": {2, []float64{1, .5, .49, 1}, "equal"},
	} {
		if m, err := NewMetric(c.dim, c.p); err == nil || !strings.Contains(err.Error(), c.want) || m != (Metric{}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := metricOf(t, 2, []float64{1, 0, 0, 1})
	for name, c := range map[string]struct {
		term Term
		want string
	}{
		"no metric":           {GradientInMetric(some, at(1, 2), 1, 1, Metric{}), "dimension 0"},
		"another dimension":   {GradientInMetric(some, at(1, 2, 3), 1, 1, m), "dimension 2"},
		"half a metric":       {GradientInMetric(some, at(1), 1, 1, m), "dimension 2"},
		"squares, no metric":  {SquaredSlopeAt(some, at(1, 2), 1, Metric{}), "dimension 0"},
		"no slope":            {GradientInMetric(some, at(1, 2), 1, 0, m), "slope"},
		"a slope of NaN":      {GradientInMetric(some, at(1, 2), 1, nan, m), "slope"},
		"an infinite slope":   {GradientInMetric(some, at(1, 2), 1, inf, m), "slope"},
		"a negative slope":    {GradientInMetric(some, at(1, 2), 1, -1, m), "slope"},
		"no clip":             {GradientInMetric(some, at(1, 2), 0, 1, m), "clip"},
		"a negative clip":     {GradientInMetric(some, at(1, 2), -1, 1, m), "clip"},
		"a negative limit":    {SquaredSlopeAt(some, at(1, 2), -1, m), "clip"},
		"a negative bound":    {CurvatureAt(some, at(1, 2), -1), "clip"},
		"no features":         {SecondMomentOf(some, 0), "at least one"},
		"minus one":           {SecondMomentOf(some, -1), "at least one"},
		"too many features":   {SecondMomentOf(some, MaxPairs+1), "2001 features: must be at most 2000"},
		"too many, curvature": {CurvatureAt(some, make([]float64, MaxPairs+1), 1), "2001 features"},
	} {
		if _, err := New(1, c.term); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(1, SecondMomentOf(some, MaxPairs)); err != nil {
		t.Error(err)
	}
}

// TestSymmetric: the matrix that Symmetric makes of a vector v (an svec) has the norm of v and the
// entries of v in their places. A vector of another length is an error.
func TestSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 2))
	lengths, root := map[int]bool{}, math.Sqrt(2)
	for d := 1; d <= 60; d++ {
		v := make([]float64, d*(d+1)/2)
		lengths[len(v)] = true
		for i := range v {
			v[i] = r.NormFloat64()
		}
		m, dim, err := Symmetric(v)
		if err != nil || dim != d || len(m) != d*d || !slices.Equal(m, transposed(m, d)) {
			t.Fatalf("d = %d: %v", d, err)
		}
		if a, b := norm(m), norm(v); !(math.Abs(a-b) <= 1e-12*b) {
			t.Errorf("d = %d: length %v became %v", d, b, a)
		}
		for i := range v {
			v[i] = float64(i)
		}
		if m, _, _ = Symmetric(v); d == 3 && !slices.Equal(m,
			[]float64{0, 1 / root, 2 / root, 1 / root, 3, 4 / root, 2 / root, 4 / root, 5}) {
			t.Errorf("%v became %v", v, m)
		}
	}
	for n := range 1800 {
		if _, _, err := Symmetric(make([]float64, n)); (err == nil) != lengths[n] {
			t.Errorf("%d coordinates: %v", n, err)
		}
	}
}

// TestMoves: the number of clip norms by which replacing one record changes the sum is sqrt 2 for
// vectors that are at most a right angle apart, and for no others. The constant is not below the real
// number sqrt 2.
func TestMoves(t *testing.T) {
	for _, k := range Kinds() {
		want := 2.
		if k == SecondMoment || k == Curvature || k == CentredMoment || k == WeightedCurvature || k == ScoreMoment ||
			k == WeightedMoment || k == SquaredFeatures {
			want = math.Sqrt2
		}
		if got := k.Facts().Moves(account.ReplaceOne); got != want {
			t.Errorf("%v: one record in another's place moves %v clip norms, want %v", k, got, want)
		}
		if got := k.Facts().Moves(account.AddOrRemove); got != 1 {
			t.Errorf("%v: one record more moves %v clip norms", k, got)
		}
	}
	if f := math.Sqrt2; math.FMA(f, f, -2) < 0 {
		t.Error("the constant is below the root of 2")
	}
}

// TestBallsOfMetrics tests that terms with a metric have the requested clip norm.
func TestBallsOfMetrics(t *testing.T) {
	for _, c := range []struct {
		term  Term
		ball  ClipBall
		slope float64
	}{
		{GradientInMetric(some, at(1, 2), 3, 5, plain), ClipBall{Radius: 3}, 5},
		{SquaredSlopeAt(some, at(1, 2), 3, plain), ClipBall{Radius: 1.5, Centre: 1.5}, 0},
		{SecondMomentOf(some, 2), ClipBall{Radius: 1}, 0},
		{CurvatureAt(some, at(1, 2), 3), ClipBall{Radius: 3}, 0},
		{RowMeanOf(some, 2), ClipBall{Radius: 1}, 0},
		{SquaredDistanceFrom(some, at(1, 2), 3), ClipBall{Radius: 1.5, Centre: 1.5}, 0},
		{CentredMomentOf(some, at(1, 2), 3), ClipBall{Radius: 9}, 0},
	} {
		if c.term.Ball() != c.ball || c.term.Slope() != c.slope || c.term.Weight() != 1 || c.term.Cohort() != some {
			t.Errorf("%v: clipped to %+v and slopes to %v, want %+v and %v", c.term.Kind(), c.term.Ball(), c.term.Slope(),
				c.ball, c.slope)
		}
	}
}

// TestTimesAddsInOrder tests that R v has the same bits as the sum over the columns in their order, with each
// product and each sum rounded. It tests dimensions next to multiples of four, and several vectors in one
// slice.
func TestTimesAddsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 29))
	for d := 1; d <= 70; d++ {
		p := make([]float64, d*d)
		for j := range d {
			for k := range j + 1 {
				p[j*d+k] = r.NormFloat64()
				p[k*d+j] = p[j*d+k]
			}
		}
		m, err := NewMetric(d, p)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, d*(1+r.IntN(5)))
		for i := range v {
			v[i] = math.Ldexp(r.NormFloat64(), r.IntN(80)-40)
		}
		whole := make([]int64, len(v))
		for i := range whole {
			whole[i] = r.Int64() - r.Int64()
		}
		got, lifted, row := m.Times(v), m.TimesIntegers(whole), make([]int64, d)
		for j := range d {
			m.Row(row, j)
			for at := 0; at < len(v); at += d {
				var want float64
				var integer int64
				for k, entry := range row {
					want += float64(float64(entry) * v[at+k])
					integer += entry * whole[at+k]
				}
				if lifted[at+j] != integer {
					t.Fatalf("d = %d: integer %d of vector %d is %d, want %d", d, j, at/d, lifted[at+j], integer)
				}
				if want *= m.Step(); math.Float64bits(got[at+j]) != math.Float64bits(want) {
					t.Fatalf("d = %d: entry %d of vector %d is %v, want %v", d, j, at/d, got[at+j], want)
				}
			}
		}
	}
}
