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

// spoiled is a loss that panics, or has slopes that are not finite or whose squares overflow, on rows of some margins.
// It counts its calls.
type spoiled struct {
	loss.RankOne
	calls *int
}

func (f spoiled) Slopes(dst, z, y []float64) {
	*f.calls++
	f.RankOne.Slopes(dst, z, y)
	for i, v := range z {
		switch u := math.Abs(v); {
		case u > .09:
			panic("a record")
		case u > .08:
			dst[i] = math.NaN()
		case u > .07:
			dst[i] = math.Inf(-1)
		case u > .06:
			dst[i] = 1e200
		}
	}
}

// TestSteepnessIsOfThePointAsked tests that a query for squared slopes has the same answer after any sequence of
// queries as on a new engine, to the integer: at the point of the latest gradient and at others, over all rows and over
// a cohort, in another metric and where the loss fails. It fails if slopes of another point are used, if a record whose
// loss fails is no longer faulty, and if slopes are computed again where they are known.
func TestSteepnessIsOfThePointAsked(t *testing.T) {
	const n, d = 300, 9
	r := rand.New(rand.NewPCG(1, 2))
	table := randomTable(t, n, d, .9)
	plain, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	l := spoiled{plain.(loss.RankOne), &calls}
	fresh := func() *Portable {
		e, err := New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.keeps = 0
		return e
	}
	x := make([]float32, d)
	for j := range x {
		x[j] = r.Float32()
	}
	list := metrics(t, r, d, x)[:2]
	on := query.NewCohort(0, n)
	var points [][]float64
	for range 3 {
		w := make([]float64, d)
		for j := range w {
			w[j] = .15 * r.NormFloat64()
		}
		points = append(points, w)
	}
	some := []int32{3, 299, 3, 64, 150}
	ask := func(e *Portable, term query.Term, members []int32) []int64 {
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Sum(context.Background(), q, 0x1p25, members)
		if err != nil {
			t.Fatal(err)
		}
		return sum.Residual
	}
	term := func(kind, w, m int) query.Term {
		if kind == 0 {
			return query.GradientInMetric(on, points[w], .1, 1, list[m])
		}
		return query.SquaredSlopeAt(on, points[w], .3, list[m])
	}
	shared := fresh()
	known, seen := 0, map[int64]bool{}
	for range 400 {
		kind, w, m, members := r.IntN(2), r.IntN(len(points)), r.IntN(len(list)), [][]int32{nil, nil, some}[r.IntN(3)]
		want := ask(fresh(), term(kind, w, m), members)
		before := calls
		if got := ask(shared, term(kind, w, m), members); !slices.Equal(got, want) {
			t.Fatalf("kind %d at point %d in metric %d over %v: %v, must be %v", kind, w, m, members, got, want)
		}
		if kind == 1 {
			seen[want[0]] = true
			if calls == before {
				known++
			}
		}
	}
	if known < 20 || len(seen) < 10 {
		t.Errorf("slopes were known %d times, and there were %d answers: the test shows little", known, len(seen))
	}
	// The answer to a query that ended early is not kept.
	ended, end := context.WithCancel(t.Context())
	end()
	q, err := query.New(1, term(0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	ask(shared, term(0, 1, 0), nil)
	if _, err := shared.Sum(ended, q, 0x1p25, nil); err == nil {
		t.Fatal("a query ended, and had an answer")
	}
	if got, want := ask(shared, term(1, 0, 0), nil), ask(fresh(), term(1, 0, 0), nil); !slices.Equal(got, want) {
		t.Errorf("after a query that ended: %v, must be %v", got, want)
	}
}

// TestSteepnessIsOfTheSmoothingAsked tests that squared slopes of a smoothed loss are those of the radius that is asked
// for, at the point of a gradient with another one.
func TestSteepnessIsOfTheSmoothingAsked(t *testing.T) {
	const n, d = 100, 6
	r := rand.New(rand.NewPCG(3, 2))
	l, err := loss.Parse("absolute")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(randomTable(t, n, d, .9), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.keeps = 0
	w, x := make([]float64, d), make([]float32, d)
	for j := range w {
		w[j], x[j] = r.NormFloat64(), r.Float32()
	}
	m, on := metrics(t, r, d, x)[0], query.NewCohort(0, n)
	ask := func(term query.Term, radius float64) int64 {
		q, err := query.New(1, term.Smoothed(query.Smoothing{Radius: radius}))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Sum(t.Context(), q, 0x1p25, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sum.Residual[0]
	}
	square, gradient := query.SquaredSlopeAt(on, w, 1, m), query.GradientInMetric(on, w, 1, 1, m)
	var want []int64
	for _, radius := range []float64{.1, 100} {
		want = append(want, ask(square, radius))
	}
	for i, radius := range []float64{.1, 100} {
		ask(gradient, .1)
		if got := ask(square, radius); got != want[i] || want[0] == want[1] {
			t.Errorf("radius %v: %d, must be %d of %d", radius, got, want[i], want)
		}
	}
}

// TestSteepnessOfNoTarget: the squared slopes of a row are not a number where the target or a slope is not finite, which
// marks the row as faulty wherever they are used again, also if the loss has finite slopes there.
func TestSteepnessOfNoTarget(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	y := []float64{nan, inf, -inf, 1, 1, 1, 1}
	slope := []float64{3, 4, 0, 0, 1, 1, nan, 0, 0, -inf, 3, 4, 1e200, 0}
	want, got := []float64{nan, nan, nan, nan, nan, 25, inf}, make([]float64, len(y))
	steep(got, slope, y, 2)
	for i, v := range got {
		if math.Float64bits(v) != math.Float64bits(want[i]) && (v == v || want[i] == want[i]) {
			t.Errorf("slopes %v, target %v: %v, must be %v", slope[2*i:2*i+2], y[i], v, want[i])
		}
	}
}

// TestSteepnessOfWideRowsIsKept tests that squares of slopes are kept where rows are wide, and not where they would
// take memory in proportion to the rows'.
func TestSteepnessOfWideRowsIsKept(t *testing.T) {
	const n = 70
	r := rand.New(rand.NewPCG(5, 2))
	for d, want := range map[int]int{9: 0, leastKept - 8: 0, leastKept: 1} {
		e, err := New(randomTable(t, n, d, .9), loss.Logistic(), 1)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, d)
		for j := range x {
			x[j] = r.Float32()
		}
		m, on := metrics(t, r, d, x)[0], query.NewCohort(0, n)
		q, err := query.New(1, query.GradientInMetric(on, make([]float64, d), .1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Sum(t.Context(), q, 0x1p25, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(e.kept); got != want {
			t.Errorf("%d features: squares of slopes of %d queries are kept, want %d", d, got, want)
		}
	}
}
