package runrecord

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestSentencesToTheLetter tests the sentences about a comparison, at differences on both sides of two standard
// deviations. The saved share of a constant's loss is the difference over it; its interval is 1.96 standard deviations
// of both noises.
func TestSentencesToTheLetter(t *testing.T) {
	better := Compared{Difference: -.2, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .8, ConstantSigma: .1}
	// The noise of the share is sqrt(.03^2 + (.25*.1)^2)/.8 = .048814; .25 -+ 1.96*.048814 = .1543 and .3457.
	share, low, high, ok := better.Explained()
	if noise := 1.96 * .048814; !ok || !(math.Abs(share-.25) <= 1e-12) || !(math.Abs(low-.25+noise) <= 1e-5) ||
		!(math.Abs(high-.25-noise) <= 1e-5) {
		t.Errorf("saves %v (%v to %v), %v", share, low, high, ok)
	}
	for _, c := range []struct {
		c                 Compared
		sentence, counted string
	}{
		{better, "better than the best constant: its mean loss is 0.2 below the constant's, with noise of 0.03; it saves 25% " +
			"of the constant's loss, 0.8 (95% interval: 15% to 35%)",
			"no record's difference is clipped, as it must lie between -1.5 and 2.5"},
		{Compared{Difference: -.07, Sigma: .04, Least: -1.5, Most: 2.5, Constant: 9, Shrunk: .35},
			"the fit is not better than a constant by more than noise: its mean loss is 0.07 below the constant's, with noise " +
				"of 0.04; the model goes 65% of the way from the constant to the fit",
			"no record's difference is clipped, as it must lie between -1.5 and 2.5"},
		{Compared{Difference: -.07, Sigma: .04, Least: -1.5, Most: 2.5, Constant: 1.2},
			"not known to be better than a constant (the noise of the comparison hides differences below 0.08): its mean " +
				"loss is 0.07 below the constant's, with noise of 0.04",
			"no record's difference is clipped, as it must lie between -1.5 and 2.5"},
		{Compared{Difference: .13, Sigma: .04, Least: -1.5, Most: 2.25, LowerBound: true, Shrunk: 1},
			"the fit is WORSE than a constant: its mean loss is at least 0.13 above the constant's, with noise of 0.04; the " +
				"model is the constant",
			"a record's difference above 2.25 counts as this number, so that the mean is a lower bound"},
		{Compared{Difference: -.13, Sigma: .04, Least: -1.5, Most: 2.25, LowerBound: true, Clamped: true},
			"not known to be better than a constant: its mean loss is at most 0.13 below the constant's, with noise of 0.04 " +
				"(expected counts are capped at the largest count)",
			"a record's difference above 2.25 counts as this number, so that the mean is a lower bound"},
		{Compared{Difference: -.13, Sigma: .04, Least: -1.5, Most: 2.25, Clamped: true, Events: true},
			"better than the best constant: its mean loss is 0.13 below the constant's, with noise of 0.04 " +
				"(a record's expected number of events is capped at 1)",
			"no record's difference is clipped, as it must lie between -1.5 and 2.25"},
		// The gain per event is .1/.4 = .25, with noise of hypot(.02, .25*.01)/.4 = .050389: 1 - exp(-.5) = .3935, and
		// .2610 and .5022 at the ends.
		{Compared{Difference: -.1, Sigma: .02, Least: -1.5, Most: 2.25, Events: true, Counts: true, Constant: .2, ConstantSigma: .01,
			Happened: .4, HappenedSigma: .01}, "better than the best constant: its mean loss is 0.1 below the constant's, with noise " +
			"of 0.02; it explains 39% of the randomness of the times (95% interval: 26% to 50%)",
			"no record's difference is clipped, as it must lie between -1.5 and 2.25"},
		{Compared{Difference: -.1, Sigma: .02, Least: -1.5, Most: 2.25, Counts: true, Constant: .2, ConstantSigma: .01},
			"better than the best constant: its mean loss is 0.1 below the constant's, with noise of 0.02",
			"no record's difference is clipped, as it must lie between -1.5 and 2.25"},
		{Compared{Difference: -.13, Sigma: .04, Clip: .75},
			"better than the best constant: its mean loss is 0.13 below the constant's, with noise of 0.04",
			"an earlier version of the program clipped each record's difference at 0.75"},
		{Compared{Difference: -.13, Sigma: .04, Least: -1.5, Most: 2.25, Cut: true},
			"better than the best constant: its mean loss is 0.13 below the constant's, with noise of 0.04 (a record's " +
				"difference is capped at 2.25)",
			"records far above the mean may have differences below -1.5 or above 2.25, which count as these numbers"},
	} {
		if got := c.c.Sentence(); got != c.sentence {
			t.Errorf("%+v:\n%s\nmust be\n%s", c.c, got, c.sentence)
		}
		if got := c.c.Counted(); got != c.counted {
			t.Errorf("%+v: %s: must be %s", c.c, got, c.counted)
		}
	}
}

