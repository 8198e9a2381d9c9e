package means_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// beta and covariance are those of age, south, east and the intercept. The level west is not in the formula.
var (
	beta       = []float64{1, -2, .5, .25}
	covariance = [4][4]float64{{.04, .03, -.01, 0}, {.03, .09, .02, .01}, {-.01, .02, .05, 0}, {0, .01, 0, .03}}
)

// withIntervals returns a model of ill by age, from 0 to 10, and region, with a fit that has intervals of level .9.
func withIntervals(t *testing.T, target dataset.Target, l loss.Loss, changes ...func(*inference.Fit)) *model.Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east", "west"}},
			{Name: "day", Kind: dataset.Public, Values: []string{"1"}},
		},
		Target: target,
	})
	if err != nil {
		t.Fatal(err)
	}
	fit := &inference.Fit{
		Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: 0}, {Feature: 2}, {Feature: 3}, {Feature: schema.Dim() - 1, Kept: true}},
		Dropped: []int{4}, Beta: beta,
		Sampling:       []float64{.02, .01, 0, 0, .03, .01, 0, .04, 0, .02},
		Metric:         []float64{1, 0, 0, 0, 1, 0, 0, 1, 0, 1},
		LeastDirection: []float64{.2, -1, .6, .9},
	}
	for i := range 4 {
		fit.Covariance = append(fit.Covariance, covariance[i][i:]...)
	}
	for _, change := range changes {
		change(fit)
	}
	text, err := fit.JSON()
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, schema.Dim())
	for i, c := range fit.Columns {
		w[c.Feature] = fit.Beta[i]
	}
	m, err := model.New(model.Params{
		Software: "a test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: schema, Weights: w, Inference: text, Clamped: clamp,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table with one row replaced by any other", Certificate: "certificate.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// clamp says whether withIntervals makes models whose predictions are clamped to the bounds of the target.
var clamp bool

var classes = dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}

// hiddenWest says why the level west and the number age have no interval where the formula lacks them.
const hiddenWest = "not in the formula: a column or a level of it is not in the formula. The noise of the second moment or of the curvature hides its rows, so that it was " +
	"left out before the fit, with its rows or without, or counts as the reference level. Nothing is known of its coefficient"

// byHand is the mean prediction over rows of an age and a region, from the coefficients b. The divisor of rows is the
// root of 3: a number, a category and the intercept.
func byHand(link func(float64) float64, b []float64, ages []float64, regions []string) float64 {
	sum := 0.
	for i := range ages {
		z := b[0]*(ages[i]/5-1) + b[3]
		switch regions[i] {
		case "south":
			z += b[1]
		case "east":
			z += b[2]
		}
		sum += link(z / math.Sqrt(3))
	}
	return sum / float64(len(ages))
}

// deviation is the standard error of a function of the coefficients, by numeric derivatives. doubt is a standard error of the
// score that is the same for all rows, as of the intercept.
func deviation(of func(b []float64) float64, doubt float64) float64 {
	var gradient [4]float64
	for j := range gradient {
		high, low := append([]float64{}, beta...), append([]float64{}, beta...)
		high[j] += 1e-5
		low[j] -= 1e-5
		gradient[j] = (of(high) - of(low)) / 2e-5
	}
	v := math.Pow(gradient[3]*math.Sqrt(3)*doubt, 2)
	for i := range gradient {
		for j := range gradient {
			v += gradient[i] * gradient[j] * covariance[i][j]
		}
	}
	return math.Sqrt(v)
}

const quantile = 1.6448536269514722 // of level .9

// TestMeansByHand compares adjusted means, their differences, and marginal effects with formulas of their own: the
// predictions are added up by hand, and standard errors follow from numeric derivatives in the coefficients.
func TestMeansByHand(t *testing.T) {
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	squared, err := loss.Squared(1)
	if err != nil {
		t.Fatal(err)
	}
	cost := dataset.Target{Column: "cost", Kind: dataset.Number, Low: 0, High: 100}
	rate, err := loss.Parse("poisson-rate(4,1.52587890625e-05)")
	if err != nil {
		t.Fatal(err)
	}
	times := dataset.Target{Column: "years", Kind: dataset.Number, High: 3, Event: "died", Cuts: []float64{1, 3}}
	odds, err := loss.Parse("logit-hazard(4,1.52587890625e-05)")
	if err != nil {
		t.Fatal(err)
	}
	intervals := times
	intervals.Grouped, intervals.Hazards = "logit", []float64{.25, .75}
	doubtful := times
	doubtful.Hazards, doubtful.HazardErrors = []float64{.25, .75}, []float64{.2, .3}
	poisson, err := loss.Parse("poisson(3)")
	if err != nil {
		t.Fatal(err)
	}
	visits := dataset.Target{Column: "visits", Kind: dataset.Number, Low: 0, High: 8}
	exposed, err := loss.Parse("poisson-rate(3,0.125)")
	if err != nil {
		t.Fatal(err)
	}
	yearly := visits
	yearly.Exposure = dataset.Exposure{Column: "years", Low: .5, High: 4}
	for _, c := range []struct {
		name, of string
		m        *model.Model
		link     func(float64) float64
		scale    string  // on which the interval of a mean is made
		doubt    float64 // of the baseline hazard, as a shift of the score
	}{
		{"logistic", "the probability of ill = yes", withIntervals(t, classes, loss.Logistic()), logistic, "logit", 0},
		{"time to an event", "the risk of died by years 3", withIntervals(t, times, rate),
			func(z float64) float64 { return 1 - math.Exp(-math.Exp(z)) }, "logit", 0},
		{"hazards with errors", "the risk of died by years 3", withIntervals(t, doubtful, rate),
			func(z float64) float64 { return 1 - math.Exp(-math.Exp(z)) }, "logit", math.Hypot(.25*.2, .75*.3)},
		{"odds of intervals", "the risk of died by years 3", withIntervals(t, intervals, odds), func(z float64) float64 {
			return 1 - 1/((1+math.Exp(z)/4)*(1+3*math.Exp(z)/4))
		}, "logit", 0},
		{"counts", "the expected visits", withIntervals(t, visits, poisson), func(z float64) float64 { return 8 * math.Exp(z) }, "log", 0},
		{"counts by exposure", "the expected visits per unit of years", withIntervals(t, yearly, exposed),
			func(z float64) float64 { return 2 * math.Exp(z) }, "log", 0},
		{"squared", "the expected cost", withIntervals(t, cost, squared), func(z float64) float64 { return 50*z + 50 }, "", 0},
	} {
		ages, regions := []float64{1, 4, 9}, []string{"north", "south", "east"}
		people := means.Population{Header: []string{"age", "region"},
			Rows: [][]string{{"1", "north"}, {"4", " south"}, {"9", "east"}}}
		got, err := means.Of(t.Context(), c.m, people, []string{"region", "age"})
		if err != nil {
			t.Fatal(err)
		}
		all := func(region string) []string { return []string{region, region, region} }
		at := func(regions []string, by float64) func(b []float64) float64 {
			return func(b []float64) float64 {
				moved := append([]float64{}, ages...)
				for i := range moved {
					moved[i] += by
				}
				return byHand(c.link, b, moved, regions)
			}
		}
		less := func(f, g func(b []float64) float64, by float64) func(b []float64) float64 {
			return func(b []float64) float64 { return (f(b) - g(b)) / by }
		}
		wants := []struct {
			of   func(b []float64) float64
			mean bool
			none bool
		}{
			{of: at(all("north"), 0), mean: true}, {of: at(all("south"), 0), mean: true}, {of: at(all("east"), 0), mean: true},
			{of: at(all("north"), 0), none: true}, // west counts as the reference level
			{of: less(at(all("south"), 0), at(all("north"), 0), 1)}, {of: less(at(all("east"), 0), at(all("north"), 0), 1)},
			{of: func([]float64) float64 { return 0 }, none: true},
			{of: less(at(regions, .005), at(regions, -.005), .01)},
		}
		if len(got.List) != len(wants) || got.Rows != 3 || got.Level != .9 || got.Short || got.Of != c.of {
			t.Fatalf("%s: %+v", c.name, got)
		}
		compare := func(a means.Answer, of func(b []float64) float64, mean, none bool) {
			value, half := of(beta), quantile*deviation(of, c.doubt)
			if none {
				if a.Estimate != nil || a.Low != nil || a.Reason != hiddenWest {
					t.Errorf("%s: %+v: must have no estimate and no interval", c.name, a)
				}
				return
			}
			if a.Estimate == nil || !(math.Abs(*a.Estimate-value) <= 1e-5*(1+math.Abs(value))) {
				t.Errorf("%s: %+v: estimate must be %v", c.name, a, value)
			}
			low, high := value-half, value+half
			if mean && c.scale == "logit" {
				logit := func(b []float64) float64 { p := of(b); return math.Log(p / (1 - p)) }
				z, d := logit(beta), quantile*deviation(logit, c.doubt)
				low, high = logistic(z-d), logistic(z+d)
			}
			if mean && c.scale == "log" {
				log := func(b []float64) float64 { return math.Log(of(b)) }
				z, d := log(beta), quantile*deviation(log, c.doubt)
				low, high = math.Exp(z-d), math.Exp(z+d)
			}
			if a.Low == nil || !(math.Abs(*a.Low-low) <= 1e-4*(1+math.Abs(low))) || !(math.Abs(*a.High-high) <= 1e-4*(1+math.Abs(high))) {
				t.Errorf("%s: %+v: interval must be %v to %v", c.name, a, low, high)
			}
		}
		compare(got.Mean, at(regions, 0), true, false)
		for i, w := range wants {
			compare(got.List[i], w.of, w.mean, w.none)
		}
	}
}

// TestShortFormula: a population with a level that the formula lacks has means of the shorter formula, and says so. If more than
// a tenth of the rows that are read have it, the mean has no interval; differences have theirs, as coefficients have. Rows that are malformed do not count, and neither do unknown ages in the effect of age.
func TestShortFormula(t *testing.T) {
	m := withIntervals(t, classes, loss.Logistic())
	rows := [][]string{{"5", "west"}, {"5", "north"}, {"5"}, {"", "north"}}
	got, err := means.Of(t.Context(), m, means.Population{Header: []string{"age", "region"}, Rows: rows}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const lacks = "more than a tenth of the population's rows have a level or a number that the fit's formula lacks"
	if !got.Short || got.Rows != 3 || got.Mean.Low != nil || got.Mean.Reason != lacks || got.List[1].Low == nil || got.List[5].Low == nil {
		t.Errorf("%+v: must be of the short formula, with 3 rows and no interval of the mean alone", got)
	}
	for n, stated := range map[int]bool{8: false, 9: true} {
		many := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"5", "west"}, {"5"}}}
		for range n {
			many.Rows = append(many.Rows, []string{"5", "north"})
		}
		if got, err := means.Of(t.Context(), m, many, nil); err != nil || !got.Short || (got.Mean.Low != nil) != stated {
			t.Errorf("1 of %d rows: %+v, %v: an interval must be stated: %v", n+1, got, err, stated)
		}
	}
	var columns []string
	for _, a := range got.List { // without names those of all categories and numbers, in the order of the schema
		columns = append(columns, a.Column+a.Level+a.Against)
	}
	if want := []string{"age", "regionnorth", "regionsouth", "regioneast", "regionwest", "regionsouthnorth", "regioneastnorth",
		"regionwestnorth"}; !slices.Equal(columns, want) || got.Level != .9 {
		t.Errorf("answers about %q at level %v: must be %q", columns, got.Level, want)
	}
	want := 1 / (1 + math.Exp(-.25/math.Sqrt(3))) // an unknown age is the midpoint, as 5 is
	if !(math.Abs(*got.Mean.Estimate-want) <= 1e-6) {
		t.Errorf("mean %v: must be %v", *got.Mean.Estimate, want)
	}
}

