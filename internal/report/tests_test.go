package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// waldModel returns a model of two classes whose formula has a number, two levels of a category and the intercept.
func waldModel(t *testing.T, method inference.Method) *model.Model {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east", "west"}},
			{Name: "dose", Kind: dataset.Number, Low: 0, High: 1},
		},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fitted(t, schema, method, []int{4, 6}, 0, 2, 3)
}

// fitted returns a model whose formula has three features and the intercept, with numbers of its own.
func fitted(t *testing.T, schema *dataset.Schema, method inference.Method, dropped []int, features ...int) *model.Model {
	t.Helper()
	return absorbing(t, schema, method, dropped, nil, features...)
}

// absorbing is fitted for a formula in which columns carry dropped ones.
func absorbing(t *testing.T, schema *dataset.Schema, method inference.Method, dropped []int, absorbed []inference.Absorbed, features ...int) *model.Model {
	t.Helper()
	d := schema.Dim()
	fit := &inference.Fit{
		Level: .9, Method: method, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns:        []inference.Column{{Feature: features[0]}, {Feature: features[1]}, {Feature: features[2]}, {Feature: d - 1, Kept: true}},
		Dropped:        dropped,
		Absorbed:       absorbed,
		Beta:           []float64{.5, -.6, .5, .25},
		Covariance:     []float64{.04, .03, -.01, 0, .09, .02, .01, .05, 0, .03},
		Sampling:       []float64{.02, .01, 0, 0, .03, .01, 0, .04, 0, .02},
		Metric:         []float64{1, 0, 0, 0, 1, 0, 0, 1, 0, 1},
		LeastDirection: []float64{.2, -1, .6, .9},
	}
	text, err := fit.JSON()
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, d)
	for i, c := range fit.Columns {
		w[c.Feature] = fit.Beta[i]
	}
	m, err := model.New(model.Params{
		Software: "a test", Complete: true, Loss: loss.Logistic(), Regularizer: loss.None(), Schema: schema, Weights: w,
		Inference: text, Privacy: model.Privacy{Neighbour: "a table with one row replaced by any other",
			Guarantee:   account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Certificate: "certificate.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWaldByHand compares the joint tests of columns with closed forms: for one coefficient the p-value is that of a
// squared normal number, erfc(|b|/(s sqrt 2)); for two it is e^(-d/2), d by the inverse of a 2 x 2 matrix. Holm's
// p-values are the smallest times 2 and the other one. A column without a coefficient in the formula has no test.
func TestWaldByHand(t *testing.T) {
	m := waldModel(t, inference.Wald)
	list, err := Tests(m)
	if err != nil {
		t.Fatal(err)
	}
	pAge := math.Erfc(.5 / .2 / math.Sqrt2)
	// The inverse of ((a, b), (b, c)) is ((c, -b), (-b, a))/(ac - bb).
	const a, b, c, x, y = .09, .02, .05, -.6, .5
	statistic := (c*x*x - 2*b*x*y + a*y*y) / (a*c - b*b)
	pRegion := math.Exp(-statistic / 2)
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-12 }
	if !near(list[0].P, pAge) || list[0].Terms != 1 || !(math.Abs(list[0].Statistic-6.25) <= 1e-9) ||
		!near(list[1].P, pRegion) || list[1].Terms != 2 || !(math.Abs(list[1].Statistic-statistic) <= 1e-9) {
		t.Errorf("%+v: p-values must be %v and %v", list, pAge, pRegion)
	}
	if !(pRegion < pAge) || !near(list[1].Holm, 2*pRegion) || !near(list[0].Holm, max(pAge, 2*pRegion)) {
		t.Errorf("%+v: adjusted p-values must be %v and %v", list, max(pAge, 2*pRegion), 2*pRegion)
	}
	const hides = "a column or a level of it is not in the formula. The noise of the second moment or of the curvature hides its rows, so " +
		"that it was left out before the fit, with its rows or without, or counts as the reference level. Nothing is known of its coefficient"
	if list[2].Column != "dose" || list[2].P != nil || list[2].Reason != "not in the formula: "+hides {
		t.Errorf("%+v: a column without a coefficient has no test", list[2])
	}
	if list[0].Reason != "" || list[1].Reason != "tested without region=west: "+hides {
		t.Errorf("%+v: the test of regions lacks the level west", list[:2])
	}
	for _, want := range []string{"age     1             6.25       0.0124   0.0124\n", "dose    0             -          -",
		"\nregion: tested without region=west: a column or", "\ndose: no test: not in the formula: a column or"} {
		if shown := TestText(list); !strings.Contains(shown, want) {
			t.Errorf("%s: must have %q", shown, want)
		}
	}
}

// TestReasonsOfTests: columns with one reason are named together, and of more than five levels that a test lacks four are named.
func TestReasonsOfTests(t *testing.T) {
	p := .5
	shown := TestText([]Test{{Column: "a", Reason: "hidden"}, {Column: "b", P: &p, Holm: &p, Reason: "tested without b=x: hidden"},
		{Column: "c", Reason: "hidden"}, {Column: "d", P: &p, Holm: &p}})
	if want := "\na, c: no test: hidden.\nb: tested without b=x: hidden.\nEach test"; !strings.Contains(shown, want) {
		t.Errorf("%s: must have %q", shown, want)
	}
}

// TestOtherCellsAreNoLackingLevels: a test says nothing of the level of cells that are missing or not listed.
func TestOtherCellsAreNoLackingLevels(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 10, Curve: 4},
		{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	h := schema.Hats()[0]
	var knots []int
	for i := range h.Width {
		if h.First+i != h.Reference() {
			knots = append(knots, h.First+i)
		}
	}
	list, err := Tests(fitted(t, schema, inference.Wald, []int{h.Axes[0].Missing, h.First + h.Width + 2}, knots...))
	if err != nil || len(list) != 2 || list[0].P == nil || list[0].Terms != 3 || list[0].Reason != "" {
		t.Errorf("%+v, %v: missing ages must have no mention", list, err)
	}
	if list[1].P != nil || !strings.HasPrefix(list[1].Reason, "not in the formula: a column") {
		t.Errorf("%+v: must have no test, and a reason", list[1])
	}
}

// TestPairsThatATestLacks: each interaction has a test of its own, over the pairs of levels in the formula. The test names the
// pairs that the formula lacks, with the reason for each, and columns that also carry one. Pairs of unlisted cells are not named.
func TestPairsThatATestLacks(t *testing.T) {
	category := func(name string, levels ...string) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Category, Categories: levels}
	}
	schema, err := dataset.New(dataset.Definition{
		Columns:      []dataset.Column{category("sex", "f", "m"), category("ward", "a", "b", "c: d", "e"), category("day", "x", "y")},
		Interactions: []dataset.Interaction{{"sex", "ward"}, {"ward", "day"}},
		Target:       dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	names := schema.Features()
	feature := func(name string) int { return slices.Index(names, name) }
	kept := []int{feature("sex=m"), feature("sex=m & ward=b"), feature("day=y")}
	var dropped []int
	for j, name := range names[:len(names)-1] {
		if reference := strings.Contains(name, "=f") || strings.Contains(name, "=a") || strings.Contains(name, "=x"); !reference && !slices.Contains(kept, j) {
			dropped = append(dropped, j)
		}
	}
	const pair = "sex=m & ward=c: d"
	m := absorbing(t, schema, inference.Wald, dropped, []inference.Absorbed{{Feature: feature(pair), By: kept[0], Correlation: .65, Noise: .2}}, kept...)
	const hides = "a column or a level of it is not in the formula. The noise of the second moment or of the curvature hides its rows, so " +
		"that it was left out before the fit, with its rows or without, or counts as the reference level. Nothing is known of its coefficient"
	want := []Test{
		{Column: "sex", Terms: 1, Statistic: 6.25, Reason: "sex=m also carries " + pair + " (correlation 0.65, noise 0.2)"},
		{Column: "ward", Without: []string{"ward=b", "ward=c: d", "ward=e"}, Reason: "not in the formula: " + hides},
		{Column: "day", Terms: 1, Statistic: 5},
		{Column: "sex & ward", Terms: 1, Statistic: 4, Without: []string{pair, "sex=m & ward=e"}, Reason: "tested without " + pair + ": " + pair +
			" and sex=m are correlated (correlation 0.65, noise 0.2), and noise hides which of them has the effect. " + pair +
			" was left out of the formula, and nothing is known of its coefficient apart from that of sex=m. " +
			"Tested without sex=m & ward=e: " + hides},
		{Column: "ward & day", Without: []string{"ward=b & day=y", "ward=c: d & day=y", "ward=e & day=y"}, Reason: "not in the formula: " + hides},
	}
	list, err := Tests(m)
	if err != nil || len(list) != len(want) {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, v := range list {
		w := want[i]
		if v.Column != w.Column || v.Terms != w.Terms || !(math.Abs(v.Statistic-w.Statistic) <= 1e-9) || v.Reason != w.Reason ||
			!slices.Equal(v.Without, w.Without) || (v.P != nil) != (w.Terms > 0) {
			t.Errorf("%+v: must be %+v", v, w)
		}
	}
	// Pairs that lack for two reasons are named with each.
	m = absorbing(t, schema, inference.Wald, dropped, []inference.Absorbed{{Feature: feature("ward=b & day=y"), By: kept[2], Correlation: .5, Noise: .1}}, kept...)
	if list, err = Tests(m); err != nil || list[4].Reason != "not in the formula: ward=b & day=y: ward=b & day=y and day=y are correlated (correlation "+
		"0.50, noise 0.1), and noise hides which of them has the effect. ward=b & day=y was left out of the formula, and nothing is "+
		"known of its coefficient apart from that of day=y. ward=c: d & day=y, ward=e & day=y: "+hides {
		t.Errorf("%+v, %v", list[4], err)
	}
	of, err := m.Coefficients()
	if err != nil || !slices.Contains(of.Changes, "ward=b counts as the reference level") || !slices.Contains(of.Changes, pair+" counts as no interaction") {
		t.Errorf("%q, %v", of.Changes, err)
	}
	if want := "ill ~ sex + day + (interactions) (1 of 6 differences)"; of.Formula != want || !of.Short {
		t.Errorf("%q, %v: must be %q", of.Formula, of.Short, want)
	}
}

// TestHolm: adjusted p-values are no less than those of smaller ones, and at most 1.
func TestHolm(t *testing.T) {
	p := []float64{.04, .01, .6, .03}
	var list []Test
	for i := range p {
		list = append(list, Test{P: &p[i]})
	}
	holm(list)
	for i, want := range []float64{.09, .04, .6, .09} {
		if got := *list[i].Holm; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%v: adjusted to %v: must be %v", p[i], got, want)
		}
	}
}

// TestManyLackingLevelsAreCounted: a test names at most five levels that it lacks; of more it names four and counts the others.
func TestManyLackingLevelsAreCounted(t *testing.T) {
	for n, want := range map[int]string{5: "tested without g=d, g=e, g=f, g=g, g=h: a column",
		6: "tested without g=d, g=e, g=f, g=g, 2 others: a column", 8: "tested without g=d, g=e, g=f, g=g, 4 others: a column"} {
		c := dataset.Column{Name: "g", Kind: dataset.Category}
		var dropped []int
		for i := range n + 3 { // the reference, two levels with a coefficient, and those that the formula lacks
			c.Categories = append(c.Categories, string(rune('a'+i)))
			if i > 2 {
				dropped = append(dropped, 1+i)
			}
		}
		schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 10}, c},
			Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
		if err != nil {
			t.Fatal(err)
		}
		list, err := Tests(fitted(t, schema, inference.Wald, dropped, 0, 2, 3))
		if err != nil || len(list) != 2 || !strings.HasPrefix(list[1].Reason, want) {
			t.Errorf("%d levels: %+v, %v: must begin with %q", n, list, err, want)
		}
	}
}