// TestCalibrationToTheLetter tests the sentence about a calibrated fit. The odds of .2 are 1/4.
func TestCalibrationToTheLetter(t *testing.T) {
	low := Compared{Margins: []float64{-math.Log(4)}, Residual: -.032, ResidualSigma: .0041, Shift: .234}
	high := Compared{Margins: []float64{math.Log(4)}, Residual: .032, ResidualSigma: .0041, Shift: -.234}
	for c, want := range map[*Compared]string{
		&low:  "the fit's mean prediction was 0.032 (noise 0.0041) below the mean outcome, which is about 0.2, so its intercept was raised by 0.23 log-odds",
		&high: "the fit's mean prediction was 0.032 (noise 0.0041) above the mean outcome, which is about 0.8, so its intercept was lowered by 0.23 log-odds",
		// Without a calibration, with noise of 1, and of none or several margins.
		{Margins: []float64{-2}, Residual: -.032, Shift: .234}:                       "",
		{Margins: []float64{-2, 1}, Residual: -.032, ResidualSigma: .1, Shift: .234}: "",
		{Residual: -.032, ResidualSigma: .1, Shift: .234}:                            "",
		{Margins: []float64{math.Log(.25)}, Residual: 0, ResidualSigma: 1}: "the fit's mean prediction was 0 (noise 1) below the mean outcome, which is about 0.2, " +
			"so its intercept was raised by 0 log-odds",
		{Counts: true, Margins: []float64{-3}, Residual: -.0536, ResidualSigma: .0214, Shift: .0421}: "the fit's mean prediction was 5.4% (noise " +
			"2.1%) below the mean outcome, so its predictions were raised by 4.3%",
		{Counts: true, Margins: []float64{-3}, Residual: .536, ResidualSigma: .0214, Shift: -.421}: "the fit's mean prediction was 54% (noise " +
			"2.1%) above the mean outcome, so its predictions were lowered by 34%",
		{}: "",
	} {
		if got := c.Calibration(); got != want {
			t.Errorf("%s: must be %s", got, want)
		}
	}
}

// TestVerdictsHaveTheirCodes tests the words and codes of the three verdicts just beyond two standard deviations.
func TestVerdictsHaveTheirCodes(t *testing.T) {
	for difference, want := range map[float64]string{-.1001: "better", -.0999: "unclear", .0999: "unclear", .1001: "worse"} {
		if got := (Compared{Difference: difference, Sigma: .05, Least: -1, Most: 1}).Verdict().Code(); got != want {
			t.Errorf("a difference of %v with noise of .05: %s: must be %s", difference, got, want)
		}
	}
}

// TestArrivalToTheLetter tests the texts about the last gradients just below and above 1.5 times their noise, and about
// first gradients just below and above 1 + 3/sqrt(2 d) times theirs: 1.75 for 8 coordinates.
func TestArrivalToTheLetter(t *testing.T) {
	l := Late{Steps: 6, Gradient: .149, Noise: .1, FirstGradient: .351, FirstNoise: .2, Coordinates: 8}
	const late = "the gradients of the last 6 steps are 0.15 on average, of which noise makes 0.1"
	if got := l.Text(12, 40, false); got != "more steps would only add noise: "+late {
		t.Error(got)
	}
	if l.Gradient = .151; l.Text(12, 40, false) != "not arrived: "+late+": another 12 steps may help at this budget" {
		t.Error(l.Text(12, 40, false))
	}
	if got := l.Text(7, 40.6, false); got != "7 steps at effective size N = 41 are too few to tell whether more would help" {
		t.Error(got)
	}
	l.Gradient, l.FirstGradient = .149, .349
	if got := l.Text(12, 40, false); got != "single steps show noise only, which says nothing of the model that they made together: the "+
		"gradients of the first steps are 0.35 on average, of which noise makes 0.2" {
		t.Error(got)
	}
	if got := l.Text(12, 40, true); got != "more steps would only add noise: "+late {
		t.Error(got)
	}
}

