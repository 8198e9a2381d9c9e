package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// checkJSON checks that data is one JSON value in UTF-8, nothing after it, with
// no null and no key twice: package json would take null for any type, the last
// of two keys, and keys that differ only in case for the same.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("must be UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("must be JSON: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("must be one JSON value with nothing after it")
	}
	return checkValue("", json.NewDecoder(bytes.NewReader(value)))
}

func checkValue(field string, decoder *json.Decoder) error {
	token, err := decoder.Token()
	if _, big := errors.AsType[*json.UnmarshalTypeError](err); big {
		return fmt.Errorf("%s: must be a number in the range of float64", field)
	}
	if err != nil {
		return fmt.Errorf("%s: must be JSON: %w", field, err)
	}
	switch token {
	case nil:
		return fmt.Errorf("%s = null: must have a value", field)
	case json.Delim('{'):
		seen := make(map[string]bool)
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return fmt.Errorf("%s: must be JSON: %w", field, err)
			}
			key := token.(string) // the decoder takes nothing else for a key
			child := below(field, "."+printable.Text(key))
			if seen[fold(key)] {
				return fmt.Errorf("%s: is given twice", child)
			}
			seen[fold(key)] = true
			if err := checkValue(child, decoder); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if err := checkValue(below(field, "["+strconv.Itoa(i)+"]"), decoder); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := decoder.Token(); err != nil { // the closing delimiter
		return fmt.Errorf("%s: must be JSON: %w", field, err)
	}
	return nil
}

// mostPath is how much of a field's path errors tell, in bytes. Keys may be long
// and nesting deep, and paths are made for all values of a file.
const mostPath = 200

// below is the path of a field's part.
func below(field, part string) string {
	if len(part) > mostPath {
		part = part[:mostPath] + "..."
	}
	if len(field) > mostPath {
		return field
	}
	return strings.TrimPrefix(field+part, ".")
}

// fold maps keys that package json takes for the same to the same.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// checkMembers checks that an object has all keys, spelt as they are.
func checkMembers(field string, data json.RawMessage, keys ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("%smust be an object", prefix(field, ": "))
	}
	for _, key := range keys {
		if _, given := members[key]; !given {
			return fmt.Errorf("%s%s: is missing", prefix(field, "."), key)
		}
	}
	return nil
}

func prefix(field, separator string) string {
	if field == "" {
		return ""
	}
	return field + separator
}
