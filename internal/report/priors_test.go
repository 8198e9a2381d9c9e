package report

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestPriorsByHand works out the variances that weights may have before the fit, at a margin of variance .03: of a number,
// a level, two knots and the intercept, of rows of which .8 are read and whose last feature is .5. A number has its own
// variance over the rows that are read, of which noise of .01 is the least; the others have the square of their range, .25,
// at least.
func TestPriorsByHand(t *testing.T) {
	rows := mat.NewSymDense(5, nil)
	for j, v := range [][2]float64{{.28, .1}, {.05, .02}, {.6, .04}, {.008, 0}, {.2, .2}} { // squares, and products with the last
		rows.SetSym(j, 4, v[1])
		rows.SetSym(j, j, v[0])
	}
	known := &structure{levels: []bool{false, true, false, false, false}, hats: []dataset.Hats{{First: 2, Width: 2}}}
	for name, c := range map[string]struct {
		known  *structure
		shared float64
		first  float64 // the square of the number
		want   [5]float64
	}{
		"known":             {known, .5, .28, [5]float64{.2875, .25, .74, .25, .25}},
		"a constant number": {known, .5, .05, [5]float64{.01, .25, .74, .25, .25}},
		"unknown":           {nil, .5, .28, [5]float64{.2875, .06, .74, .01, .25}},
		"no last feature":   {known, 0, .28, [5]float64{.35, .0625, .75, .01, .25}},
	} {
		rows.SetSym(0, 0, c.first)
		for j, v := range priors(rows, c.known, .03, c.shared, .8, .01) {
			if want := .03 / c.want[j]; !(math.Abs(v/want-1) <= 1e-9) {
				t.Errorf("%s: weight %d has %v: must be %v", name, j, v, want)
			}
		}
	}
}
