package convex

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func norm(v []float64) float64 {
	n := 0.0
	for _, x := range v {
		n = math.Hypot(n, x)
	}
	return n
}

func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for j := range a {
		d[j] = a[j] - b[j]
	}
	return d
}

func dot(a, b []float64) float64 {
	s := 0.0
	for j := range a {
		s += a[j] * b[j]
	}
	return s
}

func projected(s Set, w []float64) []float64 {
	p := slices.Clone(w)
	s.Project(p)
	return p
}

// vector returns a random vector whose length has a random order of magnitude, from 1e-8 to 1e8.
func vector(t *rapid.T, d int, label string) []float64 {
	scale := math.Pow(10, rapid.Float64Range(-8, 8).Draw(t, label+" scale"))
	v := make([]float64, d)
	for j := range v {
		v[j] = scale * rapid.Float64Range(-1, 1).Draw(t, label)
	}
	return v
}

// set returns a random convex set and the dimension of its points.
func set(t *rapid.T) (Set, int) {
	d := rapid.IntRange(1, 12).Draw(t, "d")
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		return Whole{}, d
	}
	var centre []float64
	if rapid.Bool().Draw(t, "centred") {
		centre = vector(t, d, "centre")
	}
	b, err := NewBall(centre, math.Pow(10, rapid.Float64Range(-8, 8).Draw(t, "log radius")))
	if err != nil {
		t.Fatal(err)
	}
	return b, d
}

// slack returns a bound on rounding errors: a few units in the last place of all sizes involved.
func slack(s Set, vs ...[]float64) float64 {
	size := 0.0
	if b, ok := s.(Ball); ok {
		size = b.radius + norm(b.centre)
	}
	for _, v := range vs {
		size += norm(v)
	}
	return 1e-14 * size
}

func TestProjectLandsInTheSetAndStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := set(t)
		w := vector(t, d, "w")
		once := projected(s, w)
		if !s.Contains(once) {
			t.Fatalf("%s does not contain its projection %v", s.Name(), once)
		}
		if twice := projected(s, once); !slices.Equal(once, twice) {
			t.Fatalf("projecting again moves %v to %v", once, twice)
		}
		if s.Contains(w) && !slices.Equal(w, once) {
			t.Fatalf("a point of the set, %v, moves to %v", w, once)
		}
	})
}

func TestProjectIsNonexpansive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := set(t)
		a, b := vector(t, d, "a"), vector(t, d, "b")
		far := norm(minus(a, b))
		near := norm(minus(projected(s, a), projected(s, b)))
		if near > far+slack(s, a, b) {
			t.Fatalf("distance grows from %v to %v", far, near)
		}
	})
}

// TestProjectIsNearest tests Kolmogorov's criterion: p is the projection of w if and only if p is in
// the set and <w-p, v-p> <= 0 for every v in the set.
func TestProjectIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := set(t)
		w := vector(t, d, "w")
		v := projected(s, vector(t, d, "v"))
		p := projected(s, w)
		if gap := dot(minus(w, p), minus(v, p)); gap > slack(s, w, v)*(norm(minus(w, p))+norm(minus(v, p))) {
			t.Fatalf("%v of the set is on the far side of the projection %v of %v: %v", v, p, w, gap)
		}
		if b, ok := s.(Ball); ok && !s.Contains(w) {
			c := b.centre
			if c == nil {
				c = make([]float64, d)
			}
			if r := norm(minus(p, c)); !(math.Abs(r-b.radius) <= slack(s, w)) {
				t.Fatalf("projection of an outer point is at distance %v, radius %v", r, b.radius)
			}
		}
	})
}

