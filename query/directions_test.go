package query

import (
	"math"
	"strings"
	"testing"
)

func directionsOf(t *testing.T, by Smoother, seed uint64, w ...float64) Directions {
	t.Helper()
	d, ok := GradientAt(some, w, 1).Smoothed(Smoothing{Radius: .1, By: by, Directions: 3, Seed: seed}).Directions()
	if !ok || d.Count() != 3 {
		t.Fatalf("directions %+v, %v", d, ok)
	}
	return d
}

// TestDirectionsAreUniform: in even and odd dimensions, for the ball and the sphere, mean, covariance
// and fourth moment agree with the uniform distribution, and all directions lie in the ball or on the sphere.
// Each estimate is a
// mean of n numbers in an interval of length 2, each computed from one point. It is off by 6/sqrt n
// with probability at most 2 exp(-18) = 3e-8 (Hoeffding 1963), so that a run fails by chance with
// probability at most 7e-7 for the 20 estimates of each set.
func TestDirectionsAreUniform(t *testing.T) {
	for _, by := range []Smoother{Gradients, Values} {
		for _, dim := range []int{1, 2, 3, 8} {
			const n = 16000
			u := make([]float64, dim)
			var mean, square, fourth, cross, length float64
			for k := range n {
				// Pools are small, so that many points draw one direction each.
				d := directionsOf(t, by, 7, append([]float64{float64(k)}, make([]float64, dim-1)...)...)
				d.Write(u, k%Pool(dim))
				size := norm(u)
				if !(size > 0 && size <= 1+1e-12) || by == Values && !(math.Abs(size-1) <= 1e-12) {
					t.Fatalf("by %d in %d dimensions: a direction of length %v", by, dim, size)
				}
				length += math.Pow(size, float64(dim)) / n
				mean += u[0] / n
				square += u[0] * u[0] / n
				fourth += u[0] * u[0] * u[0] * u[0] / n
				cross += u[0] * u[dim-1] / n
			}
			f := float64(dim)
			wantSquare, wantFourth, wantLength := 1/f, 3/(f*(f+2)), 1.
			if by == Gradients { // a coordinate has variance 1/(d+2), and size^d is uniform
				wantSquare, wantFourth, wantLength = 1/(f+2), 3/((f+2)*(f+4)), .5
			}
			wantCross := 0.
			if dim == 1 {
				wantCross = wantSquare
			}
			most := 6 / math.Sqrt(n)
			for what, v := range map[string]float64{"mean": mean, "square": square - wantSquare, "fourth": fourth - wantFourth,
				"cross": cross - wantCross, "length": length - wantLength} {
				if !(math.Abs(v) <= most) {
					t.Errorf("by %d in %d dimensions: %s is off by %v, allowed %v", by, dim, what, v, most)
				}
			}
		}
	}
}

// TestDirectionsBits: the directions must have the same bits on every machine. The expected values
// are this code's own output; TestDirectionsAreUniform checks its moments.
func TestDirectionsBits(t *testing.T) {
	d := directionsOf(t, Gradients, 7, 1, 2, 3)
	u := make([]float64, 3)
	d.Write(u, 5)
	v := make([]float64, 3)
	directionsOf(t, Values, 7, 1, 2, 3).Write(v, 6)
	got := [6]uint64{math.Float64bits(u[0]), math.Float64bits(u[1]), math.Float64bits(u[2]), math.Float64bits(v[0]),
		math.Float64bits(v[1]), math.Float64bits(v[2])}
	want := [6]uint64{0x3fbc882453b7179d, 0xbfd5d70b622f97c7, 0x3fe9b1b0757aed54, 0x3fe091d5ae97c24a, 0xbfe9dd5627c7c45f,
		0xbfd1f0ddb98dbfc2}
	if got != want {
		t.Errorf("%#x", got)
	}
}

// TestDirectionsFollowTheRecord: a record's position in the pool depends only on its features and target, on
// the seed and on the point. It depends neither on the sign of a zero nor on the kind of term.
func TestDirectionsFollowTheRecord(t *testing.T) {
	base := directionsOf(t, Values, 7, 1, 2)
	x := []float32{.5, 0, .25}
	zero := float32(math.Copysign(0, -1))
	if base.Of(x, 1, 0) != base.Of([]float32{.5, zero, .25}, 1, 0) {
		t.Error("the sign of a zero counts")
	}
	if n := Pool(2); (base.Of(x, 1, 0)+2)%n != base.Of(x, 1, 2) {
		t.Error("a record's directions do not follow one another")
	}
	for what, same := range map[string]bool{
		"features": base.Of(x, 1, 0) == base.Of([]float32{.5, 0, .75}, 1, 0),
		"order":    base.Of(x, 1, 0) == base.Of([]float32{0, .5, .25}, 1, 0),
		"target":   base.Of(x, 1, 0) == base.Of(x, -1, 0),
		"seed":     base.Of(x, 1, 0) == directionsOf(t, Values, 8, 1, 2).Of(x, 1, 0),
		"point":    base.Of(x, 1, 0) == directionsOf(t, Values, 7, 1, 3).Of(x, 1, 0),
	} {
		if same {
			t.Errorf("%s: make no difference", what)
		}
	}
	s := Smoothing{Radius: .1, By: Values, Directions: 3, Seed: 7}
	if d, _ := DifferenceWithin(some, []float64{1, 2}, []float64{5, 6}, 1).Smoothed(s).Directions(); d != base {
		t.Error("a difference has other directions than a gradient at the same point")
	}
	if _, ok := GradientAt(some, []float64{1}, 1).Directions(); ok {
		t.Error("a term without smoothing has directions")
	}
}

