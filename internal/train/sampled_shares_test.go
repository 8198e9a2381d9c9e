package train

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// TestSharesKeepSamplesOut: a plan on Poisson samples spends the whole budget, so auto leaves such plans out if any share
// for another release is stated, and only then.
func TestSharesKeepSamplesOut(t *testing.T) {
	for key := range (&Train{}).shared() {
		for _, share := range []float64{0, .11, -1} {
			of := Train{Algorithm: "auto", Settings: map[string]any{"passes": 3.}}
			*of.shared()[key] = share
			a, err := of.algorithm()
			if err != nil {
				t.Fatal(err)
			}
			if auto := a.(choose.Auto); auto.WithoutSamples != (share > 0) {
				t.Errorf("train.%s = %v: without samples is %t", key, share, auto.WithoutSamples)
			}
		}
	}
}
