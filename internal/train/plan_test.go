package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

func TestPlan(t *testing.T) {
	c := config(t, 300)
	p, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mu, err := mechanism.GaussianMu(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if p.Records != 300 || p.Dim != 5 || p.Budget.Mu() != mu {
		t.Errorf("records %v, dim %d, mu %v: must be 300, 5, %v", p.Records, p.Dim, p.Budget.Mu(), mu)
	}
	share := optimize.BaseShare
	if p.Compare != nil {
		share += SmallCompare
	}
	if want := 300 * mu / math.Sqrt(5) * math.Sqrt(1-share); !(math.Abs(p.Summary.Effective-want) <= 1e-12*want) {
		t.Errorf("effective size %v: must be n mu/sqrt(d) = %v", p.Summary.Effective, want)
	}
	empty(t)
}

// TestPlanWithoutTable tests that Plan does not open the table if the configuration states
// privacy.records.
func TestPlanWithoutTable(t *testing.T) {
	for _, relation := range []string{"replace-one", "add-or-remove"} {
		c := config(t, 300, "replace-one", relation+", records: 12345", "{loss: logistic}", "{loss: logistic, family: lines}")
		if err := os.Remove(c.DataPath()); err != nil {
			t.Fatal(err)
		}
		p, err := c.Plan(context.Background())
		if err != nil || p.Records != 12345 {
			t.Errorf("%s: records %v, %v", relation, p.Records, err)
		}
		// Removing a row changes a sum by half as much as replacing one.
		neighbours := map[string]float64{"replace-one": 2, "add-or-remove": 1}[relation]
		want := 12345 * p.Budget.Mu() / math.Sqrt(5) * 2 / neighbours * math.Sqrt(1-optimize.BaseShare)
		share := DefaultCompare
		if want < SmallCompared {
			share = SmallCompare
		}
		want *= math.Sqrt(1 - share/(1-optimize.BaseShare))
		if !(math.Abs(p.Summary.Effective-want) <= 1e-12*want) {
			t.Errorf("%s: effective size %v: must be %v", relation, p.Summary.Effective, want)
		}
	}
}

func TestPlanCountsWhatTheFilterKeeps(t *testing.T) {
	c := config(t, 300, "classes: [\"0\", \"1\"]}", "classes: [\"0\", \"1\"]}\n  where: sex=f", "sex: {category: [f, m]}",
		"sex: {public: [f, m]}")
	p, err := c.Plan(context.Background())
	if err != nil || p.Records < 100 || p.Records > 200 {
		t.Errorf("records %v, %v: must be about half of 300", p.Records, err)
	}
}

// numbers returns a schema whose target is a number with the given bounds.
func numbers(t *testing.T, low, high float64) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100},
			{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}, {Name: "note", Kind: dataset.Ignore}},
		Target: dataset.Target{Column: "sick", Kind: dataset.Number, Low: low, High: high},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRefusals tests invalid configurations: Plan and Fit must refuse each with the same words, and
