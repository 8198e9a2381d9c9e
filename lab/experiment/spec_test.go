package experiment_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

const smallSpec = `name: small
families: [tanh, slow-tail]
dimensions: [5]
rows: 30
effective: [60, 240]
epsilons: [1]
seeds: 3
tuning_seeds: 2
population: 50
algorithms:
  - name: gd
    settings: {output: last}
    tune: {steps: [20, 40]}
  - name: storm
    settings: {output: random}
    scale: {steps: {power: 1, factors: [.2, .4], most: 60}}
`

func parseSpec(t testing.TB, text string) *experiment.Spec {
	t.Helper()
	s, err := experiment.ParseSpec([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpecFaults(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":         {smallSpec, "", "is empty"},
		"unknown":       {"seeds: 3", "seed: 3", `[7:1] unknown key; the keys here are name`},
		"unknown below": {"power: 1", "pover: 1", `[16:21] unknown key; the keys here are power, factors, most`},
		"two documents": {"name: small", "name: small\n---\nname: other", "must be one YAML document"},
		"name":          {"name: small", "name:", "name: must be given"},
		"families":      {"[tanh, slow-tail]", "[]", "families: must list at least one"},
		"dimensions":    {"[5]", "[]", "dimensions: must list at least one"},
		"epsilons":      {"epsilons: [1]", "epsilons: []", "epsilons: must list at least one"},
		"both sizes":    {"rows: 30", "rows: 30\nrecords: [90]", "records, effective: exactly one"},
		"no sizes":      {"effective: [60, 240]\n", "", "records, effective: exactly one"},
		"a size":        {"[60, 240]", "[60, -240]", "effective: -240: must be finite and > 0"},
		"few records":   {"effective: [60, 240]", "records: [20]", "records: 20: must be between the 30 distinct rows"},
		"rows":          {"rows: 30", "rows: 1", "rows = 1: must be >= 2"},
		"half a row":    {"rows: 30", "rows: 30.5", "[4:7] must be a whole number"},
		"half a size":   {"dimensions: [5]", "dimensions: [5.5]", "[3:14] must be a whole number"},
		"seeds":         {"seeds: 3", "seeds: 0", "seeds = 0: must be between"},
		"tuning seeds":  {"tuning_seeds: 2", "tuning_seeds: -2", "tuning_seeds = -2: must be between"},
		"population":    {"population: 50", "population: 1", "population = 1: must be >= 2"},
		"relation": {"rows: 30", "rows: 30\nrelation: both",
			`relation = "both": must be replace-one or add-or-remove`},
		"delta":           {"rows: 30", "rows: 30\ndelta: 2", `[5:8] delta: must be > 0 and < 1`},
		"growing delta":   {"rows: 30", "rows: 30\ndelta: n^1", `[5:8] delta: must be`},
		"setting":         {"output: last", "outpu: last", `algorithms: gd: settings: unknown field "outpu" in train`},
		"kind of setting": {"steps: [20, 40]", "steps: [20.5]", "settings: train.steps = 20.5: must be a whole number"},
		"measure":         {"output: last", "measure: .1", "measure: has no use"},
		"algorithm":       {"output: last", "algorithm: storm", "settings: algorithm: is given by name"},
		"tuned name":      {"steps: [20, 40]", "algorithm: [gd]", "tune: algorithm: is given in name"},
		"twice":           {"steps: [20, 40]", "output: [last]", "tune: output: is given in settings"},
		"nothing to tune": {"steps: [20, 40]", "steps: []", "tune: steps: must list at least one value"},
		"factors":         {"factors: [.2, .4]", "factors: []", "scale: steps: must list at least one factor"},
		"a factor":        {"factors: [.2, .4]", "factors: [-.2]", "scale: steps: factor -0.2: must be finite and > 0"},
		"label":           {"name: storm", "name: storm\n    label: gd", `label "gd": is there twice`},
		"no name":         {"name: storm", "label: x", "algorithms: name: must be given"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(smallSpec, c.old) {
				t.Fatalf("%q is not in the specification", c.old)
			}
			path := filepath.Join(t.TempDir(), "s.yaml")
			if err := os.WriteFile(path, []byte(strings.Replace(smallSpec, c.old, c.new, 1)), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := experiment.ReadSpec(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v: must say %q", err, c.want)
			}
		})
	}
	if _, err := experiment.ReadSpec(filepath.Join(t.TempDir(), "absent.yaml")); err == nil {
		t.Error("an absent file was read")
	}
}

func TestSpecDefaults(t *testing.T) {
	s := parseSpec(t, smallSpec)
	if s.Delta.String() != "n^-1.5" || s.Relation != "replace-one" || s.Algorithms[1].Label != "storm" {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]experiment.Delta{"n^-2": {Power: -2}, "1e-06": {Value: 1e-6}} {
		d, err := experiment.ParseDelta(text)
		if err != nil || d != want || d.String() != text {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	if s := parseSpec(t, strings.Replace(smallSpec, "rows: 30", "rows: 30\ndelta: 1e-6", 1)); s.Delta.Value != 1e-6 {
		t.Errorf("delta %v", s.Delta)
	}
}

// TestSettingsScale tests that the values of a Scale are factor N^power, rounded up to whole
// numbers for counts and limited to Most, and that equal values are tried once.
func TestSettingsScale(t *testing.T) {
	a := experiment.Algorithm{
		Name: "gd", Settings: map[string]any{"output": "last"}, Tune: map[string][]any{"multiplier": {uint64(1)}},
		Scale: map[string]experiment.Scale{
			"steps":      {Power: .5, Factors: []float64{.201, 3, 40, 1000}, Most: 400},
			"step_scale": {Power: -1, Factors: []float64{25}},
		},
	}
	grid, err := experiment.Grid(a, 100)
	if err != nil {
		t.Fatal(err)
	}
	var steps []float64
	for _, text := range grid {
		var s struct {
			Steps      float64
			Scale      float64 `json:"step_scale"`
			Algorithm  string
			Output     string
			Multiplier float64
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.Scale-.25) > 1e-15 || s.Algorithm != "gd" || s.Output != "last" || s.Multiplier != 1 {
			t.Errorf("%s", text)
		}
		steps = append(steps, s.Steps)
	}
	if len(steps) != 3 || steps[0] != 3 || steps[1] != 30 || steps[2] != 400 {
		t.Errorf("steps %v", steps)
	}
}
