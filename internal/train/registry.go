package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
)

// algorithm is an algorithm that a configuration can name. zero is the algorithm with all settings left out.
// The settings are the fields of zero's type that have a YAML key.
type algorithm struct {
	name string
	zero optimize.Algorithm
}

//go:generate go test . -run ^TestHelpIsTheComments$ -rewrite
//go:generate go test ../../lab/experiment -run ^TestRunsAreWhatTheyWere$ -record-new

// algorithms is the only list of algorithms. Configurations, audits, experiments and the command's help use
// it. The first is the default.
var algorithms = []algorithm{
	{"auto", choose.Auto{}},
	{"gd", firstorder.GD{}},
	{"preconditioned", firstorder.Preconditioned{}},
	{"nesterov", firstorder.Nesterov{}},
	{"spiderboost", firstorder.SpiderBoost{}},
	{"storm", firstorder.STORM{}},
	{"warm", firstorder.Warm{}},
	{"dpzero", firstorder.DPZero{}},
	{"dp-sgd", firstorder.SGD{}},
	{"dp-adam", firstorder.Adam{}},
	{"one-pass-sgd", onepass.SGD{}},
	{"one-pass-storm", onepass.STORM{}},
	{"tree-spider", onepass.TreeSpider{}},
	{"recursive", recursive.Recursive{}},
	{"kl-spider", kl.Spider{}},
	{"proximal-point", kl.Proximal{}},
	{"strongly-convex", kl.StronglyConvex{}},
	{"adaptive-gd", kl.Adaptive{}},
	{"kl-geometric", kl.Geometric{}},
	{"smoothed", nonsmooth.Smoothed{}},
	{"subgradient", nonsmooth.Subgradient{}},
	{"o2nc", nonsmooth.O2NC{}},
	{"second-order", secondorder.Spider{}},
	{"perturbed-gd", secondorder.Perturbed{}},
}

// Algorithms returns the valid names for Train.Algorithm; the first is the default.
func Algorithms() []string { return vector.Map(algorithms, func(a algorithm) string { return a.name }) }

// known returns the struct field of the setting with this YAML key, from any algorithm or from the
// output rule "selected".
func known(key string) (reflect.StructField, bool) {
	types := []reflect.Type{reflect.TypeFor[optimize.Selected]()}
	for _, t := range append(types, vector.Map(algorithms, func(a algorithm) reflect.Type { return reflect.TypeOf(a.zero) })...) {
		if f, ok := field(t, key); ok {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// inline is the option in a YAML tag that marks a struct whose own fields are settings.
const inline = ",inline"

// keyed is a field of a struct type with a YAML key. owner is the type in which it is declared.
type keyed struct {
	reflect.StructField
	key   string
	owner reflect.Type
}

// fieldsOf returns the fields of t with YAML keys, and those of inlined structs, whose index is relative to t as well.
func fieldsOf(t reflect.Type) (list []keyed) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch key := f.Tag.Get("yaml"); key {
		case "":
		case inline:
			for _, in := range fieldsOf(f.Type) {
				in.Index = append([]int{i}, in.Index...)
				list = append(list, in)
			}
		default:
			list = append(list, keyed{f, key, t})
		}
	}
	return list
}

// keys returns the YAML keys of the fields of t.
func keys(t reflect.Type) []string {
	return vector.Map(fieldsOf(t), func(f keyed) string { return f.key })
}

// field returns the field of t with a YAML key. field returns false if no field has the key.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range fieldsOf(t) {
		if f.key == key {
			return f.StructField, true
		}
	}
	return reflect.StructField{}, false
}

// algorithmNamed returns the algorithm with the given name, or nil.
func algorithmNamed(name string) *algorithm {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &algorithms[i]
}

// selected is the name of the output rule [optimize.Selected]. This rule holds out part of the records,
// scores points of the run on the held-out records, and chooses the result by the scores.
const selected = "selected"

// Plan makes the plan of the configured algorithm for the problem p. If the algorithm is auto, Plan also returns the
// plans of all algorithms that were compared, the chosen one first; otherwise the list is nil.
func (t Train) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, []choose.Candidate, error) {
	a, err := t.algorithm()
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

// auto returns the algorithm if the configuration names auto, or none.
func (t Train) auto() (choose.Auto, error) {
	a, err := t.algorithm()
	auto, _ := a.(choose.Auto)
	return auto, err
}

// algorithm returns the algorithm of the configured name, with all settings set. It returns an error for an unknown
// name, and for a setting that the algorithm does not have or whose value is invalid.
func (t Train) algorithm() (optimize.Algorithm, error) {
	t.Algorithm = cmp.Or(t.Algorithm, algorithms[0].name)
	of := algorithmNamed(t.Algorithm)
	if of == nil {
		return nil, fmt.Errorf("train.algorithm = %q: must be one of %v", t.Algorithm, Algorithms())
	}
	own, isAuto := reflect.New(reflect.TypeOf(of.zero)).Elem(), of == &algorithms[0]
	around := reflect.ValueOf(&optimize.Selected{}).Elem()
	selects := t.Settings["output"] == selected && !isAuto
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		value := t.Settings[key]
		_, takes := field(own.Type(), key)
		_, selection := field(around.Type(), key)
		var err error
		switch {
		case key == "output" && selects: // selected is no output of the algorithm itself: out below applies it
		case takes:
			err = SetField(own, key, value)
		case isAuto:
			err = fmt.Errorf("train.%s: auto settles it itself: name an algorithm, one of %v, to set it", key, Algorithms()[1:])
		case selection && selects:
			err = SetField(around, key, value)
		case selection:
			err = fmt.Errorf("train.%s: is a setting of output: %s", key, selected)
		default:
			err = fmt.Errorf("train.%s: is not a setting of %s, which takes %v", key, of.name, keys(own.Type()))
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
		// Plans on Poisson samples spend the whole budget and leave none for other releases. Auto therefore
		// leaves these plans out if a share for another release is configured. Auto also leaves them out if
		// the setting passes does not limit the number of passes.
		a.WithoutSamples = max(t.Measure, t.Compare, t.Base, t.Ranks) > 0 || a.Passes == 0
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

// LossesOf returns the losses, as Losses writes them, that an algorithm with its default settings plans a fit of, and
// those that it refuses. They are found by planning: for 100,000 records of 10 features at epsilon 1, without a
// regularizer and without a radius. A network counts as a loss, as network(16,tanh,logistic). For an unknown name both
// lists are empty.
func LossesOf(ctx context.Context, name string) (takes, refuses []string, err error) {
	of := algorithmNamed(name)
	if of == nil {
		return nil, nil, nil
	}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		return nil, nil, err
	}
	texts := []string{"network(16,tanh,logistic)"}
	texts = append(texts, vector.Map(Losses(), func(l LossHelp) string { return l.Text })...)
	for _, text := range texts {
		l, err := loss.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		p, err := optimize.NewProblem(l, budget, optimize.Stated(loss.RecordFeatures(l, 10), 100_000))
		if err != nil {
			return nil, nil, err
		}
		if _, err := of.zero.Plan(ctx, p); err != nil {
			refuses = append(refuses, text)
			continue
		}
		takes = append(takes, text)
	}
	return takes, refuses, ctx.Err()
}