// must leave no file behind.
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
		{"extreme budget", func(c *Config) { c.Privacy.Epsilon, c.Privacy.Delta = value(1e-300), value(1e-300) },
			"too extreme"},
		{"relation", func(c *Config) { c.Privacy.Relation = "replace" },
			`relation = "replace": must be replace-one or add-or-remove`},
		{"records unknown", func(c *Config) { c.Privacy.Relation = "add-or-remove" },
			"privacy.records: must declare the public number of records under add-or-remove"},
		{"algorithm", func(c *Config) { c.Train.Algorithm = "sgd" }, `train.algorithm = "sgd": must be one of`},
		{"output", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"output": "best"} },
			`train.output: optimize: output = "best": must be one of`},
		{"steps", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"steps": -1} },
			"steps = -1: must be between"},
		{"step scale", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"step_scale": math.Inf(1)} },
			"step scale = +Inf: must be finite and > 0"},
		{"multiplier", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"multiplier": -2} },
			"multiplier = -2: must be finite and > 0"},
		{"loss not proven for phased sgd", func(c *Config) {
			c.Model.Loss, c.Train.Algorithm, c.Train.Settings = "tanh", "recursive", Settings{"inner": "phased-sgd"}
		}, "train.inner = phased-sgd: curator: stable sgd: loss = tanh: curvature"},
		{"loss of a test problem", func(c *Config) { c.Model.Loss = "slow-tail" },
			`model.loss: loss: name = "slow-tail": must be one of`},
		{"auto's steps", func(c *Config) { c.Train.Settings = Settings{"steps": 20} }, "train.steps: auto settles it itself"},
		{"gd's period", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "gd", Settings{"period": 5} },
			"train.period"},
		{"storm's multiplier", func(c *Config) { c.Train.Algorithm, c.Train.Settings = "storm", Settings{"multiplier": 5} },
			"train.multiplier"},
		{"loss", func(c *Config) { c.Model.Loss = "hing" }, `model.loss: loss: name = "hing": must be one of`},
		{"loss parameter", func(c *Config) { c.Model.Loss = "huber" },
			"model.loss: loss: name = \"huber\": must be huber(delta), such as huber(0.1)"},
		{"target kind", func(c *Config) { c.Model.Loss = "huber(0.1)" },
			`model.loss: schema.target "sick": loss huber(0.1) is for a number: the target is declared as 2 classes`},
		{"counts from 1", func(c *Config) {
			c.Model.Loss, c.Schema = "poisson(1)", numbers(t, 1, 6)
		}, `model.loss: loss poisson(1) is for counts: schema.target "sick" has the lower bound 1: must be 0`},
		{"a network's counts from 1", func(c *Config) {
			c.Model.Loss, c.Schema = "network(3,tanh,poisson(1))", numbers(t, 1, 6)
		}, `is for counts: schema.target "sick" has the lower bound 1: must be 0`},
		{"regularizer", func(c *Config) { c.Model.Regularizer = "l1(3)" },
			`model.regularizer: loss: regularizer: name = "l1": must be one of`},
		{"lambda", func(c *Config) { c.Model.Regularizer = "l2(-1)" }, "lambda = -1: must be between"},
		{"radius", func(c *Config) { c.Model.Radius = -3 }, "radius = -3: must be finite and > 0"},
		{"kl without gamma", func(c *Config) { c.Model.KL.Kappa = 2 },
			"model.kl: optimize: kl: gamma = 0: must be finite and > 0, and given with kappa"},
		{"kl below 1", func(c *Config) { c.Model.KL = optimize.KL{Kappa: .5, Gamma: 1} },
			"kappa = 0.5: must be between 1 and 10"},
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

