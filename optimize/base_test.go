package optimize_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

func baseOf(c optimize.Compare) optimize.BaseRate {
	return optimize.BaseRate{Charge: c.Charge, Loss: c.Loss, Features: c.Features, Intercept: c.Intercept}
}

// TestBaseRateFindsTheBestConstant: without noise the constant's margins must minimise the loss over
// constants: to rounding or, where it is found by bisection, up to the width at which that ends. The expected margins are computed by hand. The
// test fails if the bisection follows the wrong sign, if weights are not divided by the intercept, if
// classes are in another order, or if the constants between which the loss changes count something else.
func TestBaseRateFindsTheBestConstant(t *testing.T) {
	log := math.Log
	for name, c := range map[string]struct {
		comparing
		want []float64
		off  float64
	}{
		"log-odds":          {comparing{"logistic", []float64{1, -1, -1, -1}}, []float64{log(1. / 3)}, 1e-6},
		"weighted log-odds": {comparing{"weighted(logistic,1,3)", []float64{1, -1, -1, -1}}, []float64{0}, 1e-6},
		"median":            {comparing{"huber(0.01)", []float64{-.9, -.3, .1, .2, .9}}, []float64{.1}, .012},
		"quantile": {comparing{"pinball(0.9)", []float64{-.9, -.3, .1, .2, .3, .4, .5, .6, .7, .8, .9}},
			[]float64{.8}, 2. / 4096},
		"mean count": {comparing{"poisson(3)", []float64{-1, -1, -.5, 0}}, []float64{log(.1875)}, 1e-6},
		"shares": {comparing{"softmax(3)", []float64{0, 0, 0, 1, 1, 2}},
			[]float64{log(3) - log(6)/3, log(2) - log(6)/3, -log(6) / 3}, 1e-9},
		"a network": {comparing{"network(3,tanh,logistic)", []float64{1, -1, -1, -1}}, []float64{log(1. / 3)},
			1e-6},
		"a network's shares": {comparing{"network(2-3,tanh,softmax(3))", []float64{0, 0, 0, 1, 1, 2}},
			[]float64{log(3) - log(6)/3, log(2) - log(6)/3, -log(6) / 3}, 1e-9},
	} {
		n := 100_000 * len(c.targets) // the stated noise is so small that no sign is unsure
		compare, p, o := c.problem(t, n, .02, 1, true)
		b := baseOf(compare)
		got, err := b.Ask(context.Background(), o, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Margins) != len(c.want) {
			t.Fatalf("%s: margins %v: must be %v", name, got.Margins, c.want)
		}
		for k, z := range got.Margins {
			if !(math.Abs(z-c.want[k]) <= c.off) {
				t.Errorf("%s: margins %v: must be %v", name, got.Margins, c.want)
			}
		}
		charged := 0.
		for _, a := range o.Asked {
			charged += a.Question.Charge()
		}
		if !(charged <= b.Charge && charged > .98*b.Charge) {
			t.Errorf("%s: charged %v of %v", name, charged, b.Charge)
		}
	}
}

// TestBaseRateOfCounts: the rate of counts with exposures must be the sum of counts over the sum of exposures, and
// the mean of numbers their mean.
func TestBaseRateOfCounts(t *testing.T) {
	l, err := loss.PoissonRate(3, .001)
	if err != nil {
		t.Fatal(err)
	}
	carry := func(s, q float64) float64 { return loss.Carry(loss.Real, 2*s-1, q) }
	for name, c := range map[string]struct {
		comparing
		want []float64
	}{
		"rate": {comparing{l.Name(), []float64{carry(.25, .5), carry(0, .25), carry(0, 1), carry(.5, .25)}},
			[]float64{math.Log(.75 / 2)}},
		"mean":          {comparing{"squared(1)", []float64{-1, -.5, 0, -.9}}, []float64{-.6}},
		"weighted":      {comparing{"weighted(softmax(3),1,2,4)", []float64{0, 0, 1, 2}}, []float64{0, 0, math.Ln2}},
		"hinge":         {comparing{"hinge", []float64{1, -1, -1, -1}}, []float64{-1}},
		"weighted mean": {comparing{"weighted(poisson(3),row)", []float64{carry(.5, 1), carry(0, .5)}}, []float64{math.Log(1. / 3)}},
	} {
		compare, p, o := c.problem(t, 100_000*len(c.targets), .02, 1, true)
		got, err := baseOf(compare).Ask(context.Background(), o, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		shift := 0.
		for _, v := range c.want {
			shift += v / float64(len(c.want))
		}
		for k, want := range c.want {
			if len(c.want) == 1 {
				shift = 0
			}
			if !(math.Abs(got.Margins[k]-(want-shift)) < 5e-3) {
				t.Errorf("%s: margins %v: must be %v, less %v", name, got.Margins, c.want, shift)
			}
		}
		t.Logf("%s: %+v", name, got)
	}
}
