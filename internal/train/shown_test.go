package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// The tests of this file compare shown texts to the letter, at numbers that were worked out by hand.

// TestPrivacyWarningsToTheLetter tests the warnings about a budget just below and just above their limits: an epsilon
// of 10, a delta of one over the number of records, an effective size of 30.
func TestPrivacyWarningsToTheLetter(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, records, effective float64
		want                               string
	}{
		{10, 1. / 4000, 4000, 30, ""},
		{10.5, 1e-6, 4000, 31,
			"epsilon-large: epsilon 10.5 promises next to nothing: a publication may be e^10.5 times as likely with a " +
				"person's record as without"},
		{2, .000251, 4000, 31,
			"delta-large: delta 0.000251 is above 1/records: it does not exclude that somebody's record is published as it is"},
		{2, .002, 4000, 31, // between 1/records and 10/records
			"delta-large: delta 0.002 is above 1/records: it does not exclude that somebody's record is published as it is"},
		{2, 1e-6, 4000, 29.4,
			"table-small: too few rows for this budget: a model is almost all noise, and should not be used (effective size " +
				"N = 29, below 30)"},
	} {
		var got []string
		for _, w := range privacyWarnings(c.epsilon, c.delta, c.records, c.effective) {
			got = append(got, w.Code+": "+w.Text)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestBoundOfAClampedTargetIsNamed tests that the warning about a target at a bound names the right one.
func TestBoundOfAClampedTargetIsNamed(t *testing.T) {
	for margin, bound := range map[float64]string{.98: "upper", -.98: "lower"} {
		list := targetWarnings("huber(0.1)", &optimize.Compared{Constant: .01, ConstantSigma: .0002, Margins: []float64{margin}})
		want := "the best constant is the target's " + bound + " bound: half of the targets or more are at this bound or " +
			"beyond it, where they count as the bound"
		if len(list) != 1 || list[0].Text != want {
			t.Errorf("a constant at %v: %v", margin, list)
		}
	}
	list := targetWarnings("logistic", &optimize.Compared{Constant: .0123, ConstantSigma: .0087})
	if len(list) != 1 || !strings.HasPrefix(list[0].Text,
		"the mean loss of the best constant is 0 within noise (0.012, noise 0.0087): no row has a target that can be read, "+
			"nearly all have the same, or the noise hides the others;") {
		t.Errorf("no target: %v", list)
	}
	list = targetWarnings("huber(0.1)", &optimize.Compared{Constant: .0003, ConstantSigma: .0012})
	if len(list) != 1 || !strings.HasPrefix(list[0].Text,
		"the mean loss of the best constant is 0 within noise (0.0003, noise 0.0012): no row has a target that can be read, "+
			"nearly all have the same, its bounds are far too wide, or the noise hides the others;") {
		t.Errorf("no number: %v", list)
	}
	better := optimize.Compared{Constant: .0018, ConstantSigma: .005, Difference: -.0021, Sigma: .0009}
	if list := targetWarnings("squared(0.5)", &better); list != nil {
		t.Errorf("a fit better than the constant, whose loss is therefore not 0: %v", list)
	}
}

// TestComparisonWarningsToTheLetter tests the warnings after a comparison with the best constant: of a fit that moved
// 70% of the way, of one that was replaced by the constant, and of one that was kept although it is worse.
func TestComparisonWarningsToTheLetter(t *testing.T) {
	for _, c := range []struct {
		compared optimize.Compared
		want     string
	}{
		{optimize.Compared{Difference: -.3, Sigma: .05}, ""},
		{optimize.Compared{Difference: .02, Sigma: .05, Shrunk: .3},
			"not-better-than-constant: the fit is not better than a constant by more than noise, and the model goes " +
				"70% of the way from the constant to the fit: the fit's mean loss is 0.02 above the constant's, with noise of 0.05"},
		{optimize.Compared{Difference: .3, Sigma: .05, Shrunk: 1},
			"worse-than-constant: the fit is WORSE than a constant, and the model is the constant, the same for every row: " +
				"the fit's mean loss is 0.3 above the constant's, with noise of 0.05"},
		{optimize.Compared{Difference: .3, Sigma: .05},
			"worse-than-constant: the model is WORSE than a constant: the fit's mean loss is 0.3 above the constant's, " +
				"with noise of 0.05"},
	} {
		got := ""
		for _, w := range comparisonWarnings(&c.compared) {
			got += w.Code + ": " + w.Text
		}
		if got != c.want {
			t.Errorf("%+v:\n%s\nmust be\n%s", c.compared, got, c.want)
		}
	}
}

// TestOutlookToTheLetter tests the forecast as text. Sizes are in the middle of the table's range: of fits of size 70,
// half lost at most 20% and one in ten lost all; of fits of size 250, half lost at most 3% and nine in ten at most 15%.
func TestOutlookToTheLetter(t *testing.T) {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[float64]string{
		70: "will probably beat a constant prediction, if the columns predict the target. In benchmarks of this size, half " +
			"of the fits kept 80% or more of the gain over the constant that a fit without noise has, and one in ten gained nothing",
		250: "will beat a constant prediction, if the columns predict the target. In benchmarks of this size, half of the " +
			"fits kept 97% or more of the gain over the constant that a fit without noise has, and nine in ten kept 85% or more",
		9: "will probably be no better than a constant prediction. In benchmarks of this size, half of the fits gained " +
			"nothing over the constant",
	} {
		p := Planned{Budget: budget, Records: 3210}
		p.Summary.Effective = size
		if got := p.Outlook().String(); got != want {
			t.Errorf("size %v: %s", size, got)
		}
	}
	p := Planned{Budget: budget, Records: 3210}
	p.Summary.Effective = 70
	o := p.Outlook()
	if o.Records != 6420 || !near(mu(t, o.Epsilon), 2*budget.Mu(), 1e-6) {
		t.Errorf("twice the size: %v records or epsilon %v", o.Records, o.Epsilon)
	}
	// A share of at most .1 was seen from size 100 on: 3210*100/70 = 4585.7.
	if want := "4586 records or epsilon 1.5: noise costs half as much"; o.Halve() != want ||
		!near(mu(t, o.HalveEpsilon), budget.Mu()*10/7, 1e-6) {
		t.Errorf("half: %q, epsilon %v", o.Halve(), o.HalveEpsilon)
	}
	o.Assumed = "equally common classes"
	if text := o.String(); !strings.HasSuffix(text,
		"gained nothing. Assumes equally common classes (target.share states another base rate)") {
		t.Error(text)
	}
}

func near(x, y, tolerance float64) bool { return math.Abs(x-y) <= tolerance*math.Abs(y) }

// mu is the noise of a budget of this epsilon and a delta of 1e-6, by bisection of delta(epsilon) of mu-GDP (Balle and
// Wang 2018, Theorem 8).
func mu(t *testing.T, epsilon float64) float64 {
	t.Helper()
	below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	low, high := 1e-3, 50.
	for range 200 {
		if m := (low + high) / 2; below(m/2-epsilon/m)-math.Exp(epsilon)*below(-m/2-epsilon/m) < 1e-6 {
			low = m
		} else {
			high = m
		}
	}
	return low
}

// TestEstimateToTheLetter tests the units of the estimate of time and memory: gigabytes are 10^9 bytes, and megabytes
// 10^6.
func TestEstimateToTheLetter(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{90 * time.Second, 2.6e9}, "about 1.5 minutes of one processor, about 2.6 GB of memory"},
		{Estimate{1340 * time.Millisecond, 734e6}, "about 1.3 seconds of one processor, about 7.3e+02 MB of memory"},
		{Estimate{20 * time.Second, 47.4e6}, "about 20 seconds of one processor, about 47 MB of memory"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("%q: must be %q", got, c.want)
		}
	}
}

