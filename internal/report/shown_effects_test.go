package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// several returns coefficients with intervals, of which no two are alike, with one that noise hides.
func several() *model.Coefficients {
	one := func(term, reference, per string, estimate, low, high, e, privacy, span float64) (c model.Coefficient) {
		c.Term, c.Reference, c.Per, c.Span = term, reference, per, span
		c.Estimate, c.Low, c.High, c.Error, c.Privacy, c.State = estimate, low, high, e, privacy, inference.Reported
		return c
	}
	list := []model.Coefficient{
		one("age", "", "1 year", .0125, .0075, .0195, .003, .1, 80),
		one("sex=m", "sex=f", "", -.45, -.75, -.225, .13, .35, 1),
		one("dose", "", "1 mg", .002, -.001, .0065, .0018, .6, 500),
		{Term: "site=b"}, {Term: "(intercept)", Intercept: true},
	}
	list[3].State = inference.Withheld
	list[4].State, list[4].Estimate, list[4].Low, list[4].High, list[4].Privacy = inference.Reported, -2, -3, -1.5, .95
	list[1].Odds = &model.Ratio{Estimate: .6376, Low: .4724, High: .7985}
	return &model.Coefficients{Asked: "y ~ age + sex + dose + site + town", Formula: "y ~ age + sex + dose + site", Short: true,
		Changes: []string{"town is left out"}, Level: .9, Unit: "log-odds of ill", List: list, Meaning: "Meaning.",
		Reasons: []model.Reason{{State: inference.Withheld, Terms: []string{"t1", "t2", "t3", "t4", "t5", "t6"},
			Text: "noise hides them"}},
		Reported: 3, Counted: 4}
}

// TestPrivacyOfTheMedianCoefficient tests what privacy costs on the page: of shares of the width of .1, .35 and .6 the
// median is .35, and an interval is 1/(1-.35) = 1.538 times as wide as without noise. The intercept's share and the
// coefficient without an interval do not count.
func TestPrivacyOfTheMedianCoefficient(t *testing.T) {
	share, ok := typicalPrivacy(several())
	if !ok || share != .35 {
		t.Errorf("the median share is %v", share)
	}
	// As shown, for a fit of which each coefficient has a quarter of its variance from the sample alone, so that
	// intervals are twice as wide, and for one of which they are 1/.3 times as wide.
	for sampling, want := range map[float64]string{.01: "intervals 2 × as wide", .0036: "intervals 3.3 × as wide"} {
		f := withIntervals(t, .04, sampling, 1)
		s, ok := read(t, f).intervals()
		if !ok {
			t.Fatal("no section")
		}
		if got := factOf(t, s, "What privacy costs").Value; got != want {
			t.Errorf("a sampling variance of %v of .04: %q: must be %q", sampling, got, want)
		}
	}
}

// TestTypicalPrivacyOfManyCoefficients: of an even number of shares the larger of the two in the middle is taken, so that the
// page does not call privacy cheaper than half of the coefficients have it.
func TestTypicalPrivacyOfManyCoefficients(t *testing.T) {
	shares := []float64{.1, .5, .9, .8, .7, .6}
	for n, want := range []float64{0, .1, .5, .5, .8, .7, .7} {
		c := &model.Coefficients{}
		for i := range n {
			k := model.Coefficient{Term: "x"}
			k.State, k.Privacy = inference.Reported, shares[i]
			c.List = append(c.List, k)
		}
		if got, ok := typicalPrivacy(c); got != want || ok != (n > 0) {
			t.Errorf("of %v: %v, %v: must be %v", shares[:n], got, ok, want)
		}
	}
}

// withIntervals returns a folder of a logistic model whose coefficients all have these variances, in total and
// sampling, times the scale of each: 1, then 4, 9 and 16 times.
func withIntervals(t *testing.T, variance, sampling, factor float64) folder {
	t.Helper()
	f := people(t, "p", 50)
	weights := []float64{.9, 0, -.4, .3, 0, .2}
	f.weights = func(j int) float64 { return weights[j] }
	diagonal := func(v, factor float64) []float64 {
		return []float64{v, 0, 0, 0, v * factor, 0, 0, v * factor * factor, 0, v}
	}
	f.intervals = &inference.Fit{
		Level: .95, Method: inference.Wald, Columns: []inference.Column{{Feature: 0}, {Feature: 2}, {Feature: 3},
			{Feature: 5, Kept: true}},
		Dropped: []int{1, 4}, Beta: []float64{.9, -.4, .3, .2}, Covariance: diagonal(variance, factor),
		Sampling: diagonal(sampling, factor), Metric: diagonal(1, 1), Records: 10000, Reach: 2, Effective: 4, LeastCurvature: 100,
	}
	return f
}