func TestBallKnownPoints(t *testing.T) {
	for _, c := range []struct {
		centre  []float64
		radius  float64
		w, want []float64
	}{
		{nil, 5, []float64{3, 4}, []float64{3, 4}},
		{nil, 2.5, []float64{3, 4}, []float64{1.5, 2}},
		{[]float64{1, 1}, 5, []float64{7, 9}, []float64{4, 5}},
		{nil, 1, []float64{0, 0}, []float64{0, 0}},
		{nil, 1, nil, nil},
		{nil, 1, []float64{1e308, -1e308, 1e308, 1e308}, []float64{.5, -.5, .5, .5}},
		{nil, 5e-320, []float64{3e-310, 4e-310}, []float64{3e-320, 4e-320}},
	} {
		b, err := NewBall(c.centre, c.radius)
		if err != nil {
			t.Fatal(err)
		}
		got := projected(b, c.w)
		if d := norm(minus(got, c.want)); !(d <= 1e-14*c.radius+1e-323) {
			t.Errorf("centre %v, radius %v: %v goes to %v, want %v", c.centre, c.radius, c.w, got, c.want)
		}
		if !b.Contains(got) {
			t.Errorf("centre %v, radius %v: does not contain %v", c.centre, c.radius, got)
		}
	}
}

// TestBallFinerThanItsCentre: for a centre at which neighbouring floats are 2^10 apart and a radius of
// 1, the projection must still be in the ball.
func TestBallFinerThanItsCentre(t *testing.T) {
	b, err := NewBall([]float64{0x1p62, 0x1p62}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := projected(b, []float64{0, 0}); !b.Contains(got) {
		t.Errorf("projection %v is not in the ball", got)
	}
}

func TestZeroBallIsTheOrigin(t *testing.T) {
	if got := projected(Ball{}, []float64{3, -4}); norm(got) != 0 || !(Ball{}).Contains(got) ||
		(Ball{}).Contains([]float64{1e-300}) {
		t.Errorf("the zero ball projects to %v", got)
	}
}

// TestOverflowingDistance: if the difference from the centre overflows, Project must leave w unchanged
// and return.
func TestOverflowingDistance(t *testing.T) {
	b, err := NewBall([]float64{-1e308, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := []float64{1e308, 0}
	if got := projected(b, w); !slices.Equal(got, w) || b.Contains(got) {
		t.Errorf("%v goes to %v", w, got)
	}
}

func TestFaults(t *testing.T) {
	ball, err := NewBall(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Set{Whole{}, ball} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			w := []float64{7, bad, 0}
			got := projected(s, w)
			if !slices.EqualFunc(got, w, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
				t.Errorf("%s moves %v to %v", s.Name(), w, got)
			}
			if s.Contains(w) {
				t.Errorf("%s contains %v", s.Name(), w)
			}
		}
	}
	for _, c := range []struct {
		centre []float64
		radius float64
		want   string
	}{
		{nil, 0, "convex: ball: radius = 0: must be finite and > 0"},
		{nil, -1, "convex: ball: radius = -1: must be finite and > 0"},
		{nil, math.NaN(), "convex: ball: radius = NaN: must be finite and > 0"},
		{nil, math.Inf(1), "convex: ball: radius = +Inf: must be finite and > 0"},
		{[]float64{0, math.NaN()}, 1, "convex: ball: centre[1] = NaN: must be finite"},
	} {
		if _, err := NewBall(c.centre, c.radius); err == nil || err.Error() != c.want {
			t.Errorf("NewBall(%v, %v): error %v, want %s", c.centre, c.radius, err, c.want)
		}
	}
}

func TestBallIsImmutable(t *testing.T) {
	centre := []float64{1, 2}
	b, err := NewBall(centre, 1)
	if err != nil {
		t.Fatal(err)
	}
	centre[0] = 9
	b.Centre()[1] = 9
	if !slices.Equal(b.Centre(), []float64{1, 2}) {
		t.Errorf("centre is %v after its copies were changed", b.Centre())
	}
	defer func() {
		if recover() == nil {
			t.Error("a vector of another dimension does not panic")
		}
	}()
	b.Project([]float64{1})
}

func ExampleBall_Project() {
	ball, err := NewBall(nil, 2.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := []float64{3, 4}
	ball.Project(w)
	fmt.Printf("%s %.3f %v\n", ball.Name(), w, ball.Contains(w))
	// Output:
	// ball(2.5) [1.500 2.000] true
}
