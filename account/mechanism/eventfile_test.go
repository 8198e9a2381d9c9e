package mechanism

import (
	"math"
	"strings"
	"testing"
)

const planText = `{"relation": "add-or-remove", "events": [
	{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250},
	{"kind": "gaussian", "noise_multiplier": 20, "count": 3},
	{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [0.5, 0.5], "offsets": [0, 1], "count": 1},
	{"kind": "laplace", "scale": 50, "count": 2},
	{"kind": "randomized-response", "p": 0.49, "count": 1},
	{"kind": "pure", "epsilon": 0.01, "count": 1},
	{"kind": "bounded-range", "epsilon": 0.02, "count": 1}]}`

// newKindsText is an event file under replace-one with kinds that planText does not contain.
const newKindsText = `{"relation": "replace-one", "events": [
	{"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 50000, "batch": 500, "count": 300},
	{"kind": "discrete-gaussian", "sigma": 40, "sensitivity": 2, "count": 10},
	{"kind": "tree", "noise_multiplier": 12, "items": 1024, "participations": 4, "separation": 256, "count": 1},
	{"kind": "tree", "noise_multiplier": 12, "items": 7, "count": 2},
	{"kind": "toeplitz", "noise_multiplier": 8, "items": 1024, "bands": 256, "count": 1},
	{"kind": "toeplitz", "noise_multiplier": 8, "items": 16, "count": 1},
	{"kind": "selection", "epsilon": 0.02, "count": 1},
	{"kind": "repeat-and-select", "repetitions": "geometric", "mean": 20, "count": 1, "events": [
		{"kind": "laplace", "scale": 50, "count": 2}, {"kind": "selection", "epsilon": 0.02, "count": 1}]},
	{"kind": "repeat-and-select", "repetitions": "negative-binomial", "shape": 0.5, "mean": 20, "count": 2, "events": [
		{"kind": "gaussian", "noise_multiplier": 50, "count": 2}]},
	{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": [{"kind": "pure", "epsilon": 0.01, "count": 1}]},
	{"kind": "repeat-and-select", "repetitions": "logarithmic", "mean": 2, "count": 1, "events": [{"kind": "pure", "epsilon": 0.01, "count": 1}]}]}`

func TestDecodeNewKinds(t *testing.T) {
	p, err := DecodeEventFile([]byte(newKindsText))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"fixed-size gaussian(noise multiplier 3, 500 of 50000 records)", "discrete gaussian(sigma 40, sensitivity 2)",
		"tree of 1024 items, 4 participations 256 apart(noise multiplier 12, replace-one)",
		"tree of 7 items(noise multiplier 12, replace-one)",
		"toeplitz sum of 1024 items, 256 bands(noise multiplier 8, replace-one)",
		"toeplitz sum of 16 items, 16 bands(noise multiplier 8, replace-one)",
		"bounded range(epsilon 0.02)",
		"best of negative binomial, shape 1, mean 20 runs of 2 x laplace(epsilon 0.02) and 1 x bounded range(epsilon 0.02)",
		"best of negative binomial, shape 0.5, mean 20 runs of 2 x gaussian(noise multiplier 50)",
		"best of poisson, mean 2 runs of 1 x pure(epsilon 0.01)",
		"best of negative binomial, shape 0, mean 2 runs of 1 x pure(epsilon 0.01)",
	} {
		if got := p.Events[i].Mechanism.String(); got != want {
			t.Errorf("event %d: %s, want %s", i, got, want)
		}
	}
	if n := len(p.Events); n != 11 || p.Events[0].Count != 300 || p.Events[8].Count != 2 {
		t.Errorf("%d events: %v", n, p.Events)
	}
	// A selection with epsilon e is at most (e^2/8)-zCDP. A tree is a Gaussian mechanism whose
	// squared sensitivity is its number of levels.
	if rho, err := ZCDP(t.Context(), p.Events[6:7]); err != nil || rho > 5.01e-5 {
		t.Errorf("selection: rho %v, %v", rho, err)
	}
	if rho, err := ZCDP(t.Context(), p.Events[3:4]); err != nil || rho < 12./144 || rho > 12.001/144 {
		t.Errorf("two trees of 7 items: rho %v, %v; want 2 (2 sqrt 3/12)^2/2", rho, err)
	}
	said := Assumptions(p.Events)
	for _, want := range []string{"before the first one", "uniformly random set", "discrete Gaussian on the integers",
		"at least as far apart", "the number of repetitions"} {
		if !strings.Contains(strings.Join(said, "; "), want) {
			t.Errorf("assumptions %q: must say %q", said, want)
		}
	}
	if said := Assumptions(p.Events[5:6]); len(said) != 1 || strings.Contains(said[0], "before the first") {
		t.Errorf("assumptions of a Gaussian sum: %q", said)
	}
}

