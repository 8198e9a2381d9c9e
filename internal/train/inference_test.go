package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

// TestInferenceWithWeights tests that a fit with weights of rows has intervals, whose meaning names the weights, and that
// weights beside a unit are refused.
func TestInferenceWithWeights(t *testing.T) {
	weighed := []string{`"1"]}`, `"1"], weight: note}`, "    note: ignore\n", ""}
	cfg := config(t, 500, append(weighed, "model: {loss: logistic}\n", "model: {loss: logistic}\ninference: {level: 0.9}\n")...)
	f, err := cfg.Fit(t.Context(), Options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Model.Coefficients()
	if err != nil || !strings.Contains(c.Meaning, "weights of note") {
		t.Errorf("%v, %v: must name the weights", c, err)
	}
	cfg = config(t, 500, append(weighed, "  target:", "  unit: {column: age, rows: 2}\n  target:", "    age: {number: [0, 100]}\n", "", "model: {loss: logistic}\n",
		"model: {loss: logistic}\ninference: {level: 0.9}\n")...)
	_, err = cfg.Plan(t.Context())
	wantError(t, err, "schema.target.weight: must be left out beside schema.unit")
	for _, name := range []string{"softmax", "ordered"} {
		cfg = config(t, 500, `"1"]}`, `"1", "2"], weight: note}`, "    note: ignore\n", "", "model: {loss: logistic}\n",
			"model: {loss: "+name+"}\ninference: {level: 0.9}\n")
		_, err = cfg.Plan(t.Context())
		wantError(t, err, "schema.target.weight: must be left out with several classes")
	}
}

// TestInferenceRefuses tests configurations that request confidence intervals. Plan and Fit must
// refuse each key that would change the meaning of a coefficient, and name it.
func TestInferenceRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"level":         {"inference: {level: 1.5}\n", "inference: level = 1.5: must be between 0.5 and 0.999"},
		"rows":          {"inference: {rows: all}\n", `inference: rows = "all": must be weighted or unweighted`},
		"an algorithm":  {"inference: {level: 0.9}\ntrain: {algorithm: gd}\n", "train.algorithm"},
		"a setting":     {"inference: {level: 0.9}\ntrain: {steps: 9}\n", "train.algorithm"},
		"a regularizer": {"inference: {level: 0.9}\nmodel: {loss: logistic, regularizer: l2(0.1)}\n", "model.regularizer"},
		"a ball":        {"inference: {level: 0.9}\nmodel: {loss: logistic, radius: 2}\n", "model.radius"},
		"a reduction":   {"inference: {level: 0.9}\nmodel: {loss: logistic, reduce: jl(2)}\n", "model.reduce"},
		"class weights": {"inference: {level: 0.9}\nmodel: {loss: logistic, weights: {\"1\": 2}}\n", "weights"},
		"another loss":  {"inference: {level: 0.9}\nmodel: {loss: tanh}\n", "loss tanh: has no validated intervals"},
	} {
		text := "model: {loss: logistic}\n"
		if strings.Contains(c.text, "model:") {
			text = ""
		}
		cfg := config(t, 200, "model: {loss: logistic}\n", text+c.text)
		if _, err := cfg.Fit(context.Background(), Options{Software: "test"}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %q", name, err, c.want)
		}
		if _, err := cfg.Plan(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: plan: %v: want %q", name, err, c.want)
		}
	}
	// The clip of a Poisson loss is in units of the largest count.
	for name, taken := range map[string]bool{
		"poisson(30)": false, "poisson(1.001)": false, "poisson(1)": true, "poisson(0.1)": true,
		"poisson-rate(2,0.01)": false, "poisson-rate(1,0.01)": true,
	} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := curvatureOf(l); (err == nil) != taken || err != nil && !strings.Contains(err.Error(), ": must be at most 1, since") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"tweedie(1.5,5,2,8)", "tweedie-rate(1.5,5,2,8,0.1)"} {
		if l, err := loss.Parse(name); err != nil {
			t.Error(err)
		} else if _, err := curvatureOf(l); err == nil || !strings.Contains(err.Error(), "has no validated intervals: must be logistic") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]onestep.Curvature{"ordered(4)": onestep.Ordered, "units(ordered(4),2)": 0,
		"softmax(4)": onestep.Softmax, "units(softmax(4),2)": 0} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := curvatureOf(l); got != want || (want == 0) != (err != nil) ||
			err != nil && !strings.Contains(err.Error(), "schema.unit: must be left out with loss "+loss.RowLoss(l).Name()) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	hashed := config(t, 200, "note: ignore", "note: {hash: 8}", "model: {loss: logistic}",
		"model: {loss: logistic}\ninference: {level: 0.9}")
	if _, err := hashed.Plan(context.Background()); err == nil ||
		!strings.Contains(err.Error(), `column "note": is hashed`) {
		t.Errorf("a hashed column: %v", err)
	}
}