// TestExpectedToTheLetter tests the forecast of confidence intervals as text, and its numbers for a level of 80% and
// two budgets, from the algorithm's forecast of errors and the normal quantile 1.2816.
func TestExpectedToTheLetter(t *testing.T) {
	e := &Expected{Level: .8, HalfWidth: .1234, Ratio: 1.567, Records: 54321, Epsilon: 3.21, Columns: 8, Reported: 1}
	const text = "80% confidence intervals of up to 7 coefficients: of a typical column about +-0.12 per standard deviation of " +
		"the column (given the others), 1.6 times as wide as without privacy; half as wide with 54321 records"
	if got := e.String(); got != text+", or epsilon 3.2" {
		t.Error(got)
	}
	if e.Epsilon = 0; e.String() != text+" (with no epsilon, since the sampling error alone is larger)" {
		t.Error(e)
	}
	e.Reported, e.Assumed = .6, "equal shares"
	if got := e.String(); !strings.HasSuffix(got, "; for equal shares (schema.target.share states others); in simulations of "+
		"this size about 60% of the coefficients had one") {
		t.Error(got)
	}
	if e.Reported = .992; !strings.HasSuffix(e.String(), "; in simulations of this size about 99% of the coefficients had one") {
		t.Error(e)
	}
	if e.Reported = 0; !strings.Contains(e.String(), "; expect NO interval: in simulations of this size no fit had one") {
		t.Error(e)
	}
	c := config(t, 3000, "model: {loss: logistic}", "model: {loss: logistic}\ninference: {level: 0.8}", "epsilon: 1,", "epsilon: 8,")
	p, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.loss()
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.intervals(l)
	if err != nil {
		t.Fatal(err)
	}
	problem := p.Plan.(interface{ Problem() optimize.Problem }).Problem()
	// The comparison and the base rate take their shares of the budget first.
	rest := p.Budget.Mu() * math.Sqrt(1-(p.Compare.Charge+p.Base.Charge)/p.Budget.Charge())
	total, sampling := a.Foresee(problem, 3000, rest)
	e = p.Intervals
	if e.Level != .8 || e.Columns != len(a.Columns) || !near(e.HalfWidth, 1.2815516*total, 1e-3) ||
		!near(e.Ratio, total/sampling, 1e-3) {
		t.Errorf("%+v: must be of half-width %v and ratio %v", e, 1.2815516*total, total/sampling)
	}
	half := func(n, mu float64) float64 {
		total, _ := a.Foresee(problem, n, mu)
		return 1.2815516 * total
	}
	if x, y := half(e.Records, rest), half(e.Records-30, rest); !(x <= 1.001*e.HalfWidth/2) || y < .999*e.HalfWidth/2 {
		t.Errorf("%v records leave %v, and 30 less %v, of %v", e.Records, x, y, e.HalfWidth)
	}
	if e.Epsilon > 0 && !near(half(3000, rest*mu(t, e.Epsilon)/p.Budget.Mu()), e.HalfWidth/2, 1e-3) {
		t.Errorf("epsilon %v does not halve %v", e.Epsilon, e.HalfWidth)
	}
}

