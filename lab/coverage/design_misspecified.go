package coverage

import (
	"math"
	"math/rand/v2"
)

// tilted returns the logarithmic odds of a row, curved those of the mean of a number: neither is a line in the columns, so
// that a fit has as its estimand a projection. That of the textbook weights all rows alike.
func tilted(x []float64) float64 { return -.3 + .5*x[0] + 2.5*x[0]*x[1] + .6*x[2] }

func curved(x []float64) float64 { return 4 + .8*x[0] + 1.6*x[0]*x[0] + .5*x[1] - .6*x[2] }

// long returns a draw of a column with a long right tail, in [0, 1]: most of the rows are below a tenth.
func long(r *rand.Rand) float64 { return min(math.Exp(.9*r.NormFloat64())/20, 1) }

func skewedRow(r *rand.Rand) []float64 {
	x := []float64{min(r.ExpFloat64()/2-.8, 1), min(max(.35*r.NormFloat64(), -1), 1), 0}
	if r.Float64() < .2 {
		x[2] = 1
	}
	return x
}

func misspecified(name string, classes []string, loss string, columns []Column, draw func(r *rand.Rand) ([]float64, float64)) {
	d := Design{Name: "misspecified, " + name, Records: 20_000, Epsilon: 2, Loss: loss, Classes: classes, Most: 10,
		Intervals: true, Columns: columns, Draw: draw}
	if classes != nil {
		d.Most = 0
	}
	add(d)
	d.Name, d.Unweighted = d.Name+", unweighted", true
	if name == "a long tail, numbers" { // of whose weighted rows no interval of income holds the truth
		d = d.inShort(8000, 6)
	}
	add(d)
}

func init() {
	columns := []Column{Number("x1", -1, 1), Number("x2", -1, 1), Category("c", "a", "b")}
	misspecified("a parabola as a line", nil, "squared(1)", columns, func(r *rand.Rand) ([]float64, float64) {
		x := skewedRow(r)
		return x, curved(x) + .7*r.NormFloat64()
	})
	two := []string{"0", "1"}
	toss := func(r *rand.Rand, z float64) float64 {
		if r.Float64() < 1/(1+math.Exp(-z)) {
			return 1
		}
		return 0
	}
	misspecified("an interaction left out", two, "logistic", columns, func(r *rand.Rand) ([]float64, float64) {
		x := skewedRow(r)
		return x, toss(r, tilted(x))
	})
	tail := []Column{Number("income", 0, 1), Number("x2", -1, 1), Category("c", "a", "b")}
	misspecified("a long tail, two classes", two, "logistic", tail, func(r *rand.Rand) ([]float64, float64) {
		x := skewedRow(r)
		x[0] = long(r)
		return x, toss(r, math.Log(20*x[0])+.5*x[1]+.6*x[2])
	})
	misspecified("a long tail, numbers", nil, "squared(1)", tail, func(r *rand.Rand) ([]float64, float64) {
		x := skewedRow(r)
		x[0] = long(r)
		return x, 4 + .8*math.Log(20*x[0]) + .5*x[1] - .6*x[2] + .7*r.NormFloat64()
	})
}
