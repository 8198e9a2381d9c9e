package train

import (
	"reflect"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Setting describes a setting of an algorithm to people.
type Setting struct {
	Key string
	// Type is yes or no, whole number, number or name.
	Type string
	// Doc says what the setting means, in which unit, and what zero or leaving it out means.
	Doc string
}

// HelpOf returns the descriptions of an algorithm's settings, or for the name "selected" of the output
// rule's settings. It returns nil for any other name.
func HelpOf(name string) []Setting {
	if name == selected {
		return describe(reflect.TypeFor[optimize.Selected]())
	}
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return describe(reflect.TypeOf(algorithms[i].zero))
}

func describe(t reflect.Type) (list []Setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("yaml"); tag {
		case "":
		case inline:
			list = append(list, describe(f.Type)...)
		default:
			list = append(list, Setting{tag, inWords(f.Type), comments[nameOf(t, f)]})
		}
	}
	return list
}

// nameOf returns the name of a field as comments.go has it: the package's last path element, the type
// and the field.
func nameOf(t reflect.Type, f reflect.StructField) string {
	return t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] + "." + t.Name() + "." + f.Name
}

func inWords(t reflect.Type) string {
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()):
		return "name"
	case t.Kind() == reflect.Bool:
		return "yes or no"
	case t.Kind() == reflect.Int:
		return "whole number"
	}
	return "number"
}
