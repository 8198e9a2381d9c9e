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

// algorithm is an algorithm that a configuration can name. Its settings are the fields of its type that
// have a YAML key.
type algorithm struct {
	name string
	zero optimize.Algorithm
}

// algorithms is the only list of algorithms. Configurations, audits, experiments and the command's help
// read it. The first is the default.
var algorithms = []algorithm{
	{"auto", choose.Auto{}},
	{"gd", firstorder.GD{}},
	{"preconditioned", firstorder.Preconditioned{}},
	{"nesterov", firstorder.Nesterov{}},
	{"spiderboost", firstorder.SpiderBoost{}},
	{"storm", firstorder.STORM{}},
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

// SettingsOf returns the YAML keys of an algorithm's settings. Every algorithm but auto also has the
// settings of the output rule "selected". It returns nil for a name that is not in Algorithms.
func SettingsOf(name string) []string {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return keys(reflect.TypeOf(algorithms[i].zero))
}

// SelectionSettings returns the YAML keys of the settings of the output rule "selected".
func SelectionSettings() []string { return keys(reflect.TypeFor[optimize.Selected]()) }

// Counts reports whether a setting is a whole number.
func Counts(key string) bool {
	f, ok := known(key)
	return ok && f.Type.Kind() == reflect.Int
}

// known returns the field of a setting of any algorithm or of the output rule.
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

// keys returns the YAML keys of a type's fields.
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

// inline is the tag of a field whose own fields are settings.
const inline = ",inline"

// field returns the field of a key. Its index counts from the outermost type.
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
