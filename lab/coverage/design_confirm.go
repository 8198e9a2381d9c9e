package coverage

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// confirms has the designs that had no part in the choice of how noise is stated. Each fit is of a table of its own,
// and is judged against the fit without privacy of that table.
func confirms(d Design, epsilons ...float64) {
	name := d.Name
	for _, epsilon := range epsilons {
		d.Name, d.Epsilon, d.Tables = fmt.Sprintf("confirm, %s, epsilon %g", name, epsilon), epsilon, true
		add(d)
	}
}

// pair is a population with two numbers of correlation rho and effects a and b, a third number and two categories.
func pair(name string, records int, rho, a, b, intercept float64) Design {
	return Design{Name: name, Records: records, Loss: "logistic", Classes: []string{"no", "yes"},
		Columns: []Column{Number("x1", -4, 4), Number("x2", -4, 4), Number("x3", 0, 1), Category("g", "u", "v"),
			Category("h", "p", "q", "r", "s")},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{r.NormFloat64(), 0, r.Float64(), float64(r.IntN(2)), float64(r.IntN(4))}
			x[1] = rho*x[0] + math.Sqrt(1-rho*rho)*r.NormFloat64()
			return x, bernoulli(r, intercept+a*x[0]+b*x[1]+(x[2]-.5)-.6*x[3]+.2*x[4])
		}}
}

// numeric is pair with a number as its target: numbers with outliers, or counts.
func numeric(name, loss string, records int, rho float64) Design {
	d := pair(name, records, rho, 0, 0, 0)
	d.Loss, d.Classes, d.Most = loss, nil, 10
	draw := d.Draw
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x, _ := draw(r)
		z := .5*x[0] - .3*x[1] + .5*(x[2]-.5) - .4*x[3] + .1*x[4]
		if d.counts() {
			rate, y := math.Exp(.3+.6*z), 0.
			for at := r.ExpFloat64(); at < rate && y < 10; at += r.ExpFloat64() {
				y++
			}
			return x, y
		}
		y := 5 + z + .7*r.NormFloat64()
		if r.Float64() < .05 {
			y += 4 * r.NormFloat64()
		}
		return x, min(max(y, 0), 10)
	}
	return d
}