// TestExpectedOfTheDeclaredShare tests the forecast for 3% of the second class, and for a mean count of .4 of at most 30,
// against errors without noise that are computed here: sqrt(p(1-p)/n) over .8 p(1-p) of a class, and sqrt(m/n)/30 over m/30
// of counts of mean m. Few coefficients are expected to have an interval, and without a declared share all are.
func TestExpectedOfTheDeclaredShare(t *testing.T) {
	const classes, counts = `target: {column: sick, classes: ["0", "1"]}`, "target: {column: age, number: [0, 30]}"
	for _, c := range []struct {
		target, column, loss string
		share, sampling      float64
	}{
		{classes, "age: {number: [0, 100]}", "logistic", .03, math.Sqrt(.0291/3000) / (.8 * .0291)},
		{counts, "sick: {number: [0, 1]}", "poisson(1)", .4, math.Sqrt(.4/3000) / .4},
	} {
		var reported [2]float64
		for i, share := range []string{"", fmt.Sprintf(", share: [%v]}", c.share)} {
			target := c.target
			if share != "" {
				target = strings.TrimSuffix(target, "}") + share
			}
			k := config(t, 3000, classes, target, "age: {number: [0, 100]}", c.column, "model: {loss: logistic}", "model: {loss: "+c.loss+"}\ninference: {level: 0.8}", "epsilon: 1,", "epsilon: 2,")
			p, err := k.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			e := p.Intervals
			if reported[i] = e.Reported; (e.Assumed == "") != (share != "") {
				t.Errorf("%s: share %q: assumed %q", c.loss, share, e.Assumed)
			}
			if share != "" && !near(e.HalfWidth/e.Ratio, 1.2815516*c.sampling, 1e-3) {
				t.Errorf("%s: half-width %v, without privacy %v: must be %v", c.loss, e.HalfWidth, e.HalfWidth/e.Ratio,
					1.2815516*c.sampling)
			}
		}
		if !(reported[1] < reported[0]) {
			t.Errorf("%s: reported %v without and with the declared share", c.loss, reported)
		}
	}
}