// TestCornersAreTheRows compares the extreme values of the features, of every kind of column, with the range of scores over
// legal rows, for random weights. A forecast for unweighted rows has more noise, and says which columns it assumes.
func TestCornersAreTheRows(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}},
			{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 4}, {Name: "bmi", Kind: dataset.Number, Low: 10, High: 60},
			{Name: "dose", Kind: dataset.Number, Low: 0, High: 9, Indicator: true},
			{Name: "day", Kind: dataset.Date, Low: 0, High: 300}, {Name: "site", Kind: dataset.Category, Categories: []string{"a", "b", "c"}}},
		Interactions: []dataset.Interaction{{"sex", "site"}},
		Target:       dataset.Target{Column: "sick", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	curve := s.Hats()[0].Axes[0].Number
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = r.NormFloat64()
		}
		w[curve] = 0 // has no coefficient
		low, high := s.MarginRange(w)
		var least, most float64
		for _, corners := range corners(s) {
			from, to := math.Inf(1), math.Inf(-1)
			for _, corner := range corners {
				v := 0.
				for _, e := range corner {
					v += w[e.Feature] * e.Value
				}
				from, to = min(from, v), max(to, v)
			}
			least, most = least+from, most+to
		}
		if !(math.Abs(least-low) <= 1e-5) || !(math.Abs(most-high) <= 1e-5) {
			t.Fatalf("scores from %v to %v: the schema allows %v to %v", least, most, low, high)
		}
	}
	forecast := map[string]*Expected{}
	for _, rows := range []string{"weighted", "unweighted"} {
		p, err := config(t, 100_000, "model: {loss: logistic}", "model: {loss: logistic}\ninference: {rows: "+rows+"}").Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		forecast[rows] = p.Intervals
		if strings.Contains(p.Intervals.String(), "a sixth of their range") != (rows == "unweighted") {
			t.Errorf("%s: %v", rows, p.Intervals)
		}
	}
	if a, b := forecast["unweighted"].HalfWidth, forecast["weighted"].HalfWidth; !(a > b) {
		t.Errorf("half-width %v of unweighted rows, %v of weighted ones", a, b)
	}
}

