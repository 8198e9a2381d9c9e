package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/losstest"
)

// TestOwnLoss tests the loss's constants, and that the predictions are near the minimum of the loss. Costs
// at an age of 50 are spread evenly over 1,100 to 2,100. The symmetric loss predicts their middle, 1,600.
// The asymmetric loss predicts less than the 75% quantile, 1,850, since small errors count by their
// squares. In eight runs the predictions were within 1 of 1,600 and of 1,810. The test's bounds are 20 away
// from these.
func TestOwnLoss(t *testing.T) {
	losstest.Conformance(t, asymmetric{.1, 3})
	losstest.Conformance(t, asymmetric{.5, 1})
	var out strings.Builder
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	var even, high float64
	form := "asymmetric(0.1,1): at an age of 50 the model predicts a cost of %f\n" +
		"asymmetric(0.1,3): at an age of 50 the model predicts a cost of %f\n"
	if _, err := fmt.Sscanf(out.String(), form, &even, &high); err != nil {
		t.Fatalf("%v in\n%s", err, &out)
	}
	if even < 1580 || even > 1620 || high < 1790 || high > 1830 {
		t.Errorf("predicts %v and %v", even, high)
	}
}
