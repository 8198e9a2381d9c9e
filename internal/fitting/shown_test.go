package fitting

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestDetailsToTheLetter tests each line of the details that shows a number, at numbers that differ from each other. A
// line must have its numbers in their places, with the digits that are documented.
func TestDetailsToTheLetter(t *testing.T) {
	b, err := account.NewBudget(1.5, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	f := &train.Fitted{Planned: train.Planned{Budget: b, Records: 4321, Dim: 3, Features: 3}}
	f.Releases, f.Charged = 23, .625*b.Charge()
	f.Summary.Steps, f.Summary.Effective, f.Summary.Predicted = 37, 12.6, .03456
	f.Result.Complete, f.Result.Steps, f.Result.Foreseen = false, 11, .04567
	f.Result.Late.Steps, f.Result.Late.Gradient, f.Result.Late.Noise = 5, .0123, .0456
	f.Result.Curvature = &optimize.Curved{Curvature: .01234, Sigma: .0567, Directions: 6}
	f.Result.SelectedNorm = &optimize.SelectedNorm{GradientNorm: .2345, Sigma: .0678, Radius: .03, Among: 8}
	f.Reserved = &account.Reservation{Dataset: "people", Row: 17}
	f.Measured = &optimize.Measured{}
	f.Measured.Loss, f.Measured.LossSigma, f.Measured.LossClip = .4567, .0234, 2.5
	f.Measured.GradientNorm, f.Measured.GradientSigma = .0789, .0091
	f.Constant = &train.Constant{Least: .345, Most: .789, Regularizer: .0567}
	lines := func() map[string]string {
		list := map[string]string{}
		for line := range strings.Lines((&Result{Run: f}).Details()) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			list[name] += strings.TrimSpace(text) + "\n"
		}
		return list
	}
	want := func(name, text string) {
		t.Helper()
		if got := lines()[name]; got != text+"\n" {
			t.Errorf("%s: %q: must be %q", name, got, text)
		}
	}
	want("incomplete", "interrupted after 11 of 37 steps")
	want("steps", "37 steps at effective size N = 13 are too few to tell whether more would help")
	want("expected", "gradient norm 0.0457 (forecast before the fit: 0.0346)")
	want("curvature", "at least 0.0123 (noise 0.057) along 6 public directions of the run, as released: an eigenvalue may "+
		"be lower along others")
	want("looked", "gradient norm 0.234 (noise 0.068) of the loss smoothed over radius 0.03, chosen by it among 8 averages")
	want("dataset", "people: charged in its store before the first release, row 17")
	const constant = "the model that gives every record the score 0"
	const without = " (the measured loss includes the regularizer's 0.057)"
	between := "mean loss between 0.345 and 0.789 of " + constant + ", depending on the targets, which are not " +
		"released" + without
	want("quality", between)
	f.Measured.Loss = .789 + .0567 + 2*.0234 + 1e-6
	want("quality", between+": the model is WORSE")
	f.Measured.Loss = .0345 + .0567 - 2*.0234 - 1e-6
	want("quality", between+": so small a loss may mean that rows contribute nothing, so check how their targets are read "+
		"(stillpoint check)")
	f.Constant.Most = f.Constant.Least
	f.Measured.Loss = .345 + .0567 - 2*.0234 + 1e-6
	public := "mean loss 0.345 of " + constant + ", which is public; a model that knows the shares of the classes may have less"
	want("quality", public+without+": the model is not better by more than noise")
	f.Measured.Loss -= 2e-6
	want("quality", public+without)

	brief := (&Result{Run: f}).Summary()
	if !strings.Contains(brief, "replace-one: 62.5% spent, on 23 noisy answers (releases)\n") {
		t.Error(brief)
	}
	f.Charged = 0
	if text := (&Result{Run: f}).Summary(); !strings.Contains(text,
		"spent on a schedule of Poisson samples, for 23 noisy answers (releases)\n") {
		t.Error(text)
	}
}

// TestArrivalNeedsItsSteps tests that the summary judges the last gradients by the planned number of steps and the
// effective size: fewer than 8 steps, or a size below 30, are too few.
func TestArrivalNeedsItsSteps(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		steps     int
		effective float64
		want      string
	}{
		{7, 100, "7 steps at effective size N = 100 are too few to tell whether more would help"},
		{8, 29, "8 steps at effective size N = 29 are too few to tell whether more would help"},
		{8, 30, "not arrived: the gradients of the last 3 steps are 0.08 on average, of which noise makes 0.05: another 8 " +
			"steps may help at this budget"},
	} {
		f := &train.Fitted{Planned: train.Planned{Budget: b, Records: 4321, Dim: 3, Features: 3}}
		f.Result.Complete, f.Summary.Steps, f.Summary.Effective = true, c.steps, c.effective
		f.Result.Late.Steps, f.Result.Late.Gradient, f.Result.Late.Noise = 3, .08, .05
		if text := (&Result{Run: f}).Details(); !strings.Contains(text, "steps        "+c.want+"\n") {
			t.Errorf("%+v:\n%s", c, text)
		}
	}
}
