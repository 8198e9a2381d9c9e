package report

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestDigitsAtTheirEdges tests at which numbers digits changes its form: whole numbers below 10^15 keep all digits, and other
// numbers are written with a power of ten below 10^-4 and from 10^9 on, by their rounded value.
func TestDigitsAtTheirEdges(t *testing.T) {
	for _, c := range []struct {
		x    float64
		n    int
		want string
	}{
		{.0001, 3, "0.0001"}, {.00012345, 3, "0.000123"}, {.000099951, 3, "0.0001"}, {.000099949, 3, "9.99×10⁻⁵"}, {-.00012345, 2, "−0.00012"},
		{123456789.25, 3, "123,000,000"}, {999499999.5, 3, "999,000,000"}, {999500000.5, 3, "1×10⁹"}, {1234567891.5, 3, "1.23×10⁹"}, {-1234567891.5, 2, "−1.2×10⁹"},
		{999999999999999, 3, "999,999,999,999,999"}, {1e15, 3, "1×10¹⁵"}, {1.25e15, 3, "1.25×10¹⁵"}, {-999999999999999, 1, "−999,999,999,999,999"},
		{1234.5, 5, "1234.5"}, {12345.5, 6, "12,345.5"}, {12345.5, 3, "12,300"}, {9.996, 3, "10"}, {0, 3, "0"},
	} {
		if got := digits(c.x, c.n); got != c.want {
			t.Errorf("%v with %d digits is %s: must be %s", c.x, c.n, got, c.want)
		}
	}
}

// TestBarsHaveRoom: the room to the right of the bars is that of the widest number, and to their left that of the widest name,
// whichever item has it.
func TestBarsHaveRoom(t *testing.T) {
	line := regexp.MustCompile(`<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)" class="frame"`)
	items := []Bar{{Name: "a", Value: 1}, {Name: "a longer name", Value: -1234.5}, {Name: "bc", Value: 2}}
	axis := []string{num(wide("a longer name")*labelSize + 18), num(plotWidth - wide("−1234.5")*labelSize - 20)}
	for range items {
		items = append(items[1:], items[0])
		found := false
		for _, m := range line.FindAllStringSubmatch(string(Bars{Title: "t", Items: items}.draw("id")), -1) {
			found = found || slices.Equal([]string{m[1], m[3]}, axis) && m[2] == m[4]
		}
		if !found {
			t.Errorf("with %s first no axis is from %s to %s", items[0].Name, axis[0], axis[1])
		}
	}
}

// TestTicksStandAtTheirNumbers: each number of an axis has a grid line, a line of 5 below or beside the axis and its text; the
// numbers between them on an axis of powers of ten have a line of 3.
func TestTicksStandAtTheirNumbers(t *testing.T) {
	p := Plot{Title: "t", X: Axis{Label: "x", Log: true}, Y: Axis{Label: "y", Log: true}, Series: []Series{{Name: "s", Style: Line, X: []float64{1, 1000}, Y: []float64{.01, 10}}}}
	line := regexp.MustCompile(`<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)" class="(\w+)"`)
	var lines [][4]float64
	for _, m := range line.FindAllStringSubmatch(string(p.draw("id")), -1) {
		var v [4]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		lines = append(lines, v)
	}
	has := func(x1, y1, x2, y2 float64) bool {
		return slices.ContainsFunc(lines, func(v [4]float64) bool {
			return math.Abs(v[0]-x1) < .02 && math.Abs(v[1]-y1) < .02 && math.Abs(v[2]-x2) < .02 && math.Abs(v[3]-y2) < .02
		})
	}
	x0, x1, y0, y1 := p.span()
	long := lines[0] // of the first number beside the axis: a grid line from left to right
	for _, v := range lines {
		if v[2]-v[0] > long[2]-long[0] {
			long = v
		}
	}
	tall := lines[0]
	for _, v := range lines {
		if v[3]-v[1] > tall[3]-tall[1] {
			tall = v
		}
	}
	left, right, top, bottom := long[0], long[2], tall[1], tall[3]
	x, y := newScale(p.X, x0, x1, left, right), newScale(p.Y, y0, y1, bottom, top)
	for v, k := 1e-3, 0; k < 6; v, k = v*10, k+1 {
		for m := 1.; m < 10; m++ {
			long := 3.
			if m == 1 {
				long = 5
			}
			if at := x.at(m * v); m*v >= x.lo && m*v <= x.hi && !has(at, bottom, at, bottom+long) {
				t.Errorf("%v has no line of %v below the axis", m*v, long)
			}
			if at := y.at(m * v); m*v >= y.lo && m*v <= y.hi && !has(left-long, at, left, at) {
				t.Errorf("%v has no line of %v beside the axis", m*v, long)
			}
		}
	}
}
