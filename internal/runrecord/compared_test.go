package runrecord_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestDecide tests which model is published after the comparison with the best constant: the fit if it is better or
// the constant is unresolved, the constant if the fit is worse, and otherwise a point between. The expected points
// are worked out by hand: with curvature 2 and rise 1, the forecast alone moves by 1/2, with the precision
// 1/.35^2, and the difference d with noise 1 by 1/2 + d/2, with the precision 1/.5^2. The test fails if a fit that was
// found worse is published, if the constant replaces a better fit, or if noise is weighed wrongly.
func TestDecide(t *testing.T) {
	mixed := func(d float64) float64 { return (.5/.1225 + (.5+d/2)/.25) / (1/.1225 + 1/.25) }
	for _, test := range []struct {
		c               runrecord.Compared
		convex          bool
		curvature, rise float64
		shrunk          float64
	}{
		{runrecord.Compared{Difference: -3}, true, 2, 1, 0},
		{runrecord.Compared{Difference: 2.01}, true, 2, 1, 1},
		{runrecord.Compared{Difference: 2.01}, false, 2, 1, 1},
		{runrecord.Compared{Difference: 2.01, LowerBound: true}, true, 2, 1, 1},
		{runrecord.Compared{Difference: 2.01, Unresolved: true}, true, 2, 1, 0},
		{runrecord.Compared{Difference: 1.5, Unresolved: true}, true, 2, 1, 0},
		{runrecord.Compared{Difference: -2.2, LowerBound: true}, true, 2, 1, mixed(-2.2)},
		{runrecord.Compared{Difference: -1}, true, 2, 1, mixed(-1)},
		{runrecord.Compared{Difference: 0}, true, 2, 1, .5},
		{runrecord.Compared{Difference: 1.9}, true, 2, 1, mixed(1.9)},
		{runrecord.Compared{Difference: 1.9}, false, 2, 1, 0},
		{runrecord.Compared{Difference: 0}, true, 2, 2e9, (1/.36 + .5/.25) / (1/.36 + 1/.25)},
		{runrecord.Compared{Difference: 1.01}, true, 0, 1, .5},
		{runrecord.Compared{Difference: .99}, true, 0, 1, 0},
		{runrecord.Compared{Difference: -1}, true, 0, 1, 0},
		{runrecord.Compared{Difference: 0}, true, 2, -5, 0},                        // would move by .005
		{runrecord.Compared{Difference: -480, LowerBound: true}, true, 1000, 2, 0}, // would move by .02
		{runrecord.Compared{Difference: 0, LowerBound: true}, true, 1e-6, 0.0499e-6, 0},
		{runrecord.Compared{Difference: 0, LowerBound: true}, true, 1e-6, 0.0501e-6, (.0501/math.Pow(.12505, 2) + .5e-12) / (1/math.Pow(.12505, 2) + 1e-12)},
	} {
		c := test.c
		c.Sigma, c.Shrunk = 1, .25
		c.Decide(test.convex, test.curvature, test.rise)
		if !(math.Abs(c.Shrunk-test.shrunk) <= 1e-12) {
			t.Errorf("%+v, convex %v, curvature %v, rise %v: shrunk by %v: must be %v", test.c, test.convex, test.curvature, test.rise,
				c.Shrunk, test.shrunk)
		}
		if c.ShrunkSigma > 0 != (c.Shrunk > 0 && c.Shrunk < 1 && test.curvature > 0) {
			t.Errorf("%+v, curvature %v, rise %v: shrunk by %v with noise %v", test.c, test.curvature, test.rise, c.Shrunk, c.ShrunkSigma)
		}
	}
}

// TestVerdict tests verdicts and their words. Records of earlier versions, which have neither ends of an interval nor
// the fields below, must keep their verdicts.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		c     runrecord.Compared
		code  string
		words string
	}{
		{runrecord.Compared{Difference: -2.01}, "better", "better than the best constant"},
		{runrecord.Compared{Difference: -1.99}, "unclear", "not better than a constant by more than noise"},
		{runrecord.Compared{Difference: 2.01}, "worse", "WORSE than a constant"},
		{runrecord.Compared{Difference: -9, LowerBound: true}, "unclear", "not known to be better"},
		{runrecord.Compared{Difference: 9, LowerBound: true}, "worse", "WORSE than a constant"},
		{runrecord.Compared{Difference: -9, Unresolved: true}, "unclear", "the best constant is not known"},
		{runrecord.Compared{Difference: 9, Unresolved: true}, "unclear", "the best constant is not known"},
		{runrecord.Compared{Difference: math.NaN()}, "unclear", "not better than a constant by more than noise"},
	} {
		test.c.Sigma = 1
		if got := test.c.Verdict().Code(); got != test.code || !strings.Contains(test.c.Conclusion(), test.words) {
			t.Errorf("%+v: %s, %q", test.c, got, test.c.Conclusion())
		}
		if !test.c.Earlier() {
			t.Errorf("%+v is no record of an earlier version", test.c)
		}
	}
	for c, words := range map[*runrecord.Compared]string{
		{Difference: -.5, Sigma: .01}:                   "is 0.5 below the constant's, with noise of 0.01",
		{Difference: .5, Sigma: .01}:                    "is 0.5 above the constant's",
		{Difference: -.5, Sigma: .01, LowerBound: true}: "is at most 0.5 below the constant's",
		{Difference: .5, Sigma: .01, LowerBound: true}:  "is at least 0.5 above the constant's",
	} {
		if !strings.Contains(c.Text(), words) {
			t.Errorf("%+v: %q", *c, c.Text())
		}
	}
}

