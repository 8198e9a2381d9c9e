package optimize

import (
	"fmt"
	"slices"
	"testing"
)

// TestOutputsByHand works out the result, its words and the weights of the iterates in it, for each output rule, of a whole run and of
// one that ends early. The iterates of a single pass that count are those that its steps reached.
func TestOutputsByHand(t *testing.T) {
	charges, gradients := []float64{1, 2, 3, 4, 5}, []float64{.5, .3, .4, .3, .6}
	for _, c := range []struct {
		rule    Output
		onePass bool
		steps   int // that the run made, of 5
		weights []float64
		chosen  int
	}{
		{TailAverage, false, 5, []float64{0, 0, 3. / 12, 4. / 12, 5. / 12, 0}, 0}, {TailAverage, true, 5, []float64{0, 0, 0, 3. / 12, 4. / 12, 5. / 12}, 0},
		{TailAverage, false, 4, []float64{0, 0, 3. / 7, 4. / 7, 0}, 0}, {Average, false, 5, []float64{1. / 15, 2. / 15, 3. / 15, 4. / 15, 5. / 15, 0}, 0},
		{Average, true, 5, []float64{0, 1. / 15, 2. / 15, 3. / 15, 4. / 15, 5. / 15}, 0}, {Last, false, 5, nil, 0}, {Last, true, 5, nil, 0},
		{Smallest, false, 5, nil, 7}, {Smallest, true, 3, nil, 5}, {Random, false, 5, nil, 0}, {Random, true, 5, nil, 0},
	} {
		name := fmt.Sprintf("%v, one pass %v, %d steps", c.rule, c.onePass, c.steps)
		of, err := newChoice(c.rule, 5, c.onePass, Problem{Seed: 3}.PublicCoins(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		r := of.begin()
		for i := range c.steps {
			r.visit([]float64{float64(i + 1)}, charges[i], gradients[i])
		}
		for range 2 {
			r.look([]float64{99}, .35)
		}
		got, words := r.result([]float64{42}), c.rule.String()
		want := 42.
		switch c.rule {
		case TailAverage, Average:
			sum, weight := 0., 0.
			for i := range c.steps {
				if c.rule == Average || i >= 2 {
					sum, weight = sum+charges[i]*float64(i+1), weight+charges[i]
				}
			}
			want = sum / weight
		case Smallest:
			want = 2 // the first of two
		case Random:
			want, words = float64(of.pick+1), fmt.Sprintf("random: iterate %d of 5, drawn before the first answer", of.pick+1)
			c.weights = make([]float64, c.steps+1)
			c.weights[of.pick] = 1
		}
		if got.W[0] != want || got.Output != words || got.Complete != (c.steps == 5) || got.Steps != c.steps {
			t.Errorf("%s: %+v: must be %v, %s", name, got, want, words)
		}
		if w := r.weightsOf(); !slices.EqualFunc(w, c.weights, func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }) {
			t.Errorf("%s: weights %v: must be %v", name, w, c.weights)
		}
		if r.chosen() != c.chosen {
			t.Errorf("%s: chosen among %d: must be %d", name, r.chosen(), c.chosen)
		}
		if c.steps < 5 || c.rule == Last || c.rule == Smallest {
			continue
		}
		planned := of.weights(charges)
		if !slices.EqualFunc(planned, c.weights, func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }) {
			t.Errorf("%s: planned weights %v: must be %v", name, planned, c.weights)
		}
	}
	for _, rule := range []Output{RuleOutput, outputs, 99} {
		if _, err := newChoice(rule, 5, false, nil); err == nil {
			t.Errorf("%v is a rule", rule)
		}
	}
}
