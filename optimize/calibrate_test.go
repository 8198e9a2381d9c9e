package optimize

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCalibrationByHand works out a calibration from a released answer: the two points of its question, the interval of
// a record's contribution under both relations and for a rare class on either side, the charges, and the shift with its noise.
// The comparison that follows is of the shifted fit.
func TestCalibrationByHand(t *testing.T) {
	const charge, extra, intercept = .03, .01, .5
	w := []float64{.6, -.2, .1}
	for _, c := range []struct {
		relation       account.Relation
		margin         float64
		centre, radius float64
	}{
		{account.ReplaceOne, -2, -.25, .75},
		{account.ReplaceOne, 2, .25, .75},
		{account.AddOrRemove, -2, 0, 1},
		{account.AddOrRemove, 2, 0, 1},
	} {
		l := loss.Logistic()
		base := Base{Margins: []float64{c.margin}, Resolved: true, Loss: .36, LossSigma: .02}
		p := Problem{Relation: c.relation, Records: 5000, Mu: 1, Constants: l.Constants(), Base: &base, RankOne: true,
			Shape: Shape{Features: 3, Margins: 1}, Start: make([]float64, 3)}
		o := &told{answers: []query.Release{{Mean: []float64{-.006}, Sigma: .0004}, {Mean: []float64{-.05}, Sigma: .01}}}
		compare := Compare{Charge: charge + extra, Calibrate: extra, Loss: l, Features: 3, Intercept: intercept}
		out, err := compare.Ask(t.Context(), o, p, w, Found{})
		if err != nil {
			t.Fatal(err)
		}
		if len(o.asked) != 2 {
			t.Fatalf("%d questions", len(o.asked))
		}
		alike(t, "charge of the residual", o.asked[0].Charge(), extra*usable)
		alike(t, "charge of the difference", o.asked[1].Charge(), charge*usable)
		term := o.asked[0].Terms()[0]
		alike(t, "centre", term.Ball().Centre, .2*c.centre)
		alike(t, "radius", term.Ball().Radius, .2*c.radius)
		if term.Kind() != query.ValueChange || !near(term.Point(), []float64{.6, -.2, .3}) || !near(term.Previous(), []float64{.6, -.2, -.1}) {
			t.Errorf("%v at %v and %v", term.Kind(), term.Point(), term.Previous())
		}
		share := 1 / (1 + math.Exp(-c.margin))
		predicted := share - .03
		alike(t, "residual", out.Residual, -.03)
		alike(t, "noise of the residual", out.ResidualSigma, .002)
		alike(t, "shift", out.Shift, math.Log(share/(1-share))-math.Log(predicted/(1-predicted)))
		alike(t, "noise of the shift", out.ShiftSigma, .002/(predicted*(1-predicted)))
		shifted := []float64{.6, -.2, .1 + out.Shift/intercept}
		if got := o.asked[1].Terms()[0].Point(); !near(got, shifted) {
			t.Errorf("compares %v: must be %v", got, shifted)
		}
		out.Shrunk = 0
		if got := out.Model(w, compare.Constant(base.Margins, 3)); !near(got, shifted) {
			t.Errorf("the model is %v: must be %v", got, shifted)
		}
	}
	with, without := Compare{Calibrate: .1, Loss: loss.Logistic()}.Workload(), Compare{Loss: loss.Logistic()}.Workload()
	if got := with.Kinds[query.ValueChange]; got != (Load{2, 2}) || without.Kinds[query.ValueChange] != (Load{1, 1}) {
		t.Errorf("%+v with a calibration, %+v without", with, without)
	}
}