// TestMergedReferenceIsShown tests that the coefficients of a fit that dropped a level name it beside the reference level:
// in the terms for programs, in the table of text and on the page.
func TestMergedReferenceIsShown(t *testing.T) {
	f := withIntervals(t, .04, .01, 1)
	weights := []float64{.9, 0, -.4, 0, 0, .2}
	f.weights = func(j int) float64 { return weights[j] }
	i := f.intervals
	i.Columns, i.Beta, i.Dropped = append(i.Columns[:2:2], i.Columns[3]), []float64{.9, -.4, .2}, []int{1, 4, 3}
	i.Covariance, i.Sampling = []float64{.04, 0, 0, .04, 0, .04}, []float64{.01, 0, 0, .01, 0, .01}
	i.Metric = []float64{1, 0, 0, 1, 0, 1}
	fit := read(t, f)
	list, err := fit.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Terms {
		if c.Column == "p3" && (c.Reference != "p3=pa or pb" || c.Per != "against p3=pa or pb") {
			t.Errorf("%s: %q, %q", c.Term, c.Reference, c.Per)
		}
	}
	if text := CoefficientText(list.Intervals); !strings.Contains(text, "\np3=other     p3=pa or pb  ") {
		t.Error(text)
	}
	s, ok := fit.intervals()
	if !ok || rowOf(t, partOf(t, s, func(Table) bool { return true }), "p3=other")[1] != "p3=pa or pb" {
		t.Errorf("%+v", s)
	}
}

// TestForestIsScaled tests the forest plot: point and both ends are multiplied by the range of a number, and only
// coefficients with an interval are drawn.
func TestForestIsScaled(t *testing.T) {
	b := forest(several())
	want := []Bar{
		{Name: "age", Value: 1, Interval: Interval{.6, 1.56}},
		{Name: "sex=m against sex=f", Value: -.45, Interval: Interval{-.75, -.225}},
		{Name: "dose", Value: 1, Interval: Interval{-.5, 3.25}},
	}
	if len(b.Items) != len(want) {
		t.Fatalf("%+v", b.Items)
	}
	for i, w := range want {
		if g := b.Items[i]; g.Name != w.Name || !near(g.Value, w.Value, 1e-12) || !near(g.Interval.Low, w.Interval.Low, 1e-12) ||
			!near(g.Interval.High, w.Interval.High, 1e-12) {
			t.Errorf("%+v: must be %+v", g, w)
		}
	}
	if !strings.HasPrefix(b.Caption, "Lines with ends are 90% private confidence intervals") || b.Marks[0].Value != 0 ||
		b.Title != "Effects in the SHORT formula" {
		t.Errorf("%+v", b)
	}
}

// TestEffectsToTheLetter tests the table of effects, on the page and as text. Decimals are those of a twentieth of the
// standard error.
func TestEffectsToTheLetter(t *testing.T) {
	c := several()
	table := effects(c)
	want := [][]string{
		{"age", "1 year", "0.0125", "0.003", "0.0075 to 0.0195", "10%", "-", "-"},
		{"sex=m", "sex=f", "-0.450", "0.13", "-0.750 to -0.225", "35%", "0.638", "0.472 to 0.798"},
		{"dose", "1 mg", "0.00200", "0.0018", "-0.00100 to 0.00650", "60%", "-", "-"},
		{"site=b", "", "-", "-", string(inference.Withheld), "-", "-", "-"},
	}
	for i, w := range want {
		row := table.Rows[i]
		if strings.Join(row.Cells, "|") != strings.Join(w, "|") || row.Faint != (i >= 2) {
			t.Errorf("%v, faint %v: must be %v", row.Cells, row.Faint, w)
		}
	}
	if table.Columns[4].Name != "90% interval" || table.Columns[6].Name != "Odds ratio" || table.Columns[7].Name != "90% interval" {
		t.Errorf("%v", table.Columns)
	}
	text := CoefficientText(c)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), "std. error 90% interval privacy odds ratio 90% interval") {
		t.Error(text)
	}
	for _, line := range []string{"Formula asked for:  y ~ age + sex + dose + site + town\n",
		"SHORT formula:      y ~ age + sex + dose + site\n", "  town is left out\n",
		"\n3 of 4 coefficients have an interval. The column privacy is the share"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat,
		"Withheld (t1, t2, t3, t4, 2 others): noise hides them.") || !strings.Contains(flat,
		"sex=m sex=f -0.450 0.13 -0.750 to -0.225 35% 0.638 0.472 to 0.798") {
		t.Error(text)
	}
}

// TestOneTermIsNamed: a reason that concerns one term more than are named names it too.
func TestOneTermIsNamed(t *testing.T) {
	for n, want := range map[int]string{4: "t1, t2, t3, t4", 5: "t1, t2, t3, t4, t5", 6: "t1, t2, t3, t4, 2 others"} {
		c := &model.Coefficients{Reasons: []model.Reason{{State: "withheld", Terms: []string{"t1", "t2", "t3", "t4", "t5", "t6"}[:n]}}}
		if got := states(c); !strings.Contains(got, "("+want+")") {
			t.Errorf("%d terms: %q", n, got)
		}
	}
}

