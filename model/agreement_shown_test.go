package model

import (
	"math"
	"testing"
)

// TestAgreementByHand works out the agreement of five rows in two groups by hand, and compares the text of the groups.
func TestAgreementByHand(t *testing.T) {
	a := agreement{output: Value}
	for _, r := range []struct {
		group           string
		score, observed float64
	}{{"b", 1, 2}, {"b", 3, 3}, {"a", 2, 2.5}, {"a", 4, 4.5}, {"a", 6, 9}} {
		if err := a.add(r.group, agreed{score: r.score, observed: r.observed}); err != nil {
			t.Fatal(err)
		}
	}
	var m Metrics
	a.set(&m, "site")
	// Differences: b 1 and 0; a .5, .5 and 3, of mean 4/3 and mean square 9.5/3.
	want := []group{{"a", 3, 4, 16. / 3, math.Sqrt((9.5/3 - 16./9) / 3)}, {"b", 2, 2, 2.5, math.Sqrt((.5 - .25) / 2)}}
	if len(m.Groups) != 2 {
		t.Fatalf("%+v", m.Groups)
	}
	for i, w := range want {
		g := m.Groups[i]
		if g.Group != w.Group || g.N != w.N || !(math.Abs(g.Predicted-w.Predicted) <= 1e-12) || !(math.Abs(g.Observed-w.Observed) <= 1e-12) ||
			!(math.Abs(g.Error-w.Error) <= 1e-12) {
			t.Errorf("%+v: must be %+v", g, w)
		}
	}
	// Least squares of 2, 3, 2.5, 4.5, 9 on 1, 3, 2, 4, 6: sums of products about the means 3.2 and 4.2.
	if slope := (2.2*2.2 + .2*1.2 + 1.2*1.7 + .8*.3 + 2.8*4.8) / (2.2*2.2 + .2*.2 + 1.2*1.2 + .8*.8 + 2.8*2.8); m.Slope == nil ||
		!(math.Abs(*m.Slope-slope) <= 1e-9) || *m.Predicted != 3.2 || *m.Observed != 4.2 {
		t.Errorf("slope %v, predicted %v, observed %v: must be %v, 3.2, 4.2", m.Slope, *m.Predicted, *m.Observed, slope)
	}
	if got, want := groupText(m.Groups), "group  rows  predicted  observed  difference  its standard error\n"+
		"a      3     4          5.333     1.3         0.68\n"+
		"b      2     2          2.5       0.5         0.35\n"; got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
	m = Metrics{}
	a.set(&m, "")
	if m.Groups != nil || *m.Predicted != 3.2 {
		t.Errorf("without a column: %+v", m)
	}
	empty := Metrics{}
	if (&agreement{}).set(&empty, "site"); empty.Predicted != nil || empty.Slope != nil {
		t.Errorf("of no rows: %+v", empty)
	}
	equal := agreement{output: Probability}
	for _, v := range []float64{0, 1, 1} {
		if err := equal.add("", agreed{score: .3, observed: v}); err != nil {
			t.Fatal(err)
		}
	}
	m = Metrics{}
	equal.set(&m, "")
	if m.Slope != nil || !(math.Abs(*m.Predicted-1/(1+math.Exp(-.3))) <= 1e-12) {
		t.Errorf("of equal predictions: slope %v, predicted %v", m.Slope, *m.Predicted)
	}
}

// TestSeparatedOutcomesHaveNoSlope: the likelihood of outcomes that a score separates, wholly or but for ties, rises with
// the slope without end.
func TestSeparatedOutcomesHaveNoSlope(t *testing.T) {
	for name, outcomes := range map[string][]float64{"wholly": {0, 0, 0, 1, 1}, "but for a tie": {0, 0, 1, 1, 1}} {
		a := &agreement{output: Probability}
		for i, y := range outcomes {
			score := []float64{-2, -1, 0, 1, 3}[i]
			if name != "wholly" && i == 1 {
				score = 0
			}
			if err := a.add("", agreed{score: score, observed: y, per: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.slope(); got == got {
			t.Errorf("%s: a slope of %v", name, got)
		}
	}
}

// TestSlopeOfTwoScores compares the slope with its closed form where records have two scores, so that the regression fits
// both shares or rates: half of the difference of their links if the scores differ by 2. Scores around 0 have an
// information without a cross term. Outcomes that are all but separated have a slope.
func TestSlopeOfTwoScores(t *testing.T) {
	logit := func(p, _ float64) float64 { return math.Log(p / (1 - p)) }
	odds := func(p, per float64) float64 { return math.Log(p / (1 - p) / per) }
	hazard := func(p, per float64) float64 { return math.Log(-math.Log1p(-p) / per) }
	rate := func(events, per float64) float64 { return math.Log(events / per) }
	for _, c := range []struct {
		name                string
		output              Output
		grouped             string
		link                func(observed, per float64) float64
		at                  float64 // the mean of the scores
		low, high           float64 // what was observed, in the mean
		lowParts, highParts float64 // what is predicted per e^score
	}{
		{"shares around 0", Probability, "", logit, 0, .25, .75, 1, 1},
		{"rare shares around 0", Probability, "", logit, 0, .001, .999, 1, 1},
		{"shares", Probability, "", logit, -3, .1, .3, 1, 1},
		{"nearly separated", Probability, "", logit, 0, 1e-8, 1 - 1e-8, 1, 1},
		{"as good as separated", Probability, "", func(float64, float64) float64 { return math.NaN() }, 0, 1e-10, 1 - 1e-10, 1, 1},
		{"rates around 0", Rate, "", rate, 0, .2, .6, .5, .7},
		{"rates", Rate, "", rate, 4, .6, .2, .5, .25},
		{"odds of intervals", Rate, "logit", odds, 1, .2, .3, .5, .25},
		{"hazards of intervals", Rate, "true", hazard, -1, .2, .3, .5, .75},
	} {
		a := agreement{output: c.output, list: []agreed{{c.at - 1, c.low, c.lowParts, c.grouped}, {c.at + 1, c.high, c.highParts, c.grouped}}}
		want := (c.link(c.high, c.highParts) - c.link(c.low, c.lowParts)) / 2
		if got := a.slope(); !(math.Abs(got-want) < 1e-6*math.Abs(want)) && (got == got || want == want) {
			t.Errorf("%s: slope %v: must be %v", c.name, got, want)
		}
	}
	// Of numbers, scores must differ by more than a millionth of their size.
	for apart, want := range map[float64]float64{1e-5: .7, 1e-7: math.NaN()} {
		a := agreement{output: Value, list: []agreed{{score: 1 - apart, observed: 2 - .7*apart}, {score: 1 + apart, observed: 2 + .7*apart}}}
		if got := a.slope(); !(math.Abs(got-want) < 1e-4) && (got == got || want == want) {
			t.Errorf("scores %v apart: slope %v: must be %v", 2*apart, got, want)
		}
	}
}
