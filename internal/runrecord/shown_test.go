package runrecord

import (
	"math"
	"testing"
)

// TestSentencesToTheLetter tests the sentences about a comparison, at differences on both sides of two standard
// deviations. The saved share of a constant's loss is the difference over it; its interval is 1.96 standard deviations
// of both noises.
func TestSentencesToTheLetter(t *testing.T) {
	better := Compared{Difference: -.2, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .8, ConstantSigma: .1}
	// The noise of the share is sqrt(.03^2 + (.25*.1)^2)/.8 = .048814; .25 -+ 1.96*.048814 = .1543 and .3457.
	share, low, high, ok := better.Explained()
	if noise := 1.96 * .048814; !ok || math.Abs(share-.25) > 1e-12 || math.Abs(low-.25+noise) > 1e-5 ||
		math.Abs(high-.25-noise) > 1e-5 {
		t.Errorf("saves %v (%v to %v), %v", share, low, high, ok)
	}
	for _, c := range []struct {
		c                 Compared
		sentence, counted string
	}{
		{better, "better than the best constant: its mean loss is 0.2 below the constant's, with noise of 0.03; it saves 25% " +
			"of the constant's loss, 0.8 (95% interval: 15% to 35%)",
			"a record's difference counts in full: it lies between -1.5 and 2.5"},
		{Compared{Difference: -.07, Sigma: .04, Least: -1.5, Most: 2.5, Constant: 9, Shrunk: .35},
			"the fit is not better than a constant by more than noise: its mean loss is 0.07 below the constant's, with noise " +
				"of 0.04; the model goes 65% of the way from the constant to it",
			"a record's difference counts in full: it lies between -1.5 and 2.5"},
		{Compared{Difference: -.07, Sigma: .04, Least: -1.5, Most: 2.5, Constant: 1.2},
			"not known to be better than a constant, of which this comparison would show differences above 0.08 alone: its mean " +
				"loss is 0.07 below the constant's, with noise of 0.04",
			"a record's difference counts in full: it lies between -1.5 and 2.5"},
		{Compared{Difference: .13, Sigma: .04, Least: -1.5, Most: 2.25, LowerBound: true, Shrunk: 1},
			"the fit is WORSE than a constant: its mean loss is at least 0.13 above the constant's, with noise of 0.04; the " +
				"model is the constant",
			"a record's difference above 2.25 counts as that, so that the mean is a lower bound"},
		{Compared{Difference: -.13, Sigma: .04, Least: -1.5, Most: 2.25, LowerBound: true, Clamped: true},
			"not known to be better than a constant: its mean loss is at most 0.13 below the constant's, with noise of 0.04 " +
				"(expected counts above the largest count taken as that)",
			"a record's difference above 2.25 counts as that, so that the mean is a lower bound"},
		{Compared{Difference: -.13, Sigma: .04, Clip: .75},
			"better than the best constant: its mean loss is 0.13 below the constant's, with noise of 0.04",
			"a record's difference is clipped at 0.75, by an earlier version of the program"},
	} {
		if got := c.c.Sentence(); got != c.sentence {
			t.Errorf("%+v:\n%s\nmust be\n%s", c.c, got, c.sentence)
		}
		if got := c.c.Counted(); got != c.counted {
			t.Errorf("%+v: %s: must be %s", c.c, got, c.counted)
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
	if got := l.Text(12, 40); got != "more steps would only add noise: "+late {
		t.Error(got)
	}
	if l.Gradient = .151; l.Text(12, 40) != "not arrived: "+late+": another 12 steps may help at this budget" {
		t.Error(l.Text(12, 40))
	}
	l.Gradient, l.FirstGradient = .149, .349
	if got := l.Text(12, 40); got != "noise only in single steps: gradients are no longer than their noise from the first "+
		"steps on (0.35, of which noise makes 0.2); steps together may still find a good model, which the comparison with a "+
		"constant judges" {
		t.Error(got)
	}
}
