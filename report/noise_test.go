package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

// impulses walks a run on a flat loss, where an answer is its noise alone, once
// for each release: that release's noise is 1 and all others are 0. It returns
// the standard deviation of the result for releases of the given deviations.
func impulses(keep, sigma []float64, eta float64, result func(iterates []float64) float64) float64 {
	sum := 0.0
	for k := range sigma {
		w, e := 0.0, 0.0
		iterates := []float64{w}
		for t := range sigma {
			e *= keep[t]
			if t == k {
				e += sigma[t]
			}
			w -= eta * e
			iterates = append(iterates, w)
		}
		sum += math.Pow(result(iterates), 2)
	}
	return math.Sqrt(sum)
}

func last(w []float64) float64 { return w[len(w)-1] }

// tail averages the second half of the iterates that were asked about.
func tail(charge []float64, steps int) func([]float64) float64 {
	return func(w []float64) float64 {
		sum, of := 0.0, 0.0
		for t, m := range charge {
			if 2*(t+1) >= steps {
				sum, of = sum+m*w[t], of+m
			}
		}
		return sum / of
	}
}

const rows = 5000.0

// release makes the event of an answer on all rows.
func release(t *testing.T, question string, sensitivity, sigma float64) account.Event {
	t.Helper()
	e, err := account.GaussianEvent(question, account.Everyone, sensitivity*rows, sigma*rows)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNoiseOfGradientsAndDifferences: gradient descent and SpiderBoost, last
// iterate and tail average, against the walk.
func TestNoiseOfGradientsAndDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, algorithm := range []string{"gd", "spiderboost"} {
		var events []account.Event
		var keep, sigma, charge []float64
		const T = 17
		for i := range T {
			question, k := "gradient", 0.0
			if algorithm == "spiderboost" && i%5 != 0 {
				question, k = "difference", 1
			}
			s := .01 * math.Exp(r.NormFloat64())
			e := release(t, question, .001, s)
			events, keep, sigma, charge = append(events, e), append(keep, k), append(sigma, s), append(charge, e.Charge)
		}
		events = append(events, release(t, "value", 1, 1), release(t, "norm", 1, 1))
		for output, result := range map[string]func([]float64) float64{"last": last, "random: iterate 3 of 17, drawn before the first answer": last, "tail-average": tail(charge, T)} {
			n, err := derive(algorithm, plan{Steps: T, StepSize: 3, Output: output}, events, rows, true)
			if want := impulses(keep, sigma, 3, result); err != nil || !near(n.weight, want, 1e-12) {
				t.Errorf("%s, %s: %v: want %v (%v)", algorithm, output, n.weight, want, err)
			}
		}
	}
}

// TestNoiseOfSampledGradients: a sum over a sample is divided by its expected
// size, and all iterates of the tail weigh alike.
func TestNoiseOfSampledGradients(t *testing.T) {
	var events []account.Event
	var keep, sigma, alike []float64
	const T, q = 9, .05
	for i := range T {
		s := 30 + float64(i)
		e, err := account.SampledEvent("gradient", q, 1, s)
		if err != nil {
			t.Fatal(err)
		}
		events, keep, sigma, alike = append(events, e), append(keep, 0), append(sigma, s/(rows*q)), append(alike, 1)
	}
	n, err := derive("dp-sgd", plan{Steps: T, StepSize: 2, Output: "tail-average"}, events, rows, true)
	if want := impulses(keep, sigma, 2, tail(alike, T)); err != nil || !near(n.weight, want, 1e-12) {
		t.Errorf("%v: want %v (%v)", n.weight, want, err)
	}
}

// TestNoiseOfSTORM: a run of STORM in which K is chosen as its page says and
// differences have any sensitivities. The certificate's sensitivities and noises
// alone give the variances and the result back. Fails if 1-K is not that of the
// stationary point, or if a clipped K is taken for an inner one.
func TestNoiseOfSTORM(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		const sa, T = .0004, 30
		var events []account.Event
		var keep, sigma, charge []float64
		var variances []float64
		P := 0.0
		for i := range T {
			m := 1e-3 * math.Exp(.3*r.NormFloat64())
			sd := sa * math.Exp(-3*r.Float64()) * (1 + float64(r.IntN(8)/7)) // now and then beyond sa
			K := 1.0
			if i > 0 {
				K = min(max((P-sd*(sa-sd)/m)/(P+(sa-sd)*(sa-sd)/m), 0), 1)
			}
			question := "gradient+difference"
			switch K {
			case 0:
				question = "difference"
			case 1:
				question = "gradient"
			}
			s := (K*sa + (1-K)*sd) / math.Sqrt(m)
			P = (1-K)*(1-K)*P + s*s
			events = append(events, release(t, question, K*sa+(1-K)*sd, s))
			keep, sigma, charge, variances = append(keep, 1-K), append(sigma, s), append(charge, m), append(variances, P)
		}
		for output, result := range map[string]func([]float64) float64{"last": last, "tail-average": tail(charge, T)} {
			n, err := derive("storm", plan{Steps: T, StepSize: 16, Output: output}, events, rows, true)
			if want := impulses(keep, sigma, 16, result); err != nil || !near(n.weight, want, 1e-6) {
				t.Fatalf("%s: %v: want %v (%v)", output, n.weight, want, err)
			}
			for i, v := range variances {
				if !near(n.estimate[i], math.Sqrt(v), 1e-6) {
					t.Fatalf("step %d: noise %v: want %v", i, n.estimate[i], math.Sqrt(v))
				}
			}
		}
	}
}

