package loss

import (
	"math"
	"testing"
)

// The saddle is the opposite of Geman and McClure's loss at c = 1, y = 0.
func TestSaddleIsAnOppositeGemanMcClure(t *testing.T) {
	gm := must(GemanMcClure(1))
	for z := -40.0; z <= 40; z += .37 {
		a, b := make([]float64, 1), make([]float64, 1)
		for i, pair := range [][2]func(dst, z, y []float64){
			{Saddle().Values, gm.Values}, {Saddle().Slopes, gm.Slopes}, {Saddle().Curvatures, gm.Curvatures},
		} {
			pair[0](a, []float64{z}, []float64{1}) // the target is unused
			pair[1](b, []float64{z}, []float64{0})
			if math.Abs(a[0]+b[0]) > 1e-15 {
				t.Errorf("method %d at %v: %v: want %v", i, z, a[0], -b[0])
			}
		}
	}
}

// The gradients vanish where the proofs of the lower bounds say: at the mean of
// rows near each other, and at minus half the mean.
func TestHardInstancesAreSolvedByMeans(t *testing.T) {
	rows := [][]float32{{.25, 0, 0}, {-.125, .125, 0}, {0, .25, -.0625}}
	for _, c := range []struct {
		l     General
		times float64
	}{{HuberMean(), 1}, {HuberBias(), -.5}} {
		w, sum, g := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for _, x := range rows {
			for j, v := range x {
				w[j] += c.times * float64(v) / 3
			}
		}
		for _, x := range rows {
			c.l.Gradient(g, w, x, 1)
			for j, v := range g {
				sum[j] += v
			}
		}
		for _, v := range sum {
			if math.Abs(v) > 1e-15 {
				t.Errorf("%s: gradient %v at %v", c.l.Name(), sum, w)
			}
		}
	}
}

// Everything registered is a test problem or is for tables, and Synthetic knows
// which.
func TestSynthetic(t *testing.T) {
	for _, c := range []struct {
		want bool
		list []Loss
	}{
		{true, []Loss{SlowTail(), HuberMean(), HuberBias(), Saddle()}},
		{false, []Loss{Logistic(), Tanh(), Sigmoid(), must(Huber(1)), must(Welsch(1))}},
	} {
		for _, l := range c.list {
			if Synthetic(l) != c.want {
				t.Errorf("%s: synthetic %v", l.Name(), !c.want)
			}
		}
	}
}
