package runrecord

import (
	"strings"
	"testing"
)

// TestCutsAreStated tests that the text of a comparison states where the difference of a record is cut off.
func TestCutsAreStated(t *testing.T) {
	c := Compared{Difference: -.25, Sigma: .02, Least: -3.5, Most: 7.25, Cut: true}
	if got := c.Text(); !strings.Contains(got, "mean loss is 0.25 below the constant's, with noise of 0.02 (a record's difference "+
		"is capped at 7.25)") {
		t.Error(got)
	}
}
