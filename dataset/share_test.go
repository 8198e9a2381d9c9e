package dataset

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestShareIsKept tests that a stated base rate is read from YAML as a number or a list, and that JSON and the YAML
// that a schema writes keep it.
func TestShareIsKept(t *testing.T) {
	for text, want := range map[string][]float64{
		"classes: [a, b], share: .02":                    {.02},
		"classes: [a, b, c], share: [0.5, 0.3, 0.2]":     {.5, .3, .2},
		"number: [0, 20], share: 1.5":                    {1.5},
		"classes: [a, b]":                                nil,
		"number: [-10, 20], share: [-2.5], weight: size": {-2.5},
	} {
		s := new(Schema)
		if err := yaml.Unmarshal([]byte("columns: {x: {number: [0, 1]}}\ntarget: {column: y, "+text+"}"), s); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		stored, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		written, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fromJSON, fromYAML := new(Schema), new(Schema)
		if err := json.Unmarshal(stored, fromJSON); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(written, fromYAML); err != nil {
			t.Fatal(err)
		}
		for _, got := range []*Schema{s, fromJSON, fromYAML} {
			if !slices.Equal(got.Target().Share, want) {
				t.Errorf("%s: %v: want %v", text, got.Target().Share, want)
			}
		}
	}
}

// TestShareRules tests that a base rate which cannot be one is refused with an error that names value and rule.
func TestShareRules(t *testing.T) {
	for text, want := range map[string]string{
		"classes: [a, b], share: 0":                  "target.share = 0: must be above 0 and below 1",
		"classes: [a, b], share: 2":                  "target.share = 2: must be above 0 and below 1",
		"classes: [a, b], share: [.2, .8]":           "target.share = 2 numbers: must be one number",
		"classes: [a, b, c], share: .2":              "target.share = 1 numbers: must list the shares of all 3 classes",
		"classes: [a, b, c], share: [0.2, 0.2, 0.2]": "must have the sum 1",
		"number: [0, 20], share: 20":                 "target.share = 20: must be above 0 and below 20",
		"number: [0, 20], share: rare":               "must be a finite number",
		"number: [20, 0], share: 30":                 "the lower bound must be below the upper", // the bounds before what they bound
		"classes: [a, a], share: 2":                  "target.classes",
	} {
		s := new(Schema)
		err := yaml.Unmarshal([]byte("columns: {x: {number: [0, 1]}}\ntarget: {column: y, "+text+"}"), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", text, err, want)
		}
	}
}