// TestExplained tests the share of the constant's loss that a fit saves: it is never above 1, and stated only for a
// better fit and a constant whose loss is above three standard deviations of its noise.
func TestExplained(t *testing.T) {
	for _, test := range []struct {
		c                runrecord.Compared
		share, low, high float64
		ok               bool
	}{
		{runrecord.Compared{Difference: -.25, Sigma: .05, Constant: .5, ConstantSigma: .05}, .5, .5 - 1.96*.5*math.Hypot(.2, .1),
			.5 + 1.96*.5*math.Hypot(.2, .1), true},
		{runrecord.Compared{Difference: -.6, Sigma: .05, Constant: .5, ConstantSigma: .05}, 1, .8938, 1, true},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Constant: .14, ConstantSigma: .05}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.09, Sigma: .05, Constant: .5, ConstantSigma: .05}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .05}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Constant: .5, Counts: true}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Constant: .5, Events: true}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Constant: .5, Cut: true}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .12, Constant: .5, ConstantSigma: .16}, .5, 0, 1, true},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Events: true, Happened: .2, HappenedSigma: .0667}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Events: true, Happened: .2, HappenedSigma: .0666}, 1 - math.Exp(-2.5),
			1 - math.Exp(-2.5+2*1.96*math.Hypot(.05, 1.25*.0666)/.2), 1 - math.Exp(-2.5-2*1.96*math.Hypot(.05, 1.25*.0666)/.2), true},
		{runrecord.Compared{Difference: -.25, Sigma: .05, Events: true, Happened: .2, HappenedSigma: .07}, 0, 0, 0, false},
		{runrecord.Compared{Difference: -.3, Sigma: .01, Events: true, Happened: .6}, 1 - math.Exp(-1), 1 - math.Exp(-1+.0653333),
			1 - math.Exp(-1-.0653333), true},
	} {
		share, low, high, ok := test.c.Explained()
		if math.Abs(share-test.share)+math.Abs(low-test.low)+math.Abs(high-test.high) > 1e-3 || ok != test.ok {
			t.Errorf("%+v: saves %v, from %v to %v, %v", test.c, share, low, high, ok)
		}
	}
}

// TestEarlierComparisons: those of earlier versions have neither end of an interval; one end may be 0.
func TestEarlierComparisons(t *testing.T) {
	for ends, want := range map[[2]float64]bool{{0, 0}: true, {0, .5}: false, {-.5, 0}: false, {-.5, .5}: false} {
		if got := (runrecord.Compared{Least: ends[0], Most: ends[1]}).Earlier(); got != want {
			t.Errorf("%v: of an earlier version %v", ends, got)
		}
	}
}

// TestPublishedWeights tests that the published model lies on the line from the fit to the best
// constant, and that the method Fit returns the fit's weights from the model's.
func TestPublishedWeights(t *testing.T) {
	w, constant := []float64{4, -2, 1}, []float64{0, 0, 3}
	for shrunk, want := range map[float64][]float64{0: w, .5: {2, -1, 2}, 1: constant} {
		c := runrecord.Compared{Shrunk: shrunk}
		got := c.Model(w, constant)
		back, ok := c.Fit(got, constant)
		if ok != (shrunk < 1) {
			t.Errorf("shrunk by %v: the fit is known: %v", shrunk, ok)
		}
		for j := range want {
			if got[j] != want[j] || ok && !(math.Abs(back[j]-w[j]) <= 1e-12) {
				t.Errorf("shrunk by %v: %v of the fit %v", shrunk, got, back)
			}
		}
	}
	if w[0] != 4 {
		t.Error("the fit's weights were changed")
	}
}