// table has samples of a public table as a population. Columns are those of the file by name; a target has classes, or
// is a number that is divided by unit.
func table(name, file string, records int, of Design, target string, unit float64) Design {
	of.Name, of.Records, of.File = name, records, true
	var rows []row
	of.Draw = func(r *rand.Rand) ([]float64, float64) {
		if rows == nil {
			rows = must(of.read(file, target, unit))
		}
		at := rows[r.IntN(len(rows))]
		return slices.Clone(at.x), at.y
	}
	return of
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// tables is the folder of the public tables, a flag of TestLong.
var tables string

// read reads the columns and the target of the design from a compressed table. A level that the design does not name
// counts as its first, and a missing number as the middle of its bounds, as the product has it.
func (d Design) read(file, target string, unit float64) (rows []row, err error) {
	f, err := os.Open(filepath.Join(tables, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	all, err := csv.NewReader(text).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, cells := range all[1:] {
		of := row{}
		for _, c := range d.Columns {
			cell := cells[slices.Index(all[0], c.Name)]
			v := float64(max(slices.Index(c.Levels, cell), 0))
			if c.Levels == nil {
				if v, err = strconv.ParseFloat(cell, 64); err != nil {
					v = (c.Low + c.High) / 2
				}
			}
			of.x = append(of.x, v)
		}
		cell := cells[slices.Index(all[0], target)]
		if of.y = float64(slices.Index(d.Classes, cell)); d.Classes == nil {
			if of.y, err = strconv.ParseFloat(cell, 64); err != nil {
				continue
			}
			of.y = min(max(of.y/unit, 0), d.Most)
		}
		if of.y >= 0 {
			rows = append(rows, of)
		}
	}
	return rows, nil
}

// many is a fresh population without intervals, with more columns than those for which the prior of a way is whole.
func many(name string, records, numbers int, rho, intercept float64) Design {
	d := fresh(name, numbers, rho, []float64{.05, .2, .5}, intercept, false)
	d.Name, d.Records, d.Intervals, d.Truth = name, records, false, nil
	return d
}

func init() {
	confirms(many("20 numbers, correlation .8, 20,000 rows", 20_000, 20, .8, 0), .3, 1, 4)
	confirms(many("40 numbers, correlation .4, 80% positive", 20_000, 40, .4, 1.6), .3, 1, 4)
	confirms(pair("correlation .5", 4_000, .5, .5, .5, 0), .3, 1, 4)
	confirms(pair("correlation .9, one effect", 4_000, .9, .8, 0, 0), .3, 1, 4)
	confirms(pair("correlation .9, opposite effects", 4_000, .9, .8, -.6, 0), .3, 1, 4)
	confirms(pair("correlation .9, opposite effects, 20,000", 20_000, .9, .8, -.6, 0), .3, 1, 4)
	opposite := pair("columns correlated .9, opposite effects", 4_000, .9, .8, -.6, 0).inShort(2500, 1)
	opposite.Tables = true
	add(opposite)
	confirms(pair("correlation -.9, equal effects", 4_000, -.9, .6, .6, 0), 1)
	confirms(pair("correlation .95, opposite effects, 10,000", 10_000, .95, .6, -.5, 0), .3, .5)
	confirms(pair("correlation .8, opposite effects, 10,000", 10_000, .8, .9, -.7, 1), .3, .5)
	for _, epsilon := range []float64{.3, .5} {
		d := pair(fmt.Sprintf("noise, correlation .9, opposite effects, one table, epsilon %g", epsilon), 10_000, .9, .8, -.6, 0)
		d.Epsilon = epsilon
		add(d)
	}
	confirms(pair("80% positive", 4_000, .5, .5, -.5, 1.8), .3, 1, 4)
	confirms(pair("1% positive", 20_000, .5, .5, -.5, -5), .3, 1, 4)
	confirms(numeric("Huber, correlation .9", "huber(0.2)", 4_000, .9), .3, 1, 4)
	confirms(numeric("Huber, correlation .5, 20,000", "huber(0.2)", 20_000, .5), 1, 4)
	confirms(numeric("Poisson, correlation .9", "poisson(0.5)", 4_000, .9), .3, 1, 4)
	three := stated("softmax, correlation .5", 4_000, .5, 0, .3, -.4)
	confirms(three, .3, 1, 4)
	three = stated("softmax, correlation .9", 4_000, .9, 0, .3, -.4)
	confirms(three, 1)
	confirms(table("CPS 1988", "cps1988.csv.gz", 10_000, Design{Loss: "huber(0.1)", Most: 20,
		Columns: []Column{Number("education", 0, 18), Number("experience", -6, 64), Category("ethnicity", "cauc", "afam"),
			Category("smsa", "yes", "no"), Category("region", "south", "midwest", "northeast", "west"),
			Category("parttime", "no", "yes")}}, "wage", 100), .3, 1, 4)
	confirms(table("diamonds", "diamonds.csv.gz", 20_000, Design{Loss: "huber(0.2)", Most: 20,
		Columns: []Column{Number("carat", .2, 5.01), Number("x", 0, 10.74), Number("depth", 43, 79), Number("table", 43, 95),
			Category("cut", "Ideal", "Premium", "Very Good", "Good", "Fair"),
			Category("color", "G", "D", "E", "F", "H", "I", "J")}}, "price", 1000), .3, 1, 4)
	confirms(table("flights", "pnwflights.csv.gz", 20_000, Design{Loss: "logistic", Classes: []string{"0", "1"},
		Columns: []Column{Number("sched_dep_min", 0, 1439), Number("distance", 0, 3000), Number("month", 1, 12),
			Category("origin", "SEA", "PDX"), Category("carrier", "AS", "WN", "OO", "DL", "UA", "AA")}}, "arr_late15", 1), .3, 1, 4)
	confirms(table("CPS 1988, part time", "cps1988.csv.gz", 20_000, Design{Loss: "logistic", Classes: []string{"no", "yes"},
		Columns: []Column{Number("education", 0, 18), Number("experience", -6, 64), Number("wage", 0, 2000),
			Category("ethnicity", "cauc", "afam"), Category("smsa", "yes", "no"),
			Category("region", "south", "midwest", "northeast", "west")}}, "parttime", 1), 1, 4)
	confirms(table("diamonds, ideal or premium", "diamonds.csv.gz", 20_000, Design{Loss: "logistic", Classes: []string{"Premium", "Ideal"},
		Columns: []Column{Number("carat", .2, 5.01), Number("depth", 43, 79), Number("table", 43, 95),
			Category("color", "G", "D", "E", "F", "H", "I", "J"), Category("clarity", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF", "I1", "SI2")}},
		"cut", 1), 1, 4)
}
