package coverage

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// several is a population of K classes with two numbers of correlation .7, a level of 20% of the rows and a number without
// effect. The shares of the classes but the first follow from the intercepts, and each class has effects of its own.
func several(name string, epsilon float64, intercepts ...float64) Design {
	classes := []string{"first", "second", "third", "fourth"}[:len(intercepts)+1]
	effects := [][]float64{{.6, -.3, .5, 0}, {-.4, .5, -.6, .2}, {.3, .3, .4, -.2}}[:len(intercepts)]
	d := Design{Name: name, Records: 20_000, Epsilon: epsilon, Loss: "softmax(" + strconv.Itoa(len(classes)) + ")",
		Classes: classes, Intervals: true, Truth: map[string]float64{},
		Columns: []Column{Number("x1", -3, 3), Number("x2", -3, 3), Category("c", "a", "b"), Number("x3", 0, 1)}}
	for m, list := range effects {
		for j, term := range []string{"x1", "x2", "c=b", "x3"} {
			d.Truth[classes[m+1]+": "+term] = list[j]
		}
	}
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		a := r.NormFloat64()
		b := .7*a + math.Sqrt(.51)*r.NormFloat64()
		x := []float64{min(max(a, -3), 3), min(max(b, -3), 3), 0, r.Float64()}
		if r.Float64() < .2 {
			x[2] = 1
		}
		z := []float64{0}
		for m, list := range effects {
			sum := intercepts[m]
			for j, v := range list {
				sum += v * x[j]
			}
			z = append(z, sum)
		}
		return x, drawn(r, z)
	}
	return d
}

func init() {
	add(several("three classes, epsilon 1", 1, 0, 0).inShort(4000, 6))
	add(several("three classes, epsilon 2", 2, 0, 0))
	add(several("three classes, one of 5%, epsilon 1", 1, .3, -2.3))
	add(several("three classes, one of 5%, epsilon 2", 2, .3, -2.3))
	add(several("four classes, epsilon 1", 1, 0, .4, -.4))
	add(several("four classes, epsilon 2", 2, 0, .4, -.4))
	add(several("four classes, one of 5%, epsilon 2", 2, .3, 0, -2.3))
	for _, d := range []Design{several("three classes again, epsilon 2", 2, 0, 0), several("three classes again, one of 5%, epsilon 2", 2, .3, -2.3),
		several("four classes, epsilon 4", 4, 0, .4, -.4), grades("three ordered classes, epsilon 1", 1, 1.2), grades("three ordered classes, epsilon 2", 2, 1.2),
		grades("five ordered classes, epsilon 2", 2, .7, 1.4, 2.5)} {
		add(d)
		d.Name, d.Unweighted = d.Name+", unweighted", true
		add(d)
	}
}

// grades is the population of several with ordered classes, of which the first threshold is 0 and the others are given.
func grades(name string, epsilon float64, thresholds ...float64) Design {
	d := several(name, epsilon, 0, 0)
	d.Classes = []string{"first", "second", "third", "fourth", "fifth"}[:len(thresholds)+2]
	d.Loss = "ordered(" + strconv.Itoa(len(d.Classes)) + ")"
	d.Truth = map[string]float64{"x1": .6, "x2": -.3, "c=b": .5, "x3": 0}
	of := d.Draw
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x, _ := of(r)
		u := r.Float64()
		z, y := math.Log(u/(1-u))+.3+.6*x[0]-.3*x[1]+.5*x[2], 0.
		for _, t := range append([]float64{0}, thresholds...) {
			if z > t {
				y++
			}
		}
		return x, y
	}
	return d
}