// TestInferenceWarningsToTheLetter tests the warning about a shorter formula: its number counts the features that were
// left out and are no level of cells that are not listed. One feature is told of in the singular.
func TestInferenceWarningsToTheLetter(t *testing.T) {
	s := config(t, 10).Schema // age, its indicator or none, sex=f, sex=m, sex=other, intercept
	other := -1
	for j := range s.Features() {
		if s.IsOther(j) {
			other = j
		}
	}
	list := inferenceWarnings(s, &inference.Fit{Method: inference.Wald, Dropped: []int{2, 0, other}}, nil)
	if len(list) != 1 || !strings.Contains(list[0].Text, ": 2 columns that the noise hides") ||
		!strings.Contains(list[0].Text, "(first \""+s.Features()[2]+"\")") {
		t.Errorf("%v", list)
	}
	const one = "intervals are for a SHORTER formula than was asked for: 1 column that the noise hides is left out, or is a level " +
		`that counts as the reference level ("sex=m"); the intervals do not cover the coefficients of the longer formula`
	if list = inferenceWarnings(s, &inference.Fit{Method: inference.Wald, Dropped: []int{2, other}}, nil); len(list) != 1 ||
		list[0].Text != one {
		t.Errorf("%v", list)
	}
	// Levels that leave are told of apart, with the share of their rows, of all classes once; so are reference levels that others count as.
	gone := &inference.Fit{Method: inference.Wald, Dropped: []int{1, 2, other}, Gone: []inference.Gone{{Feature: 1, Share: .03}, {Feature: 2, Share: .021},
		{Feature: other, Share: .4}}}
	const shorter = "intervals are for a SHORTER formula than was asked for: "
	const left = shorter + "2 columns that the noise hides are left out, or are levels that count as the reference level or leave with " +
		`their rows, about 5.1% of all (first "sex=f"); the intervals do not cover the coefficients of the longer formula`
	if list = inferenceWarnings(s, gone, nil); len(list) != 1 || list[0].Text != left {
		t.Errorf("%v", list)
	}
	gone.Dropped, gone.Gone, gone.Merged = []int{1}, []inference.Gone{{Feature: 1, Share: .03}}, []int{2}
	const both = shorter + "1 column that the noise hides is left out, or is a level that counts as the reference level or leaves with its " +
		`rows, about 3.0% of all ("sex=f"); the intervals do not cover the coefficients of the longer formula; differences from ` +
		`"sex=m", as which levels count, have no interval`
	if list = inferenceWarnings(s, gone, nil); len(list) != 1 || list[0].Text != both {
		t.Errorf("%v", list)
	}
}