// TestRowsThatTheFormulaLacks: up to a tenth of the rows with a level that the formula lacks widen an interval by every value
// that they may have. A mean of theirs lies in the range of the target; a change of theirs lies, by the mean value theorem, between
// 0 and the change of the score times the largest derivative. Where all derivatives are the same, changes have no such doubt.
func TestRowsThatTheFormulaLacks(t *testing.T) {
	parsed := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	z := beta[3] / math.Sqrt(3) // the score of a north of age 5
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for _, c := range []struct {
		name                  string
		target                dataset.Target
		loss                  loss.Loss
		link                  func(float64) float64
		least, most, steepest float64
		clamped               bool
	}{
		{"a probability", classes, loss.Logistic(), logistic, 0, 1, .25, false},
		{"a number", dataset.Target{Column: "cost", Kind: dataset.Number, Low: -20, High: 100}, parsed("squared(1)"),
			func(z float64) float64 { return 40 + 60*z }, -20, 100, 0, false},
		{"a clamped number", dataset.Target{Column: "cost", Kind: dataset.Number, Low: -20, High: 100}, parsed("squared(1)"),
			func(z float64) float64 { return max(40+60*z, -20) }, -20, 100, 60, true},
		{"a count", dataset.Target{Column: "visits", Kind: dataset.Number, High: 6}, parsed("poisson(3)"),
			func(z float64) float64 { return 6 * math.Exp(z) }, 0, 6, 6, false},
		{"a rate", dataset.Target{Column: "visits", Kind: dataset.Number, High: 6, Exposure: dataset.Exposure{Column: "years", Low: 1, High: 2}},
			parsed("poisson-rate(3,0.5)"), func(z float64) float64 { return 3 * math.Exp(z) }, 0, 6, 6, false},
		{"a risk", dataset.Target{Column: "month", Kind: dataset.Number, High: 12, Event: "ill", Cuts: []float64{6, 12}, Hazards: []float64{.5, .5}},
			parsed("poisson-rate(4,1.52587890625e-05)"), func(z float64) float64 { return -math.Expm1(-math.Exp(z)) }, 0, 1, 1 / math.E, false},
	} {
		clamp = c.clamped
		m := withIntervals(t, c.target, c.loss)
		clamp = false
		of := func(first string, n int) *means.Answers {
			people := means.Population{Header: []string{"age", "region", "years", "month", "ill"}, Rows: [][]string{{"5", first, "1", "1", "0"}}}
			for range n - 1 {
				people.Rows = append(people.Rows, []string{"5", "north", "1", "1", "0"})
			}
			got, err := means.Of(t.Context(), m, people, []string{"age", "region"})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		plain, short := of("north", 10), of("west", 10)
		near := func(what string, got *float64, want float64) {
			t.Helper()
			if got == nil || !(math.Abs(*got-want) <= 1e-6*(1+math.Abs(want))) {
				t.Errorf("%s: %s: %v: must be %v", c.name, what, got, want)
			}
		}
		value := c.link(z) / 10
		near("the lower end", short.Mean.Low, max(*plain.Mean.Low-(value-c.least/10), min(c.least, c.link(z))))
		near("the upper end", short.Mean.High, min(*plain.Mean.High+c.most/10-value, max(c.most, c.link(z))))
		if of("west", 9).Mean.Low != nil {
			t.Errorf("%s: more than a tenth of the rows lack", c.name)
		}
		// The effect of one more year of age, of which a year changes the score by beta[0]/5/sqrt 3.
		a, b := plain.List[0], short.List[0]
		doubt := c.steepest * beta[0] / 5 / math.Sqrt(3) / 10
		if c.steepest == 0 {
			near("an effect's lower end", b.Low, *a.Low)
			near("an effect's upper end", b.High, *a.High)
			if of("west", 1).List[0].Low == nil {
				t.Errorf("%s: an effect on a straight line does not depend on the rows", c.name)
			}
			continue
		}
		near("an effect's lower end", b.Low, *a.Low-*a.Estimate/10)
		near("an effect's upper end", b.High, *a.High+max(doubt-*a.Estimate/10, 0))
		if of("west", 9).List[0].Low != nil {
			t.Errorf("%s: an effect on more than a tenth of such rows has an interval", c.name)
		}
	}
}

// TestMeansSayWhatTheyCarry: the effect of a number and the difference of a level name the dropped feature that the column also
// carries, with the correlation. Means do not. Rows with a feature that a column carries do not widen effects, and more than a tenth
// of them leave effects their intervals.
func TestMeansSayWhatTheyCarry(t *testing.T) {
	m := withIntervals(t, classes, loss.Logistic(), func(f *inference.Fit) {
		f.Absorbed = []inference.Absorbed{{Feature: 4, By: 2, Correlation: -.625, Noise: .03}}
	})
	people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"5", "west"}, {"5", "north"}}}
	got, err := means.Of(t.Context(), m, people, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := means.Of(t.Context(), withIntervals(t, classes, loss.Logistic(), func(f *inference.Fit) { f.Dropped = nil }), people, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "", "", "", "not in the formula: region=west and region=south are correlated " +
		"(correlation -0.62, noise 0.03), and noise hides which", "also carries region=west (correlation -0.62, noise 0.03)", "", "not in the formula"} {
		if r := got.List[i].Reason; !strings.HasPrefix(r, want) || (r == "") != (want == "") {
			t.Errorf("%+v: reason %q: must begin with %q", got.List[i], r, want)
		}
	}
	if a, b := got.List[0], plain.List[0]; a.Low == nil || *a.Low != *b.Low || *a.High != *b.High {
		t.Errorf("%+v: must be as wide as %+v", a, b)
	}
	if !strings.HasPrefix(got.Mean.Reason, "more than a tenth") {
		t.Errorf("%+v: must have no interval", got.Mean)
	}
}