// TestCalibratedModels: the calibrated fit has a margin higher by Shift in every row, the published model lies between it
// and the constant, and the fit follows from the model again.
func TestCalibratedModels(t *testing.T) {
	w, constant := []float64{4, -2, 1}, []float64{0, 0, -6} // of the margin -3, with the intercept 1/2
	for shrunk, want := range map[float64]float64{0: 1.5, .25: -.375, 1: -6} {
		c := runrecord.Compared{Shrunk: shrunk, Shift: .25, Margins: []float64{-3}}
		if got := c.Calibrated(w, constant); got[0] != 4 || got[1] != -2 || !(math.Abs(got[2]-1.5) <= 1e-12) {
			t.Errorf("calibrated %v", got)
		}
		model := c.Model(w, constant)
		if !(math.Abs(model[2]-want) <= 1e-12) || model[0] != 4*(1-shrunk) {
			t.Errorf("shrunk by %v: %v", shrunk, model)
		}
		back, ok := c.Fit(model, constant)
		if ok != (shrunk < 1) {
			t.Errorf("shrunk by %v: the fit is known: %v", shrunk, ok)
		}
		for j := range back {
			if !(math.Abs(back[j]-w[j]) <= 1e-12) {
				t.Errorf("shrunk by %v: the fit is %v", shrunk, back)
			}
		}
	}
	if w[2] != 1 {
		t.Error("the fit's weights were changed")
	}
	for _, margins := range [][]float64{nil, {0}, {-3, 1}} { // of a certificate that another program made
		c := runrecord.Compared{Shrunk: .5, Shift: .25, ResidualSigma: .1, Margins: margins}
		if !slices.Equal(c.Calibrated(w, constant), w) {
			t.Errorf("margins %v: a shift of what is not one margin", margins)
		}
		if fit, _ := c.Fit(c.Model(w, constant), constant); !slices.Equal(fit, w) || len(margins) != 1 && c.Calibration() != "" {
			t.Errorf("margins %v: the fit is %v, %q", margins, fit, c.Calibration())
		}
	}
}

// TestCalibrationOfShares works out shifts by hand. A residual is made good up to three quarters of the rare class.
func TestCalibrationOfShares(t *testing.T) {
	odds := func(p float64) float64 { return math.Log(p / (1 - p)) }
	for _, c := range []struct{ share, residual, predicted float64 }{
		{.1, -.03, .07}, {.1, .03, .13}, {.1, -.2, .025}, {.1, .2, .175}, {.8, .05, .85}, {.8, .3, .95}, {.8, -.3, .65},
	} {
		got := runrecord.Compared{Margins: []float64{odds(c.share)}, Residual: c.residual, ResidualSigma: .004}
		got.Calibrate()
		if !(math.Abs(got.Shift-odds(c.share)+odds(c.predicted)) <= 1e-12) ||
			!(math.Abs(got.ShiftSigma-.004/(c.predicted*(1-c.predicted))) <= 1e-12) {
			t.Errorf("share %v, residual %v: shift %v with noise %v", c.share, c.residual, got.Shift, got.ShiftSigma)
		}
	}
}

// TestCalibrationOfCounts works out shifts by hand: the mean prediction is known up to a factor, of which the noise takes a
// part, unless the error is clear of it. An error of three quarters of the mean is the largest that is made good.
func TestCalibrationOfCounts(t *testing.T) {
	lowered, raised := math.Pow(math.Log(.25), 2), math.Pow(math.Log(1.75), 2)
	for _, c := range []struct{ residual, noise, along, predicted float64 }{
		{-.05, 0, 1, .95}, {.05, .08, .5, 1.05}, {-.2, .128, .2, .8}, {-.9, .5, .0064 / 4.0064, .25},
		{-.9, .02, (lowered - .0256) / (lowered - .0256 + .0064), .25}, {.9, .1, (raised - .04) / (raised - .04 + .01), 1.75},
	} {
		got := runrecord.Compared{Margins: []float64{-3}, Counts: true, Residual: c.residual, ResidualSigma: c.noise}
		got.Calibrate()
		if !(math.Abs(got.Shift+c.along*math.Log(c.predicted)) <= 1e-12) ||
			!(math.Abs(got.ShiftSigma-c.along*c.noise/min(c.predicted, 1)) <= 1e-12) {
			t.Errorf("%+v: shift %v with noise %v", c, got.Shift, got.ShiftSigma)
		}
	}
}

// TestLiftedModels: the published model of counts lies above the line from the calibrated fit to the constant, and the fit
// follows from it again. With normal margins its mean prediction is that of both.
func TestLiftedModels(t *testing.T) {
	w, constant := []float64{4, -2, 1}, []float64{0, 0, -6} // of the margin -3, with the intercept 1/2
	c := runrecord.Compared{Shrunk: .25, Shift: .25, Margins: []float64{-3}}
	c.Raise(.96)
	if !(math.Abs(c.Lift-.1875*.4) <= 1e-12) {
		t.Errorf("lifted by %v", c.Lift)
	}
	model := c.Model(w, constant)
	if want := .75*1.5 - .25*6 + 2*.075; !(math.Abs(model[2]-want) <= 1e-12) || model[0] != 3 {
		t.Errorf("%v: the last must be %v", model, want)
	}
	if back, _ := c.Fit(model, constant); !(math.Abs(back[2]-1) <= 1e-12) || !(math.Abs(back[0]-4) <= 1e-12) {
		t.Errorf("the fit is %v", back)
	}
	// Margins of mean -V/2 and variance V are on average those of the constant 0, and so is the mixture with the lift.
	for _, V := range []float64{.1, .5, 2} {
		for _, shrunk := range []float64{0, .3, .8, 1} {
			c := runrecord.Compared{Shrunk: shrunk}
			c.Raise(V + V*V/4)
			if mean := (1-shrunk)*(-V/2) + (1-shrunk)*(1-shrunk)*V/2 + c.Lift; !(math.Abs(mean) <= 1e-12) {
				t.Errorf("variance %v, shrunk by %v: the logarithm of the mean prediction is %v", V, shrunk, mean)
			}
		}
	}
}
