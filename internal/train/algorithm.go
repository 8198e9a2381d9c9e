package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// selected is the name of the output rule [optimize.Selected]. This rule holds out part of the records,
// scores points of the run on the held-out records, and chooses the result by the scores.
const selected = "selected"

// Plan makes the plan of the configured algorithm for the problem p. If the algorithm is auto, Plan
// also returns the plans of all algorithms that were compared, the chosen one first; otherwise the
// list is nil.
func (t Train) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, []choose.Candidate, error) {
	a, err := t.settle()
	if err != nil {
		return nil, nil, err
	}
	if auto, ok := a.(choose.Auto); ok {
		list, err := auto.Candidates(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return list[0].Plan, list, nil
	}
	plan, err := a.Plan(ctx, p)
	return plan, nil, err
}

// With returns a copy of the algorithm a with the given settings. A key must be the YAML key of a field of
// a's type, and the value must have the field's type; otherwise With returns an error. Other fields keep
// their values. Experiments use With for algorithms that no configuration can name.
func With(a optimize.Algorithm, settings Settings) (optimize.Algorithm, error) {
	if len(settings) == 0 {
		return a, nil
	}
	t := reflect.TypeOf(a)
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("settings: %T has none: must be a struct with fields that have a YAML key", a)
	}
	own := reflect.New(t).Elem()
	own.Set(reflect.ValueOf(a))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if _, ok := field(t, key); !ok {
			return nil, fmt.Errorf("settings: %s: is not a setting of %T, which takes %v", key, a, keys(t))
		}
		if err := set(own, key, settings[key]); err != nil {
			return nil, err
		}
	}
	return own.Interface().(optimize.Algorithm), nil
}

// CountsOf reports whether a setting of the algorithm a is a whole number. key is the setting's YAML key. For
// a key that a does not have, CountsOf returns false.
func CountsOf(a optimize.Algorithm, key string) bool {
	t := reflect.TypeOf(a)
	if t == nil || t.Kind() != reflect.Struct {
		return false
	}
	f, ok := field(t, key)
	return ok && f.Type.Kind() == reflect.Int
}

// settle turns the configured name and settings into the algorithm, a value of its own type with
// all settings set. It returns an error for an unknown algorithm, and for a setting that the
// algorithm does not have or whose value is invalid.
func (t Train) settle() (optimize.Algorithm, error) {
	t.Algorithm = cmp.Or(t.Algorithm, algorithms[0].name)
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == t.Algorithm })
	if i < 0 {
		return nil, fmt.Errorf("train.algorithm = %q: must be one of %v", t.Algorithm, Algorithms())
	}
	named := algorithms[i]
	own := reflect.New(reflect.TypeOf(named.zero)).Elem()
	around := reflect.ValueOf(&optimize.Selected{}).Elem()
	selects := t.Settings["output"] == selected && i > 0
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		value := t.Settings[key]
		_, takes := field(own.Type(), key)
		_, selection := field(around.Type(), key)
		var err error
		switch {
		case key == "output" && selects: // selected is no output of the algorithm itself: out below applies it
		case takes:
			err = set(own, key, value)
		case i == 0:
			err = fmt.Errorf("train.%s: auto settles it itself: name an algorithm, one of %v, to set it", key, Algorithms()[1:])
		case selection && selects:
			err = set(around, key, value)
		case selection:
			err = fmt.Errorf("train.%s: is a setting of output: %s", key, selected)
		default:
			err = fmt.Errorf("train.%s: is not a setting of %s, which takes %v", key, named.name, keys(own.Type()))
		}
		if err != nil && key == "output" && takes {
			err = fmt.Errorf("%w, or %q", err, selected)
		}
		if err != nil {
			return nil, err
		}
	}
	switch a := own.Interface().(type) {
	case choose.Auto:
		// Plans on Poisson samples spend the whole budget and leave none for a measurement. Auto therefore
		// leaves these plans out if a measurement is configured. Auto also leaves them out if the setting
		// passes does not limit the number of passes.
		a.WithoutSamples = t.Measure > 0 || a.Passes == 0
		return a, nil
	case optimize.Algorithm:
		if !selects {
			return a, nil
		}
		out := around.Interface().(optimize.Selected)
		out.Of = a
		return out, nil
	}
	panic("train: registered type is no algorithm")
}
