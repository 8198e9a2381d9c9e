package dataset

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestIsotonic: the result never decreases and has the weighted mean of the values. Values that never
// decrease are not changed. Among many sequences near the result that never decrease, none is nearer to the
// values. The test fails if masses are ignored, and if a pool of equal values is not merged with earlier
// pools.
func TestIsotonic(t *testing.T) {
	coin := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 2 + coin.IntN(7)
		v, mass := make([]float64, n), make([]float64, n)
		for i := range v {
			v[i], mass[i] = coin.NormFloat64(), .01+coin.Float64()
		}
		got := isotonic(v, mass)
		far := func(u []float64) (sum float64) {
			for i := range u {
				sum += mass[i] * (u[i] - v[i]) * (u[i] - v[i])
			}
			return sum
		}
		mean := 0.
		for i := range got {
			mean += mass[i] * (got[i] - v[i])
			if i > 0 && got[i] < got[i-1] {
				t.Fatalf("%v falls", got)
			}
		}
		if math.Abs(mean) > 1e-12 {
			t.Errorf("the mean moves by %v", mean)
		}
		for range 100 {
			other := append([]float64(nil), got...)
			for i := range other {
				other[i] += .1 * coin.NormFloat64() * coin.Float64()
				if i > 0 {
					other[i] = max(other[i], other[i-1])
				}
			}
			if far(other) < far(got)-1e-12 {
				t.Fatalf("%v is nearer to %v than %v", other, v, got)
			}
		}
	}
	same := []float64{-1, 0, 0, 2}
	for i, v := range isotonic(same, []float64{1, 2, 3, 4}) {
		if v != same[i] {
			t.Error("values that never fall were changed")
		}
	}
}

const monotone = `
schema:
  columns:
    up: {number: [0, 10], curve: 6, monotone: up}
    down: {date: [2020-01-01, 2020-12-31], curve: 4, monotone: down}
    line: {number: [0, 1], monotone: up}
    free: {number: [0, 1], curve: 4}
  target: {column: y, classes: [0, 1]}
`

// TestProjectMonotone: with projected weights the score is monotone in every column that the schema declares
// monotone, and CheckMonotone returns an error for weights with which it is not. The values at knots without
// rows near them follow the values at knots with rows. The test fails if the score rises in a column that is
// declared down, if a slope of the wrong sign stays, and if masses are left out.
func TestProjectMonotone(t *testing.T) {
	s := mustLoad(t, monotone)
	coin := rand.New(rand.NewPCG(1, 1))
	wrong := 0
	for range 50 {
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = coin.NormFloat64()
		}
		if s.CheckMonotone(w) != nil {
			wrong++
		}
		got, list := s.ProjectMonotone(w, nil)
		if err := s.CheckMonotone(got); err != nil {
			t.Fatal(err)
		}
		if len(list) != 3 || list[1].Way != Down {
			t.Fatalf("%+v", list)
		}
		if line := s.at("line"); got[line] != max(w[line], 0) {
			t.Errorf("slope %v of %v", got[line], w[line])
		}
		for j := s.at("free"); j < s.Dim(); j++ {
			if got[j] != w[j] {
				t.Errorf("weight %d moved", j)
			}
		}
		again, list := s.ProjectMonotone(got, nil)
		for j := range again {
			if math.Abs(again[j]-got[j]) > 1e-12 {
				t.Errorf("weight %d moves again, by %v", j, list)
			}
		}
	}
	if wrong < 45 {
		t.Errorf("%d of 50 random weights are found to go the wrong way", wrong)
	}
	// The value at knot 1 is above the value at knot 2. All rows are near knot 2, so the value at knot 1 is
	// lowered to the value at knot 2.
	w, means := make([]float64, s.Dim()), make([]float64, s.Dim())
	first := s.Hats()[0].First
	w[first+1], means[first+2] = 1, .3
	w[first+3], w[first+4], w[first+5] = 1, 1, 1
	got, _ := s.ProjectMonotone(w, means)
	if math.Abs(got[first+1]) > .01 || math.Abs(got[first+2]) > .01 {
		t.Errorf("knots at %v", got[first:first+6])
	}
}

// TestMonotoneIsRefused: a schema is refused, with an error that names the field, if the score cannot
// be made monotone in a column that it declares monotone.
func TestMonotoneIsRefused(t *testing.T) {
	for change, want := range map[string]string{
		"curve: 6, monotone: up\tcurve: 6, monotone: rising":         "must be up, down or absent",
		"    free:\t    c: {category: [a], monotone: up}\n    free:": "only a number or a date grows",
		"  target:\t  norm: 1.5\n  target:":                          "needs rows of one scale",
		"  target:\t  interactions: [[free, up]]\n  target:":         "has no direction of its own",
	} {
		from, to, _ := strings.Cut(change, "\t")
		_, err := load(strings.Replace(monotone, from, to, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v: want %q", to, err, want)
		}
	}
}
