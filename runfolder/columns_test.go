package runfolder

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/train"
)

// columnsOf are the columns of a schema over people's table: a number, and categories of two
// listed values and of one.
var columnsOf = map[string]string{
	"age":  "    age: {number: [0, 100]}\n",
	"sex":  "    sex: {category: [f, m]}\n",
	"note": "    note: {category: [x]}\n",
}

// columnOrders are orders of them: categories last and beside each other, around the number,
// and first.
var columnOrders = [][]string{
	{"age", "sex", "note"}, {"sex", "age", "note"}, {"sex", "note", "age"}, {"note", "age", "sex"}, {"note", "sex", "age"},
}

// ordered is config with its columns in an order.
func ordered(t *testing.T, n int, order []string, changes ...string) *train.Config {
	t.Helper()
	start, end := strings.Index(peopleYAML, "    age:"), strings.Index(peopleYAML, "  target:")
	var columns string
	for _, name := range order {
		columns += columnsOf[name]
	}
	return config(t, n, append([]string{peopleYAML[start:end], columns}, changes...)...)
}

// TestPlansKnowNoOrder: a plan is the same whatever the order of columns, of every algorithm
// and every form of loss.
func TestPlansKnowNoOrder(t *testing.T) {
	planned, orders := 0, columnOrders
	if testing.Short() {
		orders = orders[:2]
	}
	for _, algorithm := range train.Algorithms() {
		for _, name := range []string{"logistic", "tanh", "hinge", "softmax(2)", "network(2,tanh,logistic)"} {
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
	if planned < 2*len(orders)*len(train.Algorithms()) {
		t.Errorf("only %d are planned", planned)
	}
}

// margins are those that weights give the rows of people's table, as the schema maps them,
// with their targets.
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

// drawing are the algorithms whose fits depend on which records secret coins draw, at any
// noise; unmeasured those among them whose whole budget is their schedule's.
var (
	drawing    = []string{"one-pass-sgd", "one-pass-storm", "tree-spider", "second-order"}
	unmeasured = []string{"dp-sgd", "dp-adam"}
)

// briefly are settings for fits of few steps.
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
	}
	return train.Settings{"steps": 12}
}

// fittedIn is a fit of people's table with its columns in an order, of next to no noise, and
// the mean loss of its model; each record's is cut where the fit's measure cuts it.
func fittedIn(t *testing.T, algorithm string, order []string) (f *Fitted, mean float64) {
	t.Helper()
	const n = 400
	c := ordered(t, n, order, "epsilon: 1,", "epsilon: 1e6,")
	c.Train.Algorithm, c.Train.Settings, c.Train.Measure = algorithm, briefly(algorithm), .2
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

// TestFitsKnowNoOrder: with next to no noise, fits of a table with its columns in any order
// tell the loss that their models have, to 8 standard deviations of its noise (a sound fit
// fails with a probability of 1.2e-15), and those that draw no records come to one loss: to
// 5e-3, where the noise that is left makes 1e-4, and 1e-3 of algorithms that adapt.
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
