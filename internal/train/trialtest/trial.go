// Package trialtest chooses the values with which tests set the settings of algorithms.
package trialtest

import (
	"maps"
	"slices"
	"strconv"
)

// Setting describes a setting as package train does. Trial is the tag trial of its field, a value to try it with.
type Setting struct{ Key, Type, Doc, Trial string }

// Values returns the settings to try: the given ones, followed by one entry for each further setting of all, in which
// a key may stand several times. A further setting is one that no given entry sets. Audits and recorded runs use every
// entry, so that a new setting is tested without being listed by hand. A setting whose values are names is left out if
// its field has no tag; tests then fail.
func Values(given []map[string]any, all []Setting) []map[string]any {
	seen := map[string]bool{}
	for _, s := range given {
		for key := range maps.Keys(s) {
			seen[key] = true
		}
	}
	list := slices.Clone(given)
	for _, s := range all {
		if seen[s.Key] {
			continue
		}
		seen[s.Key] = true
		if value, ok := s.Value(); ok {
			list = append(list, map[string]any{s.Key: value})
		}
	}
	return list
}

// Value returns a value with which to test the setting: its tag, or true, 3 or .3. ok is false if the setting's values
// are names and its field has no tag.
func (s Setting) Value() (value any, ok bool) {
	if s.Trial != "" {
		if b, err := strconv.ParseBool(s.Trial); err == nil && s.Type == "yes or no" {
			return b, true
		}
		if x, err := strconv.ParseFloat(s.Trial, 64); err == nil {
			return x, true
		}
		return s.Trial, true
	}
	value, ok = map[string]any{"yes or no": true, "whole number": 3, "number": .3}[s.Type]
	return value, ok
}
