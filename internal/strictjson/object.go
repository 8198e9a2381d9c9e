package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
)

// Object is a JSON object that is read member by member. The first error, mostly a *[Fault], is stored in the variable
// that the object shares with its values, and all later reads do nothing.
type Object struct {
	field   string
	members map[string]json.RawMessage
	needed  []string
	err     *error
}

// NewObject reads the members of a JSON object, which must have passed [Checker.Check]. field is its path, empty for a
// whole text. It records an error in *err if data is no object. needed has keys that no object may omit where a struct
// has them (see [Object.Into]).
func NewObject(field string, data json.RawMessage, err *error, needed ...string) Object {
	o := Object{field: field, needed: needed, err: err}
	if *err != nil {
		return o
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		*err = &Fault{field, string(data), "must be an object"}
	} else if fail := json.Unmarshal(data, &o.members); fail != nil {
		*err = notJSON(field, fail)
	}
	return o
}

// Err returns the first error.
func (o Object) Err() error { return *o.err }

// Has reports whether the object has a member of this key.
func (o Object) Has(key string) bool { return o.members[key] != nil }

// Fail records the error that the member of a key breaks a rule, unless there was an error before. value is empty if
// the message shows no value, and key is empty for the object as a whole.
func (o Object) Fail(key, value, rule string) {
	if *o.err == nil {
		*o.err = &Fault{strings.TrimSuffix(Join(o.field, key), "."), value, rule}
	}
}

// Read reads the member of a key, which must be given, into the variable to which into points.
func (o Object) Read(key string, into any) {
	if !o.Has(key) {
		o.Fail(key, "", "is missing")
	}
	o.decode(Join(o.field, key), o.members[key], reflect.ValueOf(into).Elem())
}

// Only records an error if the object has a key that is not in the list keys, or lacks a key of the list that is not
// also in the list optional.
func (o Object) Only(keys []string, optional ...string) {
	for _, key := range keys {
		if !o.Has(key) && !slices.Contains(optional, key) {
			o.Fail(key, "", "is missing")
		}
	}
	for key := range o.members {
		if !slices.Contains(keys, key) {
			o.Fail(key, "", "is unknown: the members here are "+strings.Join(keys, ", "))
		}
	}
}

// Members returns the fields of a struct, their keys in a file, and the keys that may be absent: those with omitempty or
// omitzero that are not needed.
func Members(t reflect.Type, needed ...string) (fields []reflect.StructField, keys, optional []string) {
	fields = slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
	for _, f := range fields {
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if keys = append(keys, key); option != "" && !slices.Contains(needed, key) {
			optional = append(optional, key)
		}
	}
	return fields, keys, optional
}

// Into reads all members of the object into the fields of the struct to which into points. A member with omitempty must
// be absent if its value is zero, so that every fact is written in only one form. One with omitzero may be given as well.
func (o Object) Into(into any) { o.fields(reflect.ValueOf(into).Elem()) }

func (o Object) fields(v reflect.Value) {
	fields, keys, optional := Members(v.Type(), o.needed...)
	o.Only(keys, optional...)
	for i, key := range keys {
		raw := o.members[key]
		if raw == nil {
			continue
		}
		field := v.FieldByIndex(fields[i].Index)
		o.decode(Join(o.field, key), raw, field)
		once := strings.HasSuffix(fields[i].Tag.Get("json"), ",omitempty")
		if once && field.IsZero() && slices.Contains(optional, key) {
			o.Fail(key, string(raw), "must be absent instead")
		}
	}
}

// decode reads the value at the path field into a variable: an object into a struct, also one of its own behind a
// pointer, an array into a slice and any object into a [json.RawMessage]. A type that decodes JSON itself does so,
// and its errors are kept as they are.
func (o Object) decode(field string, raw json.RawMessage, into reflect.Value) {
	if *o.err != nil {
		return
	}
	_, itself := into.Addr().Interface().(json.Unmarshaler)
	switch kind := into.Kind(); {
	case into.Type() == reflect.TypeFor[json.RawMessage]():
		NewObject(field, raw, o.err)
		into.SetBytes(raw)
	case itself:
		*o.err = json.Unmarshal(raw, into.Addr().Interface())
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		o.decode(field, raw, into.Elem())
	case kind == reflect.Struct:
		NewObject(field, raw, o.err, o.needed...).fields(into)
	case kind == reflect.Slice:
		var list []json.RawMessage
		o.value(field, raw, &list)
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i := range list {
			o.decode(Item(field, i), list[i], into.Index(i))
		}
	default:
		o.value(field, raw, into.Addr().Interface())
	}
}

// value reads a value into the variable to which into points. It records an error if the value has another type or is
// null.
func (o Object) value(field string, raw json.RawMessage, into any) {
	if string(raw) == "null" { // package json would accept null for any type
		*o.err = &Fault{field, "null", "must be " + typeName(into)}
		return
	}
	if fail := json.Unmarshal(raw, into); fail != nil {
		rule := "must be " + typeName(into)
		if kind := new(json.UnmarshalTypeError); !errors.As(fail, &kind) {
			rule = fail.Error() // the type decodes texts by rules of its own
		}
		*o.err = &Fault{field, string(raw), rule}
	}
}

func typeName(into any) string {
	switch into.(type) {
	case *float64:
		return "a number in the range of float64"
	case *int, *int64:
		return "an integer"
	case *uint64:
		return "an integer >= 0"
	case *bool:
		return "true or false"
	case *[]json.RawMessage:
		return "an array"
	}
	return "a string"
}
