package fitting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestSummaryShowsWhatItIs: the summary must show epsilon and delta with all digits, and charges and
// measured numbers with the documented number of digits.
func TestSummaryShowsWhatItIs(t *testing.T) {
	const epsilon, delta = 1.234567891234, 1.23456789e-6
	b, err := account.NewBudget(epsilon, delta, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	f := &train.Fitted{Planned: train.Planned{Budget: b, Records: 12345, Dim: 7, Features: 7}}
	f.Result.Complete, f.Charged, f.Releases = true, b.Charge()/3, 41
	f.Summary.Steps, f.Summary.Effective = 20, 100
	f.Result.Late.Steps, f.Result.Late.Gradient, f.Result.Late.Noise = 7, .0123, .0456
	f.Measured = new(optimize.Measured)
	m := f.Measured
	m.Loss, m.LossSigma, m.LossClip, m.GradientNorm, m.GradientSigma = .654321, .0321, 2.345, .0987, .0045
	text := (&Result{Run: f}).Details()
	for _, want := range []string{
		"protects     whether any one row is in the table (a person is one row)\n",
		fmt.Sprintf("budget       epsilon %v, delta %v, add-or-remove: %.6g of %.6g spent (units of mu^2), on 41 noisy answers",
			float64(epsilon), float64(delta), b.Mu()*b.Mu()/3, b.Mu()*b.Mu()),
		"mean loss 0.6543 (noise 0.032; a record's loss is clipped at 2.35), gradient norm 0.0987 (noise 0.0045)",
		"steps        more steps would only add noise: the gradients of the last 7 steps are 0.012 on average, of which noise makes 0.046",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary has no %q:\n%s", want, text)
		}
	}
	// A simpler family than that of the plan is named once more.
	if strings.Contains(text, "\nfamily ") {
		t.Errorf("the family of the plan is repeated:\n%s", text)
	}
	f.Family.Name, f.Family.Simpler = "lines", "not curves: effective size 3 is below 4"
	if text := (&Result{Run: f}).Details(); !strings.Contains(text, "\nfamily       lines: not curves: effective size 3 is below 4\n") {
		t.Errorf("the summary does not name the family:\n%s", text)
	}
	f.Result.Late.Gradient = .1
	if text := (&Result{Run: f}).Details(); !strings.Contains(text,
		"steps        not arrived: the gradients of the last 7 steps are 0.1 on average, of which noise makes 0.046") {
		t.Errorf("a gradient of twice the noise:\n%s", text)
	}
	// Steps whose gradients are noise from the first say so, unless the model was found better than a constant.
	f.Result.Late.Gradient, f.Result.Late.Coordinates, f.Result.Late.FirstGradient, f.Result.Late.FirstNoise = .0123, 100, .05, .05
	for better, want := range map[bool]string{false: "steps        single steps show noise only, which says nothing of the model that " +
		"they made together: the gradients of the first steps are 0.05 on average, of which noise makes 0.05",
		true: "steps        more steps would only add noise: "} {
		if f.Compared = nil; better {
			f.Compared = &train.Compared{Difference: -.2, Sigma: .01, Least: -1, Most: 1, Constant: .8, ConstantSigma: .01}
		}
		if text := (&Result{Run: f}).Details(); !strings.Contains(text, want) {
			t.Errorf("better %v: no %q in\n%s", better, want, text)
		}
	}
	f.Compared, f.Result.Late.Coordinates, f.Result.Late.Gradient = nil, 0, .1
	// The epsilon of several fits together must never be shown smaller than it is.
	for _, x := range []float64{1.23450001, .99999, 12.3456, 1e-3} {
		if y := runfolder.RoundUp(x); y < x || y > x*1.002 {
			t.Errorf("%v is shown as %v", x, y)
		}
	}
}

