package report

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestSurvivalInNumbers compares the section "Survival" with sums over short steps of the hazard.
func TestSurvivalInNumbers(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 200, Event: "died", Cuts: []float64{50, 80, 200},
			Hazards: []float64{.6, 0, .4}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.PoissonRate(3, schema.Target().Least())
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: loss.None(), Schema: schema,
		Weights: []float64{1, 2}, Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne,
			Epsilon: 1, Delta: 1e-6}, Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fit{Model: m, plan: runrecord.Run{Base: &runrecord.Base{Margins: []float64{math.Log(2)}}}}
	s, ok := f.survival()
	if !ok || s.Title != "Survival" {
		t.Fatalf("%v, %v", s, ok)
	}
	const steps = 200000
	alive, mean := 1., 0.
	for i := range steps {
		at := (float64(i) + .5) / steps * 200
		hazard := 2 * .6 / 50
		if at > 50 {
			hazard = 0
		}
		if at > 80 {
			hazard = 2 * .4 / 120
		}
		half := math.Exp(-hazard * 200 / steps / 2)
		mean += alive * half * 200 / steps
		alive *= half * half
		if i == steps/4-1 {
			shows(t, "first cut", factOf(t, s, "No event until 50").Value, alive, 3)
		}
	}
	shows(t, "second cut", factOf(t, s, "No event until 80").Value, math.Exp(-2*.6), 3)
	shows(t, "last cut", factOf(t, s, "No event until 200").Value, alive, 3)
	shows(t, "mean", factOf(t, s, "Restricted mean time").Value, mean, 3)
	plot, is := s.Parts[0].(Plot)
	if !is || plot.check() != nil || len(plot.Series) != 3 {
		t.Fatalf("%+v", s.Parts[0])
	}
	for k, ratio := range []float64{.5, 1, 2} {
		line := plot.Series[k]
		if last := len(line.X) - 1; line.X[last] != 200 || math.Abs(line.Y[last]-math.Exp(-2*ratio)) > 1e-12 {
			t.Errorf("%s ends at %v, %v", line.Name, line.X[last], line.Y[last])
		}
	}
	f.plan.Base = nil
	if _, ok := f.survival(); ok {
		t.Error("a section without a released constant")
	}
}
