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

// checkJSON returns an error unless data is exactly one JSON value in UTF-8, without null and
// without a repeated key. Package json would accept null for any type and repeated keys, and would
// not distinguish keys that differ only in case.
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
			key := token.(string) // the decoder accepts only strings as keys
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

// mostPath bounds the bytes of a field's path in errors. Keys may be long and nesting deep, and a
// path is built for every value of a file.
const mostPath = 200

// below returns the path, for errors, of a part of a field, shortened to about mostPath bytes.
func below(field, part string) string {
	if len(part) > mostPath {
		part = part[:mostPath] + "..."
	}
	if len(field) > mostPath {
		return field
	}
	return strings.TrimPrefix(field+part, ".")
}

// fold maps keys that package json does not distinguish, because they differ only in case, to the
// same text.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// checkMembers returns an error unless a JSON object has all the keys, in exactly this spelling.
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