// TestWarningsNameARareClass: a class of at most 3% of the rows, two deviations of its released share above it, is named
// where intervals of several classes are lacking.
func TestWarningsNameARareClass(t *testing.T) {
	c := config(t, 10, `classes: ["0", "1"]`, `classes: [no, "yes", maybe]`, "loss: logistic", "loss: softmax")
	base := func(sums ...float64) *Base { return &Base{Sums: sums, Sigma: .004} }
	const named = `; class "yes" has at most 1.9% of the rows: without it in target.classes the other classes may keep their columns`
	for _, fit := range []inference.Fit{{Method: inference.NotIdentified}, {Method: inference.Wald, Dropped: []int{2}}} {
		for want, base := range map[string]*Base{named: base(.6, .011, .389), "": base(.6, .023, .377)} {
			list := inferenceWarnings(c.Schema, &fit, base)
			if len(list) == 0 || strings.HasSuffix(list[0].Text, named) != (want != "") || strings.Contains(list[0].Text, "has at most") != (want != "") {
				t.Errorf("%v: %v: want %q", base, list, want)
			}
		}
	}
	if list := inferenceWarnings(c.Schema, &inference.Fit{Method: inference.Wald}, base(.6, .001, .399)); len(list) > 0 {
		t.Errorf("%v: nothing is lacking", list)
	}
	two := config(t, 10).Schema
	if list := inferenceWarnings(two, &inference.Fit{Method: inference.NotIdentified}, base(.999, .001)); strings.Contains(list[0].Text, "has at most") {
		t.Errorf("%v: two classes", list)
	}
}

// TestStagesShareTheBudget tests the shares of a fit's two stages, which a plan shows: 30% for the first, and the rest
// for the second. At this size of a fit of classes the features number boughtFeatures.
func TestStagesShareTheBudget(t *testing.T) {
	c := config(t, 20_000, "model: {loss: logistic}", "model: {loss: logistic, features: effects}")
	p, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := p.First
	if s == nil || !near(s.Share, .3, 1e-9) || !near(s.Second, .7, 1e-9) || s.Features() != boughtFeatures {
		t.Errorf("%+v", s)
	}
}

// TestStagesToTheLetter tests how the two stages share a budget, and the text of features of effects. The passes of the
// first stage count with those of the second.
func TestStagesToTheLetter(t *testing.T) {
	e := FeatureEffects{Weight: 2.5, Features: 317}
	if e.String() != "effects(2.5,317)" {
		t.Error(e)
	}
	s := &Stage{Share: .3125, Second: .6875, Summary: optimize.Summary{Steps: 12, Passes: 7, PairPasses: 3, Charges: "half"}}
	o := s.both(optimize.Summary{Steps: 100, Passes: 50, PairPasses: 20, Charges: "a third"})
	if o.Charges != "0.312 to the additive model in 12 steps (of it half), 0.688 to the features of effects with it (of it a third)" ||
		o.Steps != 112 || o.Passes != 57 || o.PairPasses != 23 {
		t.Errorf("%+v", o)
	}
}

