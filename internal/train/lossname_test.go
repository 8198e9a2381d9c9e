package train

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestNetworkIsWrittenOut tests that a configuration may write a network as one name or with keys.
// The starting point of the optimization must be the network's own, and the ball of model.radius
// must be centred there.
func TestNetworkIsWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"{network: {hidden: [4], output: logistic}}":                                        "network(4,tanh,logistic)",
		"{network: {hidden: [4, 3], activation: relu, output: sigmoid, clip: .5, seed: 9}}": "network(4-3,relu,sigmoid,clip=0.5,seed=9)",
		"'network(4, tanh, logistic)'":                                                      "network(4,tanh,logistic)",
		"{network: {hidden: [4], output: softmax}}":                                         "softmax",
		"{network: {hidden: [4], output: huber(1)}}":                                        "is for a number",
		"{network: {hidden: [], output: logistic}}":                                         "hidden",
		"{network: {hidden: [4], output: logistic, x: 1}}":                                  "unknown key",
		"{perceptron: {hidden: [4]}}":                                                       "unknown key",
		"{}":                                                                                "must be a name or",
	} {
		dir := t.TempDir()
		yaml := strings.Replace(peopleYAML, "loss: logistic", "loss: "+text, 1)
		c, err := ReadConfig(write(t, dir+"/people.yaml", yaml))
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: must say %s", text, err, want)
			}
			continue
		}
		c.Model.Radius = 2
		b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		p, l, err := c.Problem(b, 1000)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: must say %s", text, err, want)
			}
			continue
		}
		if l.Name() != want {
			t.Errorf("%s: %s, want %s", text, l.Name(), want)
		}
		moved := 0
		for j, w := range p.StartPoint() {
			if w != p.Start[j] {
				t.Fatalf("%s: the ball moves the start", text)
			}
			if w != 0 {
				moved++
			}
		}
		if moved == 0 {
			t.Errorf("%s: starts at zero", text)
		}
	}
}

// TestLossesTakeTheBounds: the bounds of the target complete the name of a loss, in any place.
func TestLossesTakeTheBounds(t *testing.T) {
	cost := dataset.Target{Column: "cost", Kind: dataset.Number, Low: 2, High: 8}
	for text, want := range map[LossName]string{
		"gamma(5)":                  "gamma(5,0.25)",
		"gamma(5,0.1)":              "gamma(5,0.1)",
		"network(3,tanh,gamma(.5))": "network(3,tanh,gamma(.5,0.25))",
		"weighted(gamma(5),row)":    "weighted(gamma(5,0.25),row)",
		"negbinomial(2,5)":          "negbinomial(2,5,8)",
		"negbinomial(2,5,9)":        "negbinomial(2,5,9)",
		"units(tweedie(1.5,5,2),3)": "units(tweedie(1.5,5,2,8),3)",
		"tweedie(1.5,5)":            "tweedie(1.5,5)",
		"huber(0.1)":                "huber(0.1)",
	} {
		if got := text.of(cost); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestLossesSayWhichBoundIsWrong: a loss of numbers from 0 to the upper bound names the lower bound if that is not 0, and
// its own last number only if that is not the upper bound.
func TestLossesSayWhichBoundIsWrong(t *testing.T) {
	for _, c := range []struct{ loss, bounds, want, not string }{
		{"tweedie(1.5,5,100)", "[1, 1e6]", "the lower bound must be 0 and is 1", "leave"},
		{"negbinomial(2,5)", "[1, 1e6]", "the lower bound must be 0 and is 1", "leave"},
		{"negbinomial(2,5,9)", "[0, 10]", "leave the last number of the loss out", "lower"},
	} {
		f := config(t, 20, `classes: ["0", "1"]`, "number: "+c.bounds, "loss: logistic", `loss: "`+c.loss+`"`)
		_, err := f.Plan(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.not) {
			t.Errorf("%s of %s: %v: must say %q", c.loss, c.bounds, err, c.want)
		}
	}
}
