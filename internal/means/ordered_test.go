package means_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestOrderedByHand works out what a fit of four ordered classes with intervals says: the expected number of the class,
// its differences and their intervals, the thresholds against the first, and the intervals of the probabilities of a class
// or a higher one. Standard errors follow from numeric derivatives in the coefficients, the gaps between thresholds among
// them. A model whose gaps are not those of the estimate must be refused.
func TestOrderedByHand(t *testing.T) {
	grades := []string{"none", "mild", "moderate", "severe"}
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south"}},
		},
		Target: dataset.Target{Column: "grade", Kind: dataset.Category, Classes: grades},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := schema.Dim()
	// Age, south, two gaps and the intercept.
	b := []float64{1.5, -2, 1.2, .7, .8}
	covariance := [5][5]float64{{.04, .01, 0, .002, 0}, {.01, .09, .003, 0, .01}, {0, .003, .01, .004, .002},
		{.002, 0, .004, .02, -.003}, {0, .01, .002, -.003, .05}}
	fit := &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: 0}, {Feature: 2}, {Feature: d, Kept: true}, {Feature: d + 1, Kept: true},
			{Feature: d - 1, Kept: true}}, Beta: b}
	for i := range b {
		fit.Covariance = append(fit.Covariance, covariance[i][i:]...)
		fit.Sampling = append(fit.Sampling, covariance[i][i:]...)
		for j := i; j < len(b); j++ {
			fit.Metric = append(fit.Metric, map[bool]float64{true: 1}[i == j])
		}
	}
	text, err := fit.JSON()
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	built := func(gap float64) (*model.Model, error) {
		w := make([]float64, d+2)
		for i, c := range fit.Columns {
			w[c.Feature] = b[i]
		}
		w[d], w[d+1] = math.Log(math.Expm1(b[2]))*2*math.Sqrt2, math.Log(math.Expm1(gap))*2*math.Sqrt2
		return model.New(model.Params{Software: "a test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: schema,
			Weights: w, Inference: text,
			Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
				Neighbour: "a table with one row replaced by any other", Certificate: "certificate.json"}})
	}
	if _, err := built(b[3] + .01); err == nil || !strings.Contains(err.Error(), "the coefficients must be the model's weights") {
		t.Errorf("a gap of another model: %v", err)
	}
	m, err := built(b[3])
	if err != nil {
		t.Fatal(err)
	}

	score := func(b []float64, age float64, region string) float64 {
		z := b[0]*(age/5-1) + b[4]
		if region == "south" {
			z += b[1]
		}
		return z / math.Sqrt(3)
	}
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	above := func(b []float64, cut int, age float64, region string) float64 { // the log-odds of class cut+1 or a higher one
		return score(b, age, region) - []float64{0, b[2], b[2] + b[3]}[cut]
	}
	expected := func(regions ...string) func(b []float64) float64 {
		return func(b []float64) (sum float64) {
			for i, age := range []float64{1, 9} {
				for cut := range 3 {
					sum += logistic(above(b, cut, age, regions[i])) / 2
				}
			}
			return sum
		}
	}
	half := func(of func(b []float64) float64) float64 {
		var gradient [5]float64
		for j := range gradient {
			high, low := append([]float64{}, b...), append([]float64{}, b...)
			high[j] += 1e-5
			low[j] -= 1e-5
			gradient[j] = (of(high) - of(low)) / 2e-5
		}
		v := 0.
		for i := range gradient {
			for j := range gradient {
				v += gradient[i] * gradient[j] * covariance[i][j]
			}
		}
		return quantile * math.Sqrt(v)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("%s is %v: must be %v", what, got, want)
		}
	}

	people := means.Population{Header: []string{"age", "region"}, Rows: [][]string{{"1", "north"}, {"9", "south"}}}
	got, err := means.Of(t.Context(), m, people, []string{"region"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Of, "from 0 for none to 3 for severe") {
		t.Errorf("the means are of %q", got.Of)
	}
	mean := func(a means.Answer, of func(b []float64) float64) {
		t.Helper()
		logit := func(b []float64) float64 { p := of(b) / 3; return math.Log(p / (1 - p)) }
		near("a mean", *a.Estimate, of(b))
		near("its lower end", *a.Low, 3*logistic(logit(b)-half(logit)))
		near("its upper end", *a.High, 3*logistic(logit(b)+half(logit)))
	}
	mean(got.Mean, expected("north", "south"))
	mean(got.List[0], expected("north", "north"))
	mean(got.List[1], expected("south", "south"))
	difference := func(b []float64) float64 { return expected("south", "south")(b) - expected("north", "north")(b) }
	near("a difference", *got.List[2].Estimate, difference(b))
	near("its lower end", *got.List[2].Low, difference(b)-half(difference))

	c, err := m.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	if c.Unit != "log-odds of a higher class" || len(c.Thresholds) != 2 {
		t.Fatalf("unit %q, thresholds %+v", c.Unit, c.Thresholds)
	}
	third := func(b []float64) float64 { return b[2] + b[3] }
	if c.Thresholds[1].Term != "threshold 3" {
		t.Errorf("a threshold is called %q", c.Thresholds[1].Term)
	}
	near("a threshold", c.Thresholds[1].Estimate, third(b))
	near("its lower end", c.Thresholds[1].Low, third(b)-half(third))
	near("the second threshold's upper end", c.Thresholds[0].High, b[2]+quantile*.1)

	var out bytes.Buffer
	rows := func(yield func([]string, error) bool) { yield([]string{"9", "south"}, nil) }
	if err := m.PredictFrom(t.Context(), model.Source{Header: people.Header, Cells: rows}, &out,
		model.PredictOptions{Intervals: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	names, cells := strings.Split(lines[0], ","), strings.Split(lines[1], ",")
	for cut, class := range grades[1:] {
		of := func(b []float64) float64 { return above(b, cut, 9, "south") }
		for end, sign := range map[string]float64{"lower=": -1, "upper=": 1} {
			for i, name := range names {
				if name == end+class {
					v, _ := strconv.ParseFloat(cells[i], 64)
					near(name, v, logistic(of(b)+sign*half(of)))
					cells[i] = ""
				}
			}
		}
	}
	if names[5] != "lower=mild" || strings.Join(cells[5:], "") != "" {
		t.Errorf("columns %v: must have two for each class but the first", names)
	}
}