// TestGainsOfFamilies tests which benchmark's gain a family shows: that of the largest size that the plan reaches.
func TestGainsOfFamilies(t *testing.T) {
	for _, c := range []struct {
		family string
		size   float64
		want   float64
	}{{Lines, 60, .81}, {Lines, 59.9, .49}, {Curves, 5000, .98}, {Interactions, 199, .98}, {Interactions, 24.9, 0}} {
		if got := measuredGain(c.family, loss.Logistic(), c.size); got != c.want {
			t.Errorf("%s of size %v: gain %v: must be %v", c.family, c.size, got, c.want)
		}
	}
	huber, err := loss.Huber(.5)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := loss.Poisson(.5)
	if err != nil {
		t.Fatal(err)
	}
	// Where the gain of each kind of target and family changes, with each size in hundredths of the next one below.
	for kind, want := range map[string]string{
		"numbers": "0 25=0.43 60=0.79 100=0.82 200=0.84 400=0.87 800=0.88, 0 25=0.8 60=0.86 100=0.91 200=0.94 400=0.95 800=0.95, " +
			"0 25=0.94 60=0.97 100=1 200=1 400=1",
		"classes": "0 25=0.49 60=0.81 100=0.83 200=0.89 400=0.94 800=0.89, 0 25=0.59 60=0.84 100=0.87 200=0.96 400=0.97 800=0.98, " +
			"0 25=0.86 60=0.92 100=0.98 200=0.99 400=1",
		"counts": "0 25=0.01 60=0.46 100=0.51 200=0.76 400=0.67 800=0.78, 0 25=0.26 60=0.47 100=0.77 200=0.85 400=0.94 800=0.99, " +
			"0 25=0.3 60=0.61 100=0.74 200=0.89 800=1",
	} {
		l := map[string]loss.Loss{"numbers": huber, "classes": loss.Logistic()}[kind]
		if kind == "counts" {
			l = counts
		}
		var got []string
		for _, name := range families {
			text, sizes := "0", []float64{25, 60, 100, 200, 400, 800}
			for i, size := range sizes {
				below := 0.
				if i > 0 {
					below = measuredGain(name, l, sizes[i-1])
				}
				at, just := measuredGain(name, l, size), measuredGain(name, l, size-1e-9)
				if just != below {
					t.Errorf("%s, %s: gain %v below size %v: must be %v", kind, name, just, size, below)
				}
				if listed := slices.ContainsFunc(measuredGains[kind][name], func(g gain) bool { return g.size == size }); listed {
					text += fmt.Sprintf(" %v=%v", size, at)
				}
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %s: must be %s", kind, text, want)
		}
	}
	several, err := loss.Softmax(3)
	if err != nil {
		t.Fatal(err)
	}
	if leastSize(Curves, several, 1) != 100 || leastSize(Curves, several, .5) != 100 {
		t.Errorf("three classes: %v and %v", leastSize(Curves, several, 1), leastSize(Curves, several, .5))
	}
	if least := leastSize(Curves, loss.Logistic(), .2); least != 40 || leastSize(Interactions, loss.Logistic(), .2) != 160 ||
		leastSize(Interactions, loss.Logistic(), .9) != 207 {
		t.Errorf("a rare class: curves from %v", least)
	}
	if leastSize(Curves, counts, .2) != 175 || leastSize(Curves, loss.Logistic(), 1) != 40 || leastSize(Interactions, counts, 1) != 470 ||
		measuredGain(Curves, counts, 130) != .77 {
		t.Errorf("counts: %v, gain %v", leastSize(Curves, counts, .2), measuredGain(Curves, counts, 130))
	}
	numbers, err := loss.Huber(.5)
	if err != nil || leastSize(Curves, numbers, 1) != 30 || leastSize(Interactions, numbers, 1) != 36 || leastSize(Lines, numbers, 1) != 0 {
		t.Errorf("numbers: curves from %v, effects from %v, %v", leastSize(Curves, numbers, 1), leastSize(Interactions, numbers, 1), err)
	}
	for family, of := range leastSizes {
		for kind, least := range of {
			if least < optimize.SmallSize {
				t.Errorf("%s of %s from size %v: a fit below %v is refused", family, kind, least, optimize.SmallSize)
			}
		}
	}
}

// TestReasonOfTheFamily tests why the rule takes a family: the effective size of its plan is beside the least for it,
// to three digits. The richest whose size suffices is taken, and each richer one is named with its reason.
func TestReasonOfTheFamily(t *testing.T) {
	for _, records := range []int{3000, 30_000, 400_000, 20_000_000} {
		c := config(t, records, "model: {loss: logistic}", "model: {loss: logistic, family: auto}")
		l, err := c.loss()
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := c.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, last := "", Lines
		for _, name := range []string{Interactions, Curves} {
			own := config(t, records, "model: {loss: logistic}", "model: {loss: logistic, family: "+name+"}")
			p, err := own.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			size, least := p.signal(), leastSize(name, l, 1)
			if size >= least {
				want = fmt.Sprintf("effective size %.3g is at least %.3g", size, least) + strings.Replace(want, "not", "; not", 1)
				last = name
				simplified := func(to string, ratio float64) {
					want += fmt.Sprintf("; %s if a class has a released share below %.2g%%", to, 50*(1-math.Sqrt(1-ratio)))
				}
				if name == Interactions {
					own.Model.Family = Curves
					if p, err = own.Plan(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if name == Interactions {
					simplified(Curves, 160/size)
				}
				simplified(Lines, 40/p.signal())
				break
			}
			if want != "" {
				want += "; "
			}
			want += fmt.Sprintf("not %s: effective size %.3g is below %.3g", name, size, least)
		}
		if chosen.Family.Name != last || chosen.Family.Why != want {
			t.Errorf("%d records: %s, %q: must be %s, %q", records, chosen.Family.Name, chosen.Family.Why, last, want)
		}
		for _, f := range chosen.Families {
			if records != 30_000 {
				break
			}
			own := config(t, records, "model: {loss: logistic}", "model: {loss: logistic, family: "+f.Family+"}")
			p, err := own.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if f.Refused == "" && (f.Features != p.Features || !near(f.Size, p.signal(), 1e-9) ||
				f.Gain != measuredGain(f.Family, l, p.signal())) {
				t.Errorf("%d records: %+v: must have %d features, size %v", records, f, p.Features, p.signal())
			}
		}
		for _, f := range chosen.Families {
			if f.Refused == "" && !(f.Size >= leastSize(f.Family, l, 1)) == (float64(records) >= f.Records) && f.Family != Lines {
				t.Errorf("%d records: %+v: the number of records contradicts the size", records, f)
			}
		}
	}
}

// TestClipIsToldToTheLetter tests the warning about what the clip of gradients holds back: above three deviations of its
// noise it is told with both numbers, and not at three or where nothing was released.
func TestClipIsToldToTheLetter(t *testing.T) {
	const (
		held = "clip-holds-back: coefficients may be off by more than their stated noise, since the clip holds back long gradients: " +
			"at the result, squared gradient norms exceed the squared clip norm by "
		cause = " Far values of a column, or an effect that is no line, are the usual cause, and narrower bounds or a curve for the " +
			"column help. Gradients may also cancel, and no coefficient moves"
	)
	for _, c := range []struct {
		held, noise float64
		want        string
	}{
		{.0456, .0123, held + "0.046 of it on average (noise 0.012)." + cause},
		{.038, .0123, held + "0.038 of it on average (noise 0.012)." + cause},
		{.0369, .0123, ""},
		{.0456, 0, ""},
		{-.0456, .0123, ""},
	} {
		law := new(optimize.Trace{}.WithClipped(c.held, c.noise))
		got := ""
		for _, w := range clipWarnings(law) {
			got += w.Code + ": " + w.Text
		}
		if got != c.want {
			t.Errorf("%v with noise of %v: %q", c.held, c.noise, got)
		}
		schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
			Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
		if err != nil {
			t.Fatal(err)
		}
		of := Header{Schema: schema}.warnings(Released{Run: runrecord.Run{Trace: new(optimize.Trace{}.WithClipped(c.held, c.noise))}})
		if told := slices.ContainsFunc(of, func(w Warning) bool { return w.Code == WarnClip }); told != (c.want != "") {
			t.Errorf("%v with noise of %v: warnings %v", c.held, c.noise, of)
		}
	}
	if list := clipWarnings(nil); list != nil {
		t.Errorf("without a trace: %v", list)
	}
}