// TestEqualRowsAreOneDraw: n rows consist of groups of m equal rows, and each row uses k directions. The
// mean of an estimate that is linear in a direction must have a variance of two parts. The first part is
// V/(k n^2) times the sum of m^2 over the groups. The second part is V/P times the probability that two
// rows are of different groups: rows of different groups share directions by chance in the pool of P
// directions. V is 1/(d+2), the variance of a coordinate in the ball. The variance of 4000 means, each a
// sum of bounded numbers close to a normal, is off by 20 % with probability below 1e-6 (nine standard
// deviations of .022). The test fails if equal rows draw different directions, or different rows draw the
// same directions.
func TestEqualRowsAreOneDraw(t *testing.T) {
	const n, dim, k, keys = 48, 2, 3, 4000
	u := make([]float64, dim)
	for _, m := range []int{1, 8, 48} {
		square := 0.
		for key := range uint64(keys) {
			d, mean := directionsOf(t, Gradients, key, 0, 0), 0.
			for row := range n {
				for j := range k {
					d.Write(u, d.Of([]float32{float32(row / m), 1}, 1, j))
					mean += u[0] / (n * k)
				}
			}
			square += mean * mean / keys
		}
		const v = 1. / (dim + 2)
		want := v*float64(m)/(k*n) + v/float64(Pool(dim))*(1-float64(m)/n)
		if !(math.Abs(square/want-1) <= .2) {
			t.Errorf("groups of %d: variance %v: want %v", m, square, want)
		}
	}
}

// TestLogarithm compares logarithm with the standard library's math.Log, to a few units of the last
// place.
func TestLogarithm(t *testing.T) {
	for s := stream(1); s < 1<<62; s = s*3 + 1 {
		x := math.Ldexp(math.Abs(s.signed()), -int(s%70))
		if got, want := logarithm(x), math.Log(x); !(math.Abs(got-want) <= 1e-15*max(1, math.Abs(want))) {
			t.Errorf("ln %v = %v, want %v", x, got, want)
		}
	}
}

// TestSteepness: in dimension 1 the ball is [-1, 1], over which the average of the gradient of |w|, a
// jump from -1 to 1, is a ramp of slope 1. In high dimension the result is about .8 sqrt d.
func TestSteepness(t *testing.T) {
	for dim, want := range map[int]float64{1: 1, 2: 4 / math.Pi, 3: 1.5} {
		if got := Steepness(dim); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("dimension %d: %v, want %v", dim, got, want)
		}
	}
	if got := Steepness(10000) / 100; !(math.Abs(got-math.Sqrt(2/math.Pi)) <= 1e-3) {
		t.Errorf("%v sqrt d", got)
	}
}

// TestSampledSmoothingRules: a smoothing that breaks a rule is refused with an error that names the
// rule, and the names in events contain the seed and the directions.
func TestSampledSmoothingRules(t *testing.T) {
	w, good := []float64{1, 2}, Smoothing{Radius: .1, By: Gradients, Directions: 2, Seed: 9}
	m, err := NewMetric(2, []float64{1, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		term Term
		says string
	}{
		"no directions": {GradientAt(some, w, 1).Smoothed(Smoothing{Radius: .1, By: Values}), "directions = 0"},
		"too many": {GradientAt(some, w, 1).Smoothed(Smoothing{Radius: .1, By: Values, Directions: Pool(2) + 1}),
			"directions = 4097"},
		"an unused seed": {GradientAt(some, w, 1).Smoothed(Smoothing{Radius: .1, Seed: 1}),
			"must be 0 where none are drawn"},
		"no such way":     {GradientAt(some, w, 1).Smoothed(Smoothing{Radius: .1, By: 4, Directions: 1}), "must be one of"},
		"in a metric":     {GradientInMetric(some, w, 1, 1, m).Smoothed(good), "multiple of the row"},
		"not of smoothed": {ValueAt(some, w, 1, 1).Smoothed(good), "not asked of smoothed"},
	} {
		if _, err := New(1, c.term); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	q, err := New(1, GradientAt(some, w, 1).Smoothed(good), DifferenceWithin(some, w, []float64{0, 0}, 1))
	if err != nil || !q.Sampled() || q.Name() != "gradient by 2 gradients in the ball of 0.1, seed 9+difference" {
		t.Errorf("%q, %v", q.Name(), err)
	}
}
