package train

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// selected is the name of the output rule that scores points on held-out records.
const selected = "selected"

// Plan makes the plan of the configured algorithm for a problem. Under auto it also returns all
// candidates, the chosen one first.
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

// settle converts the settings into the algorithm's own type. Unknown or invalid settings are an error.
func (t Train) settle() (optimize.Algorithm, error) {
	if t.Algorithm == "" {
		t.Algorithm = algorithms[0].name
	}
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
		case key == "output" && selects: // wraps every algorithm
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
		// Plans on Poisson samples spend the whole budget, so that none is left for a measurement.
		// Without a limit on passes they are not chosen either.
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
