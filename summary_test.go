package stillpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/train"
)

// TestSummaryShowsWhatItIs: epsilon and delta are shown with all their digits, and what was
// charged, measured and found at the end to as many as are said.
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
		fmt.Sprintf("(%v, %v)-differentially private, add-or-remove", float64(epsilon), float64(delta)),
		fmt.Sprintf("charged      %.6g of %.6g (units of mu^2), 41 releases", b.Mu()*b.Mu()/3, b.Mu()*b.Mu()),
		"mean loss 0.6543 (noise 0.032; a record's loss is clipped at 2.35), gradient norm 0.0987 (noise 0.0045)",
		"arrived      more steps would only add noise: the gradients of the last 7 steps are 0.012 on average, of which noise makes 0.046",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary has no %q:\n%s", want, text)
		}
	}
	f.Result.Late.Gradient = .1
	if text := (&Result{Run: f}).Details(); !strings.Contains(text,
		"arrived      not arrived: the gradients of the last 7 steps are 0.1 on average, of which noise makes 0.046") {
		t.Errorf("a gradient of twice the noise:\n%s", text)
	}
	// What several fits together cost is never said to be less than it is.
	for _, x := range []float64{1.23450001, .99999, 12.3456, 1e-3} {
		if y := runfolder.RoundUp(x); y < x || y > x*1.002 {
			t.Errorf("%v is shown as %v", x, y)
		}
	}
}