// TestNoiseIsNotGuessed: where the rule is not known there is no number.
func TestNoiseIsNotGuessed(t *testing.T) {
	two := []account.Event{release(t, "gradient", .001, .01), release(t, "gradient", .001, .01)}
	cohort := []account.Event{two[0], two[1]}
	cohort[1].Cohort = 3
	choice, err := account.SelectionEvent("selection by value", account.Everyone, .1)
	if err != nil {
		t.Fatal(err)
	}
	good := plan{Steps: 2, StepSize: 1, Output: "last"}
	for name, c := range map[string]struct {
		algorithm string
		plan      plan
		events    []account.Event
	}{
		"algorithm":  {"dp-adam", good, two},
		"output":     {"gd", plan{Steps: 2, StepSize: 1, Output: "smallest"}, two},
		"step size":  {"gd", plan{Steps: 2, Output: "last"}, two},
		"few":        {"gd", plan{Steps: 3, StepSize: 1, Output: "last"}, two},
		"many":       {"gd", plan{Steps: 1, StepSize: 1, Output: "last"}, two},
		"cohort":     {"gd", good, cohort},
		"kind":       {"gd", good, []account.Event{two[0], choice}},
		"question":   {"gd", good, []account.Event{two[0], release(t, "hessian", 1, 1)}},
		"difference": {"spiderboost", good, []account.Event{release(t, "difference", 1, 1), two[0]}},
		"nothing":    {"gd", plan{StepSize: 1, Output: "last"}, nil},
	} {
		if n, err := derive(c.algorithm, c.plan, c.events, rows, true); err == nil || n.weight != 0 {
			t.Errorf("%s: %v without an error", name, n.weight)
		}
	}
	if n, err := derive("gd", plan{Steps: 9, StepSize: 1, Output: "tail-average"}, two, rows, false); err != nil || !near(n.weight, .01*math.Sqrt2, 1e-12) {
		t.Errorf("interrupted before the tail: %v, %v: want that of the last iterate", n.weight, err)
	}
}

// TestNoiseInTheUsersUnits: the deviation of each effect is that of the linear
// map from weights to effects, taken apart weight by weight.
func TestNoiseInTheUsersUnits(t *testing.T) {
	columns := []dataset.Column{
		{Name: "a", Kind: dataset.Number, Low: -5, High: 90},
		{Name: "skip", Kind: dataset.Ignore},
		{Name: "b", Kind: dataset.Number, Low: 3, High: 1e5, Transform: dataset.Log1p},
		{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
	}
	for _, target := range []dataset.Target{
		{Column: "t", Kind: dataset.Category, Classes: [2]string{"0", "1"}},
		{Column: "t", Kind: dataset.Number, Low: -100, High: 700},
	} {
		s, err := dataset.New(dataset.Definition{Columns: columns, Target: target})
		if err != nil {
			t.Fatal(err)
		}
		const sd = .7
		w := []float64{1, -2, .5, .25, -3, 4}
		got := explain(s, w, sd)
		variance, spanVariance := make([]float64, len(w)), make([]float64, len(w))
		for j := range w {
			moved := append([]float64(nil), w...)
			moved[j]++
			for k, c := range explain(s, moved, sd) {
				variance[k] += math.Pow((c.effect-got[k].effect)*sd, 2)
				spanVariance[k] += math.Pow((c.span-got[k].span)*sd, 2)
			}
		}
		for k, c := range got {
			if !near(c.effectSD, math.Sqrt(variance[k]), 1e-9) || !near(c.spanSD, math.Sqrt(spanVariance[k]), 1e-9) {
				t.Errorf("%v: %s: deviations %v, %v: want %v, %v", target.Kind, c.name, c.effectSD, c.spanSD, math.Sqrt(variance[k]), math.Sqrt(spanVariance[k]))
			}
		}
		plain := s.Explain(w)
		if !near(got[0].effect, plain[0].Value, 1e-12) || !near(got[0].span, 95*plain[0].Value, 1e-12) ||
			!near(got[1].effect, plain[1].Value*math.Ln2, 1e-12) || !near(got[1].span, plain[1].Value*math.Log(100001./4), 1e-12) ||
			got[2].effect != plain[2].Value || got[5].effect != plain[5].Value || !got[5].intercept {
			t.Errorf("%v: effects %+v of %+v", target.Kind, got, plain)
		}
	}
}
