package runfolder

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// columnsOf holds the columns of a schema for the table that the function people makes, as lines of
// a configuration: a number, and categories with two listed values and with one.
var columnsOf = map[string]string{
	"age":  "    age: {number: [0, 100]}\n",
	"sex":  "    sex: {category: [f, m]}\n",
	"note": "    note: {category: [x]}\n",
}

// columnOrders holds orders of the columns in columnsOf: both categories last, one on either side
// of the number, and both first.
var columnOrders = [][]string{
	{"age", "sex", "note"}, {"sex", "age", "note"}, {"sex", "note", "age"}, {"note", "age", "sex"}, {"note", "sex", "age"},
}

// ordered returns the configuration that the function config makes, with the columns in the given
// order.
func ordered(t *testing.T, n int, order []string, changes ...string) *train.Config {
	t.Helper()
	start, end := strings.Index(peopleYAML, "    age:"), strings.Index(peopleYAML, "  target:")
	var columns string
	for _, name := range order {
		columns += columnsOf[name]
	}
	return config(t, n, append([]string{peopleYAML[start:end], columns}, changes...)...)
}

// TestPlansKnowNoOrder tests that, for every algorithm and every form of loss, a plan (or the error
// in its place) does not depend on the order of the columns.
func TestPlansKnowNoOrder(t *testing.T) {
	planned, orders, losses := 0, columnOrders, 2
	if testing.Short() {
		orders, losses = orders[:2], 1
	}
	for i, algorithm := range train.Algorithms() {
		for k, name := range []string{"logistic", "tanh", "hinge", "softmax(2)", "network(2,tanh,logistic)"} {
			if testing.Short() && (i+k)%2 > 0 {
				continue
			}
			var want string
			for _, order := range orders {
				c := ordered(t, 300, order, "loss: logistic", "loss: \""+name+"\"")
				c.Train.Algorithm = algorithm
				p, err := c.Plan(context.Background())
				got := fmt.Sprint(err)
				if err == nil {
					planned++
					text, err := json.Marshal([]any{
						p.Records, p.Dim, p.Features, p.Budget, p.Summary, p.LowerBound, p.Why, p.Estimate,
					})
					if err != nil {
						t.Fatal(err)
					}
					got = string(text)
				}
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, %s, columns %v: %s: want %s", algorithm, name, order, got, want)
				}
			}
		}
	}
	if planned < losses*len(orders)*len(train.Algorithms()) {
		t.Errorf("only %d are planned", planned)
	}
}

// margins returns the margins <w, x> of the rows of the table that the function people makes, as
// the schema of c encodes them, and the encoded targets.
func margins(t *testing.T, c *train.Config, n int, w []float64) (z, y []float64) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(people(n)), "\n")
	m, err := c.Schema.Bind(strings.Split(lines[0], ","))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, m.Dim())
	for _, line := range lines[1:] {
		target, ok := m.Encode(x, strings.Split(line, ","))
		if !ok {
			t.Fatal(line)
		}
		z, y = append(z, loss.MarginsAt(w, x)[0]), append(y, target)
	}
	return z, y
}

// drawing lists the algorithms that draw records or directions at random, so that their result depends on the
// draw even without noise. unmeasured lists the algorithms that spend their whole budget on a
// schedule of samples and leave nothing to measure the result.
var (
	drawing    = []string{"one-pass-sgd", "one-pass-storm", "tree-spider", "second-order", "dpzero"}
	unmeasured = []string{"dp-sgd", "dp-adam"}
)

// briefly returns settings with which an algorithm takes few steps.
func briefly(algorithm string) train.Settings {
	switch algorithm {
	case "kl-spider":
		return train.Settings{"rounds": 4, "descent": 2., "kappa": 1., "gamma": 2.}
	case "adaptive-gd":
		return train.Settings{"norm_charge": .03, "landing": .8, "landing_steps": 5}
	case "proximal-point":
		return train.Settings{"rounds": 2, "steps": 5}
	case "second-order":
		return train.Settings{"rounds": 2, "items": 4}
	case "recursive":
		return train.Settings{"rounds": 2, "steps": 12}
	case "tree-spider":
		return train.Settings{"rounds": 2}
	case "warm":
		return train.Settings{"share": .4}
	}
	return train.Settings{"steps": 12}
}

// fittedIn fits the table that the function people makes, with its columns in the given order and
// with almost no noise. mean is the mean loss of the model, with each record's loss clipped as the
// fit's own measurement clips it.
func fittedIn(t *testing.T, algorithm string, order []string) (f *Fitted, mean float64) {
	t.Helper()
	const n = 400
	c := ordered(t, n, order, "epsilon: 1,", "epsilon: 1e6,")
	c.Train.Algorithm, c.Train.Settings, c.Train.Measure = algorithm, briefly(algorithm), .2
	c.Train.Compare = train.Off // so that the measured weights are the algorithm's, also if they are worse than a constant
	f, err := fit(context.Background(), c, options{Software: "test"})
	if err != nil {
		t.Fatalf("%s, columns %v: %v", algorithm, order, err)
	}
	z, y := margins(t, c, n, f.Result.W)
	values := make([]float64, n)
	loss.Logistic().Values(values, z, y)
	for _, v := range values {
		mean += min(v, f.Measured.LossClip) / n
	}
	return f, mean
}

// TestFitsKnowNoOrder fits a table with its columns in several orders and with almost no noise.
// Each fit must release the loss that its model has, to 8 standard deviations of the noise (a
// correct fit fails with probability 1.2e-15). Algorithms that draw nothing must reach the
// same loss for every order, to 5e-3; the remaining noise changes it by 1e-4, and by 1e-3 for
// algorithms that adapt.
func TestFitsKnowNoOrder(t *testing.T) {
	algorithms, orders := train.Algorithms()[1:], [][]string{columnOrders[0], columnOrders[2], columnOrders[3]}
	if testing.Short() {
		algorithms, orders = []string{"gd", "preconditioned", "perturbed-gd"}, orders[:2]
	}
	for _, algorithm := range algorithms { // auto is one of the others
		if slices.Contains(unmeasured, algorithm) {
			continue
		}
		var first float64
		for i, order := range orders {
			f, mean := fittedIn(t, algorithm, order)
			if m := f.Measured; !(math.Abs(m.Loss-mean) <= 8*m.LossSigma+1e-9) {
				t.Errorf("%s, columns %v: measured loss %v, noise %v: the model's is %v",
					algorithm, order, m.Loss, m.LossSigma, mean)
			}
			if i == 0 {
				first = mean
			}
			if !slices.Contains(drawing, algorithm) && !(math.Abs(mean-first) <= 5e-3) {
				t.Errorf("%s, columns %v: loss %v: with columns %v it is %v", algorithm, order, mean, orders[0], first)
			}
		}
	}
}
