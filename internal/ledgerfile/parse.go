package ledgerfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Parse parses the text of a ledger. Fits must be numbered from 1 without gaps, in the order of their
// reservations. A fit may have one more entry, its end, after its reservation. A last line without a newline
// that is not valid JSON was cut short by a crash. It is ignored: if it was a reservation, nothing was
// released under it. Any other line that is not an entry is an error.
func Parse(text []byte) ([]Entry, error) {
	var entries []Entry
	var reserved []Entry // the reservation of each fit, in order
	var ended []bool
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		text = rest
		if !whole && !json.Valid(line) {
			break
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: not an entry: %w", n, err)
		}
		switch fits := len(reserved); {
		case e.Entry == Reserved && e.Fit != fits+1:
			err = rule("fit", e.Fit, fmt.Sprintf("%d, the next", fits+1))
		case e.Entry == Reserved:
			reserved, ended = append(reserved, e), append(ended, false)
		case e.Fit > fits:
			err = rule("fit", e.Fit, "one that was reserved before")
		case ended[e.Fit-1]:
			err = rule("fit", e.Fit, "one that has not ended before")
		default:
			ended[e.Fit-1] = true
			err = e.ends(reserved[e.Fit-1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: not an entry: %w", n, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Torn finds a last line that a crash cut short. at is the offset in bytes of this line, or the text's length
// if the last line is complete. unended reports whether the last line is complete except for its newline.
func Torn(text []byte) (at int, unended bool) {
	at = bytes.LastIndexByte(text, '\n') + 1
	switch tail := text[at:]; {
	case len(tail) == 0:
		return at, false
	case json.Valid(tail):
		return len(text), true
	}
	return at, false
}

var (
	keys = []string{"time", "entry", "fit", "data", "algorithm", "relation", "epsilon", "delta", "unit", "mu",
		"schedule", "store", "dataset", "run", "charged", "certificate"}
	optional = []string{"unit", "schedule", "store", "dataset", "run", "charged", "certificate"}
	stepKeys = []string{"noise_multiplier", "sampling", "count"}
)

func parseLine(line []byte) (e Entry, err error) {
	if !utf8.Valid(line) {
		return e, errors.New("must be UTF-8")
	}
	members, err := object("", line, keys, optional)
	if err != nil {
		return e, err
	}
	if raw, given := members["schedule"]; given {
		var steps []json.RawMessage
		if err := json.Unmarshal(raw, &steps); err != nil {
			return e, errors.New("schedule: must be a list")
		}
		for i, s := range steps {
			if _, err := object(fmt.Sprintf("schedule[%d]: ", i), s, stepKeys, nil); err != nil {
				return e, err
			}
		}
	}
	if err := json.Unmarshal(line, &e); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return e, fmt.Errorf("%s: must be of type %v", kind.Field, kind.Type)
		}
		return e, err
	}
	return e, e.check()
}

// object parses a JSON object and returns its values by key. It returns an error if a key is not in keys or
// appears twice, if a key that is not in optional is absent, or if a value is null. Package json alone would
// accept repeated keys, keys in another case, and null for any value. field begins the text of errors.
func object(field string, text []byte, keys, optional []string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("%smust be a JSON object", field)
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%smust be a JSON object", field)
		}
		key, _ := token.(string) // the decoder accepts only strings as keys
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%s%q: is no key of an entry", field, key)
		}
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("%s%s: is given twice", field, key)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s%s: must be JSON", field, key)
		}
		if string(value) == "null" {
			return nil, fmt.Errorf("%s%s = null: must have a value", field, key)
		}
		members[key] = value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, fmt.Errorf("%smust be a JSON object", field)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%smust be one JSON object with nothing after it", field)
	}
	for _, key := range keys {
		if _, given := members[key]; !given && !slices.Contains(optional, key) {
			return nil, fmt.Errorf("%s%s: is missing", field, key)
		}
	}
	return members, nil
}
