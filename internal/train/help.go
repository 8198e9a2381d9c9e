package train

import (
	_ "embed" // comments.txt
	"reflect"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Setting describes a setting of an algorithm for the command's help.
type Setting struct {
	Key string
	// Type is one of "yes or no", "whole number", "number" and "name".
	Type string
	// Doc says what the setting means, its unit, and what zero or leaving the setting out means.
	Doc string
}

// comments has the doc comments of settings, each on a line after the name of the field (nameOf) and a space. It is
// written by
//
//	go test ./internal/train -run TestHelpIsTheComments -rewrite
//
//go:embed comments.txt
var comments string

// commentOf returns the doc comment of the field with a name, or "".
func commentOf(name string) string {
	_, after, _ := strings.Cut("\n"+comments, "\n"+name+" ")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// HelpOf returns the descriptions of an algorithm's settings. For the name "selected" it returns the
// descriptions of the settings of the output rule [optimize.Selected]. For an unknown name it returns nil.
func HelpOf(name string) []Setting {
	if name == selected {
		return settingsOf(reflect.TypeFor[optimize.Selected]())
	}
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return settingsOf(reflect.TypeOf(algorithms[i].zero))
}

// settingsOf returns the descriptions of all fields of t that have a YAML key. Inlined structs are included.
func settingsOf(t reflect.Type) (list []Setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("yaml"); tag {
		case "":
		case inline:
			list = append(list, settingsOf(f.Type)...)
		default:
			doc := commentOf(nameOf(t, f))
			if _, itself := f.Tag.Lookup(zeroTag); !itself {
				doc = leftOut.Replace(doc)
			}
			list = append(list, Setting{tag, inWords(f.Type), doc})
		}
	}
	return list
}

// zeroTag is the key of a struct tag on a setting's field. It says that an explicit zero means itself, and no rule.
const zeroTag = "zero"

// leftOut words the comments of fields for users, who cannot write a zero in place of leaving a setting out.
var leftOut = strings.NewReplacer("Zero means", "Leaving it out means", "zero means", "leaving it out means",
	"must be zero", "must be left out", "that is zero", "that is left out", "that are zero", "that are left out",
	"these are zero", "these are left out", "both are zero", "both are left out", "With zero, ", "If it is left out, ")

// nameOf returns the name under which comments.txt has the doc comment of a field: the last
// element of the package's path, the type and the field, separated by dots.
func nameOf(t reflect.Type, f reflect.StructField) string {
	return t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] + "." + t.Name() + "." + f.Name
}

// inWords returns the type of a setting in the words of Setting.Type, such as "whole number".
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
