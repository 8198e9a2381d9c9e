package means_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestFallingEffects: a tenth of the rows with a level that the formula lacks widen the interval of an effect that falls by what they
// may add below: the change of their score times the largest derivative. Above they may add nothing.
func TestFallingEffects(t *testing.T) {
	counts, err := loss.Parse("poisson(3)")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		target   dataset.Target
		loss     loss.Loss
		steepest float64
	}{"a probability": {classes, loss.Logistic(), .25}, "a count": {dataset.Target{Column: "visits", Kind: dataset.Number, High: 6}, counts, 6}} {
		m := withIntervals(t, c.target, c.loss, func(f *inference.Fit) { f.Beta = []float64{-1, -2, .5, -.25} })
		of := func(first string) means.Answer {
			people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"5", first}}}
			for range 9 {
				people.Rows = append(people.Rows, []string{"5", "north"})
			}
			got, err := means.Of(t.Context(), m, people, []string{"age"})
			if err != nil {
				t.Fatal(err)
			}
			return got.List[0]
		}
		plain, short := of("north"), of("west")
		value, change := *plain.Estimate/10, -c.steepest/5/math.Sqrt(3)/10
		if !(change < value && value < 0) {
			t.Fatalf("%s: the effect %v and %v at most: the test shows nothing", name, value, change)
		}
		if want := *plain.Low - (value - change); !(math.Abs(*short.Low-want) <= 1e-6) {
			t.Errorf("%s: the lower end is %v: must be %v", name, *short.Low, want)
		}
		if want := *plain.High - value; !(math.Abs(*short.High-want) <= 1e-6) {
			t.Errorf("%s: the upper end is %v: must be %v", name, *short.High, want)
		}
	}
}
