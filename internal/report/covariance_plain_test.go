package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// plainFit simulates a run of the bowl whose steps are taken in no metric. Each estimate keeps the given share of the noise
// of the one before it. The run releases the curvature at its result, with noise of deviation sigma.
func (w *bowl) plainFit(r *rand.Rand, keep, sigma float64) ([]float64, *law) {
	d := w.second.SymmetricDim()
	const steps = 60
	l := law{StepSizes: []float64{1.5}, Weights: make([]float64, steps+1), WeightNoise: 1}
	at, last, off, slope := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	noise, sum := make([]float64, d), make([]float64, d)
	for t := range steps {
		l.Noise = append(l.Noise, .004+.001*float64(t%3))
		if l.Momentum = append(l.Momentum, float64(t)/float64(t+3)); t >= steps/2 {
			l.Weights[t] = 1. / (steps / 2)
		}
		if keep > 0 {
			l.Keep = append(l.Keep, keep)
		}
		y := mat.NewVecDense(d, nil)
		y.SubVec(at, last)
		y.AddScaledVec(at, l.Momentum[t], y)
		off.SubVec(y, w.best)
		slope.MulVec(w.second, off)
		for j := range d {
			noise[j] = keep*noise[j] + l.Noise[t]*r.NormFloat64()
			slope.SetVec(j, slope.AtVec(j)+noise[j])
			sum[j] += l.Weights[t] * y.AtVec(j)
		}
		last.CopyVec(at)
		at.AddScaledVec(y, -l.StepSizes[0], slope)
	}
	var h []float64
	for j := range d {
		for k := range d {
			v := w.second.At(j, k)
			if k >= j {
				if v += sigma * r.NormFloat64() / math.Sqrt2; k == j {
					v += sigma * r.NormFloat64() / math.Sqrt2
				}
			} else {
				v = h[k*d+j]
			}
			h = append(h, v)
		}
	}
	l.Curvature = runrecord.NewMoment(h, d, sigma, 0)
	return sum, &l
}

// TestNoiseWithoutAMetricIsTheSpread compares the stated noise of the coefficients of runs in no metric, which released
// the curvature at their result, with the spread of 300 such runs: the deviations must agree within a fifth. A run whose
// curvature is noise must state none, with the reason.
func TestNoiseWithoutAMetricIsTheSpread(t *testing.T) {
	for _, keep := range []float64{0, .6} {
		w := newBowl(t, 0)
		r := rand.New(rand.NewPCG(8, 1))
		const runs = 300
		sums, squares, stated := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for run := range runs {
			weights, l := w.plainFit(r, keep, .0004)
			f := w.fitted(t, weights, l)
			for _, term := range f.Model.Schema().Terms(false) {
				v := term.Of(weights)
				sums[term.Name], squares[term.Name] = sums[term.Name]+v/runs, squares[term.Name]+v*v/runs
			}
			if run > 2 {
				continue
			}
			e, ok := f.explained(f.noise())
			if !ok || e.how != estimated {
				t.Fatalf("%v, %s", e.how, e.why)
			}
			for _, c := range e.list {
				stated[c.name] += c.noiseSD / 3
			}
		}
		for name, mean := range sums {
			of := name
			if name == "(intercept)" {
				of = "intercept"
			}
			spread := math.Sqrt(squares[name] - mean*mean)
			if ratio := stated[of] / spread; name != "c=other" && !(ratio > .8 && ratio < 1.25) {
				t.Errorf("keep %v: %s: noise %.3g, spread %.3g: ratio %.2f", keep, of, stated[of], spread, ratio)
			}
		}
		weights, l := w.plainFit(r, keep, .0004)
		l.Curvature = runrecord.NewMoment(make([]float64, len(weights)*len(weights)), len(weights), .0004, 0)
		f := w.fitted(t, weights, l)
		if e, _ := f.explained(f.noise()); e.how != unstated || e.why != "the noise hides the released curvature" {
			t.Errorf("a curvature of 0: %v, %s", e.how, e.why)
		}
	}
}