// TestStartIsNotSold tests a table so small that any step would only add noise. Planned.Useless and
// Fit must return an error that begins with the reason and says how many records would be enough, and nothing must be
// spent. An algorithm with a configured number of steps must run.
func TestStartIsNotSold(t *testing.T) {
	c := config(t, 60, "epsilon: 1", "epsilon: 0.01")
	c.Train.Algorithm = "gd"
	const want = "gd would return its start: enough would be "
	planned, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := planned.Useless(); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasPrefix(err.Error(), "train: too few rows") {
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

// TestRowBytes tests the estimated memory of a row. A category of three levels ("other" included)
// takes a 2-byte code, and not a float32 for each level. Rows after a projection have only numbers,
// padded to eight.
func TestRowBytes(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1},
			{Name: "b", Kind: dataset.Category, Categories: []string{"x", "z"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowBytes(s, nil); got != 4*8+12+4+2 {
		t.Errorf("two numbers and a group: %v bytes", got)
	}
	reduce, err := dataset.ParseProjection("jl(2,1)", s.Dim())
	if err != nil {
		t.Fatal(err)
	}
	if got := rowBytes(s, reduce); got != 4*8+12 {
		t.Errorf("two numbers alone: %v bytes", got)
	}
}

// TestEstimate tests the estimated time of a fit. It must be the sum of the costs of reading and of
// passes. Sums over pairs of features must add to it, and a time of a pass measured on this machine
// must replace the usual one.
func TestEstimate(t *testing.T) {
	of := func(work optimize.Workload, memory float64, pace curator.Pace) Estimate {
		return costs{rows: 1e6, cells: 1000, row: 4012, memory: memory,
			stages: []stage{{work: work, weights: 1000, features: 1000, pace: pace}}}.estimate()
	}
	seconds := func(e, than Estimate) float64 { return (e.Time - than.Time).Seconds() }
	ten := optimize.Workload{}.Count(query.Gradient, 10, 1)
	plain := of(ten, 0, nil)
	if s := plain.Time.Seconds(); s < 64 || s > 66 {
		t.Errorf("1e9 cells of 60 ns and 1e10 products of .5 ns: %v", plain)
	}
	metric := ten.Plus(optimize.Workload{Metrics: 1}).Count(query.SecondMoment, 1, 1)
	pairs := of(metric, 0, nil)
	if more := seconds(pairs, plain); more < 81 || more > 83 {
		t.Errorf("5e11 pairs of .12 ns and of .04 ns, 1e9 times .3 ns and 1e6 times 1 µs: %v more", more)
	}
	if empty := (costs{}).estimate(); empty.Time < 50*time.Millisecond {
		t.Errorf("a fit without rows: %v, where planning alone takes longer", empty.Time)
	}
	if slow := of(ten, 0, curator.Pace{query.Gradient: 5000}); seconds(slow, plain) < 44 || seconds(slow, plain) > 46 {
		t.Errorf("passes ten times as slow: %v", slow)
	}
	changes := optimize.Workload{}.Count(query.Difference, 10, .5)
	if half := of(changes, 0, nil); seconds(half, plain) < 0 || seconds(half, plain) > .5 {
		t.Errorf("differences on half of the records: %v, gradients on all %v", half, plain)
	}
	if bounded := of(optimize.Workload{}, 1e8, nil); plain.Memory < 4e9 || bounded.Memory > 1.9e8 {
		t.Errorf("memory %v, bounded %v", plain.Memory, bounded.Memory)
	}
	// Engines keep the squares of the slopes of wide rows, 8 bytes a row.
	if kept := of(ten.Count(query.SquaredSlope, 1, 1), 0, nil); kept.Memory != plain.Memory+8e6 {
		t.Errorf("memory %v with squares of slopes, %v without", kept.Memory, plain.Memory)
	}
	// A million rows of 4,012 bytes, and two fifths of that while they are read.
	if got := plain.String(); got != "about 65 seconds of one processor, about 5.7 GB of memory" {
		t.Error(got)
	}
}

// TestMeasured tests the estimate that measures the time of a pass on this machine. It must measure
// for every kind of column and target, and only once for equal plans. Rows of a network must take
// memory for their features, and not for the network's weights.
func TestMeasured(t *testing.T) {
	schemas := map[string]string{
		"logistic":   `{columns: {a: {number: [0, 1], missing: indicator}, b: {category: [x, y]}, c: {hash: 9}, d: {date: [2020-01-01, 2021-01-01]}, e: ignore}, target: {column: t, classes: ["0", "1"], weight: w}}`,
		"poisson(3)": `{columns: {a: {number: [0, 1]}, s: {public: [u, v]}}, where: s=u, unit: {column: who, rows: 3}, target: {column: t, number: [0, 9], exposure: {column: e, number: [1, 2]}}}`,
		"squared(3)": `{columns: {a: {number: [0, 1], curve: 5}, b: {category: [x, y]}}, target: {column: t, number: [0, 1]}}`,
		"softmax":    `{columns: {a: {number: [0, 1]}, b: {number: [-9, 1]}}, target: {column: t, classes: [p, q, r]}}`,
		"{network: {hidden: [300], activation: tanh, output: logistic}}": `{columns: {a: {number: [0, 1]}}, target: {column: t, classes: ["0", "1"]}}`,
	}
	for loss, schema := range schemas {
		c, err := ReadConfig(write(t, filepath.Join(t.TempDir(), "c.yaml"),
			"data: none.csv\nschema: "+schema+"\nmodel: {loss: "+loss+"}\n"+
				"privacy: {epsilon: 1, delta: 1e-6, relation: replace-one, records: 5000}\n"))
		if err != nil {
			t.Fatal(loss, err)
		}
		p, err := c.Plan(t.Context())
		if err != nil {
			t.Fatal(loss, err)
		}
		first := p.Measured(t.Context())
		if again := p.Measured(t.Context()); again != first || first == p.Estimate || first.Time <= 0 {
			t.Errorf("%s: %v, then %v; %v on a usual machine", loss, first, again, p.Estimate)
		}
		if first.Memory > 40<<20 {
			t.Errorf("%s: %v of memory for 5000 short rows", loss, first.Memory)
		}
	}
}

// TestPlanOfMoreRecordsThanNumbers tests plans for more than 2^31 - 1 records. Algorithms whose queries are
// about all records must be planned. Algorithms that draw records at random must be refused with an error
// that names the algorithm, also if auto has chosen it.
func TestPlanOfMoreRecordsThanNumbers(t *testing.T) {
	planned := map[string]bool{}
	for _, name := range append(Algorithms(), "auto") {
		for _, records := range []string{"2147483647", "3000000000"} {
			c := config(t, 1, "delta: 1e-6, relation: replace-one}",
				"delta: 1e-12, relation: replace-one, records: "+records+"}\ntrain: {algorithm: "+name+"}")
			p, err := c.Plan(context.Background())
			switch {
			case records == "2147483647" && err != nil && strings.Contains(err.Error(), "draws among"):
				t.Errorf("%s, %s records: %v", name, records, err)
			case records == "2147483647":
			case err == nil && (p.Plan.Needs().Cohorts || p.Plan.Needs().Schedule != nil):
				t.Errorf("%s: draws: must be refused", name)
			case err == nil:
				planned[name] = p.Records == 3e9
			case strings.Contains(err.Error(), "draws among the records"):
				planned[name] = false
			}
		}
	}
	if !planned["gd"] || !planned["auto"] || planned["dp-sgd"] || planned["one-pass-sgd"] || len(planned) < 5 {
		t.Errorf("%v: must plan gd and auto, and neither dp-sgd nor one-pass-sgd", planned)
	}
}

// TestPlanSaysThatItStaysAtItsStart: settings that the user states make a single pass whose answers are all noise. The
// plan and the result of a fit must then have the warning, once. A plan that leaves its start must not have it.
func TestPlanSaysThatItStaysAtItsStart(t *testing.T) {
	for _, c := range []struct {
		train string
		warns bool
	}{
		{"{algorithm: o2nc, oracle: single-pass, steps: 10}", true},
		{"{algorithm: o2nc, steps: 10}", false},
	} {
		configured := config(t, 300, "model: {loss: logistic}", "model: {loss: hinge}\ntrain: "+c.train)
		planned, err := configured.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		f, err := configured.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		for what, list := range map[string][]Warning{"plan": planned.Warnings(), "fit": f.Warnings, "model": f.Model.Warnings()} {
			found := 0
			for _, w := range list {
				if w.Code == WarnAtRandom && strings.Contains(w.Text, "does not leave the start but at random") {
					found++
				}
			}
			if found != map[bool]int{true: 1}[c.warns] {
				t.Errorf("%s: the %s has the warning %d times", c.train, what, found)
			}
		}
	}
}
