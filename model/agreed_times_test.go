package model

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// TestAgreementOfGroupedTimes works out what is predicted of records whose times are known by interval: the sum of the
// probabilities of an event in the intervals in which a record was at risk, by either link, up to a horizon.
func TestAgreementOfGroupedTimes(t *testing.T) {
	const z = -.5
	for _, link := range []string{targetpair.Logit, "true"} {
		times := targetpair.Times{Cuts: []float64{1, 2, 4}, Increments: []float64{.5, .3, .2}, Grouped: link}
		p := func(h float64) float64 {
			if link == targetpair.Logit {
				return h * math.Exp(z) / (1 + h*math.Exp(z))
			}
			return 1 - math.Exp(-h*math.Exp(z))
		}
		half := p(.1) // half of the last interval, which counts for a hazard alone
		if link == targetpair.Logit {
			half = 0
		}
		for _, c := range []struct {
			entry, exit         float64
			event               bool
			horizon             float64
			predicted, observed float64
		}{
			{0, 2, true, 4, p(.5) + p(.3), 1},
			{0, 1.5, true, 4, p(.5) + p(.3), 1},
			{0, 2, false, 4, p(.5) + p(.3), 0},
			{1, 4, true, 4, p(.3) + p(.2), 1},
			{0, 4, true, 2, p(.5) + p(.3), 0},
			{0, 3, false, 4, p(.5) + p(.3) + half, 0},
			{2, 4, true, 1, 0, 0},
		} {
			var a agreement
			a.output = Rate
			r := record{entry: c.entry / 4, exit: c.exit / 4, event: c.event}
			if err := a.add("", happened(times, r, z, c.horizon)...); err != nil {
				t.Fatal(err)
			}
			var m Metrics
			a.set(&m, "")
			if !(math.Abs(*m.Predicted-c.predicted) <= 1e-6) || *m.Observed != c.observed {
				t.Errorf("%s: %+v: predicted %v, observed %v", link, c, *m.Predicted, *m.Observed)
			}
		}
	}
	// Times that are known: the expected number of events until the horizon.
	list := happened(targetpair.Times{Cuts: []float64{4}}, record{exit: 1, event: true}, 0, 1)
	if len(list) != 1 || list[0].per != .25 || list[0].observed != 0 {
		t.Errorf("%+v", list)
	}
}

// TestSlopeOfGroupedTimes: of records whose events are as likely as a model says, the calibration slope is 1, and it is
// half if the scores are twice as far apart, by either link.
func TestSlopeOfGroupedTimes(t *testing.T) {
	for _, link := range []string{targetpair.Logit, "true"} {
		times := targetpair.Times{Cuts: []float64{1, 2}, Increments: []float64{.6, .4}, Grouped: link}
		for _, factor := range []float64{1, 2, 20} {
			var a agreement
			a.output = Rate
			for _, z := range []float64{-1, 0, 1.5} {
				for _, h := range times.Shares() {
					// The mean of many rows: observed is the probability.
					p, _ := a.mean(agreed{score: z, per: h, grouped: link}, 0, 1)
					if err := a.add("", agreed{score: factor * z, observed: p, per: h, grouped: link}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s := a.slope(); !(math.Abs(s-1/factor) < 1e-6) {
				t.Errorf("%s, scores times %v: slope %v", link, factor, s)
			}
		}
	}
}

// TestSlopeOfExtremeScores: the slope is found where scores are far too extreme, of each link, and there is none where
// nothing happened.
func TestSlopeOfExtremeScores(t *testing.T) {
	for _, output := range []Output{Probability, Rate, Value} {
		a, none := agreement{output: output}, agreement{output: output}
		for _, z := range []float64{-1, -.5, 0, 1, 1.5} {
			mean, _ := a.mean(agreed{score: z, per: 1}, 0, 1)
			a.list = append(a.list, agreed{score: 20 * z, observed: mean, per: 1})
			none.list = append(none.list, agreed{score: z, per: 1})
		}
		if s := a.slope(); !(math.Abs(s-.05) < 1e-6) {
			t.Errorf("%v: slope %v: must be .05", output, s)
		}
		if s := none.slope(); output == Rate && !math.IsNaN(s) {
			t.Errorf("slope %v of nothing", s)
		}
	}
}
