package train

import (
	"context"
	"testing"
)

// TestPlanStatesNoWrongForecast tests that a plan states a predicted gradient norm, and a range for it,
// only for losses whose forecasts have proved right. For other losses neither the plan's summary nor the
// summary of a compared plan may state a forecast.
func TestPlanStatesNoWrongForecast(t *testing.T) {
	for name, want := range map[string]bool{"logistic": true, "hinge": false, `"network(4,tanh,logistic)"`: false} {
		p, err := config(t, 20_000, "loss: logistic", "loss: "+name+", family: lines").Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s := p.Summary
		low, high := p.Range()
		if (s.Predicted > 0) != want || s.Population != 0 || (s.Excess > 0) != want || (low > 0) != want ||
			(high > 0) != want {
			t.Errorf("%s: %+v, range %v to %v: forecasts stated must be %v", name, s, low, high, want)
		}
		if len(p.Candidates) < 2 {
			t.Errorf("%s: %d candidates", name, len(p.Candidates))
		}
		for _, c := range p.Candidates {
			if !want && (c.Predicted != 0 || c.Summary.Predicted != 0) || c.Predicted > 0 && c.Summary.Predicted == 0 {
				t.Errorf("%s: a candidate states %v and %v", name, c.Predicted, c.Summary.Predicted)
			}
		}
		if p.foresees != want {
			t.Errorf("%s: the norm after releases is stated: %v", name, p.foresees)
		}
	}
}