// TestCalibrationOfCountsByHand works out a calibration of counts from a released answer: the two points of its question,
// the cap of an expected count, the interval of a contribution under both relations, the charge, and the shift with its noise.
func TestCalibrationOfCountsByHand(t *testing.T) {
	const charge, extra, intercept, records = .03, .01, .5, 5000.
	unit := math.Exp(30.) - math.Exp(29.)
	w := []float64{.6, -.2, .1}
	for name, c := range map[string]struct {
		relation            account.Relation
		loss                string
		count, sigma        float64
		cap, centre, radius float64
	}{
		"five means":          {account.ReplaceOne, "poisson(0.3)", .05, .0001, .25, .125, .125},
		"more, at half noise": {account.ReplaceOne, "poisson(0.3)", .05, .0016, .4, .2, .2},
		"above the largest":   {account.ReplaceOne, "poisson-rate(3,0.01)", .3, .0001, 1.5, .75, .75},
		"added or removed":    {account.AddOrRemove, "poisson(0.3)", .05, .0001, .25, 0, .25},
		"exposures":           {account.ReplaceOne, "poisson-rate(3,0.01)", .05, .0001, .25, .125, .125},
	} {
		l := lossOf(t, c.loss)
		c.sigma /= math.Sqrt(usable)
		base := Base{Margins: []float64{-3}, Resolved: true, Sums: []float64{c.count, 1}, Sigma: c.sigma, Loss: .2, LossSigma: .01}
		p := Problem{Relation: c.relation, Records: records, Mu: 1, Constants: l.Constants(), Base: &base, RankOne: true,
			Shape: Shape{Features: 3, Margins: 1}, Start: make([]float64, 3)}
		predicted, noise := .9*c.count, .02*c.count
		o := &told{answers: []query.Release{{Mean: []float64{predicted * unit}, Sigma: noise * unit}, {Mean: []float64{-.05}, Sigma: .01}}}
		if most := c.sigma / 2 * records * math.Sqrt(extra*usable); name == "more, at half noise" && !(math.Abs(most-c.cap) <= 1e-9) {
			t.Fatalf("the cap for half of the noise is %v", most)
		}
		compare := Compare{Charge: charge + extra, Calibrate: extra, Loss: l, Features: 3, Intercept: intercept}
		out, err := compare.Ask(t.Context(), o, p, w, Found{})
		if err != nil {
			t.Fatal(err)
		}
		alike(t, name+": charge of the prediction", o.asked[0].Charge(), extra*usable)
		alike(t, name+": charge of the difference", o.asked[1].Charge(), charge*usable)
		term := o.asked[0].Terms()[0]
		alike(t, name+": centre", term.Ball().Centre/unit, c.centre)
		alike(t, name+": radius", term.Ball().Radius/unit, c.radius)
		if term.Kind() != query.ValueChange || !near(term.Point(), []float64{.6, -.2, 60.1}) || !near(term.Previous(), []float64{.6, -.2, 58.1}) {
			t.Errorf("%s: %v at %v and %v", name, term.Kind(), term.Point(), term.Previous())
		}
		sigma := math.Hypot(.02, c.sigma/c.count)
		relative := sigma / .9
		wide := max(.08*.08, math.Pow(math.Log(.9), 2)-4*relative*relative)
		along := wide / (wide + relative*relative)
		alike(t, name+": residual", out.Residual, -.1)
		alike(t, name+": noise of the residual", out.ResidualSigma, sigma)
		alike(t, name+": shift", out.Shift, -along*math.Log(.9))
		alike(t, name+": noise of the shift", out.ShiftSigma, along*relative)
		if got := o.asked[1].Terms()[0].Point(); !near(got, []float64{.6, -.2, .1 + out.Shift/intercept}) {
			t.Errorf("%s: compares %v", name, got)
		}
	}
}