func TestDecodeEventFile(t *testing.T) {
	p, err := DecodeEventFile([]byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	if p.Relation != AddOrRemove || len(p.Events) != 7 || p.Events[0].Count != 2250 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []string{
		"sampled gaussian(noise multiplier 1.5, sampling 0.04, add-or-remove)", "gaussian(noise multiplier 20)",
		"gaussian mixture(noise multiplier 9, weights [0.5 0.5], offsets [0 1])", "laplace(epsilon 0.02)",
		"randomized response(epsilon 0.040005334613699", "pure(epsilon 0.01)", "bounded range(epsilon 0.02)",
	} {
		if got := p.Events[i].Mechanism.String(); !strings.HasPrefix(got, want) {
			t.Errorf("event %d: %s, want %s", i, got, want)
		}
	}
	b, err := compose(t, 1e-2, p.Events...).Epsilon(t.Context(), 1e-5)
	if err != nil || !(b.Upper > 6.7 && b.Upper < 7.5) {
		t.Errorf("%v, %v", b, err)
	}
}

func TestDecodeEventFileRefuses(t *testing.T) {
	one := func(event string) string { return `{"relation": "replace-one", "events": [` + event + `]}` }
	for text, want := range map[string]string{
		``:                                "must be JSON: EOF",
		`[]`:                              "[]: must be an object",
		`{"events": []}`:                  "account: relation: is missing",
		`{"relation": "replace-one"}`:     "account: events: is missing",
		`{"relation": "x", "events": []}`: "must be replace-one or add-or-remove",
		`{"relation": "replace-one", "relation": "replace-one", "events": []}`: "given twice",
		`{"Relation": "replace-one", "events": []}`:                            "relation: is missing",
		`{"relation": "replace-one", "events": [], "x": 1}`:                    "x: is unknown",
		`{"relation": "replace-one", "events": []} 1`:                          "nothing after it",
		`{"relation": "replace-one", "events": null}`:                          "null: must have a value",
		one(`1`):                                                                                                                                                  "events[0] = 1: must be an object",
		one(`{"kind": "cauchy", "count": 1}`):                                                                                                                     "not a kind",
		one(`{"kind": "pure", "count": 1}`):                                                                                                                       "events[0].epsilon: is missing",
		one(`{"kind": "pure", "epsilon": 1}`):                                                                                                                     "events[0].count: is missing",
		one(`{"kind": "pure", "epsilon": null, "count": 1}`):                                                                                                      "null: must have a value",
		one(`{"kind": "pure", "epsilon": "1", "count": 1}`):                                                                                                       `epsilon = "1": must be a number`,
		one(`{"kind": "pure", "epsilon": 1, "count": 0}`):                                                                                                         "count = 0",
		one(`{"kind": "pure", "epsilon": 1, "count": 1.5}`):                                                                                                       "count = 1.5: must be an integer",
		one(`{"kind": "pure", "epsilon": 1, "count": 1, "sampling": 0.1}`):                                                                                        "sampling: is unknown",
		one(`{"kind": "pure", "epsilon": 1, "epsilon": 2, "count": 1}`):                                                                                           "given twice",
		one(`{"kind": "pure", "epsilon": -1, "count": 1}`):                                                                                                        "epsilon = -1",
		one(`{"kind": "pure", "epsilon": 1e999, "count": 1}`):                                                                                                     "range of float64",
		one(`{"kind": "sampled-gaussian", "noise_multiplier": 1, "sampling": 1.1, "count": 1}`):                                                                   "sampling = 1.1",
		one(`{"kind": "gaussian-mixture", "noise_multiplier": 1, "weights": [1], "offsets": [1], "count": 1}`):                                                    "needs the relation add-or-remove",
		one(`{"kind": "fixed-size-gaussian", "noise_multiplier": 1, "records": 10, "batch": 11, "count": 1}`):                                                     "batch = 11: must be",
		one(`{"kind": "fixed-size-gaussian", "noise_multiplier": 1, "records": 10, "batch": 1.5, "count": 1}`):                                                    "batch = 1.5: must be an integer",
		one(`{"kind": "fixed-size-gaussian", "noise_multiplier": 1, "records": 10, "count": 1}`):                                                                  "batch: is missing",
		one(`{"kind": "fixed-size-gaussian", "noise_multiplier": 1, "sampling": 0.1, "count": 1}`):                                                                "records: is missing",
		`{"relation": "add-or-remove", "events": [{"kind": "fixed-size-gaussian", "noise_multiplier": 1, "records": 9, "batch": 1, "count": 1}]}`:                 "needs the relation replace-one",
		one(`{"kind": "discrete-gaussian", "sigma": 2, "sensitivity": 0.5, "count": 1}`):                                                                          "sensitivity = 0.5: must be an integer",
		one(`{"kind": "discrete-gaussian", "sigma": 0, "sensitivity": 1, "count": 1}`):                                                                            "sigma = 0: must be",
		one(`{"kind": "tree", "noise_multiplier": 1, "items": 8, "bands": 2, "count": 1}`):                                                                        "bands: is unknown",
		one(`{"kind": "tree", "noise_multiplier": 1, "items": 8, "participations": null, "count": 1}`):                                                            "null: must have a value",
		one(`{"kind": "tree", "noise_multiplier": 1, "items": 8, "participations": 2, "separation": 8, "count": 1}`):                                              "participations = 2: must be at most 1",
		one(`{"kind": "toeplitz", "noise_multiplier": 1, "items": 8, "bands": 9, "count": 1}`):                                                                    "bands = 9: must be",
		one(`{"kind": "selection", "epsilon": 0, "count": 1}`):                                                                                                    "epsilon = 0: must be",
		one(`{"kind": "repeat-and-select", "repetitions": "binomial", "mean": 2, "count": 1, "events": []}`):                                                      `repetitions = "binomial": must be`,
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "shape": 1, "count": 1, "events": [{"kind": "pure", "epsilon": 1, "count": 1}]}`): "shape: is unknown",
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": []}`):                                                       "must be some",
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 0, "count": 1, "events": [{"kind": "pure", "epsilon": 1, "count": 1}]}`):             "mean = 0: must be",
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": [{"kind": "pure", "epsilon": 1}]}`):                         "events[0].events[0].count: is missing",
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": [{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": []}]}`): "must not be among",
		one(`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "count": 1, "events": [` +
			strings.Repeat(`{"kind": "pure", "epsilon": 1, "count": 1},`,
				64) + `{"kind": "pure", "epsilon": 1, "count": 1}]}`): "65 repeated events: must be at most 64",
		one(`{"kind": "randomized-response", "p": 0.5, "count": 1}`):                                                                                   "p = 0.5",
		`{"relation": "add-or-remove", "events": [{"kind": "gaussian-mixture", "noise_multiplier": 1, "weights": [0.4], "offsets": [1], "count": 1}]}`: "must sum to 1",
	} {
		if _, err := DecodeEventFile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzDecodeEventFile tests that decoding does not panic, and that an accepted file is valid and
// decodes to the same events again.
func FuzzDecodeEventFile(f *testing.F) {
	f.Add([]byte(planText))
	f.Add([]byte(newKindsText))
	f.Add([]byte(`{"relation":"replace-one","events":[{"kind":"pure","epsilon":1,"count":1}]}`))
	f.Add([]byte(`{"relation":"replace-one","events":[{"kind":"laplace","scale":1e-1,"count":1073741824}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := DecodeEventFile(data)
		if err != nil {
			return
		}
		if !p.Relation.Valid() {
			t.Fatalf("relation %v", p.Relation)
		}
		for i, e := range p.Events {
			if e.Mechanism == nil || e.Count < 1 {
				t.Fatalf("event %d: %+v", i, e)
			}
			if r := e.Mechanism.relation(); r != 0 && r != p.Relation {
				t.Fatalf("event %d: under %v in a file under %v", i, r, p.Relation)
			}
		}
		if _, err := Compose(t.Context(), p.Events, 1e-2); err != nil && !strings.Contains(err.Error(), "must be at most") &&
			!strings.Contains(err.Error(), "too small") && !strings.Contains(err.Error(), "no dominating pair") {
			t.Fatal(err)
		}
	})
}

// FuzzComposition tests that any parameters give an error or a valid bracket.
func FuzzComposition(f *testing.F) {
	f.Add(1.0, .1, 10, 1e-5, true)
	f.Add(.1, 1e-12, 1, 1e-30, false)
	f.Add(1e7, .999999, 1000000, .999, true)
	f.Fuzz(func(t *testing.T, z, q float64, n int, delta float64, add bool) {
		relation := ReplaceOne
		if add {
			relation = AddOrRemove
		}
		m, err := NewSampledGaussian(z, q, relation)
		if err != nil {
			return
		}
		c, err := Compose(t.Context(), []Composed{{m, n}}, .1)
		if err != nil {
			return
		}
		b, err := c.Epsilon(t.Context(), delta)
		if err == nil && !(b.Lower >= 0 && b.Lower <= b.Upper && !math.IsInf(b.Upper, 0)) {
			t.Fatalf("z %v, q %v, n %d, delta %v: %v", z, q, n, delta, b)
		}
	})
}
