package coverage

import (
	"math"
	"math/rand/v2"
)

// clients is a population of clients with 1 to 10 rows, without intervals. The numbers n1 and n2, of correlation .4, and
// the level b are of a client, and the others of a row. A client has an effect of his own of deviation .7. With informative
// sizes a client has the more rows, the larger his effect is.
func clients(name string, records int, epsilon float64, loss string, informative bool) Design {
	d := Design{Name: name, Records: records, Epsilon: epsilon, Loss: loss, Rows: 10, Tables: true,
		Columns: []Column{Number("n1", -3, 3), Number("n2", -3, 3), Number("x1", -3, 3), Number("x2", 0, 10),
			Category("b", "u", "v"), Category("c", "u", "v", "w")}}
	switch loss {
	case "logistic":
		d.Classes = []string{"no", "yes"}
	case "poisson(0.5)":
		d.Most = 20
	default:
		d.Most = 20
	}
	d.Client = func(r *rand.Rand) (int, func() ([]float64, float64)) {
		own, rows := .7*r.NormFloat64(), 1+r.IntN(10)
		if informative {
			rows = int(min(max(math.Round(5+4*own+2*r.NormFloat64()), 1), 10))
		}
		n1, b := r.NormFloat64(), float64(r.IntN(2))
		n2 := .4*n1 + math.Sqrt(1-.16)*r.NormFloat64()
		return rows, func() ([]float64, float64) {
			x := []float64{n1, n2, r.NormFloat64(), 10 * r.Float64(), b, float64(min(2, int(1.5*r.ExpFloat64())))}
			z := own + .6*x[0] - .4*x[1] + .5*x[2] + .1*(x[3]-5) + .5*x[4] - .4*x[5]
			switch {
			case d.Classes != nil:
				return x, drawn(r, []float64{0, z})
			case loss == "poisson(0.5)":
				return x, min(poissonOf(r, math.Exp(.5+.5*z)), 20)
			}
			return x, min(max(9+z+r.NormFloat64(), 0), 20)
		}
	}
	return d
}

// wide gives the numbers n1 and x1 bounds of 10 deviations.
func (d Design) wide() Design {
	d.Columns[0], d.Columns[2] = Number("n1", -10, 10), Number("x1", -10, 10)
	return d
}

func init() {
	add(clients("units, balanced", 4000, 1, "logistic", false))
	add(clients("units, balanced, epsilon 4", 4000, 4, "logistic", false).inShort(2000, 4))
	add(clients("units, informative sizes", 4000, 1, "logistic", true))
	add(clients("units, informative sizes, epsilon 4", 4000, 4, "logistic", true))
	add(clients("units, Huber", 4000, 1, "huber(0.1)", true))
	add(clients("units, Huber, epsilon 4", 4000, 4, "huber(0.1)", true))
	add(clients("units, counts", 8000, 4, "poisson(0.5)", true))
	add(clients("units, wide bounds", 4000, 2, "logistic", true).wide())
}
