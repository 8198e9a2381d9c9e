package model

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestMeasuresHaveTheirOwnValue sets each number of Metrics to another value: a measure of the table must be the member of
// the JSON object that has its name, and each number is in the table.
func TestMeasuresHaveTheirOwnValue(t *testing.T) {
	var m Metrics
	v := reflect.ValueOf(&m).Elem()
	want := map[string]float64{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if p, ok := v.Field(i).Addr().Interface().(**float64); ok {
			*p = new(float64(i) + .5)
			want[name] = **p
		}
	}
	m.Calibration = &Calibration{Error: .125}
	want["calibration"] = .125
	list := m.measures()
	for _, of := range list {
		if of.value == nil || *of.value != want[of.name] {
			t.Errorf("%s: %v: must be %v", of.name, of.value, want[of.name])
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d measures of %d numbers", len(list), len(want))
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for name, v := range want {
		if name != "calibration" && members[name] != v {
			t.Errorf("%s: %v in JSON: must be %v", name, members[name], v)
		}
	}
}

// TestPossibleTargetsByHand works out the targets that a record with margins may have, by the kind of loss, and their
// weights: predicted probabilities of classes, over the weights of the classes.
func TestPossibleTargetsByHand(t *testing.T) {
	parse := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	sum := math.Exp(1) + math.Exp(3) + math.Exp(2.5)
	p := 1 / (1 + math.Exp(-.7))
	for name, c := range map[string]struct {
		of                 loss.Loss
		weights, z, ys, ws []float64
		around             []target
	}{
		"three classes": {of: parse("softmax(3)"), z: []float64{1, 3, 2.5}, ys: []float64{0, 1, 2},
			ws: []float64{math.E / sum, math.Exp(3) / sum, math.Exp(2.5) / sum}},
		"classes with weights": {of: parse("softmax(3)"), weights: []float64{1, 2, .5}, z: []float64{1, 3, 2.5}, ys: []float64{0, 1, 2},
			ws: []float64{math.E / sum, math.Exp(3) / sum / 2, math.Exp(2.5) / sum * 2}},
		"two classes":              {of: parse("logistic"), z: []float64{.7}, ys: []float64{-1, 1}, ws: []float64{1 - p, p}},
		"two classes with weights": {of: parse("logistic"), weights: []float64{4, .5}, z: []float64{.7}, ys: []float64{-1, 1}, ws: []float64{(1 - p) / 4, 2 * p}},
		"a count":                  {of: parse("poisson(3)"), z: []float64{-1}, ys: []float64{2*math.Exp(-1) - 1}, ws: []float64{1}},
		"a large count":            {of: parse("poisson(3)"), z: []float64{.5}, ys: []float64{1}, ws: []float64{1}},
		"numbers": {of: parse("huber(0.5)"), z: []float64{.25}, ys: []float64{-.75, 1.25}, ws: []float64{2, 3},
			around: []target{{-1, 2}, {1, 3}}},
	} {
		list := targets(c.of, c.weights, c.z, c.around)
		if len(list) != len(c.ys) {
			t.Errorf("%s: %v", name, list)
			continue
		}
		for i, y := range list {
			if !(math.Abs(y.y-c.ys[i]) <= 1e-12) || !(math.Abs(y.weight-c.ws[i]) <= 1e-12) {
				t.Errorf("%s: target %d is %v: must be %v of weight %v", name, i, y, c.ys[i], c.ws[i])
			}
		}
	}
}

// TestUnoConcordanceByHand works out both concordances of five records in which a censored one makes later pairs heavier:
// of the records after it, three quarters would be observed without censoring, so that a pair weighs 16/9.
func TestUnoConcordanceByHand(t *testing.T) {
	list := []timedRecord{{0, .125, true, 1, 0}, {0, .25, false, 0, 0}, {0, .5, true, -1, 0}, {0, .75, true, 2, 0}, {0, 1, false, 0, 0}}
	var m Metrics
	m.timed(targetpair.Times{Cuts: []float64{16}}, slices.Clone(list), 16)
	// Pairs of the first record: 3 of 4. Of the third: 0 of 2. Of the fourth: 1 of 1.
	if m.Concordance == nil || !(math.Abs(*m.Concordance-4./7) <= 1e-12) {
		t.Errorf("concordance %v: must be 4/7", *m.Concordance)
	}
	if want := (3 + 16./9) / (4 + 3*16./9); m.UnoConcordance == nil || !(math.Abs(*m.UnoConcordance-want) <= 1e-12) {
		t.Errorf("weighted concordance %v: must be %v", *m.UnoConcordance, want)
	}
	if *m.Horizon != 16 {
		t.Errorf("horizon %v", *m.Horizon)
	}
	list[4].entry = .1
	m = Metrics{}
	if m.timed(targetpair.Times{Cuts: []float64{16}}, list, 16); m.UnoConcordance != nil || m.Brier != nil || m.IntegratedBrier != nil {
		t.Errorf("with a late entry: %+v", m)
	}
}

// TestRatiosByTheirKind tests which multiple a coefficient states: odds of classes, rates of counts, and none of numbers or
// where no interval is reported.
func TestRatiosByTheirKind(t *testing.T) {
	claims := dataset.Target{Column: "claims", Kind: dataset.Number, Low: 0, High: 6}
	i := inference.Interval{State: inference.Reported, Estimate: math.Log(2), Low: math.Log(1.5), High: math.Log(3)}
	near := func(r *Ratio) bool {
		return r != nil && math.Abs(r.Estimate-2) < 1e-12 && math.Abs(r.Low-1.5) < 1e-12 && math.Abs(r.High-3) < 1e-12
	}
	for name, c := range map[string]struct {
		m           *Model
		odds, rates bool
	}{
		"classes": {makeModel(t, classes, "logistic", "none", 2, 0, 0, 0), true, false},
		"counts":  {makeModel(t, claims, "poisson(3)", "none", 2, 0, 0, 0), false, true},
		"numbers": {makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0), false, false},
	} {
		got := c.m.multiplied(i)
		if near(got.Odds) != c.odds || near(got.Rate) != c.rates || (got.Odds != nil) != c.odds || (got.Rate != nil) != c.rates {
			t.Errorf("%s: odds %v, rate %v", name, got.Odds, got.Rate)
		}
		if got = c.m.multiplied(inference.Interval{State: inference.Withheld, Estimate: 1}); got.Odds != nil || got.Rate != nil {
			t.Errorf("%s: %+v without an interval", name, got)
		}
	}
}

// TestOutputOfALossWithoutMargins tests that a kind of output is stated of losses of margins alone, and which.
func TestOutputOfALossWithoutMargins(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	m.loss = general{loss.Logistic()}
	if o, err := m.Output(); err == nil || o != 0 {
		t.Errorf("%v, %v", o, err)
	}
	claims := dataset.Target{Column: "claims", Kind: dataset.Number, Low: 0, High: 6}
	for want, m := range map[Output]*Model{Probability: makeModel(t, classes, "logistic", "none", 2, 0, 0, 0),
		Score: makeModel(t, classes, "tanh", "none", 2, 0, 0, 0), Value: makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0),
		Rate: makeModel(t, claims, "poisson(3)", "none", 2, 0, 0, 0), Risk: timed(t)} {
		if got, err := m.Output(); got != want || err != nil {
			t.Errorf("%s: %v, %v: must be %v", m.loss.Name(), got, err, want)
		}
	}
}

// TestBatchesFollowColumnsAndClasses tests that a writer's batches are those of its columns and of the names of the classes.
func TestBatchesFollowColumnsAndClasses(t *testing.T) {
	target := dataset.Target{Column: "label", Kind: dataset.Category, Classes: []string{"no", strings.Repeat("x", 5<<10)}}
	m := makeModel(t, target, "logistic", "none", 2, 0, 0, 0)
	for _, format := range []string{"parquet", "arrow"} {
		w, err := m.writer(new(strings.Builder), []string{"probability", "class", "margin"}, format)
		if err != nil {
			t.Fatal(err)
		}
		b := w.(*batches)
		if want := 1 << 23 / (3 + 5<<10/8); b.most != want || len(b.numbers) != 3 || len(b.absent) != 3 {
			t.Errorf("%s: %d rows of %d columns: must be %d of 3", format, b.most, len(b.numbers), want)
		}
	}
}
