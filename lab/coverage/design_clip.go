package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// far is a population of numbers of which the column income has a long right tail, with the given mean of the target beside
// two other columns. A rare share of the rows is at the end of the tail if far is above 0.
func far(name, loss string, far float64, mean func(income float64) float64) Design {
	return Design{Name: "clip, " + name, Records: 20_000, Loss: loss, Most: 10,
		Columns: []Column{Number("income", 0, 1), Number("x2", -1, 1), Number("x3", -1, 1), Category("c", "a", "b", "d")},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{long(r), min(max(.35*r.NormFloat64(), -1), 1), 2*r.Float64() - 1, float64(r.IntN(3))}
			if r.Float64() < far {
				x[0] = .5 + .5*r.Float64()
			}
			return x, min(max(mean(x[0])+.5*x[1]-.3*x[2]+.4*x[3]+.6*r.NormFloat64(), 0), 10)
		}}
}

func init() {
	line := func(income float64) float64 { return 2 + 6*income }
	root := func(income float64) float64 { return 1 + 6*math.Sqrt(income) }
	back := func(income float64) float64 { return 3 + 12*income - 16*income*income }
	for _, loss := range []string{"huber(0.1)", "huber(0.3)", "squared(1)"} {
		named := func(by string) string { return fmt.Sprintf("%s, %s", loss, by) }
		for _, d := range []Design{
			far(named("a line of a long tail"), loss, 0, line), far(named("a root of a long tail"), loss, 0, root),
			far(named("a parabola of a long tail"), loss, 0, back), far(named("3% far away, a line"), loss, .03, line),
			far(named("3% far away, a parabola"), loss, .03, back),
		} {
			for _, d.Epsilon = range []float64{1, 4} {
				e := d
				e.Name, e.Tables = fmt.Sprintf("%s, epsilon %g", d.Name, d.Epsilon), true
				add(e)
			}
		}
	}
	clipped := func(d Design, target string, unit float64) {
		name := d.Name
		for _, d.Epsilon = range []float64{1, 4} {
			e := table(fmt.Sprintf("clip, %s, %s, epsilon %g", name, d.Loss, d.Epsilon), d.file, 20_000, d, target, unit)
			e.Tables = true
			add(e)
		}
	}
	delays := Design{Name: "delays", file: "pnwflights.csv.gz", Most: 300, Columns: []Column{Number("dep_delay", -30, 600),
		Number("distance", 0, 3000), Number("sched_dep_min", 0, 1439), Category("carrier", "AS", "WN", "OO", "DL", "UA", "AA")}}
	hours := Design{Name: "hours", file: "adult.csv.gz", Most: 100, Columns: []Column{Number("age", 17, 90),
		Number("capital_gain", 0, 100_000), Number("education_num", 1, 16), Category("sex", "Male", "Female")}}
	wages := Design{Name: "wages", file: "cps1988.csv.gz", Most: 20, Columns: []Column{Number("education", 0, 18),
		Number("experience", -6, 64), Category("ethnicity", "cauc", "afam"), Category("parttime", "no", "yes")}}
	stones := Design{Name: "diamonds", file: "diamonds.csv.gz", Most: 20, Columns: []Column{Number("carat", .2, 5.01),
		Number("x", 0, 10.74), Number("depth", 43, 79), Category("cut", "Ideal", "Premium", "Very Good", "Good", "Fair")}}
	depth := Design{Name: "depth", file: "diamonds.csv.gz", Most: 20, Columns: []Column{Number("price", 300, 19_000),
		Number("depth", 43, 79), Number("table", 43, 95), Category("color", "G", "D", "E", "F", "H", "I", "J")}}
	for _, loss := range []string{"huber(0.1)", "squared(1)"} {
		delays.Loss, hours.Loss, wages.Loss, stones.Loss, depth.Loss = loss, loss, loss, loss, loss
		clipped(delays, "arr_delay", 1)
		clipped(hours, "hours_per_week", 1)
		clipped(wages, "wage", 100)
		clipped(stones, "price", 1000)
		clipped(depth, "carat", .25)
	}
}
