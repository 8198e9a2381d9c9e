package runrecord

import "testing"

// TestOnlyBetterIsBetter tests that a fit counts as better than the constant only where the comparison shows it: not where
// it shows nothing, the opposite, or was not made.
func TestOnlyBetterIsBetter(t *testing.T) {
	for difference, want := range map[float64]bool{-.2: true, -.001: false, 0: false, .001: false, .2: false} {
		c := &Compared{Difference: difference, Sigma: .01, Least: -1, Most: 1, Constant: .8, ConstantSigma: .01}
		if c.IsBetter() != want || (c.Verdict() == Better) != want {
			t.Errorf("difference %v: %v, %v", difference, c.IsBetter(), c.Verdict())
		}
	}
	if (*Compared)(nil).IsBetter() {
		t.Error("no comparison shows that the fit is better")
	}
}
