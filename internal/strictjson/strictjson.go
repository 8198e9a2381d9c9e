// Package strictjson checks that a text is one JSON value in which every fact is said once. Package json alone accepts
// repeated members and uses the last one, and it accepts null for any type.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Fault is the first fault of a text. Field is the path of the value at fault, and empty for the text as a whole.
// Value is the value if it is at fault itself, and Rule the rule that is broken.
type Fault struct{ Field, Value, Rule string }

// Error returns the field, its value and the rule, safe to show. The field and the value are cut to 80 bytes each.
func (f *Fault) Error() string {
	text := shorten(f.Field)
	switch {
	case text == "":
		text = shorten(f.Value)
	case f.Value != "":
		text += " = " + shorten(f.Value)
	}
	if text != "" {
		text += ": "
	}
	return text + safetext.Text(f.Rule)
}

// shorten returns a text that is safe to show, cut to 80 bytes and three dots.
func shorten(text string) string {
	const most = 80
	if text = safetext.Text(text); len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// Checker checks texts.
type Checker struct {
	// Same returns the same text for keys that count as one. If it is nil, only equal keys do.
	Same func(key string) string
	// Lenient allows null, and numbers beyond the range of float64.
	Lenient bool
}

// Check returns the first fault of data: it must be one JSON value in UTF-8 with nothing after it, in which no object
// has a key twice. It returns nil if there is none.
func (c Checker) Check(data []byte) *Fault {
	if !utf8.Valid(data) {
		return &Fault{Rule: "must be UTF-8"}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return notJSON("", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return &Fault{Rule: "must be one JSON value with nothing after it"}
	}
	decoder = json.NewDecoder(bytes.NewReader(value))
	if c.Lenient {
		decoder.UseNumber()
	}
	if c.Same == nil {
		c.Same = func(key string) string { return key }
	}
	return c.value("", decoder)
}

// value reads one JSON value and all values in it. field is its path.
func (c Checker) value(field string, decoder *json.Decoder) *Fault {
	token, err := decoder.Token()
	if err != nil {
		return notJSON(field, err)
	}
	switch token {
	case nil:
		if !c.Lenient {
			return &Fault{field, "null", "must have a value"}
		}
		return nil
	case json.Delim('{'):
		seen := make(map[string]bool)
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return notJSON(field, err)
			}
			key := token.(string) // the decoder accepts only strings as keys
			if seen[c.Same(key)] {
				return &Fault{Field: Join(field, key), Rule: "is given twice"}
			}
			seen[c.Same(key)] = true
			if fault := c.value(Join(field, key), decoder); fault != nil {
				return fault
			}
		}
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if fault := c.value(Item(field, i), decoder); fault != nil {
				return fault
			}
		}
	default:
		return nil
	}
	if _, err := decoder.Token(); err != nil { // the closing delimiter
		return notJSON(field, err)
	}
	return nil
}

func notJSON(field string, err error) *Fault {
	if _, big := errors.AsType[*json.UnmarshalTypeError](err); big {
		return &Fault{Field: field, Rule: "must be a number in the range of float64"}
	}
	return &Fault{Field: field, Rule: "must be JSON: " + err.Error()}
}

// mostPath limits the length of a field's path in errors: a key, and a path to which a key is added, have at most
// about mostPath bytes. Without the limit, long keys and deep nesting would be costly, since a path is made for every
// value of a text.
const mostPath = 200

// Join returns the path of a member of the object at the path field.
func Join(field, key string) string {
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

// Item returns the path of an item of the array at the path field.
func Item(field string, i int) string {
	if len(field) > mostPath {
		return field
	}
	return field + "[" + strconv.Itoa(i) + "]"
}
