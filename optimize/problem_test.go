package optimize_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestSize: Effective must be N = n mu/sqrt(d), and twice this number under add-or-remove, where a sum
// changes by one clip norm only. Floor must be r = 2 L0/N, the norm of the noise of one gradient at the
// whole budget.
func TestSize(t *testing.T) {
	p := optimize.Problem{Shape: optimize.Vector(25), Constants: loss.Constants{Lipschitz: 3}}
	for neighbours, want := range map[float64]float64{0: 100, 2: 100, 1: 200} {
		s := size{Records: 2000, Mu: .25, Neighbours: neighbours}
		if N := with(p, s).Effective(); !close(N, want, 1e-15) {
			t.Errorf("neighbours %v: N = %v: want %v", neighbours, N, want)
		}
		sensitivity := 3 * max(neighbours, 2-neighbours*2)
		if neighbours == 0 {
			sensitivity = 6
		}
		if r, noise := with(p, s).Floor(), math.Sqrt(25)*sensitivity/.25/2000; !close(r, noise, 1e-15) {
			t.Errorf("neighbours %v: r = %v: want %v", neighbours, r, noise)
		}
	}
}

// TestCurvature: the curvature interval must always contain zero, since a row has directions along
// which its loss is constant. The regularizer must count for the step size and not for the interval.
func TestCurvature(t *testing.T) {
	for _, c := range []struct {
		in     loss.CurvatureInterval
		lambda float64
		lo, hi float64
		data   float64
		whole  float64
	}{
		{loss.CurvatureInterval{Lo: .1, Hi: .5}, 0, 0, .5, .5, .5},
		{loss.CurvatureInterval{Lo: -.7, Hi: .5}, .25, -.7, .5, .7, .95},
		{loss.CurvatureInterval{Lo: -2, Hi: -1}, 1, -2, 0, 2, 3},
	} {
		p := optimize.Problem{Shape: optimize.Vector(1), Constants: loss.Constants{Curvature: c.in},
			Regularizer: l2(t, c.lambda)}
		lo, hi := p.Curvature()
		if lo != c.lo || hi != c.hi || p.DataSmoothness() != c.data || !close(p.Smoothness(), c.whole, 1e-15) {
			t.Errorf("%+v: [%v, %v], %v, %v", c, lo, hi, p.DataSmoothness(), p.Smoothness())
		}
	}
}

// TestStepsOfARegularizer: a step is h/L1 for the smoothness of loss and regularizer, but no longer than 1/s for a
// regularizer of smoothness s.
func TestStepsOfARegularizer(t *testing.T) {
	for _, c := range []struct{ h, lambda, want float64 }{{1, 0, 2}, {4, 0, 8}, {4, .5, 2}, {1, .5, 1}, {4, 2, .5}, {.5, 2, .2}} {
		p := optimize.Problem{Shape: optimize.Vector(3), Constants: loss.Constants{Curvature: loss.CurvatureInterval{Hi: .5}}}
		if c.lambda > 0 {
			p.Regularizer = l2(t, c.lambda)
		}
		if got := p.StepSize(c.h); !close(got, c.want, 1e-15) {
			t.Errorf("h = %v, lambda = %v: %v: must be %v", c.h, c.lambda, got, c.want)
		}
	}
}

// TestSpectrum compares the assumed spectrum with its description: the Hessian has half the largest trace
// of a rank-one loss, and its eigenvalues are proportional to 1/j in groups of 10%, plus the regularizer's
// curvature. The loss at the start is F0/2 above the minimum. Every direction is in exactly one group.
func TestSpectrum(t *testing.T) {
	for _, d := range []int{1, 2, 10, 100, 5000} {
		for _, lambda := range []float64{0, .03} {
			p := optimizetest.Problems()[2].Public
			p.Shape, p.Regularizer = optimize.Vector(d), l2(t, lambda)
			e, share, gradient := optimizetest.Spectrum(p)
			var harmonic float64
			for j := 1; j <= d; j++ {
				harmonic += 1 / float64(j)
			}
			var trace, shares, height, first float64
			for i := range e {
				k := share[i] * float64(d)
				if !(math.Abs(k-math.Round(k)) <= 1e-9) || k < .5 {
					t.Fatalf("d = %d: a group of %v directions", d, k)
				}
				trace, shares = trace+(e[i]-lambda)*k, shares+share[i]
				height += gradient[i] * gradient[i] / e[i] / 2
				j := first + 1
				if want := .125 / harmonic / j; e[i]-lambda > want*(1+1e-9) || e[i]-lambda < want/1.11 {
					t.Errorf("d = %d: eigenvalue %v is %v: want about %v", d, j, e[i]-lambda, want)
				}
				first += math.Round(k)
			}
			if !close(trace, .125, .01) || !close(shares, 1, 1e-9) || !close(height, math.Ln2/2, 1e-9) {
				t.Errorf("d = %d: trace %v, shares %v, height %v: want .125, 1, %v", d, trace, shares, height, math.Ln2/2)
			}
		}
	}
	p := optimizetest.Problems()[1].Public // not of rank one: all that is known is L1
	e, share, gradient := optimizetest.Spectrum(p)
	if len(e) != 1 || e[0] != 1 || share[0] != 1 || !close(gradient[0], math.Sqrt(p.Constants.InitialGap), 1e-12) {
		t.Errorf("general loss: %v, %v, %v", e, share, gradient)
	}
}

// TestProblemsAreRefused tests each rule about a problem by a case that breaks it alone, at the value next to a good
// one where there is such a value.
func TestProblemsAreRefused(t *testing.T) {
	good := func() optimize.Problem {
		return with(optimizetest.Problems()[2].Public, size{Records: 1000, Mu: .5, Neighbours: 2})
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	inf, nan := math.Inf(1), math.NaN()
	for rule, breaks := range map[string]func(p *optimize.Problem){
		"dimension = 0: must be >= 1":                      func(p *optimize.Problem) { p.Shape = optimize.Vector(0) },
		"start has 1 coordinates":                          func(p *optimize.Problem) { p.Start = []float64{0} },
		"Lipschitz constant = 0: must be finite and > 0":   func(p *optimize.Problem) { p.Constants.Lipschitz = 0 },
		"Lipschitz constant = NaN":                         func(p *optimize.Problem) { p.Constants.Lipschitz = nan },
		"curvature = [2, 1]: must be a finite interval":    func(p *optimize.Problem) { p.Constants.Curvature = loss.CurvatureInterval{Lo: 2, Hi: 1} },
		"curvature = [0, +Inf]: must be a finite interval": func(p *optimize.Problem) { p.Constants.Curvature = loss.CurvatureInterval{Hi: inf} },
		"curvature = [0, 0]: must hold more than 0":        func(p *optimize.Problem) { p.Constants.Curvature = loss.CurvatureInterval{} },
		"initial gap F0 = 0":                               func(p *optimize.Problem) { p.Constants.InitialGap = 0 },
		"initial gap F0 = +Inf":                            func(p *optimize.Problem) { p.Constants.InitialGap = inf },
		"records = 0":                                      func(p *optimize.Problem) { p.Records = 0 },
		"mu = -0.5":                                        func(p *optimize.Problem) { p.Mu = -.5 },
	} {
		p := good()
		breaks(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("%v: must be %q", err, rule)
		}
	}
}
