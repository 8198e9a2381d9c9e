package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Kinds of an event file besides Gaussian and SampledGaussian. A ledger does
// not admit them: they are fixed before the first release and composed as a
// whole.
const (
	GaussianMixture    Kind = "gaussian-mixture"
	Laplace            Kind = "laplace"
	RandomizedResponse Kind = "randomized-response"
	Pure               Kind = "pure"
	BoundedRange       Kind = "bounded-range"
)

// Plan is a relation and the mechanisms to be composed under it.
type Plan struct {
	Relation Relation
	Events   []Composed
}

// maxPlanEvents bounds the events of a file.
const maxPlanEvents = 1 << 17

// DecodePlan reads an event file:
//
//	{"relation": "add-or-remove",
//	 "events": [{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250},
//	            {"kind": "gaussian", "noise_multiplier": 20, "count": 1}]}
//
// A kind has exactly these fields, besides count (>= 1), all required:
//
//	gaussian             noise_multiplier: sigma over the sensitivity under the relation
//	sampled-gaussian     noise_multiplier: sigma over one record's largest norm; sampling
//	gaussian-mixture     noise_multiplier, weights, offsets; add-or-remove only
//	laplace              scale, over the l1 sensitivity
//	randomized-response  p, the probability of a lie
//	pure, bounded-range  epsilon
//
// Anything else is an error: unknown, repeated, missing or misspelt fields,
// null, and text after the end.
func DecodePlan(data []byte) (Plan, error) {
	top, err := decodeObject(data, "file")
	if err != nil {
		return Plan{}, err
	}
	if err := exactly(top, "file", "relation", "events"); err != nil {
		return Plan{}, err
	}
	var p Plan
	var name string
	if err := decodeField(top, "file", "relation", &name); err != nil {
		return Plan{}, err
	}
	if p.Relation, err = ParseRelation(name); err != nil {
		return Plan{}, err
	}
	var raw []json.RawMessage
	if err := decodeField(top, "file", "events", &raw); err != nil {
		return Plan{}, err
	}
	if len(raw) > maxPlanEvents {
		return Plan{}, fmt.Errorf("account: file: %d events: must be at most %d", len(raw), maxPlanEvents)
	}
	for i, r := range raw {
		e, err := decodeComposed(r, fmt.Sprintf("event %d", i), p.Relation)
		if err != nil {
			return Plan{}, err
		}
		p.Events = append(p.Events, e)
	}
	return p, nil
}

// planFields lists the fields of each kind.
var planFields = map[Kind][]string{
	Gaussian:           {"noise_multiplier"},
	SampledGaussian:    {"noise_multiplier", "sampling"},
	GaussianMixture:    {"noise_multiplier", "weights", "offsets"},
	Laplace:            {"scale"},
	RandomizedResponse: {"p"},
	Pure:               {"epsilon"},
	BoundedRange:       {"epsilon"},
}

func decodeComposed(data []byte, where string, r Relation) (Composed, error) {
	fields, err := decodeObject(data, where)
	if err != nil {
		return Composed{}, err
	}
	var kind Kind
	if err := decodeField(fields, where, "kind", &kind); err != nil {
		return Composed{}, err
	}
	names, known := planFields[kind]
	if !known {
		return Composed{}, fmt.Errorf("account: %s: kind = %q: not a kind", where, kind)
	}
	if err := exactly(fields, where, append([]string{"kind", "count"}, names...)...); err != nil {
		return Composed{}, err
	}
	var out Composed
	if err := decodeField(fields, where, "count", &out.Count); err != nil {
		return Composed{}, err
	}
	if out.Count < 1 || out.Count > countLimit {
		return Composed{}, fmt.Errorf("account: %s: count = %d: must be within [1, 2^30]", where, out.Count)
	}
	number := make(map[string]float64)
	list := make(map[string][]float64)
	for _, name := range names {
		if name == "weights" || name == "offsets" {
			var v []float64
			err = decodeField(fields, where, name, &v)
			list[name] = v
		} else {
			var v float64
			err = decodeField(fields, where, name, &v)
			number[name] = v
		}
		if err != nil {
			return Composed{}, err
		}
	}
	switch kind {
	case Gaussian:
		out.Mechanism, err = NewGaussian(number["noise_multiplier"])
	case SampledGaussian:
		out.Mechanism, err = NewSampledGaussian(number["noise_multiplier"], number["sampling"], r)
	case GaussianMixture:
		if r != AddOrRemove {
			return Composed{}, fmt.Errorf("account: %s: relation = %v: a gaussian-mixture needs add-or-remove", where, r)
		}
		out.Mechanism, err = NewGaussianMixture(number["noise_multiplier"], list["weights"], list["offsets"])
	case Laplace:
		out.Mechanism, err = NewLaplace(number["scale"])
	case RandomizedResponse:
		out.Mechanism, err = NewRandomizedResponse(number["p"])
	case Pure:
		out.Mechanism, err = NewPure(number["epsilon"])
	case BoundedRange:
		out.Mechanism, err = NewBoundedRange(number["epsilon"])
	}
	if err != nil {
		return Composed{}, fmt.Errorf("%s: %w", where, err)
	}
	return out, nil
}

// decodeObject reads one object with exact, unrepeated names and nothing
// after it; package json alone would accept any case, and repeats.
func decodeObject(data []byte, where string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("account: %s: %w", where, err)
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("account: %s: must be an object", where)
	}
	fields := make(map[string]json.RawMessage)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("account: %s: %w", where, err)
		}
		key := name.(string) // the decoder admits no other name
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("account: %s: %s: given twice", where, key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("account: %s: %s: %w", where, key, err)
		}
		fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("account: %s: %w", where, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("account: %s: text after the end", where)
	}
	return fields, nil
}

func exactly(fields map[string]json.RawMessage, where string, names ...string) error {
	for _, name := range names {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("account: %s: %s: missing", where, name)
		}
	}
	for name := range fields {
		if !slices.Contains(names, name) {
			return fmt.Errorf("account: %s: %q: not a field here", where, name)
		}
	}
	return nil
}

func decodeField(fields map[string]json.RawMessage, where, name string, to any) error {
	value, ok := fields[name]
	if !ok {
		return fmt.Errorf("account: %s: %s: missing", where, name)
	}
	if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return fmt.Errorf("account: %s: %s: must not be null", where, name)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("account: %s: %s: %w", where, name, err)
	}
	return nil
}
