package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestWhyLinesToTheLetter compares the reasons for which a fit whose family is left to the rule has lines, whatever its size,
// one key of the configuration each, and the family of configurations that name one.
func TestWhyLinesToTheLetter(t *testing.T) {
	const logistic, schema = "{loss: logistic}", "schema:\n"
	for _, c := range []struct{ old, new, why string }{
		{logistic, logistic, ""},
		{logistic, "{loss: logistic}\ntrain: {algorithm: preconditioned}", ""},
		{logistic, "{loss: logistic}\ntrain: {algorithm: auto}", ""},
		{logistic, "{loss: logistic, start: {share: 0.5}}", ""},
		{logistic, "{loss: 'network(2,tanh,logistic)'}", "a network finds curves and interactions itself"},
		{logistic, "{loss: poisson(1)}", "the loss does not suit the target"},
		{"  target:", "  unit: {column: note, rows: 2}\n  target:", "the rule of auto was measured for records of one row alone"},
		{logistic, "{loss: logistic}\ninference: {}", "intervals are for the slopes of lines (family: curves has intervals of curves)"},
		{logistic, "{loss: logistic, reduce: jl(2)}", "projected rows have no columns (model.reduce)"},
		{"  target:", "  norm: 1\n  target:", "schema.norm shortens rows, and would shorten those with curves more"},
		{logistic, "{loss: logistic, radius: 3}", "model.regularizer, radius and kl are stated for the weights of lines"},
		{logistic, "{loss: logistic, regularizer: l2(0.1)}", "model.regularizer, radius and kl are stated for the weights of lines"},
		{logistic, "{loss: logistic}\ntrain: {algorithm: gd}", "the rule was measured with the default algorithm alone, and train states " +
			"another or its settings"},
		{logistic, "{loss: logistic}\ntrain: {steps: 7}", "the rule was measured with the default algorithm alone, and train states " +
			"another or its settings"},
	} {
		changes := []string{c.old, c.new}
		if c.old != schema && slices.Contains([]string{"  unit: {column: note, rows: 2}\n  target:"}, c.new) {
			changes = append(changes, "    note: ignore\n", "")
		}
		k := config(t, 20, changes...)
		if got := k.straight(); got != c.why {
			t.Errorf("%s: %q: must be %q", c.new, got, c.why)
		}
		if f := k.family(); c.why != "" && (f.Name != Lines || f.Chosen || f.Why != c.why) || c.why == "" && !f.Chosen {
			t.Errorf("%s: %+v", c.new, f)
		}
		refused := k.refused()
		if c.why != "" && (refused[Curves] != c.why || refused[Interactions] != c.why || len(refused) != 2) || c.why == "" && len(refused) != 0 {
			t.Errorf("%s: refused %v", c.new, refused)
		}
	}
	for _, c := range []struct {
		old, new string
		want     Family
	}{
		{"logistic}", "logistic, family: lines}", familyOf(Lines, "model.family names it", false)},
		{"logistic}", "logistic, family: curves}", familyOf(Curves, "model.family names it", false)},
		{"logistic}", "logistic, features: effects}", familyOf(Interactions, "model.features names it", false)},
		{"{number: [0, 100]}", "{number: [0, 100], curve: auto}", familyOf(Curves, "the schema has curves", false)},
		{"age: {number: [0, 100]}", "age: {category: [a, b]}", familyOf(Lines, "no other family is possible", false)},
	} {
		k := config(t, 20, c.old, c.new)
		if c.want.Why == "no other family is possible" {
			if why := k.refused()[Curves]; why != "no column is a number or a date that may have a curve" {
				t.Errorf("%s: curves are refused: %q", c.new, why)
			}
			if _, also := k.refused()[Interactions]; !also {
				c.want.Chosen = true
			}
		}
		if got := k.family(); got.Name != c.want.Name || got.Why != c.want.Why || got.Chosen != c.want.Chosen {
			t.Errorf("%s: %+v: must be %+v", c.new, got, c.want)
		}
	}
}