// TestShrunkCountsAreLifted: a model of counts between its fit and the constant is lifted by what it would predict too low,
// where the mean square of the margins is known. Other losses are not lifted.
func TestShrunkCountsAreLifted(t *testing.T) {
	for _, name := range []string{"poisson(0.3)", "logistic"} {
		l := lossOf(t, name)
		base := Base{Margins: []float64{-3}, Resolved: true, Sums: []float64{.05, 1}, Sigma: .001, Curvature: .05, Loss: .2, LossSigma: .01}
		p := Problem{Relation: account.ReplaceOne, Records: 5000, Mu: 1, Constants: l.Constants(), Base: &base, RankOne: true,
			Shape: Shape{Features: 3, Margins: 1}, Start: make([]float64, 3)}
		found := Found{Square: func([]float64) float64 { return .96 }, Excess: .01}
		o := &told{answers: []query.Release{{Mean: []float64{-.001}, Sigma: .01}}}
		out, err := Compare{Charge: .03, Loss: l, Features: 3, Intercept: .5}.Ask(t.Context(), o, p, []float64{.6, -.2, -4}, found)
		if err != nil || !(out.Shrunk > 0 && out.Shrunk < 1) {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
		want := out.Shrunk * (1 - out.Shrunk) * .4
		if name == "logistic" {
			want = 0
		}
		alike(t, name, out.Lift, want)
	}
}

// TestQuestionsLeaveAPart: the questions of each release are charged together 1 - 2^-30 of its charge, which leaves room for
// rounding in a sum of charges.
func TestQuestionsLeaveAPart(t *testing.T) {
	const charge = .03
	p := Problem{Relation: account.ReplaceOne, Records: 5000, Mu: 1, Shape: Shape{Features: 3, Margins: 1}, Start: make([]float64, 3),
		Constants: loss.Logistic().Constants()}
	w := []float64{.6, -.2, .1}
	for name, c := range map[string]struct {
		of        func(o Oracle) error
		questions int
	}{
		"the shares of two classes": {baseOf(t, p, charge, "logistic"), 2},
		"weighted classes":          {baseOf(t, p, charge, "weighted(softmax(3),2,1,4)"), 3},
		"a mean number":             {baseOf(t, p, charge, "squared(1)"), 2},
		"a mean count":              {baseOf(t, p, charge, "poisson(1)"), 2},
		"a rate":                    {baseOf(t, p, charge, "poisson-rate(1,0.04)"), 2},
		"logit hazards":             {baseOf(t, p, charge, "logit-hazard(1,0.04)"), 2},
		"slopes":                    {baseOf(t, p, charge, "huber(0.5)"), bisections},
		"slopes of amounts":         {baseOf(t, p, charge, "gamma(50,0.1)"), bisections},
		"a measurement": {func(o Oracle) error {
			_, err := Measure{Charge: charge}.Ask(t.Context(), o, p, w)
			return err
		}, 2},
	} {
		o := &told{answers: []query.Release{{Mean: []float64{.3}, Sigma: .01}}}
		if err := c.of(o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sum := 0.
		for _, q := range o.asked {
			sum += q.Charge()
		}
		if len(o.asked) != c.questions || !(math.Abs(sum/charge-(1-0x1p-30)) <= 1e-13) {
			t.Errorf("%s: %d questions are charged %v: must be %d, and %v", name, len(o.asked), sum, c.questions, charge*(1-0x1p-30))
		}
	}
	p.Constants = lossOf(t, "welsch(0.5)").Constants()
	o := &told{answers: []query.Release{{Mean: []float64{-9}, Sigma: .01}}}
	points := []Candidate{{W: w, Along: [][]float64{{1, 0, 0}, {0, 1, 0}}}, {W: make([]float64, 3), Along: [][]float64{{0, 0, 1}}}}
	if _, _, err := ChooseCurved(t.Context(), o, p, o.All(), math.Sqrt(charge), 0, points); err != nil {
		t.Fatal(err)
	}
	for _, q := range o.asked {
		alike(t, "charge of a curvature", q.Charge(), charge/2/3*(1-0x1p-30))
	}
	if len(o.asked) != 3 {
		t.Errorf("%d curvatures: must be 3", len(o.asked))
	}
}

// baseOf asks for the base rate of a loss.
func baseOf(t *testing.T, p Problem, charge float64, name string) func(Oracle) error {
	return func(o Oracle) error {
		_, err := BaseRate{Charge: charge, Loss: lossOf(t, name), Features: 3, Intercept: .5}.Ask(t.Context(), o, p)
		return err
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
}
