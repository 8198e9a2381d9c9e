package loss_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestMostValue compares the largest loss at a margin with the larger one at the two extreme targets, and tests for which
// losses there is none.
func TestMostValue(t *testing.T) {
	for _, z := range []float64{-1.5, .25} {
		most, ok := loss.MostValue(loss.Logistic(), []float64{z})
		if want := math.Log1p(math.Exp(math.Abs(z))); !ok || !(math.Abs(most-want) <= 1e-12) {
			t.Errorf("logistic at %v: %v, %v: must be %v", z, most, ok, want)
		}
		most, ok = loss.MostValue(parsed(t, "units(absolute,3)"), []float64{z})
		if want := 1 + math.Abs(z); !ok || !(math.Abs(most-want) <= 1e-12) {
			t.Errorf("absolute at %v: %v, %v: must be %v", z, most, ok, want)
		}
	}
	for name, z := range map[string][]float64{"poisson(1)": {.1}, "softmax(3)": {.1, .2}, "logistic": {.1, .2}} {
		if most, ok := loss.MostValue(parsed(t, name), z); ok || most != 0 {
			t.Errorf("%s at %v: %v, %v: must have none", name, z, most, ok)
		}
	}
}

// parsed returns the loss with a name.
func parsed(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