// TestEffectsAtTheBounds: the effect of one unit more is that at the bound where a number is at it or beyond, and of the rows
// whose number is known. A number is no cell that reads as none.
func TestEffectsAtTheBounds(t *testing.T) {
	m := withIntervals(t, classes, loss.Logistic())
	for _, c := range []struct {
		ages []string
		at   []float64 // the middle of the step of .01 in which the derivative is taken, within 0 to 10
	}{
		{[]string{"10", "9.999", "12"}, []float64{9.995, 9.995, 9.995}},
		{[]string{"0", "0.002", "-3"}, []float64{.005, .005, .005}},
		{[]string{"4", "NaN", "12", "", "old"}, []float64{4, 9.995}},
	} {
		people := means.Population{Header: []string{"age", "region"}}
		for _, age := range c.ages {
			people.Rows = append(people.Rows, []string{age, "south"})
		}
		got, err := means.Of(t.Context(), m, people, []string{"age"})
		if err != nil {
			t.Fatal(err)
		}
		want := 0.
		for _, age := range c.at {
			p := byHand(func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }, beta, []float64{age}, []string{"south"})
			want += p * (1 - p) * beta[0] / 5 / math.Sqrt(3) / float64(len(c.at))
		}
		if !(math.Abs(*got.List[0].Estimate/want-1) <= 1e-4) {
			t.Errorf("ages %v: effect %v: must be %v", c.ages, *got.List[0].Estimate, want)
		}
	}
}

