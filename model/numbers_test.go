package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// person is a row of a table whose numbers have bounds that are not symmetric around 0.
type person struct{ age, pay, sex, label string }

// encoded is a second implementation of package dataset's row map: it computes the features of a person.
// Numbers are mapped to [-1, 1] within their bounds, pay by log(1 + x). A category has one feature for each
// listed value and one for all other values. All features and the intercept are divided by sqrt(4).
func (p person) encoded() (x [6]float64) {
	number := func(cell string, low, high float64, f func(float64) float64) float64 {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil && !math.IsInf(v, 0) {
			return 0
		}
		v = math.Max(low, math.Min(high, v))
		return (2*f(v) - f(low) - f(high)) / (f(high) - f(low))
	}
	x[0] = number(p.age, 18, 90, func(v float64) float64 { return v })
	x[1] = number(p.pay, 1000, 1e6, math.Log1p)
	x[map[string]int{"f": 2, "m": 3}[p.sex]+4*btoi(p.sex != "f" && p.sex != "m")] = 1
	x[5] = 1
	for j := range x {
		x[j] /= 2
	}
	return x
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbered returns a model of a table of persons, the persons with targets made by label, and their
// margins.
func numbered(t *testing.T, target dataset.Target, lossName string,
	label func(z float64, coin *rand.Rand) string) (m *Model, people []person, margins []float64) {
	t.Helper()
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 18, High: 90},
			{Name: "pay", Kind: dataset.Number, Low: 1000, High: 1e6, Transform: dataset.Log1p},
			{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}},
		},
		Target: target, Missing: []string{"", "-999"},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	r, err := loss.L2(.1)
	if err != nil {
		t.Fatal(err)
	}
	weights := []float64{1.5, -2.5, .75, -.5, 3, .25}
	if m, err = New(Params{Software: "stillpoint v1.2.3", Complete: true, Privacy: privacy, Loss: l, Regularizer: r,
		Schema: s, Weights: weights}); err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(5, 5))
	pick := func(list ...string) string { return list[coin.IntN(len(list))] }
	for range 200 {
		p := person{
			age: pick("18", "90", "54", "30.5", "7", "120", "1e400", "-1e400", "x", "77"),
			pay: pick("1000", "1e6", "31622", "250000", "0", "-5", "1e9", "NA?"),
			sex: pick("f", "m", "d", "?"),
		}
		z := 0.0
		for j, x := range p.encoded() {
			z += weights[j] * x
		}
		p.label = label(z, coin)
		people, margins = append(people, p), append(margins, z)
	}
	return m, people, margins
}

func tableOf(t *testing.T, people []person) string {
	t.Helper()
	lines := []string{"age,pay,sex,label"}
	for _, p := range people {
		lines = append(lines, strings.Join([]string{p.age, p.pay, p.sex, p.label}, ","))
	}
	return writeFile(t, lines...)
}

// agree fails the test unless got and want agree, with a tolerance for the rounding of features to
// float32. what names the value in the error.
func agree(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= 2e-6*max(1, math.Abs(want))) {
		t.Errorf("%s: %v: must be %v", what, got, want)
	}
}

// TestRegressionInNumbers tests predictions and errors in the target's units, for bounds that are
// not symmetric around 0, cells beyond them and missing cells.
func TestRegressionInNumbers(t *testing.T) {
	target := dataset.Target{Column: "label", Kind: dataset.Number, Low: -60, High: 240}
	m, people, margins := numbered(t, target, "huber(0.5)", func(z float64, coin *rand.Rand) string {
		return fmt.Sprintf("%.3f", 90+150*z+400*(coin.Float64()-.5)) // some beyond the bounds
	})
	people[7].label = "" // not scored
	path := tableOf(t, people)
	for i, line := range strings.Split(strings.TrimSpace(predict(t, m, path, "")), "\n")[1:] {
		got, err := strconv.ParseFloat(line, 64)
		if want := -60 + 300*(margins[i]+1)/2; err != nil || !(math.Abs(got-want) <= 1e-4) {
			t.Errorf("%+v: predicted %s: must be %v", people[i], line, want)
		}
	}
	got, err := m.Evaluate(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var absolute, square, value float64
	for i, p := range people {
		y, err := strconv.ParseFloat(p.label, 64)
		if err != nil {
			continue
		}
		e := -60 + 300*(margins[i]+1)/2 - y
		absolute += math.Abs(e) / 199
		square += e * e / 199
		r := math.Abs(margins[i] - (math.Max(-60, math.Min(240, y))-90)/150)
		if r <= .5 {
			value += r * r / 2 / 199
		} else {
			value += .5 * (r - .25) / 199
		}
	}
	if got.N != 199 || got.Skipped != 1 {
		t.Errorf("%d rows, %d skipped", got.N, got.Skipped)
	}
	agree(t, "mae", got.MAE, absolute)
	agree(t, "rmse", got.RMSE, math.Sqrt(square))
	agree(t, "objective", got.Objective, value+.05*(1.5*1.5+2.5*2.5+.75*.75+.5*.5+3*3+.25*.25))
}

// TestClassesInNumbers tests the predictions and measures of a model of two classes against a
// second implementation: probabilities, classes, accuracy, the area under the curve with many ties,
// and the log loss.
func TestClassesInNumbers(t *testing.T) {
	m, people, margins := numbered(t, classes, "logistic", func(z float64, coin *rand.Rand) string {
		if coin.Float64() < 1/(1+math.Exp(-z)) {
			return "yes"
		}
		return "no"
	})
	path := tableOf(t, people)
	for i, line := range strings.Split(strings.TrimSpace(predict(t, m, path, "")), "\n")[1:] {
		shown, class, _ := strings.Cut(line, ",")
		p, err := strconv.ParseFloat(shown, 64)
		if want := 1 / (1 + math.Exp(-margins[i])); err != nil || !(math.Abs(p-want) <= 1e-6) ||
			class != map[bool]string{true: "yes", false: "no"}[margins[i] > 0] {
			t.Errorf("%+v: predicted %s: must be %v", people[i], line, want)
		}
	}
	got, err := m.Evaluate(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var right, pairs, won, surprise float64
	for i, p := range people {
		yes := p.label == "yes"
		if yes == (margins[i] > 0) {
			right++
		}
		if yes {
			surprise += math.Log1p(math.Exp(-margins[i]))
		} else {
			surprise += math.Log1p(math.Exp(margins[i]))
		}
		for j, q := range people {
			if yes && q.label == "no" {
				pairs++
				switch d := margins[i] - margins[j]; {
				case math.Abs(d) < 1e-9:
					won += .5
				case d > 0:
					won++
				}
			}
		}
	}
	agree(t, "accuracy", got.Accuracy, right/200)
	agree(t, "auc", got.AUC, won/pairs)
	agree(t, "log loss", got.LogLoss, surprise/200)
	// A margin of 0 predicts the first class.
	zero, err := New(Params{Software: "s", Complete: true, Privacy: privacy, Loss: m.Loss(), Regularizer: m.Regularizer(),
		Schema: m.Schema(), Weights: make([]float64, 6)})
	if err != nil {
		t.Fatal(err)
	}
	flat, err := zero.Evaluate(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	no := float64(strings.Count(strings.ReplaceAll(readText(t, path), "no\n", "\x00"), "\x00"))
	agree(t, "accuracy of no weights", flat.Accuracy, no/200)
	agree(t, "auc of no weights", flat.AUC, .5)
	if strings.Contains(predict(t, zero, path, ""), "yes") {
		t.Error("a margin of 0 is predicted to be of the second class")
	}
}
