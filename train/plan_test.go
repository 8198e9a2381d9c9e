package train

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

func TestPlan(t *testing.T) {
	c := config(t, 300)
	p, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mu, err := account.GaussianMu(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if p.Records != 300 || p.Dim != 5 || p.Budget.Mu() != mu {
		t.Errorf("records %v, dim %d, mu %v: must be 300, 5, %v", p.Records, p.Dim, p.Budget.Mu(), mu)
	}
	if want := 300 * mu / math.Sqrt(5); math.Abs(p.Summary.Effective-want) > 1e-12*want {
		t.Errorf("effective size %v: must be n mu/sqrt(d) = %v", p.Summary.Effective, want)
	}
	empty(t)
}

// With privacy.records the table is not opened.
func TestPlanWithoutTable(t *testing.T) {
	for _, relation := range []string{"replace-one", "add-or-remove"} {
		c := config(t, 300, "replace-one", relation+", records: 12345")
		if err := os.Remove(c.DataPath()); err != nil {
			t.Fatal(err)
		}
		p, err := c.Plan(context.Background())
		if err != nil || p.Records != 12345 {
			t.Errorf("%s: records %v, %v", relation, p.Records, err)
		}
		// Removing a row moves a sum half as far as replacing one.
		neighbours := map[string]float64{"replace-one": 2, "add-or-remove": 1}[relation]
		want := 12345 * p.Budget.Mu() * math.Sqrt(1-DefaultCompare) / math.Sqrt(5) * 2 / neighbours
		if math.Abs(p.Summary.Effective-want) > 1e-12*want {
			t.Errorf("%s: effective size %v: must be %v", relation, p.Summary.Effective, want)
		}
	}
}

func TestPlanCountsWhatTheFilterKeeps(t *testing.T) {
	c := config(t, 300, "classes: [\"0\", \"1\"]}", "classes: [\"0\", \"1\"]}\n  where: sex=f", "sex: {category: [f, m]}", "sex: {public: [f, m]}")
	p, err := c.Plan(context.Background())
	if err != nil || p.Records < 100 || p.Records > 200 {
		t.Errorf("records %v, %v: must be about half of 300", p.Records, err)
	}
}

// numbers is a schema whose target is a number within bounds.
func numbers(t *testing.T, low, high float64) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100}, {Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}, {Name: "note", Kind: dataset.Ignore}},
		Target:  dataset.Target{Column: "sick", Kind: dataset.Number, Low: low, High: high},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What Plan refuses, Fit refuses with the same words, and neither leaves
// anything behind.
func TestRefusals(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no epsilon", func(c *Config) { c.Privacy.Epsilon = nil }, "privacy.epsilon: must be given"},
		{"no delta", func(c *Config) { c.Privacy.Delta = nil }, "privacy.delta: must be given"},
		{"epsilon NaN", func(c *Config) { c.Privacy.Epsilon = value(math.NaN()) }, "epsilon = NaN: must be finite and > 0"},
		{"epsilon 0", func(c *Config) { c.Privacy.Epsilon = value(0) }, "epsilon = 0: must be finite and > 0"},
		{"epsilon -1", func(c *Config) { c.Privacy.Epsilon = value(-1) }, "epsilon = -1: must be finite and > 0"},
		{"epsilon Inf", func(c *Config) { c.Privacy.Epsilon = value(math.Inf(1)) }, "epsilon = +Inf: must be finite and > 0"},
		{"delta 0", func(c *Config) { c.Privacy.Delta = value(0) }, "delta = 0: must be > 0 and < 1"},
		{"delta 1", func(c *Config) { c.Privacy.Delta = value(1) }, "delta = 1: must be > 0 and < 1"},
		{"delta 2", func(c *Config) { c.Privacy.Delta = value(2) }, "delta = 2: must be > 0 and < 1"},
		{"delta NaN", func(c *Config) { c.Privacy.Delta = value(math.NaN()) }, "delta = NaN: must be > 0 and < 1"},
		{"extreme budget", func(c *Config) { c.Privacy.Epsilon, c.Privacy.Delta = value(1e-300), value(1e-300) }, "too extreme"},
		{"relation", func(c *Config) { c.Privacy.Relation = "replace" }, `relation = "replace": must be replace-one or add-or-remove`},
		{"records unknown", func(c *Config) { c.Privacy.Relation = "add-or-remove" }, "privacy.records: must declare the public number of records under add-or-remove"},
		{"algorithm", func(c *Config) { c.Train.Algorithm = "sgd" }, `train.algorithm = "sgd": must be one of`},
		{"output", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"output": "best"} }, `train.output: optimize: output = "best": must be one of`},
		{"steps", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"steps": -1} }, "steps = -1: must be between"},
		{"step scale", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"step_scale": math.Inf(1)} }, "step scale = +Inf: must be finite and > 0"},
		{"multiplier", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"multiplier": -2} }, "multiplier = -2: must be finite and > 0"},
		{"loss not proven for phased sgd", func(c *Config) {
			c.Model.Loss, c.Train.Algorithm, c.Train.Settings = "tanh", "recursive", Settings{"inner": "phased-sgd"}
		}, "train.inner = phased-sgd: curator: stable sgd: loss = tanh: curvature"},
		{"loss of a test problem", func(c *Config) { c.Model.Loss = "slow-tail" }, `model.loss: loss: name = "slow-tail": must be one of`},
		{"auto's steps", func(c *Config) { c.Train.Settings = Settings{"steps": 20} }, "train.steps: auto settles it itself"},
		{"gd's period", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"period": 5} }, "train.period"},
		{"storm's multiplier", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "storm", Settings{"multiplier": 5} }, "train.multiplier"},
		{"loss", func(c *Config) { c.Model.Loss = "hing" }, `model.loss: loss: name = "hing": must be one of`},
		{"loss parameter", func(c *Config) { c.Model.Loss = "huber" }, "model.loss: loss: name = \"huber\": has 0 parameters: must be delta"},
		{"target kind", func(c *Config) { c.Model.Loss = "huber(0.1)" }, `model.loss: schema.target "sick": loss huber(0.1) is for a number: the target is declared as 2 classes`},
		{"counts from 1", func(c *Config) {
			c.Model.Loss, c.Schema = "poisson(1)", numbers(t, 1, 6)
		}, `model.loss: loss poisson(1) is for counts: schema.target "sick" has the lower bound 1: must be 0`},
		{"a network's counts from 1", func(c *Config) {
			c.Model.Loss, c.Schema = "network(3,tanh,poisson(1))", numbers(t, 1, 6)
		}, `is for counts: schema.target "sick" has the lower bound 1: must be 0`},
		{"regularizer", func(c *Config) { c.Model.Regularizer = "l1(3)" }, `model.regularizer: loss: regularizer: name = "l1": must be one of`},
		{"lambda", func(c *Config) { c.Model.Regularizer = "l2(-1)" }, "lambda = -1: must be between"},
		{"radius", func(c *Config) { c.Model.Radius = -3 }, "radius = -3: must be finite and > 0"},
		{"kl without gamma", func(c *Config) { c.Model.KL.Kappa = 2 }, "model.kl: optimize: kl: gamma = 0: must be finite and > 0, and given with kappa"},
		{"kl below 1", func(c *Config) { c.Model.KL = optimize.KL{Kappa: .5, Gamma: 1} }, "kappa = 0.5: must be between 1 and 10"},
		{"radius NaN", func(c *Config) { c.Model.Radius = Positive(math.NaN()) }, "radius = NaN: must be finite and > 0"},
		{"no table", func(c *Config) { c.Data = Files{"absent.csv"} }, "absent.csv: no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := config(t, 20)
			test.change(c)
			_, err := c.Plan(context.Background())
			wantError(t, err, test.want)
			_, err = c.Fit(context.Background(), Options{Software: "test"})
			wantError(t, err, test.want)
			empty(t)
		})
	}
}

