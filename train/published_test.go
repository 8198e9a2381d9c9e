package train

import (
	"context"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// TestIntervalsKeepTheFit tests a fit with confidence intervals: the comparison with the best
// constant must not replace its weights, since the intervals belong to them.
func TestIntervalsKeepTheFit(t *testing.T) {
	for _, asked := range []*Inference{nil, {Level: .9}} {
		c := config(t, 4000)
		c.Inference = asked
		if asked != nil {
			c.Train.Algorithm, c.Train.Settings = "", nil
			c.Model.Regularizer, c.Model.Radius = "", 0
		}
		p, err := c.prepare(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if k := p.planned.Compare; k == nil || k.Keep != (asked != nil) {
			t.Errorf("intervals %v: comparison %+v", asked, k)
		}
		p.close()
	}
}

// TestFilesHoldWhatTheComparisonDecides tests that the model's file has the weights that follow
// from the comparison with the best constant: the weights of the fit, of the constant with the
// released margin, or of the point halfway between. The test fails if the file always has the fit's
// own weights.
func TestFilesHoldWhatTheComparisonDecides(t *testing.T) {
	c := config(t, 300)
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	h, err := c.head("test", 1, p.planned, p.loss, nil)
	if err != nil {
		t.Fatal(err)
	}
	fit := []float64{8, -6, 4, -2, 1}
	constant := make([]float64, len(fit))
	constant[len(fit)-1] = .25 / (1 / c.Schema.Scale()) // a margin of .25 for every row
	for shrunk, want := range map[float64][]float64{0: fit, 1: constant,
		.5: {4, -3, 2, -1, (1 + constant[len(fit)-1]) / 2}} {
		m, _, err := h.Files(Released{Weights: fit, Run: runrecord.Run{
			Plan: h.Plan, Compared: &optimize.Compared{Difference: .1, Sigma: .01, Margins: []float64{.25}, Shrunk: shrunk},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Weights(); !slices.Equal(got, want) {
			t.Errorf("shrunk by %v: weights %v: must be %v", shrunk, got, want)
		}
	}
}
