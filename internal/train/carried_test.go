package train

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestLossCarriesWhatTheSchemaSays tests the loss of a configuration: weights of classes, a column
// of weights and a column of exposures must become part of the loss's name, whether or not the
// configuration writes them into the name. Weights or exposures that do not fit the schema's target
// must be errors.
func TestLossCarriesWhatTheSchemaSays(t *testing.T) {
	for name, c := range map[string]struct{ model, target, want string }{
		"weights of classes": {"{loss: logistic, weights: {\"1\": 5}}", "", "weighted(logistic,1,5)"},
		"of a network": {"{loss: {network: {hidden: [4], output: logistic}}, weights: {\"0\": 2}}", "",
			"network(4,tanh,weighted(logistic,2,1))"},
		"a column of them": {"{loss: hinge}", "{column: income, classes: [\"0\", \"1\"], weight: w}",
			"weighted(hinge,row)"},
		"both": {"{loss: logistic, weights: {\"1\": 5}}",
			"{column: income, classes: [\"0\", \"1\"], weight: w}", "weighted(logistic,1,5,row)"},
		"exposures": {"{loss: poisson(0.5)}",
			"{column: n, number: [0, 9], exposure: {column: w, number: [1, 4]}}", "poisson-rate(0.5,0.25)"},
		"written out": {"{loss: 'poisson-rate(0.5,0.25)'}",
			"{column: n, number: [0, 9], exposure: {column: w, number: [1, 4]}}", "poisson-rate(0.5,0.25)"},
		"written out weights": {"{loss: 'weighted(logistic,row)'}", "{column: income, classes: [\"0\", \"1\"], weight: w}",
			"weighted(logistic,row)"},
		"no such class": {"{loss: logistic, weights: {\"2\": 5}}", "",
			`model.weights: "2": must be a class of schema.target`},
		"a weight of none": {"{loss: logistic, weights: {\"1\": 0}}", "", "weight of a class = 0"},
		"numbers have none": {"{loss: huber(1), weights: {\"1\": 2}}", "{column: n, number: [0, 9]}",
			"must be a class of schema.target"},
		"other exposures": {"{loss: 'poisson-rate(0.5,0.5)'}",
			"{column: n, number: [0, 9], exposure: {column: w, number: [1, 4]}}", "takes exposures from 0.5"},
		"exposures of no count": {"{loss: huber(1)}", "{column: n, number: [0, 9], exposure: {column: w, number: [1, 4]}}",
			"or an offset; or subtract the offset from the target beforehand"},
		"exposures of costs": {"{loss: gamma(5)}", "{column: n, number: [1, 9], exposure: {column: w, number: [1, 4]}}",
			"or an offset; or divide the target by the exposure beforehand"},
		"coarse counts": {"{loss: 'negbinomial(2,5)'}",
			"{column: n, number: [0, 1e12], exposure: {column: w, number: [1, 4]}}",
			"number = [0, 1e+12]: must have bounds at most 6.4e+09 apart"},
		"coarse amounts": {"{loss: 'tweedie(1.5,5,10)'}", "{column: n, number: [0, 1e11], weight: w}", "1/32 of the typical mean"},
		"coarse costs":   {"{loss: gamma(5)}", "{column: n, number: [1, 1e10], weight: w}", "1/32 of the lower bound, 1"},
		"fine costs":     {"{loss: gamma(5)}", "{column: n, number: [1, 1e9], weight: w}", "weighted(gamma(5,1e-09),row)"},
		"fine counts": {"{loss: 'negbinomial(2,5)'}", "{column: n, number: [0, 6e9], weight: w}",
			"weighted(negbinomial(2,5,6e+09),row)"},
		"alone":                {"{loss: 'negbinomial(2,5)'}", "{column: n, number: [0, 1e12]}", "negbinomial(2,5,1e+12)"},
		"exposures of nothing": {"{loss: 'poisson-rate(0.5,0.5)'}", "{column: n, number: [0, 9]}", "declared with 0"},
		"weights of nothing":   {"{loss: 'weighted(logistic,row)'}", "", "takes weights by row: true"},
	} {
		yaml := strings.Replace(peopleYAML, "model: {loss: logistic}", "model: "+c.model, 1)
		if yaml == peopleYAML {
			t.Fatal("the configuration has another form")
		}
		if c.target != "" {
			from := strings.Index(yaml, "target: {")
			to := from + strings.Index(yaml[from:], "}")
			yaml = yaml[:from] + "target: " + c.target + yaml[to+1:]
		}
		conf, err := ReadConfig(write(t, t.TempDir()+"/people.yaml", yaml))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		_, l, err := conf.Problem(b, 1000)
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v: must say %s", name, err, c.want)
		case err == nil && l.Name() != c.want:
			t.Errorf("%s: %s: want %s", name, l.Name(), c.want)
		}
	}
}
