package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
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
	if note := factOf(t, s, "Restricted mean time").Note; note != "the mean time without an event up to 200, for such a record" {
		t.Error(note)
	}
	plot, is := s.Parts[0].(Plot)
	if !is || plot.check() != nil || len(plot.Series) != 3 {
		t.Fatalf("%+v", s.Parts[0])
	}
	for k, ratio := range []float64{.5, 1, 2} {
		line := plot.Series[k]
		if last := len(line.X) - 1; line.X[last] != 200 || !(math.Abs(line.Y[last]-math.Exp(-2*ratio)) <= 1e-12) {
			t.Errorf("%s ends at %v, %v", line.Name, line.X[last], line.Y[last])
		}
	}
	// Constants are logarithms of hazards, and negative where few have the event.
	for margin, stated := range map[float64]bool{math.Log(.3): true, math.Inf(-1): false, math.NaN(): false} {
		f.plan.Base.Margins[0] = margin
		s, ok := f.survival()
		if ok != stated {
			t.Errorf("the constant %v: a section %v", margin, ok)
		}
		if ok {
			shows(t, "few events", factOf(t, s, "No event until 80").Value, math.Exp(-.3*.6), 3)
		}
	}
	f.plan.Base = nil
	if _, ok := f.survival(); ok {
		t.Error("a section without a released constant")
	}
}

// TestSurvivalByOdds: with logit hazards the probability of no event until the end of an interval is the product of 1/(1 +
// odds) over intervals. The odds are their shares of all odds, times e^margin.
func TestSurvivalByOdds(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "years", Kind: dataset.Number, High: 3, Event: "died", Cuts: []float64{1, 2, 3}, Grouped: "logit",
			Hazards: []float64{.5, .3, .2}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse("logit-hazard(3,1.52587890625e-05)")
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: loss.None(), Schema: schema,
		Weights: []float64{1, 2}, Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne,
			Epsilon: 1, Delta: 1e-6}, Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fit{Model: m, plan: runrecord.Run{Base: &runrecord.Base{Margins: []float64{math.Log(.8)}}}}
	s, ok := f.survival()
	if !ok {
		t.Fatal("no section")
	}
	for at, want := range map[string]float64{"1": 1 / 1.4, "2": 1 / 1.4 / 1.24, "3": 1 / 1.4 / 1.24 / 1.16} {
		shows(t, at, factOf(t, s, "No event until "+at).Value, want, 3)
	}
}

// TestHazardRatiosInNumbers compares hazard ratios and their intervals with sums by hand: levels b and c have the
// coefficients .5 and -.2 against a, and shares of their hazards of .25 and .5 in the first of two intervals, a of .5.
func TestHazardRatiosInNumbers(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{
		{Name: "g", Kind: dataset.Category, Categories: []string{"a", "b", "c"}}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 200, Event: "died", Cuts: []float64{50, 200},
			Changing: "g", Hazards: []float64{1. / 6, 1. / 6, 1. / 12, .25, 1. / 6, 1. / 6},
			HazardErrors: []float64{.1, .2, .3, .4, .5, .6}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.PoissonRate(3, schema.Target().Least())
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{Software: "test v1", Loss: l, Regularizer: loss.None(), Schema: schema,
		Weights: make([]float64, schema.Dim()), Privacy: model.Privacy{Guarantee: account.Guarantee{Relation: account.ReplaceOne,
			Epsilon: 1, Delta: 1e-6}, Neighbour: "one row", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Coefficients{Terms: []Coefficient{{Column: "g", Term: "g=b", Reference: "g=a", Value: new(.5), Deviation: new(.05)},
		{Column: "g", Term: "g=c", Reference: "g=a", Value: new(-.2)},
		{Column: "g", Term: "g=other", Reference: "g=a", Value: new(1.)}, {Term: "(intercept)", Value: new(-1.)}}}
	list := (&Fit{Model: m}).changing(c)
	want := []struct{ ratio, error float64 }{{math.Exp(.5) / 2, math.Sqrt(.05*.05 + .3*.3 + .1*.1)},
		{math.Exp(.5) * 1.5, math.Sqrt(.05*.05 + .4*.4 + .2*.2)}, {math.Exp(-.2), 0}, {math.Exp(-.2), 0}}
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, w := range want {
		r := list[i]
		from, to := float64(i%2)*50, 50+float64(i%2)*150
		if !(math.Abs(r.Ratio-w.ratio) <= 1e-9) || r.From != from || r.To != to || r.Reference != "g=a" || (r.Low == nil) != (w.error == 0) {
			t.Errorf("%+v: want %v", r, w)
		}
		if w.error > 0 && (!(math.Abs(math.Log(*r.High/r.Ratio)-1.959964*w.error) <= 1e-6) ||
			!(math.Abs(math.Log(*r.Low/r.Ratio)+1.959964*w.error) <= 1e-6)) {
			t.Errorf("%v to %v: want an error of %v", *r.Low, *r.High, w.error)
		}
	}
	if got, want := HazardText(list[:3])+HazardText(nil), "\nterm  against  time       hazard ratio  interval\n"+
		"g=b   g=a      0 to 50    0.824         0.44 to 1.54\n"+
		"g=b   g=a      50 to 200  2.47          1.02 to 5.97\n"+
		"g=c   g=a      0 to 50    0.819         not stated: inference asks for it\n"+ofChanging+"\n"; got != want {
		t.Errorf("%q: want %q", got, want)
	}
	// Of a fit with intervals the errors are those of the intervals, at their level.
	reported := model.Coefficient{Interval: inference.Interval{State: inference.Reported, Error: .07}}
	c.Intervals = &model.Coefficients{Level: .9, List: []model.Coefficient{reported, reported, reported, reported}}
	if r := (&Fit{Model: m}).changing(c)[0]; !(math.Abs(math.Log(*r.High/r.Ratio)-1.644854*math.Sqrt(.07*.07+.3*.3+.1*.1)) <= 1e-6) {
		t.Errorf("at 90%%: %v to %v", *r.Low, *r.High)
	}
	c.Intervals = &model.Coefficients{Level: .95, List: []model.Coefficient{{}, {}, {}, {}}}
	for i := range c.Intervals.List {
		c.Intervals.List[i].State = inference.Withheld
	}
	if got := HazardText((&Fit{Model: m}).changing(c)); strings.Count(got, "  withheld\n") != 4 || strings.Contains(got, "asks") {
		t.Errorf("%q: want intervals that are withheld", got)
	}
	table := hazardTable(list, Number)
	if table.check() != nil || len(table.Rows) != 4 {
		t.Fatalf("%+v", table)
	}
	numbersHaveTheirColumns(t, table)
	if got, want := table.Rows[1].Cells, []string{"g=b", "g=a", "50 to 200", "2.47", "1.02 to 5.97"}; !slices.Equal(got, want) {
		t.Errorf("%q: want %q", got, want)
	}
}
