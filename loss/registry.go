package loss

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// entry describes how one loss or regularizer is built from its parameters p. fields are the names
// of the parameters, in the order of p. The function format writes the parameters in the same order.
type entry[T any] struct {
	fields []string
	build  func(p []float64) (T, error)
}

// registry maps identifiers such as "huber" to entries. kind begins error messages: "loss" for a registry
// of losses, "loss: regularizer" for a registry of regularizers.
type registry[T any] struct {
	kind    string
	entries map[string]entry[T]
}

func (r registry[T]) names() []string { return slices.Sorted(maps.Keys(r.entries)) }

func (r registry[T]) lookup(name string) (entry[T], error) {
	e, ok := r.entries[name]
	if !ok {
		return e, fmt.Errorf("%s: name = %q: must be one of %s", r.kind, name, strings.Join(r.names(), ", "))
	}
	return e, nil
}

func (r registry[T]) new(name string, params map[string]float64) (T, error) {
	var none T
	e, err := r.lookup(name)
	if err != nil {
		return none, err
	}
	for _, field := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(e.fields, field) {
			return none, fmt.Errorf("%s: %s: %s = %v: unknown parameter: must be %s", r.kind, name, field, params[field],
				e.wanted())
		}
	}
	p := make([]float64, len(e.fields))
	for i, field := range e.fields {
		v, ok := params[field]
		if !ok {
			return none, fmt.Errorf("%s: %s: %s is missing: parameters must be %s", r.kind, name, field, e.wanted())
		}
		p[i] = v
	}
	return e.build(p)
}

func (r registry[T]) parse(name string) (T, error) {
	var none T
	base, list, parenthesis := strings.Cut(name, "(")
	e, err := r.lookup(base)
	if err != nil {
		return none, err
	}
	var args []string
	if parenthesis {
		inside, ok := strings.CutSuffix(list, ")")
		if !ok {
			return none, fmt.Errorf("%s: name = %q: must end in \")\"", r.kind, name)
		}
		args = strings.Split(inside, ",")
	}
	if len(args) != len(e.fields) {
		if len(e.fields) > 0 {
			base += "(" + e.wanted() + ")"
		}
		return none, fmt.Errorf("%s: name = %q: must be %s", r.kind, name, base)
	}
	p := make([]float64, len(args))
	for i, arg := range args {
		if p[i], err = strconv.ParseFloat(arg, 64); err != nil {
			return none, fmt.Errorf("%s: name = %q: %s = %q: must be a number", r.kind, name, e.fields[i], arg)
		}
	}
	return e.build(p)
}

func (e entry[T]) wanted() string {
	if len(e.fields) == 0 {
		return "none"
	}
	return strings.Join(e.fields, ", ")
}

// format returns base followed by the parameters in parentheses, separated by commas. Each parameter has
// the shortest form that parses back to the same float64.
func format(base string, params ...float64) string {
	if len(params) == 0 {
		return base
	}
	return base + "(" + strings.Join(vector.Map(params, shown), ",") + ")"
}

func shown(param float64) string { return strconv.FormatFloat(param, 'g', -1, 64) }

// minScale and maxScale bound the scale parameters of losses, such as the delta of huber. Margins are of the order of
// 1, so a scale outside of this range is useless, and computations with its square and cube could lose precision.
const minScale, maxScale = 1e-6, 1e6

func checkScale(kind, field string, v float64) error {
	if !(v >= minScale && v <= maxScale) {
		return fmt.Errorf("loss: %s: %s = %v: must be between %v and %v", kind, field, v, minScale, maxScale)
	}
	return nil
}
