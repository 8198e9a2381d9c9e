package train

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// trialTag is the key of a struct tag on a setting's field. The tag states a value with which tests set the
// setting, for example `trial:"phased-sgd"`.
const trialTag = "trial"

// Trials returns settings with which to test the algorithms: the given ones, followed by one entry
// for each further setting of an algorithm or of the output rule "selected". A further setting is
// one that no given entry sets. Its value is the one in the field's tag "trial" or, without a tag,
// true, 3 or .3, depending on the type. Audits and recorded runs use every entry, so that a new
// setting is tested without being listed by hand. A setting whose values are names is left out if
// it has no tag; tests then fail.
func Trials(given []Settings) []Settings {
	seen := map[string]bool{}
	for _, s := range given {
		for key := range s {
			seen[key] = true
		}
	}
	list := slices.Clone(given)
	types := []reflect.Type{reflect.TypeFor[optimize.Selected]()}
	for _, a := range algorithms {
		types = append(types, reflect.TypeOf(a.zero))
	}
	for _, t := range types {
		for _, key := range keys(t) {
			if seen[key] {
				continue
			}
			seen[key] = true
			if value, ok := trial(t, key); ok {
				list = append(list, Settings{key: value})
			}
		}
	}
	return list
}

// trial returns a value with which to test the setting of t that has this key. ok is false if the setting's
// values are names and its field has no tag.
func trial(t reflect.Type, key string) (any, bool) {
	f, ok := field(t, key)
	if !ok {
		return nil, false
	}
	if text, ok := f.Tag.Lookup(trialTag); ok {
		if b, err := strconv.ParseBool(text); err == nil && f.Type.Kind() == reflect.Bool {
			return b, true
		}
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x, true
		}
		return text, true
	}
	if _, ok := reflect.New(f.Type).Interface().(encoding.TextUnmarshaler); ok {
		return nil, false
	}
	switch f.Type.Kind() {
	case reflect.Bool:
		return true, true
	case reflect.Int:
		return 3, true
	}
	return .3, true
}