// TestClampedMeans: a prediction beyond the bounds of a number is the bound, which no small change of the coefficients moves:
// the mean of such predictions has an interval of no width, or none. A model that is not clamped has that of its score.
func TestClampedMeans(t *testing.T) {
	squared, err := loss.Squared(1)
	if err != nil {
		t.Fatal(err)
	}
	cost := dataset.Target{Column: "cost", Kind: dataset.Number, Low: 0, High: 100}
	people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"5", "north"}}}
	for _, intercept := range []float64{9, -9} {
		m := withIntervals(t, cost, squared, func(f *inference.Fit) { f.Beta = []float64{1, -2, .5, intercept} })
		clamped := withIntervals(t, cost, squared, func(f *inference.Fit) { f.Beta = []float64{1, -2, .5, intercept}; clamp = true })
		clamp = false
		free, err := means.Of(t.Context(), m, people, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 50 + 50*intercept/math.Sqrt(3)
		if half := quantile * 50 * math.Sqrt(.03/3); !(math.Abs(*free.Mean.Estimate-want) <= 1e-4) || !(math.Abs(*free.Mean.High-want-half) <= 1e-4) {
			t.Errorf("not clamped: %+v: must be %v and half as wide as %v", free.Mean, want, half)
		}
		at, err := means.Of(t.Context(), clamped, people, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want = min(max(want, 0), 100); *at.Mean.Estimate != want || at.Mean.Low != nil && *at.Mean.Low != *at.Mean.High {
			t.Errorf("clamped: %+v: must be %v alone", at.Mean, want)
		}
	}
}

// TestDroppedNumbersShorten: the formula is short for rows that need a number that it lacks, be it above or below the middle of
// its bounds, and whole for rows in the middle.
func TestDroppedNumbersShorten(t *testing.T) {
	m := withIntervals(t, classes, loss.Logistic(), func(f *inference.Fit) {
		f.Columns, f.Dropped, f.Beta = f.Columns[1:], []int{4, 0}, f.Beta[1:]
		f.Covariance, f.Sampling, f.Metric = f.Covariance[4:], f.Sampling[4:], f.Metric[4:]
		f.LeastDirection = f.LeastDirection[1:]
	})
	for age, short := range map[string]bool{"2": true, "5": false, "8": true} {
		got, err := means.Of(t.Context(), m, means.Population{Header: []string{"age", "region"}, Rows: [][]string{{age, "north"}}}, []string{"region"})
		if err != nil || got.Short != short || (got.Mean.Low == nil) != short || got.List[4].Low == nil {
			t.Errorf("age %s: %+v, %v: short must be %v", age, got, err, short)
		}
	}
	people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"2", "north"}}}
	got, err := means.Of(t.Context(), m, people, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{ // the number age, the level west, and west less north
		0: `{"column":"age","estimate":null,"reason":"` + hiddenWest + `"}`,
		4: `{"column":"region","level":"west","estimate":null,"reason":"` + hiddenWest + `"}`,
		7: `{"column":"region","level":"west","against":"north","estimate":null,"reason":"` + hiddenWest + `"}`,
	} {
		if text, err := json.Marshal(got.List[i]); err != nil || string(text) != want {
			t.Errorf("%s, %v: must be %s", text, err, want)
		}
	}
}

