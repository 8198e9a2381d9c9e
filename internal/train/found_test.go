package train

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestScaleOfEffectsUnderNoise: the scale of effects is the root of the sum of their variances over the rows. Where noise
// makes the variance of a column's effects negative it counts as 0, and takes nothing from those of others.
func TestScaleOfEffectsUnderNoise(t *testing.T) {
	base, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1}, {Name: "b", Kind: dataset.Number, Low: 0, High: 1}},
		Target:  dataset.Target{Column: "y", Kind: dataset.Number, Low: 0, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, one := base.Dim(), 1/base.Scale()
	if d != 3 {
		t.Fatalf("%d features", d)
	}
	// The mean of a is larger than its mean square allows.
	moment := mat.NewSymDense(d, []float64{.02, 0, .13, 0, .09, .03, .13, .03, one * one})
	var e mat.EigenSym
	if !e.Factorize(moment, true) {
		t.Fatal("no eigenvalues")
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	s := &Stage{effects: FeatureEffects{Features: 4, Weight: 2}}
	w := []float64{1.5, -.8, .4}
	with, _, err := s.found(base, optimize.Result{W: w, Rows: &optimize.Rows{Values: e.Values(nil),
		Vectors: vectors.RawMatrix().Data}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := with.Effects()
	rows := &optimize.Rows{Values: e.Values(nil), Vectors: vectors.RawMatrix().Data}
	variance := 0.
	for j, v := range w[:2] {
		along, centre := make([]float64, d), moment.At(j, 2)/one*v
		along[j] = v
		square := rows.Square(along) - centre*centre
		if j == 0 && !(square < -1e-3) {
			t.Fatalf("the variance of a is %v: tries nothing", square)
		}
		variance += max(square, 0)
		if !(math.Abs(got.Centres[j]-centre) <= 1e-12) {
			t.Errorf("column %d has the centre %v: must have %v", j, got.Centres[j], centre)
		}
	}
	if !(math.Abs(got.Scale/math.Sqrt(variance)-1) <= 1e-9) {
		t.Errorf("a scale of %v: must be %v", got.Scale, math.Sqrt(variance))
	}
}