// TestFormula tests the regression formula of a schema: it must have a column for each number, a
// column for each level except the reference level, and the intercept, which is always kept.
func TestFormula(t *testing.T) {
	c := config(t, 10, "model: {loss: logistic}", "model: {loss: logistic}\ninference: {}")
	columns, err := formula(c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	want := []inference.Column{{Feature: 0, Reference: 1}, {Feature: 2, Level: true, Reference: 2}, {Feature: 3, Level: true, Reference: 2},
		{Feature: 4, Kept: true}}
	if !slices.Equal(columns, want) {
		t.Errorf("%+v: want %+v", columns, want)
	}
}

// TestFormulaOfCurves: a curve must have a column for each knot but the middle one and for missing numbers, and
// none for the number itself. An interaction with a number is refused.
func TestFormulaOfCurves(t *testing.T) {
	of := func(crossed ...dataset.Interaction) *dataset.Schema {
		s, err := dataset.New(dataset.Definition{
			Columns: []dataset.Column{{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}},
				{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 4}},
			Interactions: crossed,
			Target:       dataset.Target{Column: "sick", Kind: dataset.Category, Classes: []string{"no", "yes"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// Features: f, m, other; age, its indicator, the hats of four knots; the intercept.
	columns, err := formula(of())
	want := []inference.Column{{Feature: 1, Level: true, Reference: 1}, {Feature: 2, Level: true, Reference: 1}, {Feature: 5, Level: true},
		{Feature: 7, Level: true}, {Feature: 8, Level: true}, {Feature: 4, Level: true}, {Feature: 9, Kept: true}}
	if err != nil || !slices.Equal(columns, want) {
		t.Errorf("%v: %+v: want %+v", err, columns, want)
	}
	if _, err := formula(of(dataset.Interaction{"sex", "age"})); err == nil ||
		!strings.Contains(err.Error(), "interaction with a number") {
		t.Errorf("an interaction with a number: %v", err)
	}
}

// TestFitWithIntervals tests that a fit with confidence intervals uses optimize/onestep, spends its
// budget, and writes the estimate into the model's file. With the number of records that the
// forecast names as halving the width, the forecast half-width must be half as large.
func TestFitWithIntervals(t *testing.T) {
	c := config(t, 3000, "model: {loss: logistic}", "model: {loss: logistic}\ninference: {}", "epsilon: 1,", "epsilon: 8,")
	f, err := c.Fit(context.Background(), Options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Summary.Algorithm != onestep.Name || f.Charged < .999*f.Budget.Charge() || f.Charged > f.Budget.Charge() {
		t.Errorf("%s: charged %v of %v", f.Summary.Algorithm, f.Charged, f.Budget.Charge())
	}
	of, err := inference.Parse(f.Model.Inference())
	if err != nil || of == nil || of.Level != DefaultLevel {
		t.Fatalf("intervals %+v", of)
	}
	list, err := f.Model.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	age := list.List[0]
	if age.Term != "age" || age.State != inference.Reported || !(age.Low > 0 && age.High < .4) {
		t.Errorf("%+v: the odds rise with age", age)
	}
	if age.Odds == nil || !(math.Abs(age.Odds.Low-math.Exp(age.Low)) <= 1e-12) {
		t.Errorf("odds ratio %+v of %+v", age.Odds, age)
	}
	ten, err := f.Model.Contrast("10 age + sex=m - sex=f")
	if err != nil || !(math.Abs(ten.Estimate-10*age.Estimate-list.List[1].Estimate) <= 1e-9) {
		t.Errorf("%v: %+v", err, ten)
	}
	for _, text := range []string{"height", "", "age +", "age sex=m"} {
		if _, err := f.Model.Contrast(text); err == nil {
			t.Errorf("%q: is a contrast", text)
		}
	}
	e := f.Intervals
	if e == nil || !(e.Ratio > 1) || !(e.Records > f.Records) {
		t.Fatalf("expected %+v", e)
	}
	c.Privacy.Records = int(e.Records)
	more, err := c.Plan(context.Background())
	if err != nil || !(math.Abs(more.Intervals.HalfWidth/e.HalfWidth-.5) <= .01) {
		t.Errorf("%v: %v records have the half-width %v: want half of %v", err, e.Records, more.Intervals.HalfWidth,
			e.HalfWidth)
	}
}

// TestCountsHaveRateRatios tests that a fit of counts with exposures states rate ratios per unit of
// the exposure, and that its comparisons of levels say so in words. In the table, men have twice
// the visits of women. The standard error of the log rate is about .04, so that an interval that
// does not lie above 1 has a probability far below 1e-9.
func TestCountsHaveRateRatios(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(9, 9))
	var rows strings.Builder
	rows.WriteString("sex,age,years,visits\n")
	for i := range 8000 {
		sex, rate, years := "f", 1., .2+.8*r.Float64()
		if i%2 == 0 {
			sex, rate = "m", 2
		}
		visits := 0
		for at := r.ExpFloat64(); at < rate*years && visits < 8; at += r.ExpFloat64() {
			visits++
		}
		fmt.Fprintf(&rows, "%s,%d,%.3f,%d\n", sex, 20+r.IntN(60), years, visits)
	}
	write(t, "visits.csv", rows.String())
	text := `data: visits.csv
schema:
  columns: {sex: {category: [f, m]}, age: {number: [20, 80]}}
  target: {column: visits, number: [0, 8], exposure: {column: years, number: [0.1, 1]}}
model: {loss: poisson(0.375)}
privacy: {epsilon: 8, delta: 1e-6, relation: replace-one}
inference: {level: 0.95}
`
	c, err := ReadConfig(write(t, "visits.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Fit(context.Background(), Options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Model.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	sex := list.List[0]
	if sex.Odds != nil || sex.Rate == nil || sex.Rate.Low < 1.3 || sex.Rate.High > 3 ||
		list.Unit != "the logarithm of the expected visits per unit of years" {
		t.Errorf("%+v in %s: want a rate ratio of about 2", sex, list.Unit)
	}
	// The intercept is the logarithm of the rate of women at age 0. The rate is the same at all ages, and
	// its logarithm is about 0.
	if last := list.List[len(list.List)-1]; !(math.Abs(last.Estimate) <= 1) {
		t.Errorf("%+v: want about 0", last)
	}
	got, err := f.Model.Contrast("sex=m - sex=f")
	if err != nil || got.Rate == nil || got.Odds != nil ||
		!strings.HasPrefix(got.Meaning, "the expected visits per unit of years is multiplied by ") {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestExpectedIsOfTheWholeBudget tests the forecast of the widths of intervals when the comparison
// with a constant takes a share of the budget. The records and the epsilon that the forecast names
// must halve the width in a plan of the whole fit, whose comparison takes its share.
func TestExpectedIsOfTheWholeBudget(t *testing.T) {
	c := config(t, 3000, "model: {loss: logistic}", "model: {loss: logistic}\ntrain: {compare: 0.3}\ninference: {}",
		"epsilon: 1,", "epsilon: 0.2,")
	p, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e := *p.Intervals
	if e.Epsilon == 0 {
		t.Fatalf("%+v: no epsilon", e)
	}
	*c.Privacy.Epsilon = e.Epsilon
	if p, err = c.Plan(context.Background()); err != nil || !(math.Abs(p.Intervals.HalfWidth/e.HalfWidth-.5) <= .005) {
		t.Errorf("%v: epsilon %v has the half-width %v: want half of %v", err, e.Epsilon, p.Intervals.HalfWidth, e.HalfWidth)
	}
	without := config(t, 3000, "model: {loss: logistic}", "model: {loss: logistic}\ntrain: {compare: off}\ninference: {}",
		"epsilon: 1,", "epsilon: 0.2,")
	if p, err = without.Plan(context.Background()); err != nil || p.Intervals.HalfWidth > .95*e.HalfWidth {
		t.Errorf("%v: half-width %v without a comparison, %v with one of .3 of the budget", err, p.Intervals.HalfWidth,
			e.HalfWidth)
	}
}

// TestIntervalsAreEverywhere tests that each loss of package loss that gets confidence intervals has a
// simulation of its coverage and is named by the documentation and by the error for other losses. Its second
// derivative must depend on the margin as its onestep.Curvature (logistic, flat or exponential) says.
func TestIntervalsAreEverywhere(t *testing.T) {
	designs, page := read(t, "../../lab/results/inference_test.go")+read(t, "../../lab/coverage/design_costs.go")+
		read(t, "../../lab/results/ordered.py")+read(t, "../../lab/coverage/design_classes.go"), read(t, "../../docs/reference/configuration.md")
	_, page, _ = strings.Cut(page, "\n# inference: ")
	page, _, _ = strings.Cut(page, "\n")
	_, refused := curvatureOf(loss.Tanh())
	count := 0
	for _, name := range loss.Names() {
		var l loss.Loss
		for _, arguments := range []string{"", "(0.9)", "(0.9,0.5)", "(3)", "(2,5,9)", "(2,5,9,0.5)", "(1.5,5,1,9)", "(1.5,5,1,9,0.5)"} {
			if made, err := loss.Parse(name + arguments); err == nil {
				l = made
				break
			}
		}
		if l == nil {
			t.Errorf("%s: none of the test's arguments make this loss", name)
			continue
		}
		curvature, err := curvatureOf(l)
		if err != nil {
			continue
		}
		count++
		if !regexp.MustCompile(`(?:[lL]oss: +|Loss, times.Cuts = |skewed\(.*, |exposed\(|"loss": )"(?:units\()?` + name + `[(,"]`).MatchString(designs) {
			t.Errorf("%s: no design of lab/results or lab/coverage has this loss: its coverage is not simulated", name)
		}
		of := name
		if _, relative := l.(interface{ LeastMean() float64 }); relative { // users write it without -rate
			of = strings.TrimSuffix(name, "-rate")
		}
		if of == "cloglog" || of == "logit-hazard" { // a key of the target names it
			of = "times? to an event"
		}
		named := regexp.MustCompile(`\b` + of + `(?:[^-\w]|$)`)
		if !named.MatchString(page) {
			t.Errorf("%s: docs/reference/configuration.md does not name it beside inference", name)
		}
		if !named.MatchString(refused.Error()) {
			t.Errorf("%s: the error for other losses does not name it: %v", name, refused)
		}
		if curvature == onestep.Ordered || curvature == onestep.Softmax { // its ratio is that of the fitted probabilities
			continue
		}
		const z, h = .1, 1e-5
		y := []float64{0, 0} // a target whose slope is not clipped
		if loss.IsLogistic(l) {
			y = []float64{1, 1}
		} else if name == "logit-hazard" {
			y = slices.Repeat([]float64{targetpair.JoinRisk(0, 1, false)}, 2)
		}
		second := make([]float64, 2)
		l.(loss.RankOne).Curvatures(second, []float64{z - h, z + h}, y)
		change := math.Log(second[1]/second[0]) / (2 * h)
		want := map[onestep.Curvature]float64{onestep.Flat: 0, onestep.Logistic: -math.Tanh(z / 2), onestep.Exponential: 1}
		if w, ok := want[curvature]; curvature == onestep.Relative && math.Abs(change) <= 1+1e-6 {
			continue
		} else if !ok || !(math.Abs(change-w) <= 1e-6) {
			t.Errorf("%s: ratio %v of third to second derivative: the declared curvature has %v", name, change, w)
		}
	}
	if count < 5 {
		t.Errorf("%d losses with intervals: the search for them is broken", count)
	}
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