// TestMergedReference: where levels that noise hides count as the reference level, its mean and the differences from it have no
// answer and say why. Means of other levels and the effects of other columns have the answers that they have without.
func TestMergedReference(t *testing.T) {
	people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"2", "north"}, {"3", "south"}}}
	whole, err := means.Of(t.Context(), withIntervals(t, classes, loss.Logistic()), people, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := means.Of(t.Context(), withIntervals(t, classes, loss.Logistic(), func(f *inference.Fit) { f.Merged = []int{1} }), people, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mean.Low != nil || !strings.HasPrefix(got.Mean.Reason, "more than a tenth") || *got.Mean.Estimate != *whole.Mean.Estimate {
		t.Errorf("%+v, whole %+v", got.Mean, whole.Mean)
	}
	for i, a := range got.List {
		b := whole.List[i]
		switch {
		case a.Level == "west":
		case a.Level == "north" || a.Against != "":
			if a.Estimate != nil || a.Low != nil || a.Reason != "levels that noise hides count as region=north" {
				t.Errorf("%+v", a)
			}
		case a.Estimate == nil || a.Low == nil || *a.Estimate != *b.Estimate:
			t.Errorf("%+v, whole %+v", a, b)
		}
	}
}

// TestMeansRefuse: faults of use name column and rule.
func TestMeansRefuse(t *testing.T) {
	m := withIntervals(t, classes, loss.Logistic())
	people := means.Population{Header: []string{"age", "region", "day"}, Rows: [][]string{{"5", "north", "1"}}}
	for want, try := range map[string]func() error{
		`"height": must be a column of the model`: func() error {
			_, err := means.Of(t.Context(), m, people, []string{"height"})
			return err
		},
		`"day": must be a category or a number`: func() error {
			_, err := means.Of(t.Context(), m, people, []string{"day"})
			return err
		},
		"population: must have a row": func() error {
			_, err := means.Of(t.Context(), m, means.Population{Header: people.Header}, nil)
			return err
		},
		`column "region" of the schema`: func() error {
			_, err := means.Of(t.Context(), m, means.Population{Header: []string{"age"}, Rows: [][]string{{"5"}}}, nil)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: must contain %q", err, want)
		}
	}
}