// TestCompactToTheLetter tests the law that a certificate keeps: each number has five digits, and a column of equal
// entries has one.
func TestCompactToTheLetter(t *testing.T) {
	long := Trace{Noise: []float64{.0123456, .0234567}, StepSizes: []float64{1.234567, 1.234567},
		Weights: []float64{0, .1234567, .8765433}, Momentum: []float64{0, .3333333}, Keep: []float64{0, .4444444},
		Back: []int{1, 2}, Scales: []float64{1.111111, 2.222222}, Start: .0567891, WeightNoise: .9876543, Chosen: 3, Move: .5}
	want := Trace{Noise: []float64{.012346, .023457}, StepSizes: []float64{1.2346}, Weights: []float64{0, .12346, .87654},
		Momentum: []float64{0, .33333}, Keep: []float64{0, .44444}, Back: []int{1, 2}, Scales: []float64{1.1111, 2.2222},
		Start: .056789, WeightNoise: .98765, Chosen: 3, Move: .5}
	if got := long.Compact(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v: must be %+v", got, want)
	}
	// Of more than 20,000 steps the columns are left out.
	many := long
	many.Unstated, many.Moment = true, NewMoment([]float64{.25}, 1, .01, .1)
	many.Noise = slices.Repeat([]float64{.01}, 20_001)
	if got := many.Compact(); !reflect.DeepEqual(got, Trace{Scales: want.Scales, Start: want.Start, WeightNoise: want.WeightNoise,
		Chosen: 3, Move: .5, Unstated: true, Moment: many.Moment}) {
		t.Errorf("%+v", got)
	}
	// The step of a moment is the largest power of two at most sigma/(16 sqrt 2): of .01/22.6 = 1/2263, 2^-12.
	if m := many.Moment; m.Step != 0x1p-12 || m.Sigma != .01 || m.Ridge != .1 || m.Rows[0] != "1024" {
		t.Errorf("%+v", m)
	}
}

// TestPositionHasItsNoise tests the noise of a comparison in the position of the published model. The position is the
// mean of the forecast .25 and of 1/2 + D/h = .55, weighted by one over .225^2 (half of .25, and .1) and over (s/h)^2.
func TestPositionHasItsNoise(t *testing.T) {
	c := Compared{Difference: .01, Sigma: .03, Least: -1, Most: 1}
	c.Decide(true, .2, .05)
	doubt, noise := .225, .15
	share := 1 / (noise * noise) / (1/(noise*noise) + 1/(doubt*doubt))
	if want := (1-share)*.25 + share*.55; !(math.Abs(c.Shrunk-want) <= 1e-12) || !(math.Abs(c.ShrunkSigma-share*noise) <= 1e-12) {
		t.Errorf("%v with noise of %v: must be %v, %v", c.Shrunk, c.ShrunkSigma, want, share*noise)
	}
}

// TestPromiseToTheLetter tests what a plan says of a theorem: one that promises something, one that promises nothing at
// this size, one whose start satisfies it, and one without a bound.
func TestPromiseToTheLetter(t *testing.T) {
	p := Promise{Theorem: "Theorem 7", Of: "gradient", Bound: .012345, Start: .98765, From: 2345}
	const head = "Theorem 7 bounds the gradient by "
	for _, x := range []struct {
		bound, from float64
		want        string
	}{{.012345, 2345, "0.0123, up to constants, and the start by 0.988: the theorem promises something from about 2.34e+03 records on"},
		{1.2345, 23450, "1.23, up to constants, and the start by 0.988: the start satisfies it: the theorem promises nothing below about " +
			"2.34e+04 records"},
		{math.MaxFloat64, 0, "any number, up to constants, and the start by 0.988: the start satisfies it for every number of records"}} {
		if p.Bound, p.From = x.bound, x.from; p.String() != head+x.want {
			t.Errorf("%s\nmust be\n%s", p, head+x.want)
		}
	}
}

// TestClippedIsKept tests that a trace keeps what the clip holds back beside its noise, to five digits, and that it is told above three deviations of the noise.
func TestClippedIsKept(t *testing.T) {
	l := Trace{}.WithClipped(.0456789012345, .0123456789012)
	if l.Clipped != .045679 || l.ClippedSigma != .012346 {
		t.Errorf("%v, %v", l.Clipped, l.ClippedSigma)
	}
	for _, c := range []struct {
		held, noise float64
		want        bool
	}{{.03, .01, false}, {.0301, .01, true}, {-.5, .01, false}, {.5, 0, false}, {0, 0, false}} {
		if got := (Trace{}).WithClipped(c.held, c.noise).Pulled(); got != c.want {
			t.Errorf("%v with noise of %v: %v", c.held, c.noise, got)
		}
	}
}

// TestCalibrationsOfNoSizeAreNotTold: numbers that a percentage cannot show are of no calibration.
func TestCalibrationsOfNoSizeAreNotTold(t *testing.T) {
	for _, c := range []struct {
		sigma, shift float64
		told         bool
	}{{.0345, -.123, true}, {1e308, -.123, false}, {math.NaN(), -.123, false}, {-1, -.123, false}, {0, -.123, false}, {.0345, 800, false},
		{.0345, 98.5, true}, {.0345, -98.5, true}, {.0345, 99, false}, {.0345, -99, false}, {.0345, -800, false},
		{.0345, math.NaN(), false}} {
		for _, counts := range []bool{false, true} {
			of := Compared{Residual: .0123, ResidualSigma: c.sigma, Shift: c.shift, Margins: []float64{.4}, Counts: counts}
			if got := of.Calibration(); (got != "") != c.told {
				t.Errorf("%+v: %q", c, got)
			}
		}
	}
}
