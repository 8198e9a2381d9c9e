package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkJSON returns an error unless data is one JSON value in UTF-8, with nothing after it, in which no
// object has a key twice. Package json alone would take the last of two members with the same key.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return malformed("", "", "must be UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return notJSON(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return malformed("", "", "must be one JSON value with nothing after it")
	}
	decoder = json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	return checkKeys("", decoder)
}

// checkKeys reads one value and returns an error if a key occurs twice in an object.
func checkKeys(field string, decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return notJSON(err)
	}
	switch token {
	case json.Delim('{'):
		seen := make(map[string]bool)
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return notJSON(err)
			}
			key := token.(string) // the decoder takes nothing else for a key
			if seen[key] {
				return malformed(join(field, key), "", "is given twice")
			}
			seen[key] = true
			if err := checkKeys(join(field, key), decoder); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if err := checkKeys(item(field, i), decoder); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := decoder.Token(); err != nil { // the closing delimiter
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error { return malformed("", "", "must be JSON: "+err.Error()) }

// object is a JSON object in a certificate's file that is read member by member. The first error is
// kept, and later reads do nothing.
type object struct {
	field   string
	members map[string]json.RawMessage
	err     *error
}

// newObject reads the members of an object that has passed checkJSON.
func newObject(field string, data json.RawMessage, err *error) object {
	o := object{field: field, err: err}
	if *err != nil {
		return o
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		*err = malformed(field, string(data), "must be an object")
	} else if fail := json.Unmarshal(data, &o.members); fail != nil {
		*err = notJSON(fail)
	}
	return o
}

// only records an error if a key of the list keys is missing that is not in the list optional, or if the
// object has a key that is not in the list keys.
func (o object) only(keys []string, optional ...string) {
	if *o.err != nil {
		return
	}
	for _, key := range keys {
		if _, given := o.members[key]; !given && !slices.Contains(optional, key) {
			*o.err = malformed(join(o.field, key), "", "is missing")
			return
		}
	}
	for key := range o.members {
		if !slices.Contains(keys, key) {
			*o.err = malformed(join(o.field, key), "", "is unknown: the members here are "+strings.Join(keys, ", "))
			return
		}
	}
}

// object returns a member that is an object.
func (o object) object(key string) object {
	return newObject(join(o.field, key), o.members[key], o.err)
}

// decode reads the member with this key into the variable to which into points.
func (o object) decode(key string, into any) {
	decodeValue(join(o.field, key), o.members[key], into, o.err)
}

func decodeValue(field string, raw json.RawMessage, into any, err *error) {
	if *err != nil {
		return
	}
	if string(raw) == "null" { // package json would accept null for any type
		*err = malformed(field, "null", "must be "+typeName(into))
		return
	}
	if fail := json.Unmarshal(raw, into); fail != nil {
		rule := "must be " + typeName(into)
		if kind := new(json.UnmarshalTypeError); !errors.As(fail, &kind) {
			rule = fail.Error() // the type decodes texts by rules of its own
		}
		*err = malformed(field, string(raw), rule)
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

// mostPath is the largest length, in bytes, of a field's path in error messages. Keys may be long and nesting
// deep, and a path is made for every value of a file.
const mostPath = 200

func join(field, key string) string {
	if len(key) > mostPath {
		key = key[:mostPath] + "..."
	}
	switch {
	case field == "":
		return key
	case len(field) > mostPath:
		return field
	}
	return field + "." + key
}

func item(field string, i int) string {
	if len(field) > mostPath {
		return field
	}
	return field + "[" + strconv.Itoa(i) + "]"
}
