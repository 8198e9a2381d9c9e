package optimize

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEstimatesByHand works out estimates that are mixed from answers with shares other than 1: their coordinates, the
// number of gradients that they add up, and the noise and the share of a step's estimate by which the trace states them.
func TestEstimatesByHand(t *testing.T) {
	r := &Run{at: []float64{0, 0}, out: &collector{}}
	answer := func(sigma float64, mean ...float64) Answer {
		return newAnswer(query.Release{Mean: mean, Sigma: sigma}, 1)
	}
	e := r.Mix(nil, 0, answer(.3, 1, -2), -.4)
	if !slices.Equal(e.g, []float64{-.4, .8}) {
		t.Errorf("an estimate of %v", e.g)
	}
	alike(t, "noise of a share", e.noise, .4*.3)
	alike(t, "gradients of a share", e.gradients, -.4)
	next := r.Mix(e, .6, answer(.2, 5, 7), 1.5) // no step has used e: its noise is fresh
	alike(t, "first coordinate", next.g[0], .6*-.4+1.5*5)
	alike(t, "second coordinate", next.g[1], .6*.8+1.5*7)
	alike(t, "noise of both", next.noise, math.Hypot(.6*.4*.3, 1.5*.2))
	alike(t, "gradients of both", next.gradients, .6*-.4+1.5)
	next.used = 4
	last := r.Mix(next, .7, answer(.1, 1, 1), .25)
	alike(t, "noise beside a used estimate", last.noise, .25*.1)
	r.out.seen = 6
	if keep, back, noise := r.mixed(last); keep != .7 || back != 3 || noise != last.noise {
		t.Errorf("the trace keeps %v of the estimate %d steps before, with the noise %v", keep, back, noise)
	}
	along := r.Along(answer(.2, 3), -.5, .1, []float64{1, -2, 2})
	for j, u := range []float64{1, -2, 2} {
		alike(t, "an estimate along a vector", along.g[j], (-.5*3+.1)*u)
	}
	alike(t, "noise along a vector", along.noise, .5*.2*3/math.Sqrt(3))
}

// TestQuartersByHand: the noise in a mean of estimates of their own is that of their variances, and of estimates that keep
// a part of those before it is at most the mean of their deviations.
func TestQuartersByHand(t *testing.T) {
	for _, keep := range []float64{0, .3} {
		var q quarter
		want := 0.
		for i, s := range []float64{.2, .5, .1} {
			q.add([]float64{1, float64(i)}, s*s, keep)
			if want += s; keep == 0 {
				want = math.Sqrt((want-s)*(want-s) + s*s)
			}
		}
		gradient, noise := q.mean()
		if !(math.Abs(gradient/(math.Hypot(3, 3)/3)-1) <= 1e-3) || !(math.Abs(noise/(want*math.Sqrt2/3)-1) <= 1e-3) {
			t.Errorf("estimates that keep %v: a mean of %v with noise %v: must be %v with %v", keep, gradient, noise, math.Sqrt2,
				want*math.Sqrt2/3)
		}
	}
}

// TestRegularizerAlongByHand: the curvature of a quadratic regularizer along a vector is its weight times the vector's
// square.
func TestRegularizerAlongByHand(t *testing.T) {
	l2, err := loss.ParseRegularizer("l2(0.35)")
	if err != nil {
		t.Fatal(err)
	}
	got := Problem{Regularizer: l2}.regularizerAlong([]float64{3, -1, .5}, []float64{1, 2, -.5})
	if want := l2.Smoothness() * (1 + 4 + .25); !(math.Abs(got/want-1) <= 1e-6) || l2.Smoothness() != l2.Convexity() {
		t.Errorf("%v: must be %v", got, want)
	}
}