// TestStartIsNotSold: where no step is worth its noise the fit is refused before it
// spends, by plan and by fit, with how many more records would help; an algorithm
// whose number of steps is given runs.
func TestStartIsNotSold(t *testing.T) {
	c := config(t, 60, "epsilon: 1", "epsilon: 0.01")
	c.Train.Algorithm = "gd"
	const want = "gd would return its start"
	planned, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := planned.Useless(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "times as many records would help") {
		t.Errorf("plan: %v", err)
	}
	if _, err := c.Fit(context.Background(), Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("fit: %v", err)
	}
	c.Train.Settings = Settings{"steps": 3}
	if planned, err := c.Plan(context.Background()); err != nil || planned.Useless() != nil {
		t.Errorf("with steps: %v, %v", err, planned.Useless())
	}
}

// TestRowBytes: a category of three values, other included, takes a code of two bytes and
// not a float32 for each; rows reduced to other features take all of theirs.
func TestRowBytes(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1}, {Name: "b", Kind: dataset.Category, Categories: []string{"x", "z"}}},
		Target:  dataset.Target{Column: "y", Kind: dataset.Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for features, want := range map[int]float64{5: 4*2 + 4 + 2, 3: 12} {
		if got := rowBytes(s, features); got != want {
			t.Errorf("%d features: %v bytes, want %v", features, got, want)
		}
	}
}

// TestEstimate: time and memory are those of rows and passes, more where pairs of
// features are summed.
func TestEstimate(t *testing.T) {
	p := optimize.Problem{Shape: optimize.Vector(1000), Records: 1e6}
	plain := estimate(p, optimize.Summary{Passes: 10, Steps: 10}, 1000, 4000, 0)
	pairs := estimate(p, optimize.Summary{Passes: 10, Steps: 10, PairPasses: 2}, 1000, 4000, 0)
	if s := plain.Time.Seconds(); s < 100 || s > 130 {
		t.Errorf("1e9 cells of 100 ns and 1e10 products of 1 ns: %v", plain)
	}
	if more := (pairs.Time - plain.Time).Seconds(); more < 1300 || more > 1330 {
		t.Errorf("1e12 pairs of 1.3 ns: %v more", more)
	}
	if bounded := estimate(p, optimize.Summary{}, 1000, 4000, 1e8); plain.Memory < 4e9 || bounded.Memory > 1.5e8 {
		t.Errorf("memory %v, bounded %v", plain.Memory, bounded.Memory)
	}
	if got := plain.String(); got != "about 1.8 minutes of one processor, about 4 GB of memory" {
		t.Error(got)
	}
}