// TestIntervalsHaveTheirScales tests intervals of coefficients whose variances differ: 1, 4 and 16 times .0004, so that
// a wrong place in the covariance, or a wrong end, shows.
func TestIntervalsHaveTheirScales(t *testing.T) {
	f := withIntervals(t, .0004, .0001, 4)
	s, ok := read(t, f).intervals()
	if !ok {
		t.Fatal("no section")
	}
	table := partOf(t, s, func(Table) bool { return true })
	// A row is divided by 2. pb against pa is half of the difference of two coefficients, of variances .0016 and .0064.
	for term, want := range map[string]struct{ estimate, sd float64 }{
		"p1": {.9 / 80, .02 / 80}, "p3=pb": {.35, math.Sqrt(.0016+.0064) / 2},
	} {
		cells := rowOf(t, table, term)
		low, high, _ := strings.Cut(cells[4], " to ")
		shows(t, term, cells[2], want.estimate, 3)
		shows(t, term+", standard error", cells[3], want.sd, 2)
		shows(t, term+", lower end", low, want.estimate-1.959964*want.sd, 3)
		shows(t, term+", upper end", high, want.estimate+1.959964*want.sd, 3)
	}
	// p2 and the level of cells that are not listed are not in the formula of four terms beside the intercept.
	if got := factOf(t, s, "Reported").Value; got != "2 of 4" {
		t.Errorf("reported: %q", got)
	}
	// Drawn over the range of p1, from 10 to 90.
	bars := partOf(t, s, func(Bars) bool { return true })
	if b := bars.Items[0]; b.Name != "p1" || !near(b.Value, .9, 1e-9) || !near(b.Interval.Low, .9-1.959964*.02, 1e-6) ||
		!near(b.Interval.High, .9+1.959964*.02, 1e-6) {
		t.Errorf("%+v", b)
	}
}

// TestJointTestsToTheLetter tests the table of joint tests: the statistic, both p-values, which differ, one too small
// to be written, and a column without a test.
func TestJointTestsToTheLetter(t *testing.T) {
	list := []Test{{Column: "age", Terms: 1, Statistic: 12.3456, P: new(.000442), Holm: new(.00094)},
		{Column: "site", Terms: 5, Statistic: 99.5, P: new(3e-5), Holm: new(.00013)}, {Column: "town", Terms: 3, Reason: "noise"}}
	got, _, _ := strings.Cut(TestText(list), "Each test")
	if want := `column  coefficients  statistic  p-value   adjusted (Holm)
age     1             12.35      0.0004    0.0009
site    5             99.5       < 0.0001  0.0001
town    3             -          -         -
town: no test: noise.
`; got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
}

// TestDigitsOfIntervals tests the decimals of each number of a coefficient with an interval: the unit of the last is at
// most a twentieth of the standard error; of a ratio, of the ratio times the error. Numbers above a billion have four
// digits.
func TestDigitsOfIntervals(t *testing.T) {
	c := model.Coefficient{}
	c.State, c.Estimate, c.Low, c.High, c.Error, c.Privacy = inference.Reported, .123456, -.23456, .34567, .04567, .347
	c.Odds = &model.Ratio{Estimate: 1.131397, Low: .79091, High: 1.41293}
	for i, x := range []struct {
		e    float64
		want string
	}{{.04567, "0.123|0.046|-0.235 to 0.346|35%|1.131|0.791 to 1.413"}, {.4567, "0.12|0.46|-0.23 to 0.35|35%|1.13|0.79 to 1.41"},
		{.1765, "0.123|0.18|-0.235 to 0.346|35%|1.131|0.791 to 1.413"}, {.19, "0.123|0.19|-0.235 to 0.346|35%|1.13|0.79 to 1.41"}, {.21, "0.12|0.21|-0.23 to 0.35|35%|1.13|0.79 to 1.41"}} {
		c.Error = x.e
		if got := strings.Join(cells(c, true), "|"); got != x.want {
			t.Errorf("%d: %s, must be %s", i, got, x.want)
		}
	}
	for v, want := range map[float64]string{1234567890123: "1.235e+12", 123456: "123456"} {
		if got := rounded(v, 1); got != want {
			t.Errorf("%v: %s, must be %s", v, got, want)
		}
	}
	if got := ofVariance(.98765) + ofVariance(.012345); got != "99 %1.2 %" {
		t.Error(got)
	}
}

// TestLargestAreCounted tests the number of all coefficients in the titles of a chart and a table that show the
// largest.
func TestLargestAreCounted(t *testing.T) {
	var e explanation
	for i := range 3211 {
		e.list = append(e.list, coefficient{name: "c", effect: float64(i), span: float64(i)})
	}
	if b := (&Fit{}).bars(e, "units"); b.Title != "The 20 largest of 3211 coefficients" || len(b.Items) != 20 || b.Items[0].Value != 3210 {
		t.Errorf("%s, %d, %+v", b.Title, len(b.Items), b.Items[0])
	}
	if b := (&Fit{}).table(e, false); !strings.HasSuffix(b.Caption, " The largest of 3211 are shown.") || len(b.Rows) != mostRows-1 {
		t.Errorf("%s, %d", b.Caption, len(b.Rows))
	}
}
