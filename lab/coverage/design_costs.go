package coverage

import (
	"math"
	"math/rand/v2"
)

// skewed is a population of costs or counts with a logarithmic link, whose mean has the logarithm base + .6 x plus a
// level's effect. draw draws a target of a mean. The level c=b is rare.
func skewed(name, loss string, least, most, base float64, draw func(r *rand.Rand, mean float64) float64) Design {
	return Design{Name: name, Records: 20_000, Epsilon: 1, Loss: loss, Least: least, Most: most, Intervals: true,
		Columns: []Column{Number("x", -1, 1), Category("g", "a", "b"), Category("c", "a", "b")},
		Truth:   map[string]float64{"x": .6, "g=b": -.4, "c=b": .5},
		Draw: func(r *rand.Rand) ([]float64, float64) {
			x := []float64{2*r.Float64() - 1, float64(r.IntN(2)), 0}
			if r.Float64() < .06 {
				x[2] = 1
			}
			return x, min(max(draw(r, math.Exp(base+.6*x[0]-.4*x[1]+.5*x[2])), least), most)
		}}
}

// gammaOf draws from the gamma distribution of a shape and a mean (Marsaglia and Tsang 2000).
func gammaOf(r *rand.Rand, shape, mean float64) float64 {
	if shape < 1 {
		return gammaOf(r, shape+1, mean*(shape+1)/shape) * math.Pow(r.Float64(), 1/shape)
	}
	d := shape - 1./3
	for {
		x := r.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v = v * v * v; v > 0 && math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v * mean / shape
		}
	}
}

// poissonOf draws a Poisson count.
func poissonOf(r *rand.Rand, mean float64) (count float64) {
	for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
		count++
	}
	return count
}

// exposed returns the design over unlike exposures, by which the mean is multiplied.
func (d Design) exposed(loss string, draw func(r *rand.Rand, mean float64) float64, base float64) Design {
	d.Name, d.Loss, d.Exposed = d.Name+" over exposures", loss, true
	of := d.Draw
	d.Draw = func(r *rand.Rand) ([]float64, float64) {
		x, _ := of(r)
		q := .1 + .9*r.Float64()
		return append(x, q), min(draw(r, q*math.Exp(base+.6*x[0]-.4*x[1]+.5*x[2])), d.Most)
	}
	return d
}

// visits draws a count whose variance is m + m^2/1.5 at the mean m.
func visits(r *rand.Rand, mean float64) float64 { return poissonOf(r, gammaOf(r, 1.5, mean)) }

func init() {
	add(skewed("costs, gamma of shape .7", "gamma(5,1e-06)", 1, 1e6, 7, func(r *rand.Rand, mean float64) float64 {
		return gammaOf(r, .7, mean)
	}).inShort(3000, 6))
	add(skewed("costs, lognormal of deviation 1", "gamma(5,1e-06)", 1, 1e6, 7, func(r *rand.Rand, mean float64) float64 {
		return mean * math.Exp(r.NormFloat64()-.5)
	}))
	counts := skewed("overdispersed counts", "negbinomial(1.5,5,1000)", 0, 1000, 1, visits)
	add(counts.inShort(3000, 6))
	add(counts.exposed("negbinomial-rate(1.5,5,1000,0.1)", visits, 1.5))
	add(skewed("overdispersed counts, theta five times too large", "negbinomial(5,5,1000)", 0, 1000, 1,
		func(r *rand.Rand, mean float64) float64 { return poissonOf(r, gammaOf(r, 1, mean)) }))
	times := skewed("times in whole years", "", 0, 5, -1.5, nil)
	times.Loss, times.Cuts = "cloglog(3,1.52587890625e-05)", []float64{1, 2, 3, 4, 5}
	times.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{2*r.Float64() - 1, float64(r.IntN(2)), float64(r.IntN(16) / 15), 0}
		at := r.ExpFloat64() / math.Exp(-1.5+.6*x[0]-.4*x[1]+.5*x[2])
		if until := float64(1 + r.IntN(5)); at > until {
			return x, until
		}
		x[3] = 1
		return x, math.Ceil(at)
	}
	add(times.inShort(3000, 6))
	times.Name = "times in whole years, odds"
	times.Loss, times.Cuts = "logit-hazard(3,1.52587890625e-05)", []float64{1, 2, 3, 4, 5}
	times.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := []float64{2*r.Float64() - 1, float64(r.IntN(2)), float64(r.IntN(16) / 15), 0}
		odds := math.Exp(-1.5 + .6*x[0] - .4*x[1] + .5*x[2])
		until := 1 + r.IntN(5)
		for year := 1; year <= until; year++ {
			if r.Float64() < odds/(1+odds) {
				x[3] = 1
				return x, float64(year)
			}
		}
		return x, float64(until)
	}
	add(times.inShort(3000, 6))
}
