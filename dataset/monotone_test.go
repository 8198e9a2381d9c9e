package dataset

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
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
		if !(math.Abs(mean) <= 1e-12) {
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
			if !(math.Abs(again[j]-got[j]) <= 1e-12) {
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
	if !(math.Abs(got[first+1]) <= .01) || !(math.Abs(got[first+2]) <= .01) {
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

// TestProjectedScores works out a projection from scores of rows: a column's part of the score at each of its knots, or at its
// bounds, becomes the monotone part that is nearest, here with two knots whose mean is taken, and Moved is the largest
// change. Parts of other columns stay. The masses of knots are those of the means of their hats.
func TestProjectedScores(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    free: {number: [0, 1], curve: 3}
    steep: {number: [0, 8], curve: 5, monotone: up}
    falls: {number: [0, 2], curve: 3, monotone: down}
    line: {number: [0, 1], monotone: up}
    last: {number: [0, 1], monotone: down}
  target: {column: y, classes: [0, 1]}
`)
	m := mustBind(t, s, "free", "steep", "falls", "line", "last", "y")
	score := func(w []float64, cells ...string) (sum float64) {
		for i, b := range encode(m, append(cells, "0")).bits {
			sum += w[i] * float64(math.Float32frombits(b))
		}
		return sum
	}
	w, means := make([]float64, s.Dim()), make([]float64, s.Dim())
	for i := range w {
		w[i], means[i] = .3+.1*float64(i%7), -.5
	}
	// set gives a column these parts of the score at its knots, times Scale.
	set := func(hats, slope int, parts ...float64) {
		for i, v := range parts {
			u := 2*float64(i)/float64(len(parts)-1) - 1
			w[hats+i] = (v - w[slope]*u) / spline.Scale
		}
	}
	hats := s.Hats()
	steep, falls, line, last := s.at("steep"), s.at("falls"), s.at("line"), s.at("last")
	set(hats[1].First, steep, .1, .5, .2, .7, .6)
	set(hats[2].First, falls, .4, .9, -.2)
	w[line], w[last] = -.25, .375
	means[hats[1].First+1], means[hats[1].First+2] = .3, .1 // the others are below 0, and have .001 of the sum .4
	means[hats[1].First+3], means[hats[1].First+4] = -.2, -.1
	means[hats[2].First], means[hats[2].First+1] = .2, .6
	got, list := s.ProjectMonotone(w, means)
	want := map[string][]float64{
		// .5 and .2 with the masses .3004 and .1004; .7 and .6 with .0004 each
		"steep": {.1, (.5*.3004 + .2*.1004) / .4008, (.5*.3004 + .2*.1004) / .4008, .65, .65},
		// .4 and .9 with the masses .2008 and .6008
		"falls": {(.4*.2008 + .9*.6008) / .8016, (.4*.2008 + .9*.6008) / .8016, -.2},
	}
	at := func(w []float64, column string, i int) float64 {
		if column == "steep" {
			return score(w, "0", strconv.Itoa(2*i), "0", "0", "0") * s.Scale()
		}
		return score(w, "0", "0", strconv.Itoa(i), "0", "0") * s.Scale()
	}
	for column, parts := range want {
		for i := 1; i < len(parts); i++ {
			if rise := at(got, column, i) - at(got, column, 0); !(math.Abs(rise-(parts[i]-parts[0])) <= 1e-6) {
				t.Errorf("%s rises by %v to knot %d: must by %v", column, rise, i, parts[i]-parts[0])
			}
		}
	}
	// Of all knots of a column, the one that moves most.
	moved := []float64{math.Abs(want["steep"][2] - .2), want["falls"][0] - .4, .25, .375}
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	for i, name := range []string{"steep", "falls", "line", "last"} {
		way := Up
		if i%2 == 1 {
			way = Down
		}
		if p := list[i]; p.Column != name || p.Way != way || !(math.Abs(p.Moved-moved[i]/s.Scale()) <= 1e-12) {
			t.Errorf("%+v: must be of %s, %v, and move by %v", p, name, way, moved[i]/s.Scale())
		}
	}
	for i := range got {
		switch {
		case i == line || i == last:
			if got[i] != 0 {
				t.Errorf("weight %d is %v: must be 0", i, got[i])
			}
		case i >= hats[1].First && i < hats[1].First+5, i >= hats[2].First && i < hats[2].First+3:
		default:
			if got[i] != w[i] {
				t.Errorf("weight %d moves from %v to %v", i, w[i], got[i])
			}
		}
	}
	for column, hat := range map[string]int{"steep": hats[1].First, "falls": hats[2].First, "line": line, "last": last} {
		wrong := append([]float64(nil), got...)
		switch column {
		case "steep":
			wrong[hat+2] -= 1e-6
		case "falls":
			wrong[hat+1] += 1e-6
		case "line":
			wrong[hat] = -1e-6
		case "last":
			wrong[hat] = 1e-6
		}
		if err := s.CheckMonotone(wrong); err == nil || !strings.Contains(err.Error(), strconv.Quote(column)) {
			t.Errorf("%s: %v", column, err)
		}
	}
	if err := s.CheckMonotone(got); err != nil {
		t.Error(err)
	}
}
