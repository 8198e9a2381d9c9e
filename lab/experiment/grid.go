package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// check returns an error for a setting that is given twice, has no values, or has a factor, power
// or limit that is out of range.
func (a Algorithm) check() error {
	if _, ok := a.Settings["algorithm"]; ok {
		return errors.New("settings: algorithm: is given by name")
	}
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		seen[key] = "settings"
	}
	for _, key := range slices.Sorted(maps.Keys(a.Tune)) {
		if in := seen[key]; in != "" || key == "algorithm" {
			return fmt.Errorf("tune: %s: is given in %s", key, cmp.Or(in, "name"))
		}
		seen[key] = "tune"
		if len(a.Tune[key]) == 0 {
			return fmt.Errorf("tune: %s: must list at least one value", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Scale)) {
		if in := seen[key]; in != "" || key == "algorithm" {
			return fmt.Errorf("scale: %s: is given in %s", key, cmp.Or(in, "name"))
		}
		s := a.Scale[key]
		if len(s.Factors) == 0 {
			return fmt.Errorf("scale: %s: must list at least one factor", key)
		}
		for _, f := range s.Factors {
			if !(f > 0) || math.IsInf(f, 0) {
				return fmt.Errorf("scale: %s: factor %v: must be finite and > 0", key, f)
			}
		}
		if math.IsNaN(s.Power) || math.IsInf(s.Power, 0) || !(s.Most >= 0) {
			return fmt.Errorf("scale: %s: power = %v, most = %v: must be finite, most >= 0", key, s.Power, s.Most)
		}
	}
	// The effective size 1000 is arbitrary: grid reports unknown keys and wrong types at any size.
	_, err := a.grid(1000, own{})
	return err
}

// grid returns all combinations of the algorithm's settings at an effective size. Each is a JSON object
// with the YAML keys of train.Train, sorted by key. Two combinations are equal if two values of a Scale are
// both limited to its largest value. Equal combinations are returned once.
func (a Algorithm) grid(effective float64, mine own) ([]json.RawMessage, error) {
	fixed := maps.Clone(a.Settings)
	if fixed == nil {
		fixed = map[string]any{}
	}
	fixed["algorithm"] = a.Name
	list := []map[string]any{fixed}
	choices := maps.Clone(a.Tune)
	if choices == nil {
		choices = map[string][]any{}
	}
	for key, s := range a.Scale {
		choices[key] = s.values(effective, mine.counts(a.Name, key))
	}
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		var next []map[string]any
		for _, m := range list {
			for _, v := range choices[key] {
				m := maps.Clone(m)
				m[key] = v
				next = append(next, m)
			}
		}
		list = next
	}
	var out []json.RawMessage
	for _, m := range list {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
		if err := mine.check(a.Name, text); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(other json.RawMessage) bool { return bytes.Equal(other, text) }) {
			out = append(out, text)
		}
	}
	return out, nil
}

func (s Scale) values(effective float64, counts bool) []any {
	var out []any
	for _, f := range s.Factors {
		v := f * math.Pow(effective, s.Power)
		if s.Most > 0 {
			v = min(v, s.Most)
		}
		if counts {
			out = append(out, int(min(max(math.Ceil(v), 1), math.MaxInt32)))
		} else {
			out = append(out, v)
		}
	}
	return out
}

// decodeSettings reads settings in the JSON form that grid writes. It returns an error for unknown keys,
// wrong types, and the setting measure.
func decodeSettings(text json.RawMessage) (train.Train, error) {
	var t train.Train
	var all map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &all); err != nil {
			return t, errors.New("settings: must be a mapping of keys to values")
		}
	}
	if err := t.Set(all); err != nil {
		return t, fmt.Errorf("settings: %w", err)
	}
	if t.Measure != 0 {
		return t, errors.New("settings: measure: has no use where gradients are measured directly")
	}
	return t, nil
}
