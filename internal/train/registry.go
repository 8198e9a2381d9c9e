package train

import (
	"reflect"
	"slices"

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
func Algorithms() []string {
	var names []string
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// SettingsOf returns the YAML keys of an algorithm's settings, or nil for a name that is not in Algorithms.
// The list does not include the settings of the output rule "selected", which every algorithm except auto
// also accepts.
func SettingsOf(name string) []string {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return keys(reflect.TypeOf(algorithms[i].zero))
}

// SelectionSettings returns the YAML keys of the settings of the output rule "selected".
func SelectionSettings() []string { return keys(reflect.TypeFor[optimize.Selected]()) }

// Counts reports whether the setting with this YAML key is a whole number. It searches all algorithms and the
// output rule "selected". For an unknown key it returns false.
func Counts(key string) bool {
	f, ok := known(key)
	return ok && f.Type.Kind() == reflect.Int
}

// known returns the struct field of the setting with this YAML key, from any algorithm or from the
// output rule "selected".
func known(key string) (reflect.StructField, bool) {
	types := []reflect.Type{reflect.TypeFor[optimize.Selected]()}
	for _, a := range algorithms {
		types = append(types, reflect.TypeOf(a.zero))
	}
	for _, t := range types {
		if f, ok := field(t, key); ok {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keys returns the YAML keys of a struct type's fields. Fields of inlined structs are included.
func keys(t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		switch tag := t.Field(i).Tag.Get("yaml"); tag {
		case "":
		case inline:
			list = append(list, keys(t.Field(i).Type)...)
		default:
			list = append(list, tag)
		}
	}
	return list
}

// inline is the option in a YAML tag that marks a struct whose own fields are settings.
const inline = ",inline"

// field returns the field of t with a YAML key. The field may be in an inlined struct; its index is relative
// to t in any case. field returns false if no field has the key.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("yaml"); tag {
		case key:
			return f, true
		case inline:
			if in, ok := field(f.Type, key); ok {
				in.Index = append([]int{i}, in.Index...)
				return in, true
			}
		}
	}
	return reflect.StructField{}, false
}