// TestSummaryOfAShrunkModel tests the summary of a model that lies between the fit and the best
// constant. The line about the comparison must name the interval in which differences of losses
// lie, and the share of the way from the constant to the fit. Lines about the fit must say that
// they are not about the published model. The test fails if a line calls the fit the model.
func TestSummaryOfAShrunkModel(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	f := &train.Fitted{Planned: train.Planned{Budget: b, Records: 500, Dim: 3, Features: 3}}
	f.Result.Complete, f.Releases, f.Summary.Steps, f.Summary.Effective = true, 9, 20, 100
	f.Result.Late.Steps, f.Result.Late.Gradient, f.Result.Late.Noise = 7, .0123, .0456
	const other = "steps        of the fit, which is not the published model: more steps"
	for _, c := range []struct {
		shrunk, difference float64
		want               string
		about              bool
	}{
		{0, -.25,
			"better than the best constant: its mean loss is 0.25 below the constant's, with noise of 0.05; no record's difference is clipped, as it must lie between -0.3 and 0.4", false},
		{.25, .02,
			"its mean loss is 0.02 above the constant's, with noise of 0.05; the model goes 75% of the way from the constant to the fit", true},
		{1, .3,
			"the fit is WORSE than a constant: its mean loss is 0.3 above the constant's, with noise of 0.05; the model is the constant", true},
	} {
		f.Compared = &train.Compared{Difference: c.difference, Sigma: .05, Clip: .35, Least: -.3, Most: .4, Shrunk: c.shrunk}
		text := (&Result{Run: f}).Details()
		if !strings.Contains(text, c.want) || strings.Contains(text, other) != c.about {
			t.Errorf("shrunk by %v: no %q in\n%s", c.shrunk, c.want, text)
		}
	}
	const calibrated = "\ncalibrated   the fit's mean prediction was 0.012 (noise 0.0046) below the mean outcome, which is about 0.5, so " +
		"its intercept was raised by 0.15 log-odds\n"
	if text := (&Result{Run: f}).Summary(); strings.Contains(text, "calibrated") {
		t.Errorf("calibrated without a residual:\n%s", text)
	}
	f.Compared.Margins, f.Compared.Residual, f.Compared.ResidualSigma, f.Compared.Shift = []float64{0}, -.0123, .00456, .149
	if text := (&Result{Run: f}).Summary(); !strings.Contains(text, calibrated) {
		t.Errorf("no calibration in:\n%s", text)
	}
}

// TestSummaryIsForReaders tests what the summary leaves to Details: the interval in which differences
// lie, units of mu^2, the expected gradient norm, and the last gradients of a run whose steps were
// enough. It must keep what asks its reader to act: warnings, and that the steps were too few. It fails if
// Details lacks one of these numbers, or if the summary says a fact twice.
func TestSummaryIsForReaders(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	f := &train.Fitted{Planned: train.Planned{Budget: b, Records: 500, Dim: 3, Features: 3}}
	f.Filter = account.Filter{Column: "split", Value: "train"}
	f.Result.Complete, f.Releases, f.Charged, f.Result.Foreseen = true, 9, b.Charge()/2, .0123
	f.Summary.Steps, f.Summary.Effective, f.Summary.Predicted = 20, 100, .0234
	f.Result.Late.Steps, f.Result.Late.Gradient, f.Result.Late.Noise = 7, .0123, .0456
	f.Compared = &train.Compared{Difference: -.25, Sigma: .05, Clip: .35, Least: -.3, Most: .4}
	f.Warnings = []train.Warning{{Code: "small", Text: "too small"}}
	brief, full := (&Result{Run: f}).Summary(), (&Result{Run: f}).Details()
	for _, private := range []string{"mu^2", "is clipped", "gradient", "add noise"} {
		if strings.Contains(brief, private) || !strings.Contains(full, private) {
			t.Errorf("%q must be in the details alone:\n%s\n%s", private, brief, full)
		}
	}
	for _, kept := range []string{"WARNING      too small\n", "50% spent, on 9 noisy answers (releases)\n",
		"protects     any one row with split = train, whatever it says (a person is one row)\n",
		"quality      better than the best constant: its mean loss is 0.25 below the constant's, with noise of 0.05\n"} {
		if strings.Count(brief, kept) != 1 {
			t.Errorf("%q must be said once:\n%s", kept, brief)
		}
	}
	f.Result.Late.Gradient = .1
	if text := (&Result{Run: f}).Summary(); !strings.Contains(text, "steps        not arrived: ") {
		t.Errorf("too few steps are not told:\n%s", text)
	}
	// Steps that show noise alone are no verdict on a model that was released to be better than the constant.
	late := &f.Result.Late
	late.Gradient, late.FirstGradient, late.FirstNoise, late.Coordinates = .01, .01, .01, 8
	if text := (&Result{Run: f}).Summary(); strings.Contains(text, "noise only") {
		t.Errorf("noise only beside a better model:\n%s", text)
	}
	f.Compared.Difference = -.05
	if text := (&Result{Run: f}).Summary(); !strings.Contains(text,
		"steps        single steps show noise only, which says nothing of the model") {
		t.Errorf("an unclear model, and steps that show noise only:\n%s", text)
	}
	f.Compared, f.NotCompared = nil, "the schedule has it all"
	if text := (&Result{Run: f}).Summary(); !strings.Contains(text,
		"quality      the model was not compared with the best constant: the schedule has it all\n") {
		t.Errorf("a fit that was not compared:\n%s", text)
	}
}
