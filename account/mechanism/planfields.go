package mechanism

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// planFields reads the fields of a JSON object. It records the names of the fields that it reads,
// and stores the first error in err. After an error it reads no more values.
type planFields struct {
	object map[string]json.RawMessage
	where  string
	names  []string
	err    error
}

func (f *planFields) read(name string, to any) {
	f.names = append(f.names, name)
	if f.err == nil {
		f.err = decodeField(f.object, f.where, name, to)
	}
}

func (f *planFields) number(name string) (v float64) {
	f.read(name, &v)
	return v
}

func (f *planFields) whole(name string) (v int) {
	f.read(name, &v)
	return v
}

func (f *planFields) wholeOr(name string, otherwise int) int {
	if _, given := f.object[name]; given {
		return f.whole(name)
	}
	return otherwise
}

func (f *planFields) demand(kind EventKind, is, must Relation) {
	if f.err == nil && is != must {
		f.err = fmt.Errorf("account: %s: relation = %v: a %s needs %v", f.where, is, kind, must)
	}
}

// build calls make, which makes a mechanism from the fields read, and returns the mechanism. An
// error of make is stored in f.err. If there was an error before, or if the object has fields that
// were not read, build returns nil and does not call make.
func (f *planFields) build(make func() (Mechanism, error)) Mechanism {
	if f.err == nil {
		f.err = exactly(f.object, f.where, f.names...)
	}
	if f.err != nil {
		return nil
	}
	m, err := make()
	if err != nil {
		f.err = fmt.Errorf("%s: %w", f.where, err)
	}
	return m
}

// decodeObject reads one JSON object and returns its fields by name. It is an error if a name is
// repeated or if text follows the object. Upper and lower case in a name differ, unlike in package
// json. where names the object in errors.
func decodeObject(data []byte, where string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("account: %s: %w", where, err)
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("account: %s: must be an object", where)
	}
	fields := make(map[string]json.RawMessage)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("account: %s: %w", where, err)
		}
		key := name.(string) // a name in a JSON object is always a string
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("account: %s: %s: given twice", where, key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("account: %s: %s: %w", where, key, err)
		}
		fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("account: %s: %w", where, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("account: %s: text after the end", where)
	}
	return fields, nil
}

func exactly(fields map[string]json.RawMessage, where string, names ...string) error {
	for _, name := range names {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("account: %s: %s: missing", where, name)
		}
	}
	for name := range fields {
		if !slices.Contains(names, name) {
			return fmt.Errorf("account: %s: %q: not a field here", where, name)
		}
	}
	return nil
}

func decodeField(fields map[string]json.RawMessage, where, name string, to any) error {
	value, ok := fields[name]
	if !ok {
		return fmt.Errorf("account: %s: %s: missing", where, name)
	}
	if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return fmt.Errorf("account: %s: %s: must not be null", where, name)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("account: %s: %s: %w", where, name, err)
	}
	return nil
}