// TestStatedStartsByHand works out the constants at which fits begin that state one, and compares the errors of starts that
// the loss does not have, that are out of range, or that have a second key.
func TestStatedStartsByHand(t *testing.T) {
	classes := []string{"x", "y"}
	number := []string{`target: {column: sick, classes: ["0", "1"]}`, "target: {column: sick, number: [-2, 6]}"}
	counts := []string{`target: {column: sick, classes: ["0", "1"]}`, "target: {column: sick, number: [0, 8]}"}
	several := []string{`target: {column: sick, classes: ["0", "1"]}`, `target: {column: sick, classes: ["0", "1", "2"]}`}
	const share, value, rate = "with loss logistic it must have share, the share of the second class, and no other key",
		"with loss huber(0.5) it must have value, a number in [-2, 6], and no other key",
		"with loss poisson(3) it must have rate, a number above 0, and no other key"
	const sum = "shares must be above 0 and sum to 1, one for each class of a log loss, and rows must have an intercept"
	for _, c := range []struct {
		target  []string
		model   string
		margins []float64
		wrong   string // after "model.start: "
	}{
		{classes, "logistic, start: {share: 0.2}", []float64{math.Log(.25)}, ""},
		{several, "softmax(3), start: {shares: [0.2, 0.3, 0.5]}", []float64{math.Log(.2), math.Log(.3), math.Log(.5)}, ""},
		{number, "huber(0.5), start: {value: 4}", []float64{.5}, ""},
		{number, "huber(0.5), start: {value: -2}", []float64{-1}, ""},
		{counts, "poisson(3), start: {rate: 2}", []float64{math.Log(.25)}, ""},
		{classes, "logistic, start: {rate: 0.2}", nil, share},
		{classes, "logistic, start: {share: 0.2, value: 1}", nil, share},
		{classes, "logistic, start: {share: 0}", nil, sum},
		{classes, "logistic, start: {share: 1}", nil, sum},
		{classes, "hinge, start: {share: 0.5}", nil, sum},
		{several, "softmax(3), start: {share: 0.2}", nil, "with loss softmax(3) it must have shares, one for each class, and no other key"},
		{several, "softmax(3), start: {shares: [0.2, 0.8]}", nil, sum},
		{several, "softmax(3), start: {shares: [0.2, 0.3, 0.4]}", nil, sum},
		{number, "huber(0.5), start: {value: 6.1}", nil, value},
		{number, "huber(0.5), start: {value: -2.1}", nil, value},
		{number, "huber(0.5), start: {share: 0.5}", nil, value},
		{counts, "poisson(3), start: {rate: 0}", nil, rate},
		{counts, "poisson(3), start: {rate: .inf}", nil, rate},
		{counts, "poisson(3), start: {value: 2}", nil, rate},
		{counts, "poisson(3), start: {rate: 2, share: 0.1}", nil, rate},
	} {
		k := config(t, 20, append(slices.Clone(c.target), "logistic}", c.model+"}")...)
		l, err := k.loss()
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.stated(l)
		if c.wrong != "" {
			if err == nil || err.Error() != "model.start: "+c.wrong {
				t.Errorf("%s: %v: must be that %s", c.model, err, c.wrong)
			}
			continue
		}
		if err != nil || !got.Public || len(got.Margins) != len(c.margins) {
			t.Errorf("%s: %+v, %v", c.model, got, err)
			continue
		}
		for i, want := range c.margins {
			// Of several classes only differences of margins count.
			if !(math.Abs(got.Margins[i]-got.Margins[0]*float64(len(c.margins)/3)-want+c.margins[0]*float64(len(c.margins)/3)) <= 1e-9) {
				t.Errorf("%s: margins %v: must be %v", c.model, got.Margins, c.margins)
			}
		}
	}
	if b, err := config(t, 20).stated(nil); b != nil || err != nil {
		t.Errorf("%v, %v of no start", b, err)
	}
}

// TestSharesOfTheBaseRate works out the share of the budget that the release of the base rate gets, and compares the errors
// of shares that are not possible.
func TestSharesOfTheBaseRate(t *testing.T) {
	for _, c := range []struct {
		model string // what follows the loss
		mu    float64
		share float64 // 0: no release
		wrong string
	}{
		{"logistic}", 1, optimize.BaseShare, ""},
		{"logistic}\ntrain: {base: 0.25}", 1, .25, ""},
		{"logistic}\ntrain: {base: off}", 1, 0, ""},
		{"logistic, start: {share: 0.5}}", 1, 0, ""},
		{"logistic, start: {share: 0.5}}\ntrain: {base: 0.25}", 1, 0,
			"train.base: must be left out where model.start states where the fit begins"},
		{"logistic, reduce: jl(2)}", 1, 0, ""},
		{"logistic, reduce: jl(2)}\ntrain: {base: 0.25}", 1, 0,
			"train.base: is not possible: the model has no intercept, or its loss no best constant"},
		{"logistic}\ntrain: {base: 0.25}", .5, 0, "train.base: with the shares of the other releases it leaves no budget to train"},
		{"logistic}", .01, 0, ""},
	} {
		k := config(t, 20, "logistic}", c.model)
		l, err := k.loss()
		if err != nil {
			t.Fatal(err)
		}
		b, err := k.budget()
		if err != nil {
			t.Fatal(err)
		}
		p := optimize.Problem{Shape: optimize.Vector(4), Budget: b, Mu: math.Sqrt(b.Charge()) * c.mu, Relation: b.Relation(), Records: 20,
			RankOne: true, Constants: l.Constants()}
		rate, left, err := k.baseRate(p, l)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: %v: must be %q", c.model, err, c.wrong)
			}
			continue
		}
		if err != nil || (rate != nil) != (c.share > 0) {
			t.Errorf("%s: %+v, %v", c.model, rate, err)
			continue
		}
		charge := 0.
		if rate != nil {
			charge = rate.Charge
		}
		if !(math.Abs(charge-c.share*b.Charge()) <= 1e-12) || !(math.Abs(left.Mu*left.Mu-(p.Mu*p.Mu-charge)) <= 1e-9) {
			t.Errorf("%s: charge %v of %v, mu %v of %v is left", c.model, charge, b.Charge(), left.Mu, p.Mu)
		}
	}
}

// TestMeanHazardOfIntervals works out the mean hazard of the intervals of events, which grouped times have: the sum of the
// squared shares, or an equal share where none is released.
func TestMeanHazardOfIntervals(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, Low: -1, High: 1}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Cuts: []float64{2, 4, 10}, Grouped: cloglog}})
	if err != nil {
		t.Fatal(err)
	}
	for want, hazards := range map[float64][]float64{1. / 3: nil, .5*.5 + .3*.3 + .2*.2: {.5, .3, .2}} {
		d := definition(s, s.Columns(), s.Target())
		d.Target.Hazards = hazards
		of, err := dataset.New(d)
		if err != nil {
			t.Fatal(err)
		}
		k := Config{Schema: of}
		l, err := k.loss()
		if err != nil {
			t.Fatal(err)
		}
		if got := k.rate(l).Interval; !(math.Abs(got-want) <= 1e-12) {
			t.Error(fmt.Sprint(hazards), got, want)
		}
	}
}
